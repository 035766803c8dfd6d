package lsm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// wideRows writes a file of rows of 49 columns, about 3.6 kB each; keys are first, first+step and so on.
func wideRows(t *testing.T, tab *table.Table, r *rand.Rand, text []byte, level int, first, step, rows, seq int64) []table.DataFile {
	kv := NewKeyValues(tab.Schema().RowType())
	for i := range rows {
		kv.Rows.Cols[0].AppendI64(first + i*step)
		for c := 1; c < len(kv.Rows.Cols); c += 2 {
			at := r.IntN(len(text) - 100)
			kv.Rows.Cols[c].AppendBytes(text[at : at+100])
			kv.Rows.Cols[c+1].AppendI64(r.Int64())
		}
		kv.Rows.EndRow(row.Insert)
		kv.Seq = append(kv.Seq, seq+i)
	}
	w := mustFiles(t, tab).NewWriter(t.Context(), noPartition, 0, level, Data, table.SourceAppend)
	require.NoError(t, w.Write(kv))
	files, err := w.Close()
	require.NoError(t, err)
	return files
}

// TestRewriteStaysWithinItsMemory merges 300 runs whose rows are wide and whose files are small enough to lie in memory
// unpacked as a whole: together they are four times the limit. Where old rows are looked up, there are two large files below.
func TestRewriteStaysWithinItsMemory(t *testing.T) {
	const limit, runs, rows, columns = 16 << 20, 300, 60, 24
	r := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 64<<10)
	for i := range text {
		text[i] = "abcdefghijklmnop"[r.IntN(16)]
	}
	const all = "300"
	cases := []struct{ format, producer, threshold string }{
		{"avro", "lookup", all}, {"parquet", "none", all}, {"avro", "none", all}, {"parquet", "lookup", all},
		{"parquet", "lookup", "20"}, {"parquet", "full-compaction", all},
	}
	if testing.Short() {
		cases = cases[:1]
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			fields := []row.Field{{Name: "id", Type: mustType(t, "BIGINT NOT NULL")}}
			for i := range columns {
				fields = append(fields, row.Field{Name: fmt.Sprint("s", i), Type: mustType(t, "STRING")}, row.Field{Name: fmt.Sprint("n", i), Type: mustType(t, "BIGINT")})
			}
			tab := mustCreate(t, table.Spec{Fields: fields, PrimaryKeys: []string{"id"}, Options: table.Options{"bucket": "1", "file.format": c.format,
				"file.compression": "snappy", "metadata.stats-mode": "none", "changelog-producer": c.producer,
				"sort-spill-threshold": c.threshold}})
			var files []table.DataFile
			runs, changes := int64(runs), int64(0)
			if c.producer == "lookup" {
				runs = 100
				for level := range int64(2) { // rows with even keys, of every fourth two
					files = append(files, wideRows(t, tab, r, text, 5-int(level), 0, 4-2*level, runs*rows/(4-2*level), level*runs*rows)...)
				}
			}
			below := int64(len(files))
			for n := range runs {
				files = append(files, wideRows(t, tab, r, text, 0, n, runs, rows, (2+n)*runs*rows)...)
			}
			levels := mustLevels(t, tab, files)
			u := unitOf(levels, int(runs), r)
			switch {
			case c.producer == "lookup":
				u.OutputLevel, changes = 3, runs*rows*3/2
			case c.producer != "none":
				changes = runs * rows
			}
			base := liveHeap()
			var (
				mu   sync.Mutex
				most int64
				n    int
			)
			rw := mustRewriter(t, tab, RewriterConfig{Memory: limit, Spill: mustSpill(t), Throttle: func(context.Context, int64) error {
				mu.Lock()
				defer mu.Unlock()
				if n++; n%50 == 0 {
					most = max(most, liveHeap()-base)
				}
				return nil
			}})
			_, stats, err := rw.Rewrite(t.Context(), noPartition, 0, levels, u)
			require.NoError(t, err)
			require.EqualValues(t, runs*rows, stats.RowsWritten)
			require.Equal(t, changes, stats.ChangelogRows)
			t.Logf("%d MiB at most, %d samples, %d MiB read, %d files below", most>>20, n/50, stats.BytesRead>>20, below)
			require.Less(t, most, int64(limit))
		})
	}
}

func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
