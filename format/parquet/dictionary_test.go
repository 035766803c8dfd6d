package parquet

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

// TestDictionariesStayWhereTheyPay writes columns whose values differ at first, or all along.
func TestDictionariesStayWhereTheyPay(t *testing.T) {
	text := row.Type{Root: row.VarChar, Length: row.MaxLength}
	for name, c := range map[string]struct {
		value func(rnd *rand.Rand, i int) string
		rows  int
		kept  bool
	}{
		"all differ, few rows":          {func(_ *rand.Rand, i int) string { return fmt.Sprintf("%080d", i) }, 300, false},
		"all differ":                    {func(_ *rand.Rand, i int) string { return fmt.Sprintf("%020d", i) }, 20_000, false},
		"keys of updates, one in three": {func(_ *rand.Rand, i int) string { return fmt.Sprintf("%08d", i*10/14) }, 20_000, false},
		"three thousand at random":      {func(rnd *rand.Rand, _ int) string { return fmt.Sprintf("%08d", rnd.Intn(3000)) }, 20_000, true},
		"a thousand at random":          {func(rnd *rand.Rand, _ int) string { return fmt.Sprintf("%080d", rnd.Intn(1000)) }, 20_000, true},
		"a thousand short ones in turn": {func(_ *rand.Rand, i int) string { return fmt.Sprintf("%03d", i%1000) }, 20_000, true},
		"one":                           {func(*rand.Rand, int) string { return "2026-11-01" }, 20_000, true},
		"differ for 100 rows, then one": {func(_ *rand.Rand, i int) string { return fmt.Sprintf("%0200d", min(i, 100)) }, 20_000, true},
	} {
		t.Run(name, func(t *testing.T) {
			typ := row.NewRow(row.Field{Name: "v", Type: text})
			rnd := rand.New(rand.NewSource(1))
			for _, step := range []int{c.rows, 7} { // in one batch, or in many
				var batches []*row.Batch
				for i := range c.rows {
					if i%step == 0 {
						batches = append(batches, row.NewBatch(&typ))
					}
					b := batches[len(batches)-1]
					b.Cols[0].AppendString(c.value(rnd, i))
					b.EndRow(row.Insert)
				}
				file := writeFile(t, format.WriteSpec{Type: &typ, Compression: "zstd"}, batches...)
				require.Equal(t, c.kept, footerOf(t, file).groups[0].chunks[0].hasDict, "batches of %d", step)
			}
		})
	}
}
