//go:build !race

package writer

import (
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

// TestAllocationsOfRows is a gate: rows on their way through a writer, from Write to the sorted batches that a file gets, allocate nothing
// by themselves.
func TestAllocationsOfRows(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const per = 4096
	spec := table.Spec{Fields: guideFields(), PrimaryKeys: []string{"dt", "id"}, PartitionKeys: []string{"dt"},
		Options: table.Options{"bucket": "4", "write-only": "true", "write-buffer-size": "1 gb"}}
	tbl := createTable(t, mem.New(), spec)
	gen, err := newGeneration(tbl, tbl.Schema(), false)
	require.NoError(t, err)
	gen.files = noFiles{}
	w, err := open(t.Context(), tbl, Config{CommitUser: "gate", Shards: 1, FlushWorkers: 1}, gen, tbl.NewCommit("gate", nil))
	require.NoError(t, err)
	b := row.NewBatch(gen.typ)
	for i := range per {
		appendRow(b, row.Insert, int64(i*7919%per), fmt.Sprintf("%0100d", i), "2024-01-01")
	}
	id := int64(0)
	count := func(n int) float64 {
		return testing.AllocsPerRun(3, func() {
			for range n {
				require.NoError(t, w.Write(t.Context(), b))
			}
			id++
			require.NoError(t, w.Checkpoint(t.Context(), id, nil))
			require.NoError(t, w.Wait(t.Context()))
		})
	}
	count(40)
	few := count(10)
	require.LessOrEqual(t, few, 400., "a checkpoint of 40,960 rows")
	require.LessOrEqual(t, count(40)-few, 30., "122,880 rows more: lists of pages grow")
	require.NoError(t, w.Close(t.Context()))
}
