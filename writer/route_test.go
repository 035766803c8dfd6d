package writer

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

// A row that is dropped still has a partition: the one after it must not take that of the one before.
func TestRowsAfterADroppedRowGoToTheirOwnPartition(t *testing.T) {
	ctx := context.Background()
	tbl := createTable(t, mem.New(), table.Spec{Fields: guideFields(), PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "id"},
		Options: table.Options{"bucket": "1", "write-only": "true", "ignore-update-before": "true"}})
	w, err := Open(ctx, tbl, Config{})
	require.NoError(t, err)
	b := row.NewBatch(tbl.Schema().RowType())
	appendRow(b, row.Insert, 1, "one", "day1")
	appendRow(b, row.Insert, 2, "two", "day2")
	appendRow(b, row.UpdateBefore, 1, "one", "day1")
	appendRow(b, row.UpdateAfter, 1, "uno", "day1")
	require.NoError(t, w.Write(ctx, b))
	require.NoError(t, w.Checkpoint(ctx, 1, nil))
	require.NoError(t, w.Close(ctx))
	got := contents(t, tbl)
	require.Len(t, got, 2, "%v", got)
	for k, v := range got {
		require.NotContains(t, k+v, "one", "the old value is still there: %v", got)
	}
}
