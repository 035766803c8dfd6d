package writer

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer/hashindex"
)

func crossSpec(options ...string) table.Spec {
	o := table.Options{"bucket": "-1", "write-only": "true", "file.format": "avro"}
	for i := 0; i < len(options); i += 2 {
		o[options[i]] = options[i+1]
	}
	return table.Spec{Fields: guideFields(), PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"id"}, Options: o}
}

// movable is a row of such a table.
type movable struct{ dt, data string }

// rowsByKey reads all of a table, and fails when a key is there twice.
func rowsByKey(t require.TestingT, tbl *table.Table) map[int64]movable {
	ctx := context.Background()
	s, err := tbl.Latest(ctx)
	require.NoError(t, err)
	out := map[int64]movable{}
	for b, err := range lsm.Scan(ctx, tbl, s, lsm.ScanOptions{AllLevels: true}) {
		require.NoError(t, err)
		for i := range b.N {
			id := b.Cols[0].I64[i]
			require.NotContains(t, out, id)
			out[id] = movable{string(b.Cols[2].Value(i)), string(b.Cols[1].Value(i))}
		}
	}
	return out
}

func TestKeysMoveBetweenPartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		engine := rapid.SampledFrom([]string{"deduplicate", "deduplicate", "partial-update", "aggregation", "first-row"}).Draw(t, "engine")
		producer := "none"
		if engine == "deduplicate" {
			producer = rapid.SampledFrom([]string{"none", "input"}).Draw(t, "changelog")
		}
		tbl := createTable(t, mem.New(), crossSpec("merge-engine", engine, "changelog-producer", producer,
			"dynamic-bucket.target-row-num", rapid.SampledFrom([]string{"3", "50", "2000000"}).Draw(t, "target"),
			"sink.parallelism", rapid.SampledFrom([]string{"1", "2", "5"}).Draw(t, "shards")))
		paired := rapid.Bool().Draw(t, "paired")
		open := func() *Writer {
			w, err := Open(ctx, tbl, Config{CommitUser: "cross", PairedUpdates: paired})
			require.NoError(t, err)
			return w
		}
		w := open()
		defer func() { _ = w.Close(ctx) }()
		model, committed := map[int64]movable{}, map[int64]movable{}
		id, seq := int64(0), 0
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
			case step < 6:
				b := row.NewBatch(w.Type())
				keys := rapid.SampledFrom([]int64{3, 40, 5000}).Draw(t, "keys")
				stride := rapid.Int64Range(1, 77).Draw(t, "stride")
				for i := range rapid.SampledFrom([]int{1, 10, 500}).Draw(t, "rows") {
					seq++
					key := int64(i) * stride % keys
					now := movable{fmt.Sprintf("d%d", seq*7%11%4), fmt.Sprintf("v%d", seq)}
					was, there := model[key]
					switch {
					case engine == "first-row":
						appendRow(b, row.Insert, key, now.data, now.dt)
						if !there {
							model[key] = now
						}
					case engine != "deduplicate":
						appendRow(b, row.UpdateAfter, key, now.data, now.dt)
						if there {
							now.dt = was.dt
						}
						model[key] = now
					case there && seq%5 == 0:
						appendRow(b, row.Delete, key, was.data, was.dt)
						delete(model, key)
					case seq%13 == 0: // of a row that isn't there, or is elsewhere
						appendRow(b, row.Delete, key, now.data, now.dt)
						delete(model, key)
					default:
						if there && seq%3 > 0 {
							appendRow(b, row.UpdateBefore, key, was.data, was.dt)
						}
						appendRow(b, row.UpdateAfter, key, now.data, now.dt)
						model[key] = now
					}
				}
				require.NoError(t, w.Write(ctx, b))
			case step < 8:
				id++
				require.NoError(t, w.Checkpoint(ctx, id, nil))
				committed = maps.Clone(model)
			default:
				require.NoError(t, w.Wait(ctx))
				require.Equal(t, committed, rowsByKey(t, tbl))
				if step == 9 { // rows after the last checkpoint are lost
					require.NoError(t, w.Close(ctx))
					model = maps.Clone(committed)
					w = open()
				}
			}
		}
		id++
		require.NoError(t, w.Checkpoint(ctx, id, nil))
		require.NoError(t, w.Wait(ctx))
		require.Equal(t, model, rowsByKey(t, tbl))
	})
}

// changes writes batches, each a checkpoint, and returns what is in the changelog.
func changes(t *testing.T, w *Writer, tbl *table.Table, batches ...*row.Batch) (out []string) {
	ctx := t.Context()
	for i, b := range batches {
		require.NoError(t, w.Write(ctx, b))
		require.NoError(t, w.Checkpoint(ctx, int64(i+1), nil))
		require.NoError(t, w.Wait(ctx))
		s, err := tbl.Latest(ctx)
		require.NoError(t, err)
		for c, err := range lsm.ReadChangelog(ctx, tbl, s.ID, s.ID, lsm.ScanOptions{}) {
			require.NoError(t, err)
			for k := range c.Rows.N {
				out = append(out, fmt.Sprintf("%s %s %s", c.Rows.Kinds[k], c.Rows.Cols[2].Value(k), c.Rows.Cols[1].Value(k)))
			}
		}
	}
	return out
}

func moves(tbl *table.Table, rows ...any) *row.Batch {
	b := row.NewBatch(tbl.Schema().RowType())
	for i := 0; i < len(rows); i += 3 {
		appendRow(b, rows[i].(row.Kind), 1, rows[i+1].(string), rows[i+2].(string))
	}
	return b
}

func TestAMoveIsADeleteAndAnInsertInTheChangelog(t *testing.T) {
	tbl := createTable(t, mem.New(), crossSpec("changelog-producer", "input"))
	w := openWriter(t, tbl, Config{})
	require.Equal(t, []string{"+I a v1", "-D a v2", "+U b v2"},
		changes(t, w, tbl, moves(tbl, row.Insert, "v1", "a"), moves(tbl, row.UpdateAfter, "v2", "b")))

	tbl = createTable(t, mem.New(), crossSpec("changelog-producer", "input"))
	w = openWriter(t, tbl, Config{PairedUpdates: true})
	require.Equal(t, []string{"+I a v1", "-D a v1", "+U b v2", "-U b v2", "+U b v3"}, changes(t, w, tbl,
		moves(tbl, row.Insert, "v1", "a"), moves(tbl, row.UpdateBefore, "v1", "a", row.UpdateAfter, "v2", "b"),
		moves(tbl, row.UpdateBefore, "v2", "b", row.UpdateAfter, "v3", "b")))
}

func TestAssignersFillBucketsOfTheirOwn(t *testing.T) {
	c := crossBuckets{target: 2, assigners: 2, counts: make([][]int64, 1)}
	var got []int32
	for range 5 {
		b, err := c.assign(0, 4)
		require.NoError(t, err)
		got = append(got, b)
	}
	for range 3 {
		b, err := c.assign(0, -3)
		require.NoError(t, err)
		got = append(got, b)
	}
	require.Equal(t, []int32{0, 0, 2, 2, 4, 1, 1, 3}, got)
}

func TestAKeyInTwoPartitionsIsNotOpened(t *testing.T) {
	tbl := createTable(t, mem.New(), crossSpec())
	first := openWriter(t, tbl, Config{CommitUser: "a"})
	require.NoError(t, first.Write(t.Context(), moves(tbl, row.Insert, "v", "p")))
	first.cross.lease.release()
	second := openWriter(t, tbl, Config{CommitUser: "b"})
	require.NoError(t, second.Write(t.Context(), moves(tbl, row.Insert, "w", "q")))
	require.NoError(t, first.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, first.Wait(t.Context()))

	require.NoError(t, second.Checkpoint(t.Context(), 1, nil))
	require.ErrorIs(t, second.Wait(t.Context()), table.ErrForeignWriter)
	require.Equal(t, map[int64]movable{1: {"p", "v"}}, rowsByKey(t, tbl))

	third, err := Open(t.Context(), tbl, Config{CommitUser: "b"})
	require.NoError(t, err)
	third.cross.keys.Close()
	third.cross.keys, err = hashindex.NewKeys(third.cross.store, 0) // it forgets
	require.NoError(t, err)
	require.NoError(t, third.Write(t.Context(), moves(tbl, row.Insert, "w", "q")))
	require.NoError(t, third.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, third.Wait(t.Context()))
	require.NoError(t, third.Close(t.Context()))
	_, err = Open(t.Context(), tbl, Config{CommitUser: "b"})
	require.ErrorIs(t, err, table.ErrCorrupt)
	require.ErrorContains(t, err, "the key id=1 is in bucket 0 of partition dt=")
}

func TestWhatCanNotMoveIsRefused(t *testing.T) {
	tbl := createTable(t, mem.New(), crossSpec("ignore-delete", "true"))
	_, err := Open(t.Context(), tbl, Config{})
	require.ErrorIs(t, err, table.ErrOption)
	require.ErrorContains(t, err, "ignore-delete can't be set")
}

// TestKeysAreNotOnTheHeap writes them and starts again.
func TestKeysAreNotOnTheHeap(t *testing.T) {
	const keys = 200_000
	ctx := t.Context()
	tbl, err := table.Create(ctx, local.FS{}, table.TablePath(t.TempDir(), "db", "t"), crossSpec("file.format", "parquet"))
	require.NoError(t, err)
	w, err := Open(ctx, tbl, Config{CommitUser: "u"})
	require.NoError(t, err)
	for from := 0; from < keys; from += 10_000 {
		require.NoError(t, w.Write(ctx, batchOf(tbl, from, from+10_000, fmt.Sprintf("d%d", from/10_000%20))))
	}
	require.NoError(t, w.Checkpoint(ctx, 1, nil))
	require.NoError(t, w.Close(ctx))
	w = nil

	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, start := heap(), time.Now()
	var news []BootstrapInfo
	w = openWriter(t, tbl, Config{CommitUser: "u", Listener: Listener{Bootstrap: func(b BootstrapInfo) { news = append(news, b) }}})
	took := time.Since(start)
	grown := heap() - before
	last := news[len(news)-1]
	t.Logf("%d keys in %v, %d KB of heap, %d MB mapped", last.Keys, took, grown>>10, last.Mapped>>20)
	require.True(t, last.Done)
	require.EqualValues(t, keys, last.Keys)
	require.Less(t, grown, int64(4<<20))
	require.Less(t, last.Mapped, int64(64*keys))
	require.NotNil(t, w)
}

func TestBootstrapEndsWithItsContext(t *testing.T) {
	tbl := createTable(t, mem.New(), crossSpec())
	w := openWriter(t, tbl, Config{})
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 10, "d")))
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Close(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, tbl, Config{})
	require.ErrorIs(t, err, context.Canceled)
}
