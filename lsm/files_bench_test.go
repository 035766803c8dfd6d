package lsm

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// benchTable has rows of about 140 bytes: BIGINT key, 100 random characters, a date as text.
func benchTable(b testing.TB, formatID string) *table.Table {
	return mustCreate(b, table.Spec{
		Fields: []row.Field{
			{Name: "id", Type: mustType(b, "BIGINT NOT NULL")}, {Name: "data", Type: mustType(b, "STRING")}, {Name: "dt", Type: mustType(b, "STRING NOT NULL")},
		},
		PrimaryKeys: []string{"id"}, Options: table.Options{"bucket": "1", "file.format": formatID},
	})
}

// benchRows makes batches of 1000 rows with every step-th key from first on.
func benchRows(s *table.Schema, batches, first, step int) []*KeyValues {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 100)
	var out []*KeyValues
	for n := range batches {
		kv := NewKeyValues(s.RowType())
		for i := range checkRows {
			for j := range data {
				data[j] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[r.IntN(64)]
			}
			kv.Rows.Cols[0].AppendI64(int64(first + (n*checkRows+i)*step))
			kv.Rows.Cols[1].AppendBytes(data)
			kv.Rows.Cols[2].AppendString("2024-01-01")
			kv.Rows.EndRow(row.Insert)
			kv.Seq = append(kv.Seq, int64(n*checkRows+i))
		}
		out = append(out, kv)
	}
	return out
}

func benchWrite(b testing.TB, f *Files, rows []*KeyValues) []table.DataFile {
	w := f.NewWriter(b.Context(), noPartition, 0, 0, Data, table.SourceAppend)
	for _, kv := range rows {
		require.NoError(b, w.Write(kv))
	}
	files, err := w.Close()
	require.NoError(b, err)
	return files
}

func BenchmarkWriteFile(b *testing.B) {
	for _, formatID := range []string{"parquet", "avro"} {
		b.Run(formatID, func(b *testing.B) {
			tab := benchTable(b, formatID)
			rows := benchRows(tab.Schema(), 200, 0, 1)
			f := mustFiles(b, tab)
			b.ReportAllocs()
			for b.Loop() {
				benchWrite(b, f, rows)
			}
			b.ReportMetric(float64(b.N*len(rows)*checkRows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkMergeRead(b *testing.B) {
	for _, formatID := range []string{"parquet", "avro"} {
		for _, runs := range []int{1, 2, 8} {
			b.Run(fmt.Sprintf("%s/%d runs", formatID, runs), func(b *testing.B) {
				tab := benchTable(b, formatID)
				f := mustFiles(b, tab)
				var all []table.DataFile
				for i := range runs {
					all = append(all, benchWrite(b, f, benchRows(tab.Schema(), 200/runs, i, runs))...)
				}
				sc, err := newScanner(tab, &ScanOptions{})
				require.NoError(b, err)
				b.ReportAllocs()
				total := 0
				for b.Loop() {
					_, err := sc.bucket(b.Context(), &bucketFiles{partition: noPartition, files: all}, func(rows *row.Batch, err error) bool {
						require.NoError(b, err)
						total += rows.N
						return true
					})
					if err != nil && !errors.Is(err, io.EOF) {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
