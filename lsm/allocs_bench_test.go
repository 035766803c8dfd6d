//go:build !race

package lsm

import (
	"context"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// allocations counts those of a call in the steady state. Without collections pools stay full, so the number is exact.
func allocations(f func()) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	f()
	return testing.AllocsPerRun(3, f)
}

// TestAllocationsOfBuckets is a gate: rows that are appended, sorted, merged and handed on in batches allocate nothing by
// themselves. What a bucket and its parts take is the same for few rows and many.
func TestAllocationsOfBuckets(t *testing.T) {
	const per = 4096
	for _, keys := range [][]int{{0}, {2, 0}} {
		typ, batches := benchBatches("random", 8*per, per)
		idx := make([]int32, per)
		for i := range idx {
			idx[i] = int32(i)
		}
		rec := NewRecords(BufferSpec{Type: typ, Keys: keys, PageSize: 64 << 10})
		bufs := NewBuffers(rec, NewBudget(1<<30))
		var f Flusher
		sink := &nullSink{}
		out := Output{Data: func(*format.TwinSide) FileSink { return sink }, FanIn: 128}
		count := func(n int, flush bool) float64 {
			return allocations(func() {
				tree := bufs.NewMergeTree()
				for i, b := range batches[:n] {
					_, err := tree.Append(b, idx, int64(i*per))
					require.NoError(t, err)
				}
				if s := tree.Seal(); !flush {
					s.Discard()
				} else if _, err := s.Flush(context.Background(), &f, out); err != nil {
					t.Fatal(err)
				}
			})
		}
		for name, flush := range map[string]bool{"append": false, "append, sort, merge": true} {
			count(8, flush) // pools are filled
			require.LessOrEqual(t, count(2, flush), 18., "%s, keys %v, 8,192 rows", name, keys)
			require.LessOrEqual(t, count(8, flush), 23., "%s, keys %v, 32,768 rows: a list of pages grows", name, keys)
		}
	}
}

// TestAllocationsOfFiles is a gate: rows that are encoded into a file, with statistics, or are read and merged, allocate nothing by
// themselves. What more rows allocate is pages and blocks.
func TestAllocationsOfFiles(t *testing.T) {
	const few, many = 10, 30 // thousands of rows
	for formatID, most := range map[string]struct{ file, write, read float64 }{
		"parquet": {190, 13, 10},
		"avro":    {103, 2, 42},
	} {
		tab := benchTable(t, formatID)
		rows := benchRows(tab.Schema(), many, 0, 1)
		files := mustFiles(t, tab)
		var made []table.DataFile
		write := func(n int) float64 { return allocations(func() { made = benchWrite(t, files, rows[:n]) }) }
		read := func(n int) float64 {
			made = benchWrite(t, files, rows[:n])
			sc, err := newScanner(tab, &ScanOptions{})
			require.NoError(t, err)
			return allocations(func() {
				_, err := sc.bucket(t.Context(), &bucketFiles{partition: noPartition, files: made}, func(*row.Batch, error) bool { return true })
				require.NoError(t, err)
			})
		}
		first := write(few)
		require.LessOrEqual(t, first, most.file, "%s: a file of 10,000 rows", formatID)
		require.LessOrEqual(t, write(many)-first, most.write, "%s: writing 20,000 rows more", formatID)
		first = read(few)
		require.LessOrEqual(t, read(many)-first, most.read, "%s: reading 20,000 rows more", formatID)
	}
}
