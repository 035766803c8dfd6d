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

// TestRewriteStaysWithinItsMemory merges 300 runs whose rows are wide and whose files are small enough to lie in memory
// unpacked as a whole: together they are four times the limit.
func TestRewriteStaysWithinItsMemory(t *testing.T) {
	const limit, runs, rows, columns = 16 << 20, 300, 60, 24
	r := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 64<<10)
	for i := range text {
		text[i] = "abcdefghijklmnop"[r.IntN(16)]
	}
	for _, formatID := range []string{"parquet", "avro"} {
		t.Run(formatID, func(t *testing.T) {
			fields := []row.Field{{Name: "id", Type: mustType(t, "BIGINT NOT NULL")}}
			for i := range columns {
				fields = append(fields, row.Field{Name: fmt.Sprint("s", i), Type: mustType(t, "STRING")}, row.Field{Name: fmt.Sprint("n", i), Type: mustType(t, "BIGINT")})
			}
			tab := mustCreate(t, table.Spec{Fields: fields, PrimaryKeys: []string{"id"},
				Options: table.Options{"bucket": "1", "file.format": formatID, "file.compression": "snappy", "metadata.stats-mode": "none"}})
			var files []table.DataFile
			kv := NewKeyValues(tab.Schema().RowType())
			for n := range int64(runs) {
				kv.Reset()
				for i := range int64(rows) {
					kv.Rows.Cols[0].AppendI64(i*runs + n)
					for c := 1; c < len(fields); c += 2 {
						at := r.IntN(len(text) - 100)
						kv.Rows.Cols[c].AppendBytes(text[at : at+100])
						kv.Rows.Cols[c+1].AppendI64(r.Int64())
					}
					kv.Rows.EndRow(row.Insert)
					kv.Seq = append(kv.Seq, n*rows+i)
				}
				files = append(files, mustWrite(t, tab, kv, Data)...)
			}
			levels := mustLevels(t, tab, files)
			kv = nil
			base := liveHeap()
			var (
				mu   sync.Mutex
				most int64
				n    int
			)
			rw := mustRewriter(t, tab, RewriterConfig{Memory: limit, Spill: mustSpill(t), Throttle: func(context.Context, int64) error {
				mu.Lock()
				defer mu.Unlock()
				if n++; n%100 == 0 {
					most = max(most, liveHeap()-base)
				}
				return nil
			}})
			_, stats, err := rw.Rewrite(t.Context(), noPartition, 0, levels, unitOf(levels, runs, r))
			require.NoError(t, err)
			require.EqualValues(t, runs*rows, stats.RowsWritten)
			t.Logf("%d MiB at most, %d samples, %d MiB read", most>>20, n/100, stats.BytesRead>>20)
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
