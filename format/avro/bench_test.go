package avro

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

const benchRows = 4096

// keyValueBatch is (BIGINT key, seq, kind, BIGINT, 100 B of random text, constant text).
func keyValueBatch() *row.Batch {
	str := row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}
	typ := row.NewRow(
		row.Field{Name: "_KEY_id", Type: row.Type{Root: row.BigInt}},
		row.Field{Name: "_SEQUENCE_NUMBER", Type: row.Type{Root: row.BigInt}},
		row.Field{Name: "_VALUE_KIND", Type: row.Type{Root: row.TinyInt}},
		row.Field{Name: "id", Type: row.Type{Root: row.BigInt}},
		row.Field{Name: "data", Type: str},
		row.Field{Name: "dt", Type: str})
	b := row.NewBatch(&typ)
	r := rand.New(rand.NewPCG(1, 2))
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	data := make([]byte, 100)
	for i := range benchRows {
		for k := range data {
			data[k] = letters[r.IntN(64)]
		}
		id := int64(i)*7 + 1_000_000
		b.Cols[0].AppendI64(id)
		b.Cols[1].AppendI64(5_000_000 + r.Int64N(benchRows))
		b.Cols[2].AppendI32(0)
		b.Cols[3].AppendI64(id)
		b.Cols[4].AppendBytes(data)
		b.Cols[5].AppendString("2024-01-01")
		b.N++
	}
	return b
}

// mixedBatch has 20 columns of business data, some null.
func mixedBatch() *row.Batch {
	typ := row.NewRow(row.Field{Name: "_KEY_id", Type: row.Type{Root: row.BigInt}}, row.Field{Name: "_SEQUENCE_NUMBER", Type: row.Type{Root: row.BigInt}},
		row.Field{Name: "_VALUE_KIND", Type: row.Type{Root: row.TinyInt}})
	str := row.Type{Root: row.VarChar, Length: row.MaxLength}
	for i, t := range []row.Type{{Root: row.BigInt}, {Root: row.BigInt}, {Root: row.Int}, {Root: row.Int}, {Root: row.SmallInt}, {Root: row.Boolean},
		{Root: row.Double}, {Root: row.Decimal, Precision: 12, Scale: 2}, {Root: row.Decimal, Precision: 30, Scale: 4}, {Root: row.Date},
		{Root: row.Timestamp, Precision: 6}, {Root: row.Timestamp, Precision: 3}, str, str, str, str, {Root: row.VarBinary, Length: 16}} {
		t.Nullable = i > 0
		typ.Fields = append(typ.Fields, row.Field{Name: fmt.Sprintf("c%d", i), Type: t})
	}
	b := row.NewBatch(&typ)
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"order", "paid", "shipped", "customer", "address", "warehouse", "pending", "invoice"}
	for i := range benchRows {
		for c := range b.Cols {
			col := &b.Cols[c]
			switch t := col.Type; {
			case c < 2:
				col.AppendI64(int64(i) + 1e6)
			case t.Nullable && r.IntN(8) == 0:
				col.AppendNull()
			case t.Store() == row.StoreI32:
				col.AppendI32(int32(r.IntN(2 + 98*int(min(1, t.Root-row.Boolean)))))
			case t.Root == row.Timestamp:
				col.AppendI64(1.7e15 + r.Int64N(1e12))
			case t.Store() == row.StoreI64:
				col.AppendI64(r.Int64N(1e6))
			case t.Store() == row.StoreI128:
				col.AppendI128(row.Int128{Lo: r.Uint64()})
			case t.Store() == row.StoreF64:
				col.AppendF64(r.Float64() * 100)
			case t.Root == row.VarBinary:
				var u [16]byte
				for k := range u {
					u[k] = byte(r.Uint32())
				}
				col.AppendBytes(u[:])
			default:
				col.AppendString(words[r.IntN(8)] + " " + words[r.IntN(8)])
			}
		}
		b.N++
	}
	return b
}

var benchBatches = map[string]func() *row.Batch{"keyvalue": keyValueBatch, "mixed20": mixedBatch}

func BenchmarkWrite(b *testing.B) {
	for _, name := range []string{"keyvalue", "mixed20"} {
		batch := benchBatches[name]()
		for _, c := range []string{"null", "zstd1", "zstd3", "zstd6", "snappy", "deflate"} {
			spec := format.WriteSpec{Type: batch.Type, Compression: c}
			if n, _ := fmt.Sscanf(c, "zstd%d", &spec.ZstdLevel); n == 1 {
				spec.Compression = "zstd"
			}
			b.Run(name+"/"+c, func(b *testing.B) {
				b.ReportAllocs()
				w, err := Format.NewWriter(io.Discard, spec)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := w.Write(batch); err != nil {
						b.Fatal(err)
					}
				}
				sum, err := w.Close()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(sum.Rows), "ns/row")
				b.ReportMetric(float64(sum.Bytes)/float64(sum.Rows), "B/row")
			})
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, name := range []string{"keyvalue", "mixed20"} {
		batch := benchBatches[name]()
		for _, c := range []string{"null", "zstd", "snappy"} {
			file := writeFile(b, batch, format.WriteSpec{Compression: c, ZstdLevel: 3}, benchRows)
			b.Run(name+"/"+c, func(b *testing.B) {
				b.ReportAllocs()
				dst := row.NewBatch(batch.Type)
				rows := 0
				for b.Loop() {
					r, err := Format.NewReader(bytes.NewReader(file), int64(len(file)), format.ReadSpec{Type: batch.Type})
					for err == nil {
						err = r.Next(dst)
						rows += dst.N
					}
					if err != io.EOF {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
			})
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func formatSpec(b *row.Batch) format.WriteSpec {
	return format.WriteSpec{Type: b.Type, Compression: "null"}
}
