package parquet

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

// TestRoundTrip writes random rows of random types under random options and reads them again.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		typ := randomRow(rnd, rapid.IntRange(1, 6).Draw(t, "columns"), rapid.IntRange(0, 3).Draw(t, "depth"))
		s := shape{
			nulls:    rapid.SampledFrom([]int{0, 1, 30, 100}).Draw(t, "nulls"),
			distinct: rapid.SampledFrom([]int{0, 1, 2, 50}).Draw(t, "distinct"),
			listMax:  rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "list"),
		}
		spec := format.WriteSpec{
			Type:        typ,
			Compression: rapid.SampledFrom([]string{"none", "zstd", "snappy", "gzip", "lz4", "lz4_raw"}).Draw(t, "codec"),
			ZstdLevel:   rapid.IntRange(0, 3).Draw(t, "level"),
			BlockSize:   rapid.SampledFrom([]int64{0, 1, 4000, 100_000}).Draw(t, "block"),
			Options: map[string]string{
				keyPageSize:         rapid.SampledFrom([]string{"1", "300", "5000", "1048576"}).Draw(t, "page"),
				keyPageRows:         rapid.SampledFrom([]string{"1", "7", "20000"}).Draw(t, "pagerows"),
				keyDictSize:         rapid.SampledFrom([]string{"1", "400", "1048576"}).Draw(t, "dict"),
				keyEnableDictionary: fmt.Sprint(rapid.Bool().Draw(t, "dictionary")),
			},
		}
		var in []*row.Batch
		for range rapid.IntRange(0, 3).Draw(t, "batches") {
			in = append(in, randomBatch(rnd, typ, rapid.IntRange(0, 300).Draw(t, "rows"), s))
		}
		file := writeFile(t, spec, in...)
		got, err := readFileAs(file, format.ReadSpec{
			Type: typ, BatchRows: rapid.SampledFrom([]int{0, 1, 33, 100_000}).Draw(t, "batch"),
			BatchBytes: rapid.SampledFrom([]int{0, 1, 500, 1 << 20}).Draw(t, "bytes"),
		})
		require.NoError(t, err)
		requireSameRows(t, concat(typ, in...), got)
	})
}
