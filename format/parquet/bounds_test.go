package parquet

import (
	"bytes"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
)

// TestBoundsAreTheLeastAndTheGreatest takes values in by several calls and pages and compares with sorting them.
func TestBoundsAreTheLeastAndTheGreatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]boundsKind{boundsBytes, boundsText, boundsFixed}).Draw(t, "kind")
		total, page := bounds{kind: kind}, bounds{kind: kind}
		c := row.Column{}
		c.Init(&row.Type{Root: row.VarBinary, Length: row.MaxLength})
		for range rapid.IntRange(1, 40).Draw(t, "values") {
			b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x7F, 0x80, 0xFF}), 9, 9).Draw(t, "value")
			if kind != boundsFixed {
				b = append(bytes.Repeat([]byte{7}, rapid.SampledFrom([]int{0, 6, 8}).Draw(t, "same")), b[:rapid.IntRange(0, 9).Draw(t, "length")]...)
			}
			c.AppendBytes(b)
		}
		for from := 0; from < c.N; {
			to := from + rapid.IntRange(1, c.N-from).Draw(t, "to")
			v := values{n: to - from, bytes: c.Bytes, off: c.Off[from : to+1]}
			page.update(&v)
			if rapid.Bool().Draw(t, "page") {
				total.merge(&page)
				page.reset()
			}
			from = to
		}
		total.merge(&page)
		var all [][]byte
		for i := range c.N {
			all = append(all, c.Value(i))
		}
		sort.Slice(all, func(i, j int) bool {
			if kind == boundsFixed {
				x, _ := int128(all[i])
				y, _ := int128(all[j])
				return x.Hi < y.Hi || x.Hi == y.Hi && x.Lo < y.Lo
			}
			return bytes.Compare(all[i], all[j]) < 0
		})
		require.Equal(t, string(all[0]), string(total.appendMin(nil)))
		require.Equal(t, string(all[len(all)-1]), string(total.appendMax(nil)))
	})
}
