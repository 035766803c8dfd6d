package writer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// slowFiles blocks flushes until it is told to go on.
type slowFiles struct {
	fileMaker
	gate chan struct{}
}

func (f slowFiles) open(ctx context.Context, p []byte, b int32, twin *format.TwinSide) lsm.FileSink {
	select {
	case <-f.gate:
	case <-ctx.Done():
	}
	return f.fileMaker.open(ctx, p, b, twin)
}

func TestWriteWaitsOnlyWhenMemoryDiskAndPoolAreFull(t *testing.T) {
	_, tbl := guideTable(t, "write-buffer-size", "200 kb", "page-size", "4 kb", "write-buffer-spill.max-disk-size", "64 kb", "spill-compression", "none")
	gen, err := newGeneration(tbl, tbl.Schema(), false)
	require.NoError(t, err)
	gate := make(chan struct{})
	gen.files = slowFiles{gen.files, gate}
	var mu sync.Mutex
	waiters := map[string]int{}
	cfg := Config{Listener: Listener{Stall: func(i StallInfo) {
		mu.Lock()
		defer mu.Unlock()
		waiters[i.Waiter]++
	}}}
	w, err := open(t.Context(), tbl, cfg, gen, tbl.NewCommit("u", nil))
	require.NoError(t, err)
	var wrote atomic.Int32
	done := make(chan error, 1)
	go func() {
		for i := range 40 {
			if err := w.Write(context.Background(), batchOf(tbl, i*500, i*500+500, "d")); err != nil {
				done <- err
				return
			}
			wrote.Add(1)
		}
		done <- nil
	}()
	require.Eventually(t, func() bool {
		s := w.Stats()
		return s.SpilledBytes >= 64<<10 && s.BufferBytes > 150<<10
	}, waitFor, tick)
	require.Less(t, wrote.Load(), int32(40)) // everything is full
	require.Positive(t, wrote.Load())
	close(gate)
	require.NoError(t, <-done)
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Close(t.Context()))
	s := w.Stats()
	require.Positive(t, s.Spills)
	require.Positive(t, s.EarlyFlushes)
	require.Positive(t, s.Stalls)
	require.Positive(t, s.StallTime)
	require.NotEmpty(t, waiters)
	require.Len(t, contents(t, tbl), 20000)
	requireSequencesOfRuns(t, tbl)
}

// requireSequencesOfRuns is that every row of a bucket has been counted once.
func requireSequencesOfRuns(t *testing.T, tbl *table.Table) {
	s, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 20000, s.TotalRecordCount)
}

func TestPressureMakesOneRunOfFilesABucket(t *testing.T) {
	fsys, tbl := guideTable(t, "write-buffer-size", "200 kb", "page-size", "4 kb")
	w := openWriter(t, tbl, Config{})
	for i := range 20 {
		require.NoError(t, w.Write(t.Context(), batchOf(tbl, i*1000, i*1000+1000, "d")))
	}
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Wait(t.Context()))
	require.Positive(t, w.Stats().Spills)
	require.Len(t, dataFiles(t, fsys), 2) // of 2 buckets
	require.Len(t, contents(t, tbl), 20000)
}

func TestTablesOfOneProcessShareItsMemory(t *testing.T) {
	root := lsm.NewBudget(300 << 10)
	var ws []*Writer
	var tables []*table.Table
	for range 3 {
		_, tbl := guideTable(t, "page-size", "4 kb")
		ws = append(ws, openWriter(t, tbl, Config{Memory: root}))
		tables = append(tables, tbl)
	}
	for i := range 30 { // table 0 stops early and still holds memory that the others need
		for k, w := range ws {
			if k > 0 || i < 5 {
				require.NoError(t, w.Write(t.Context(), batchOf(tables[k], i*300, i*300+300, "d")))
			}
			require.LessOrEqual(t, root.Used(), int64(400<<10))
		}
	}
	for k, w := range ws {
		require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
		require.NoError(t, w.Close(t.Context()))
		n := 9000
		if k == 0 {
			n = 1500
		}
		require.Len(t, contents(t, tables[k]), n)
	}
	require.Zero(t, root.Used())
}

func TestWritersShareAPool(t *testing.T) {
	pool := NewPool(1)
	defer pool.Close()
	for round := range 3 {
		var ws []*Writer
		var tables []*table.Table
		for i := range 4 {
			_, tbl := guideTable(t, "page-size", "1 kb", "write-buffer-size", "20 kb")
			ws, tables = append(ws, openWriter(t, tbl, Config{Pool: pool})), append(tables, tbl)
			require.NoError(t, ws[i].Write(t.Context(), batchOf(tbl, 0, 2000, "d")))
			require.NoError(t, ws[i].Checkpoint(t.Context(), 1, nil))
		}
		for i, w := range ws {
			require.NoError(t, w.Close(t.Context()), "round %d", round)
			require.Len(t, contents(t, tables[i]), 2000)
		}
	}
}

func TestManySmallBucketsTakeLittleMemory(t *testing.T) {
	_, tbl := guideTable(t)
	gen, err := newGeneration(tbl, tbl.Schema(), false)
	require.NoError(t, err)
	gen.files = noFiles{}
	w, err := open(t.Context(), tbl, Config{}, gen, tbl.NewCommit("u", nil))
	require.NoError(t, err)
	b := row.NewBatch(tbl.Schema().RowType())
	for i := range 10_000 {
		appendRow(b, row.Insert, 1, strings.Repeat("x", 100), fmt.Sprint("day", i))
		appendRow(b, row.Insert, 2, strings.Repeat("x", 100), fmt.Sprint("day", i))
	}
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.Flush(t.Context()))
	require.Zero(t, w.Stats().Spills)
	require.NoError(t, w.Close(t.Context()))
}

// A shard that waits with a row larger than all memory acts on what the other shards say they hold. When that was old, and
// the shard it named had just met a barrier, nobody woke it: the writer stood still for ever.
func TestRowsLargerThanMemoryNeverHang(t *testing.T) {
	ctx := context.Background()
	fsys := mem.New()
	tbl := createTable(t, fsys, table.Spec{
		Fields: guideFields(), PrimaryKeys: []string{"dt", "id"},
		Options: table.Options{
			"bucket": "8", "write-only": "true", "file.format": "avro", "spill-compression": "none",
			"write-buffer-size": "2 kb", "page-size": "1 kb", "sink.parallelism": "4",
		},
	})
	w, err := Open(ctx, tbl, Config{CommitUser: "u"})
	require.NoError(t, err)
	b := row.NewBatch(w.Type())
	for i := range int64(64) {
		data := "small"
		if i%8 == 7 {
			data = strings.Repeat("x", 3000)
		}
		appendRow(b, row.Insert, i, data, "d")
	}
	for id := range int64(200) {
		require.NoError(t, w.Write(ctx, b))
		require.NoError(t, w.Checkpoint(ctx, id+1, nil))
	}
	require.NoError(t, w.Close(ctx))
	require.Len(t, contents(t, tbl), 64)
}

// TestRowsAndCompactionsShareTheMemoryOfATable: what compactions may use, rows don't get.
func TestRowsAndCompactionsShareTheMemoryOfATable(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		buffer, memory         int64
		compactions, held, own int64 // own: of rows
	}{
		{256 * mib, 0, 64 * mib, 64 * mib, 192 * mib},
		{2048 * mib, 0, 256 * mib, 256 * mib, 1792 * mib},
		{48 * mib, 0, 16 * mib, 16 * mib, 32 * mib},
		{8 * mib, 0, 16 * mib, 4 * mib, 4 * mib},
		{8 * mib, 16 * mib, 16 * mib, 4 * mib, 4 * mib},
		{64 * mib, 32 * mib, 32 * mib, 32 * mib, 32 * mib},
		{64 * mib, 33 * mib, 0, 0, 0},
	} {
		root := lsm.NewBudget(4096 * mib)
		_, tbl := guideTable(t, "write-only", "false", "write-buffer-size", fmt.Sprint(c.buffer))
		w, err := Open(t.Context(), tbl, Config{Memory: root, CompactionWorkers: 2, CompactionMemory: c.memory})
		if c.held == 0 {
			require.ErrorIs(t, err, table.ErrOption)
			require.ErrorContains(t, err, "write-buffer-size")
		} else {
			require.NoError(t, err)
			require.Equal(t, c.compactions, w.inline.pool.Memory())
			require.Equal(t, c.held, root.Used())
			require.Equal(t, c.own, w.Stats().BufferLimit)
			require.NoError(t, w.Close(t.Context()))
		}
		require.Zero(t, root.Used())
	}
}

// TestAProcessHasRoomForRows: pools of its writers take half of its memory at most, together.
func TestAProcessHasRoomForRows(t *testing.T) {
	root := lsm.NewBudget(100 << 20)
	var tables []*table.Table
	for range 4 {
		_, tbl := guideTable(t, "write-only", "false", "write-buffer-size", "64 mb")
		tables = append(tables, tbl)
	}
	for i, tbl := range tables[:3] {
		_ = openWriter(t, tbl, Config{Memory: root})
		require.EqualValues(t, (i+1)*16<<20, root.Used())
	}
	_, err := Open(t.Context(), tables[3], Config{Memory: root})
	require.ErrorIs(t, err, table.ErrOption)
	require.ErrorContains(t, err, "share a pool")
	pool, err := NewCompactionPool(1, 2<<20, root)
	require.NoError(t, err)
	w := openWriter(t, tables[3], Config{Memory: root, Compactions: pool})
	require.EqualValues(t, 50<<20, root.Used())
	require.NoError(t, w.Write(t.Context(), batchOf(tables[3], 0, 1000, "d")))
	require.NoError(t, w.Close(t.Context()))
	pool.Close()
	require.EqualValues(t, 48<<20, root.Used())
}
