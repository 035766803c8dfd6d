package row

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchBatch has 4096 rows of a usual key and some values: id BIGINT, tenant STRING, n INT with nulls, price DECIMAL(38,4),
// at TIMESTAMP(6).
func benchBatch() *Batch {
	typ, err := ParseType("ROW<id BIGINT NOT NULL, tenant STRING NOT NULL, n INT, price DECIMAL(38, 4), at TIMESTAMP(6)>")
	if err != nil {
		panic(err)
	}
	b := NewBatch(&typ)
	r := rand.New(rand.NewPCG(1, 2))
	for range 4096 {
		b.Cols[0].AppendI64(r.Int64())
		b.Cols[1].AppendString(fmt.Sprintf("tenant-%06d", r.IntN(1000)))
		if r.IntN(4) == 0 {
			b.Cols[2].AppendNull()
		} else {
			b.Cols[2].AppendI32(r.Int32())
		}
		b.Cols[3].AppendI128(Int128FromInt64(r.Int64()))
		b.Cols[4].AppendI64(r.Int64N(1 << 50))
		b.EndRow(Insert)
	}
	return b
}

func perRow(b *testing.B, rows int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func BenchmarkBuckets(b *testing.B) {
	batch := benchBatch()
	cols := columns(batch)
	for name, key := range map[string][]*Column{"bigint": cols[:1], "string": cols[1:2], "bigint,int": {cols[0], cols[2]}, "string,bigint": {cols[1], cols[0]}} {
		b.Run(name, func(b *testing.B) {
			var types []*Type
			for _, c := range key {
				types = append(types, c.Type)
			}
			f, err := NewBucketFunc("default", types, 16)
			if err != nil {
				b.Fatal(err)
			}
			var dst []int32
			b.ReportAllocs()
			for b.Loop() {
				dst = f.Buckets(dst[:0], key, 0, batch.N)
			}
			perRow(b, batch.N)
		})
	}
}

func BenchmarkAppendBinaryRow(b *testing.B) {
	batch := benchBatch()
	cols := columns(batch)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		for i := range batch.N {
			dst = AppendBinaryRow(dst[:0], cols, i)
		}
	}
	perRow(b, batch.N)
}

func BenchmarkDecodeBinaryRow(b *testing.B) {
	batch := benchBatch()
	cols, types := columns(batch), batch.Type.FieldTypes()
	var rows [][]byte
	for i := range batch.N {
		rows = append(rows, AppendBinaryRow(nil, cols, i))
	}
	dst := NewBatch(batch.Type)
	b.ReportAllocs()
	for b.Loop() {
		dst.Reset()
		for _, r := range rows {
			if err := DecodeBinaryRow(r, types, dst); err != nil {
				b.Fatal(err)
			}
		}
	}
	perRow(b, batch.N)
}

func BenchmarkKeys(b *testing.B) {
	batch := benchBatch()
	cols := columns(batch)
	for name, key := range map[string][]*Column{"bigint": cols[:1], "string": cols[1:2], "string,bigint": {cols[1], cols[0]}} {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			var ends []uint32
			b.ReportAllocs()
			for b.Loop() {
				dst, ends = AppendKeys(dst[:0], ends[:0], key, 0, batch.N)
			}
			perRow(b, batch.N)
		})
	}
}

func BenchmarkCopy(b *testing.B) {
	src := benchBatch()
	idx := make([]int32, src.N)
	for i := range idx {
		idx[i] = int32(i * 7919 % len(idx))
	}
	dst := NewBatch(src.Type)
	for name, f := range map[string]func(){
		"range":  func() { dst.AppendRange(src, 0, src.N) },
		"gather": func() { dst.AppendGather(src, idx) },
		"row": func() {
			for _, i := range idx {
				dst.AppendRow(src, int(i))
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst.Reset()
				f()
			}
			perRow(b, src.N)
		})
	}
}

func BenchmarkJSON(b *testing.B) {
	src := benchBatch()
	var text []byte
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i := range src.N {
				text = AppendJSONRow(text[:0], src, i, true)
			}
		}
		perRow(b, src.N)
	})
	b.Run("parse", func(b *testing.B) {
		var lines [][]byte
		for i := range src.N {
			lines = append(lines, AppendJSONRow(nil, src, i, true))
		}
		dst := NewBatch(src.Type)
		b.ReportAllocs()
		for b.Loop() {
			dst.Reset()
			for _, l := range lines {
				if err := ParseJSONRow(l, dst); err != nil {
					b.Fatal(err)
				}
			}
		}
		perRow(b, src.N)
	})
}
