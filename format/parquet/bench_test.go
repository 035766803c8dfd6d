package parquet

import (
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"syscall"
	"testing"
	"time"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/stretchr/testify/require"
)

const benchRows, benchBatch = 100_000, 4096

func nullable(t row.Type) row.Type { t.Nullable = true; return t }

var stringType = row.Type{Root: row.VarChar, Length: row.MaxLength}

// narrowBatches are rows of the smallest key-value file: key, sequence number, kind, id, 100 random characters, and a
// constant partition.
func narrowBatches() (*row.Type, []*row.Batch) {
	t := row.NewRow(
		row.Field{ID: 1073741823, Name: "_KEY_id", Type: row.Type{Root: row.BigInt}},
		row.Field{ID: 2147483646, Name: "_SEQUENCE_NUMBER", Type: row.Type{Root: row.BigInt}},
		row.Field{ID: 2147483645, Name: "_VALUE_KIND", Type: row.Type{Root: row.TinyInt}},
		row.Field{ID: 0, Name: "id", Type: row.Type{Root: row.BigInt}},
		row.Field{ID: 1, Name: "data", Type: nullable(stringType)},
		row.Field{ID: 2, Name: "dt", Type: stringType})
	rnd := rand.New(rand.NewSource(1))
	return &t, batches(&t, func(b *row.Batch, i int) {
		b.Cols[0].AppendI64(int64(i * 17))
		b.Cols[1].AppendI64(rnd.Int63n(1 << 20))
		b.Cols[2].AppendI32(0)
		b.Cols[3].AppendI64(int64(i * 17))
		b.Cols[4].AppendString(randomText(rnd, 100))
		b.Cols[5].AppendString("2024-01-01")
	})
}

// mixedBatches are rows of a business table of 20 columns.
func mixedBatches() (*row.Type, []*row.Batch) {
	types := []row.Type{
		{Root: row.BigInt}, {Root: row.BigInt}, {Root: row.TinyInt}, {Root: row.BigInt},
		nullable(row.Type{Root: row.Int}), nullable(row.Type{Root: row.Int}), nullable(row.Type{Root: row.SmallInt}),
		nullable(row.Type{Root: row.Boolean}), nullable(row.Type{Root: row.Double}), nullable(row.Type{Root: row.Float}),
		nullable(row.Type{Root: row.Decimal, Precision: 10, Scale: 2}), nullable(row.Type{Root: row.Decimal, Precision: 24, Scale: 4}),
		nullable(row.Type{Root: row.Date}), nullable(row.Type{Root: row.Timestamp, Precision: 6}), nullable(row.Type{Root: row.Timestamp, Precision: 6}),
		nullable(stringType), nullable(stringType), nullable(stringType), nullable(stringType), {Root: row.VarChar, Length: 10},
	}
	var t row.Type
	t.Root = row.Row
	for i, x := range types {
		t.Fields = append(t.Fields, row.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: x})
	}
	rnd := rand.New(rand.NewSource(2))
	return &t, batches(&t, func(b *row.Batch, i int) {
		for j := range b.Cols {
			c := &b.Cols[j]
			if c.Type.Nullable && rnd.Intn(10) == 0 {
				c.AppendNull()
				continue
			}
			switch j {
			case 0, 3:
				c.AppendI64(int64(i * 7))
			case 1:
				c.AppendI64(rnd.Int63n(1 << 24))
			case 2:
				c.AppendI32(0)
			case 4, 12:
				c.AppendI32(int32(rnd.Intn(1000)))
			case 5:
				c.AppendI32(int32(rnd.Intn(1 << 30)))
			case 6:
				c.AppendI32(int32(rnd.Intn(20)))
			case 7:
				c.AppendI32(int32(rnd.Intn(2)))
			case 8:
				c.AppendF64(rnd.Float64() * 1000)
			case 9:
				c.AppendF32(float32(rnd.Intn(100)) / 4)
			case 10:
				c.AppendI64(rnd.Int63n(1_000_000))
			case 11:
				c.AppendI128(row.Int128{Lo: uint64(rnd.Int63n(1 << 40))})
			case 13, 14:
				c.AppendI64(1_700_000_000_000_000 + int64(i)*1000 + rnd.Int63n(1000))
			case 15:
				c.AppendString([]string{"order", "paid", "shipped", "returned", "cancelled"}[rnd.Intn(5)])
			case 16:
				c.AppendString(fmt.Sprintf("customer-%06d", rnd.Intn(5000)))
			case 17:
				c.AppendString(fmt.Sprintf("%d Long Street, City %d, Country", rnd.Intn(10000), rnd.Intn(300)))
			case 18:
				c.AppendString(randomText(rnd, 16))
			case 19:
				c.AppendString("2024-01-01")
			}
		}
	})
}

func randomText(rnd *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[rnd.Intn(64)]
	}
	return string(b)
}

func batches(t *row.Type, fill func(b *row.Batch, i int)) (out []*row.Batch) {
	for from := 0; from < benchRows; from += benchBatch {
		b := row.NewBatch(t)
		for i := from; i < min(from+benchBatch, benchRows); i++ {
			fill(b, i)
			b.EndRow(row.Insert)
		}
		out = append(out, b)
	}
	return out
}

// cpuTime is what the process has used: on a machine that others use too it says more than the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkWrite(b *testing.B) {
	for _, table := range []string{"narrow", "mixed"} {
		t, in := narrowBatches()
		if table == "mixed" {
			t, in = mixedBatches()
		}
		for _, c := range []struct {
			codec string
			level int
		}{{"none", 0}, {"zstd", 1}, {"zstd", 3}, {"lz4", 0}} {
			b.Run(fmt.Sprintf("%s/%s%d", table, c.codec, c.level), func(b *testing.B) {
				var size int64
				b.ReportAllocs()
				start := cpuTime()
				for b.Loop() {
					w, err := Format.NewWriter(io.Discard, format.WriteSpec{Type: t, Compression: c.codec, ZstdLevel: c.level})
					require.NoError(b, err)
					for _, x := range in {
						require.NoError(b, w.Write(x))
					}
					s, err := w.Close()
					require.NoError(b, err)
					size = s.Bytes
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
				b.ReportMetric(float64(cpuTime()-start)/float64(b.N)/benchRows, "cpu-ns/row")
				b.ReportMetric(float64(size)/benchRows, "B/row")
			})
		}
	}
}

// BenchmarkWriteSmall writes files of 100 rows: what a file costs by itself.
func BenchmarkWriteSmall(b *testing.B) {
	t, in := mixedBatches()
	x := &row.Batch{Type: t, N: 100, Cols: make([]row.Column, len(in[0].Cols))}
	for i := range x.Cols {
		x.Cols[i].Init(in[0].Cols[i].Type)
		x.Cols[i].AppendRange(&in[0].Cols[i], 0, 100)
	}
	b.ReportAllocs()
	start := cpuTime()
	for b.Loop() {
		w, err := Format.NewWriter(io.Discard, format.WriteSpec{Type: t})
		require.NoError(b, err)
		require.NoError(b, w.Write(x))
		_, err = w.Close()
		require.NoError(b, err)
	}
	b.ReportMetric(float64(cpuTime()-start)/float64(b.N)/1e3, "cpu-µs/file")
}

func BenchmarkRead(b *testing.B) {
	for _, table := range []string{"narrow", "mixed"} {
		t, in := narrowBatches()
		if table == "mixed" {
			t, in = mixedBatches()
		}
		for _, codec := range []string{"none", "zstd"} {
			file := writeFile(b, format.WriteSpec{Type: t, Compression: codec}, in...)
			b.Run(table+"/"+codec, func(b *testing.B) {
				dst := row.NewBatch(t)
				b.ReportAllocs()
				start := cpuTime()
				for b.Loop() {
					r, err := Format.NewReader(bytes.NewReader(file), int64(len(file)), format.ReadSpec{Type: t})
					require.NoError(b, err)
					rows := 0
					for {
						if err = r.Next(dst); err != nil {
							break
						}
						rows += dst.N
					}
					require.Equal(b, io.EOF, err)
					require.Equal(b, benchRows, rows)
					require.NoError(b, r.Close())
				}
				b.ReportMetric(float64(cpuTime()-start)/float64(b.N)/benchRows, "cpu-ns/row")
			})
		}
	}
}
