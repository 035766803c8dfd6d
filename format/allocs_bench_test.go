//go:build !race

package format

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
)

// TestAllocationsOfStats is a gate: rows that statistics are collected of allocate nothing, once bounds have their room.
func TestAllocationsOfStats(t *testing.T) {
	rt := row.NewRow(row.Field{Name: "id", Type: row.Type{Root: row.BigInt}}, row.Field{Name: "s", Type: row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}},
		row.Field{Name: "d", Type: row.Type{Root: row.Decimal, Precision: 30, Scale: 2}})
	b := row.NewBatch(&rt)
	for i := range 4096 {
		b.Cols[0].AppendI64(int64(i * 7919 % 4096))
		b.Cols[1].AppendString(fmt.Sprintf("customer-%08d", i*7919%4096))
		b.Cols[2].AppendI128(row.Int128{Lo: uint64(i)})
		b.EndRow(row.Insert)
	}
	m := StatsTruncate(16)
	s := NewStatsCollector(&rt, []StatsMode{m, m, m})
	s.Collect(b)
	require.Zero(t, testing.AllocsPerRun(10, func() { s.Collect(b) }))
}
