//go:build !race

package parquet

import (
	"io"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format"
)

// TestAllocationsOfRows is a gate: what more rows of a file allocate is pages.
func TestAllocationsOfRows(t *testing.T) {
	const few, many = 2, 6 // batches
	for name, most := range map[string]struct{ file, more float64 }{"narrow": {107, 13}, "mixed": {275, 40}} {
		typ, in := narrowBatches()
		if name == "mixed" {
			typ, in = mixedBatches()
		}
		write := func(n int) float64 {
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			return testing.AllocsPerRun(2, func() {
				w, err := Format.NewWriter(io.Discard, format.WriteSpec{Type: typ, Compression: "zstd", ZstdLevel: 3})
				require.NoError(t, err)
				for _, b := range in[:n] {
					require.NoError(t, w.Write(b))
				}
				_, err = w.Close()
				require.NoError(t, err)
			})
		}
		write(many) // pools are filled
		first := write(few)
		require.LessOrEqual(t, first, most.file, "%s: a file of %d batches", name, few)
		require.LessOrEqual(t, write(many)-first, most.more, "%s: %d batches more", name, many-few)
	}
}
