package parquet

import (
	"fmt"
	"io"
	"math/rand"
	"testing"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// BenchmarkArrowGo writes the six-column table with arrow-go's own column writers: the yardstick for ours.
func BenchmarkArrowGo(b *testing.B) {
	const rows, batch = 100_000, 4096
	for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Zstd} {
		b.Run(fmt.Sprint(codec), func(b *testing.B) {
			f := schema.FieldList{
				schema.NewInt64Node("_KEY_id", pq.Repetitions.Required, 1),
				schema.NewInt64Node("_SEQUENCE_NUMBER", pq.Repetitions.Required, 2),
				schema.NewInt32Node("_VALUE_KIND", pq.Repetitions.Required, 3),
				schema.NewInt64Node("id", pq.Repetitions.Required, 4),
				schema.NewByteArrayNode("data", pq.Repetitions.Optional, 5),
				schema.NewByteArrayNode("dt", pq.Repetitions.Required, 6),
			}
			root, err := schema.NewGroupNode("paimon_schema", pq.Repetitions.Required, f, -1)
			if err != nil {
				b.Fatal(err)
			}
			props := pq.NewWriterProperties(pq.WithVersion(pq.V1_0), pq.WithCompression(codec), pq.WithCompressionLevel(3), pq.WithPageIndexEnabled(true))
			data := make([]byte, rows*100)
			rnd := rand.New(rand.NewSource(1))
			for i := range data {
				data[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[rnd.Intn(64)]
			}
			ids, seqs, kinds := make([]int64, rows), make([]int64, rows), make([]int32, rows)
			for i := range ids {
				ids[i] = int64(i * 17)
				seqs[i] = rnd.Int63n(1 << 20)
			}
			strs, dts, defs := make([]pq.ByteArray, batch), make([]pq.ByteArray, batch), make([]int16, batch)
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				w := file.NewParquetWriter(io.Discard, root, file.WithWriterProps(props))
				rg, err := w.AppendBufferedRowGroupChecked()
				if err != nil {
					b.Fatal(err)
				}
				col := func(i int) file.ColumnChunkWriter {
					c, err := rg.Column(i)
					if err != nil {
						b.Fatal(err)
					}
					return c
				}
				for from := 0; from < rows; from += batch {
					to := min(from+batch, rows)
					for i := from; i < to; i++ {
						strs[i-from] = data[i*100 : i*100+100]
						dts[i-from] = []byte("2024-01-01")
						defs[i-from] = 1
					}
					n := to - from
					_, _ = col(0).(*file.Int64ColumnChunkWriter).WriteBatch(ids[from:to], nil, nil)
					_, _ = col(1).(*file.Int64ColumnChunkWriter).WriteBatch(seqs[from:to], nil, nil)
					_, _ = col(2).(*file.Int32ColumnChunkWriter).WriteBatch(kinds[from:to], nil, nil)
					_, _ = col(3).(*file.Int64ColumnChunkWriter).WriteBatch(ids[from:to], nil, nil)
					_, _ = col(4).(*file.ByteArrayColumnChunkWriter).WriteBatch(strs[:n], defs[:n], nil)
					_, _ = col(5).(*file.ByteArrayColumnChunkWriter).WriteBatch(dts[:n], nil, nil)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
			b.ReportMetric(float64(cpuTime()-start)/float64(b.N)/rows, "cpu-ns/row")
		})
	}
}
