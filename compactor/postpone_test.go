package compactor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// change is a row as it is written: id, data and, where the table has a fourth column, n.
type change struct {
	kind row.Kind
	id   int64
	data string // "": NULL
	n    int64  // 0: NULL
}

func appendChanges(b *row.Batch, dt string, rows []change) {
	for _, r := range rows {
		b.Cols[0].AppendI64(r.id)
		if r.data == "" {
			b.Cols[1].AppendNull()
		} else {
			b.Cols[1].AppendString(r.data)
		}
		b.Cols[2].AppendString(dt)
		for c := 3; c < len(b.Cols); c++ {
			if c > 3 || r.n == 0 {
				b.Cols[c].AppendNull()
			} else {
				b.Cols[c].AppendI64(r.n)
			}
		}
		b.EndRow(r.kind)
	}
}

// createWide creates the guide's table with a fourth column, n BIGINT.
func (w *world) createWide(name string, options table.Options) {
	spec := guide(options)
	spec.Fields = append(spec.Fields, row.Field{ID: 3, Name: "n", Type: bigintNull})
	_, err := table.Create(context.Background(), w.fsys, pathOf(name), spec)
	require.NoError(w.t, err, options)
	w.tables.set(append(w.tables.names, name)...)
}

// partitionOf returns the partition dt.
func partitionOf(dt string) []byte {
	b := row.NewBatch(&row.Type{Root: row.Row, Fields: []row.Field{{Name: "dt", Type: text}}})
	b.Cols[0].AppendString(dt)
	return row.AppendSerializedRow(nil, []*row.Column{&b.Cols[0]}, 0)
}

// postpone commits rows without a bucket: a file for each list, in this order. edit may change them before; nil: it doesn't.
func (w *world) postpone(name, dt string, edit func([]table.DataFile), files ...[]change) {
	ctx, tbl := context.Background(), w.open(name)
	maker, err := lsm.NewPostponeFiles(tbl, tbl.Schema(), "postponer", 0)
	require.NoError(w.t, err)
	m := table.CommitMessage{Partition: partitionOf(dt), Bucket: table.PostponeBucket, TotalBuckets: table.PostponeBucket}
	for _, rows := range files {
		out := maker.NewWriter(ctx, m.Partition, table.PostponeBucket, 0, lsm.Data, table.SourceAppend)
		kv := lsm.NewKeyValues(tbl.Schema().RowType())
		appendChanges(kv.Rows, dt, rows)
		kv.Seq = slices.Repeat([]int64{-1}, len(rows))
		require.NoError(w.t, out.Write(kv))
		made, err := out.Close()
		require.NoError(w.t, err)
		m.Data.New = append(m.Data.New, made...)
		if w.want[name] == nil {
			continue
		}
		for _, r := range rows {
			if key := fmt.Sprintf("%d/%s", r.id, dt); r.kind.IsRetract() {
				delete(w.want[name], key)
			} else {
				w.want[name][key] = r.data
			}
		}
	}
	if edit != nil {
		edit(m.Data.New)
	}
	w.next[name]++
	_, err = tbl.NewCommit("postponer", nil).Commit(ctx, table.Committable{ID: w.next[name], Messages: []table.CommitMessage{m}})
	require.NoError(w.t, err)
}

// upserts are rows from up to to.
func upserts(data string, from, to int64) (rows []change) {
	for id := from; id < to; id++ {
		rows = append(rows, change{id: id, data: data})
	}
	return rows
}

// once compacts all tables.
func (w *world) once(ctx context.Context, cfg compactor.Config) {
	_, err := w.service(cfg, w.tables).Once(ctx)
	require.NoError(w.t, err)
}

// waiting counts the files of a table that have no bucket.
func (w *world) waiting(name string) (n int) {
	for k, runs := range w.runs(name) {
		if strings.HasSuffix(k, "/-2") {
			n += runs
		}
	}
	return n
}

// rowsOf returns the rows of a table as texts, in order.
func rowsOf(t require.TestingT, tbl *table.Table) (all []string) {
	s, err := tbl.Latest(context.Background())
	require.NoError(t, err)
	for b, err := range lsm.Scan(context.Background(), tbl, s, lsm.ScanOptions{}) {
		require.NoError(t, err)
		for i := range b.N {
			all = append(all, textOf(b, i))
		}
	}
	slices.Sort(all)
	return all
}

func textOf(b *row.Batch, i int) string {
	var s strings.Builder
	for c := range b.Cols {
		col := &b.Cols[c]
		switch {
		case col.IsNull(i):
			s.WriteString("NULL ")
		case col.Type.Root == row.BigInt:
			fmt.Fprintf(&s, "%d ", col.I64[i])
		default:
			fmt.Fprintf(&s, "%s ", col.Value(i))
		}
	}
	return s.String()
}

// changesOf returns the changes of each row of a table, in their order.
func changesOf(t require.TestingT, tbl *table.Table) map[string][]string {
	latest, err := tbl.Latest(context.Background())
	require.NoError(t, err)
	out := map[string][]string{}
	for c, err := range lsm.ReadChangelog(context.Background(), tbl, 1, latest.ID, lsm.ScanOptions{}) {
		require.NoError(t, err)
		for i := range c.Rows.N {
			k := fmt.Sprintf("%d/%s", c.Rows.Cols[0].I64[i], c.Rows.Cols[2].Value(i))
			out[k] = append(out[k], c.Rows.Kinds[i].String()+" "+textOf(c.Rows, i))
		}
	}
	return out
}

// TestPostponedRowsAreThoseOfATableWithBuckets writes the same rows to a table with bucket=-2 and to one with buckets, and compacts
// them in turn: both have the same rows, and the same changelog where it does not depend on when who compacts.
func TestPostponedRowsAreThoseOfATableWithBuckets(t *testing.T) {
	engines := map[string]table.Options{
		"deduplicate":    {},
		"sequence field": {"sequence.field": "n"},
		"descending":     {"sequence.field": "n", "sequence.field.sort-order": "descending"},
		"ignore-delete":  {"ignore-delete": "true"},
		"first-row":      {"merge-engine": "first-row", "ignore-delete": "true"},
		"partial-update": {"merge-engine": "partial-update", "ignore-delete": "true"},
		"groups":         {"merge-engine": "partial-update", "fields.n.sequence-group": "data"},
		"aggregation":    {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "fields.data.aggregate-function": "last_value"},
	}
	producers := map[string]table.Options{
		"none": {}, "input": {"changelog-producer": "input"}, "lookup": {"changelog-producer": "lookup"},
		"full-compaction": {"changelog-producer": "full-compaction"}, "vectors": {"deletion-vectors.enabled": "true"},
	}
	for engine, o := range engines {
		for producer, p := range producers {
			if engine == "first-row" && producer != "none" && producer != "lookup" {
				continue
			}
			t.Run(engine+"/"+producer, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					playTwins(t, rand.New(rand.NewPCG(uint64(len(engine)), uint64(len(producer)))), o.With(p))
				})
			})
		}
	}
}

func playTwins(t *testing.T, rng *rand.Rand, o table.Options) {
	w := newWorld(t)
	w.createWide("db.twin", o.With(table.Options{"bucket": "3"}))
	w.createWide("db.a", o.With(table.Options{"bucket": "-2", "postpone.default-bucket-num": "3", "file.format": "avro"}))
	wr, err := writer.Open(t.Context(), w.open("db.twin"), writer.Config{CommitUser: "writer", Shards: 1, FlushWorkers: 1})
	require.NoError(t, err)
	for round := range int64(6) {
		dt := pick(rng, "d1", "d2")
		files := make([][]change, 1+rng.IntN(3))
		for i := range files {
			for range 1 + rng.IntN(25) {
				c := change{kind: pick(rng, row.Insert, row.UpdateAfter, row.UpdateAfter, row.Delete), id: rng.Int64N(15), data: fmt.Sprint("v", rng.IntN(1000)), n: 1 + rng.Int64N(20)}
				if rng.IntN(5) == 0 {
					c.n = 0
				}
				if rng.IntN(5) == 0 {
					c.data = ""
				}
				files[i] = append(files[i], c)
			}
		}
		w.postpone("db.a", dt, nil, files...)
		b := row.NewBatch(wr.Type())
		appendChanges(b, dt, slices.Concat(files...))
		require.NoError(t, wr.Write(t.Context(), b))
		require.NoError(t, wr.Checkpoint(t.Context(), round+1, nil))
		require.NoError(t, wr.Wait(t.Context()))
		if rng.IntN(2) == 0 {
			w.once(t.Context(), compactor.Config{Strategy: pick(rng, compactor.Full, compactor.Minor)})
			require.Zero(t, w.waiting("db.a"))
		}
	}
	require.NoError(t, wr.Close(t.Context()))
	w.once(t.Context(), compactor.Config{})
	require.Zero(t, w.waiting("db.a"))
	require.Equal(t, rowsOf(t, w.open("db.twin")), rowsOf(t, w.open("db.a")), o)
	require.NotEmpty(t, rowsOf(t, w.open("db.a")))
	if o["changelog-producer"] == "input" {
		want, got := changesOf(t, w.open("db.twin")), changesOf(t, w.open("db.a"))
		if o["sequence.field"] != "" { // orders what is flushed together
			for _, all := range []map[string][]string{want, got} {
				for _, changes := range all {
					slices.Sort(changes)
				}
			}
		}
		require.Equal(t, want, got, o)
	}
	for _, s := range w.snapshots("db.a") {
		require.Contains(t, []table.CommitKind{table.CommitAppend, table.CommitCompact}, s.CommitKind)
	}
	requireSound(t, w.open("db.a"), false)
}

// TestTheOrderIsThatOfWriting: by the time of making, whatever was committed first; then by commit, and by number within a writer.
func TestTheOrderIsThatOfWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "-2"})
		at := func(millis ...int64) func([]table.DataFile) {
			return func(files []table.DataFile) {
				for i := range files {
					files[i].CreationMillis = millis[i]
				}
			}
		}
		w.postpone("db.a", "d1", at(3000, 1000), upserts("late", 0, 3), upserts("early", 0, 6))
		w.postpone("db.a", "d1", at(2000, 2000), upserts("middle", 0, 6), upserts("then", 4, 6))
		w.postpone("db.a", "d1", at(2000), upserts("last", 5, 6))
		want := map[string]string{"0/d1": "late", "1/d1": "late", "2/d1": "late", "3/d1": "middle", "4/d1": "then", "5/d1": "last"}
		w.want["db.a"] = want
		require.Empty(t, contents(t, w.open("db.a")), "readers see nothing yet")
		w.once(t.Context(), compactor.Config{Strategy: compactor.Minor})
		w.check(false)
		require.Len(t, w.runs("db.a"), 1, "one bucket, when the table doesn't say else")
		require.Len(t, w.snapshots("db.a"), 4)
	})
}

// TestAPartitionKeepsItsBuckets: the number of buckets is that of the files there are, or else the option's.
func TestAPartitionKeepsItsBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "-2", "postpone.default-bucket-num": "3"})
		w.postpone("db.a", "d1", nil, upserts("one", 0, 50))
		w.once(t.Context(), compactor.Config{})
		_, err := w.open("db.a").Alter(t.Context(), table.SchemaChange{Kind: table.SetOption, Key: "postpone.default-bucket-num", Value: "5"},
			table.SchemaChange{Kind: table.AddColumn, Column: "more", Type: text})
		require.NoError(t, err)
		w.postpone("db.a", "d1", nil, upserts("two", 25, 75))
		w.postpone("db.a", "d2", nil, upserts("two", 0, 50))
		w.once(t.Context(), compactor.Config{})
		buckets := map[string]int{}
		for k := range w.runs("db.a") {
			dt, _, _ := strings.Cut(k, "/")
			buckets[dt]++
		}
		require.Equal(t, map[string]int{"dt=d1": 3, "dt=d2": 5}, buckets)
		w.check(false)
	})
}

// TestRowsBeyondMemoryAreSpilled moves many times what there is memory for, with local disk and without.
func TestRowsBeyondMemoryAreSpilled(t *testing.T) {
	spill, err := lsm.NewSpillStore([]string{t.TempDir()}, "none", 1, 0)
	require.NoError(t, err)
	defer spill.Close()
	for _, store := range []*lsm.SpillStore{nil, spill} {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "-2", "postpone.default-bucket-num": "4"})
		w.postpone("db.a", "d1", nil, upserts(strings.Repeat("x", 300), 0, 5000), upserts(strings.Repeat("y", 300), 2000, 7000))
		w.postpone("db.a", "d1", nil, upserts(strings.Repeat("z", 300), 1000, 3000))
		w.postpone("db.a", "d1", nil, []change{{id: 1, data: strings.Repeat("z", 1<<20)}})
		w.once(t.Context(), compactor.Config{Strategy: compactor.Minor, Workers: 1, Memory: 512 << 10, Spill: store})
		if runs := w.maxRuns("db.a"); store != nil {
			require.Equal(t, 1, runs, "each bucket gets one run")
		}
		w.check(false)
	}
	require.Zero(t, spill.Used())
}

// TestAServiceMovesRowsByItself: rows come, and are readable soon; old snapshots go, with the files that had the rows.
func TestAServiceMovesRowsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "-2", "postpone.default-bucket-num": "2", "changelog-producer": "lookup",
			"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2", "snapshot.time-retained": "1 s"})
		s := w.service(compactor.Config{Maintainer: newUpkeep, MaintainInterval: time.Second}, w.tables)
		stop := running(t, s)
		for i := range int64(20) {
			w.postpone("db.a", "d1", nil, upserts(fmt.Sprint("v", i), i, 20+i))
			if i%3 == 0 {
				w.postpone("db.a", "d2", nil, []change{{id: i, data: "x"}}, []change{{kind: row.Delete, id: i - 3}})
			}
			time.Sleep(time.Minute)
			require.Equal(t, w.want["db.a"], contents(t, w.open("db.a")), i)
		}
		require.Zero(t, statsOf(t, s, "db.a").PostponedFiles)
		time.Sleep(30 * time.Minute)
		stop()
		w.check(false)
		require.LessOrEqual(t, len(w.snapshots("db.a")), 2)
		require.Empty(t, pathsIn(w, "/bucket-postpone/"))
	})
}

// TestTheChangelogOfMovedRows: a reader of the changelog has the table, and each change comes once.
func TestTheChangelogOfMovedRows(t *testing.T) {
	for _, o := range []table.Options{
		{"changelog-producer": "lookup"}, {"changelog-producer": "full-compaction"}, {"changelog-producer": "lookup", "deletion-vectors.enabled": "true"},
		{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "3"}, {"changelog-producer": "lookup", "merge-engine": "first-row", "ignore-delete": "true"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create("db.a", o.With(table.Options{"bucket": "-2", "postpone.default-bucket-num": "2"}))
			stop := running(t, w.service(compactor.Config{}, w.tables))
			for i := range int64(12) {
				w.postpone("db.a", "d1", nil, upserts(fmt.Sprint("v", i), i, 20+i), []change{{kind: row.Delete, id: i + 3}})
				time.Sleep(time.Minute)
				if o["full-compaction.delta-commits"] == "" {
					require.Equal(t, contents(t, w.open("db.a")), replayed(t, w.open("db.a")), "%v after write %d", o, i)
				}
			}
			require.NotEmpty(t, contents(t, w.open("db.a")))
			stop()
			w.once(t.Context(), compactor.Config{})
			require.Equal(t, contents(t, w.open("db.a")), replayed(t, w.open("db.a")), o)
			if o["merge-engine"] == "" {
				w.check(false)
			}
		})
	}
}

// TestTwoServicesMoveTheSameRows: each file is moved once, and who comes second leaves nothing.
func TestTwoServicesMoveTheSameRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "-2", "postpone.default-bucket-num": "2", "changelog-producer": "input"})
		one, two := w.service(compactor.Config{}, w.tables), w.service(compactor.Config{}, w.tables)
		stopOne, stopTwo := running(t, one), running(t, two)
		for i := range int64(30) {
			w.postpone("db.a", fmt.Sprint("d", i%2), nil, upserts(fmt.Sprint("v", i), i, 10+i))
			time.Sleep(7 * time.Second)
		}
		time.Sleep(10 * time.Minute)
		require.Positive(t, statsOf(t, one, "db.a").Lost+statsOf(t, two, "db.a").Lost, "the test is to make conflicts")
		stopOne()
		stopTwo()
		require.Zero(t, w.waiting("db.a"))
		w.check(false)
		rows := 0
		for _, c := range changesOf(t, w.open("db.a")) {
			rows += len(c)
		}
		require.Equal(t, 300, rows, "each row is told once")
	})
}

// TestShardsMoveOnce: of several processes one moves the rows, and each compacts its buckets.
func TestShardsMoveOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "-2", "postpone.default-bucket-num": "8"})
		var stops []func()
		for shard := range 3 {
			stops = append(stops, running(t, w.service(compactor.Config{Shard: shard, Shards: 3}, w.tables)))
		}
		for i := range int64(12) {
			w.postpone("db.a", "d1", nil, upserts(fmt.Sprint("v", i), i, 40+i))
			time.Sleep(30 * time.Second)
		}
		for _, stop := range stops {
			stop()
		}
		require.LessOrEqual(t, w.maxRuns("db.a"), 5)
		w.check(false)
	})
}

// TestChosenPartitionsAreRefusedForPostponedRows: Java refuses them too.
func TestChosenPartitionsAreRefusedForPostponedRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "-2"})
		w.postpone("db.a", "d1", nil, upserts("v", 0, 3))
		cfg := compactor.Config{StrictTables: true, PartitionFilter: func(string, map[string]string) bool { return true }}
		_, err := w.service(cfg, w.tables).Once(t.Context())
		require.ErrorIs(t, err, table.ErrOption)
		require.ErrorContains(t, err, "bucket is -2")

		jobs, err := w.service(compactor.Config{}, w.tables).Plan(t.Context())
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		require.EqualValues(t, table.PostponeBucket, jobs[0].Bucket)
		require.Equal(t, 1, jobs[0].Files)
		files, err := w.service(compactor.Config{}, w.tables).Explain(t.Context())
		require.NoError(t, err)
		require.Len(t, files, 1)
		require.Equal(t, "dt=d1", files[0].Partition)
		require.NotNil(t, files[0].Job)
	})
}
