package row

import (
	"fmt"
	"math"

	"pgregory.net/rapid"
)

// drawType draws any type, nested ones down to depth.
func drawType(t *rapid.T, depth int) Type {
	roots := []Root{Boolean, TinyInt, SmallInt, Int, BigInt, Float, Double, Decimal, Char, VarChar, Binary, VarBinary, Date, Time,
		Timestamp, TimestampLTZ}
	if depth > 0 {
		roots = append(roots, Array, Map, Multiset, Row)
	}
	n := Type{Root: rapid.SampledFrom(roots).Draw(t, "root"), Nullable: rapid.Bool().Draw(t, "nullable")}
	elem := func() *Type {
		e := drawType(t, depth-1)
		return &e
	}
	switch n.Root {
	case Char, VarChar, Binary, VarBinary:
		n.Length = rapid.SampledFrom([]int{1, 10, MaxLength}).Draw(t, "length")
	case Decimal:
		n.Precision = rapid.IntRange(1, 38).Draw(t, "precision")
		n.Scale = rapid.IntRange(0, n.Precision).Draw(t, "scale")
	case Time, Timestamp, TimestampLTZ:
		n.Precision = rapid.IntRange(0, 9).Draw(t, "precision")
	case Array, Multiset:
		n.Elem = elem()
	case Map:
		n.Key, n.Elem = elem(), elem()
	case Row:
		n.Fields = drawFields(t, depth-1, rapid.IntRange(0, 3).Draw(t, "fields"))
	}
	return n
}

func drawFields(t *rapid.T, depth, n int) []Field {
	fs := make([]Field, n)
	for i := range fs {
		fs[i] = Field{ID: i, Name: fmt.Sprint("f", i), Type: drawType(t, depth)}
	}
	return fs
}

// drawBatch draws a batch of one to most rows of any type of up to six fields.
func drawBatch(t *rapid.T, depth, most int) *Batch {
	typ := NewRow(drawFields(t, depth, rapid.IntRange(1, 6).Draw(t, "fields"))...)
	b := NewBatch(&typ)
	for range rapid.IntRange(1, most).Draw(t, "rows") {
		for c := range b.Cols {
			drawValue(t, &b.Cols[c])
		}
		b.EndRow(Kind(rapid.IntRange(0, 3).Draw(t, "kind")))
	}
	return b
}

var (
	someInts   = []int64{0, 1, -1, math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32, 127, -128, 255, 256}
	someFloats = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), math.SmallestNonzeroFloat64,
		math.MaxFloat64, 1e-7, 1e21, 0.1, 1e7, 1e-3, 123456789.125}
)

// drawValue appends a value of the column's type, close to the edges more often than not.
func drawValue(t *rapid.T, c *Column) {
	if c.Type.Nullable && rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		c.AppendNull()
		return
	}
	num := func() int64 {
		return rapid.OneOf(rapid.SampledFrom(someInts), rapid.Int64Range(-300, 300), rapid.Int64()).Draw(t, "int")
	}
	switch c.Type.Root {
	case Boolean:
		c.AppendI32(int32(num() & 1))
	case TinyInt:
		c.AppendI32(int32(int8(num())))
	case SmallInt:
		c.AppendI32(int32(int16(num())))
	case Int, Date:
		c.AppendI32(int32(num()))
	case Time:
		c.AppendI32(int32(uint64(num()) % 86_400_000))
	case BigInt:
		c.AppendI64(num())
	case Float:
		c.AppendF32(rapid.OneOf(rapid.Just(float32(1e-6)), rapid.Map(rapid.SampledFrom(someFloats), func(v float64) float32 { return float32(v) }), rapid.Float32()).Draw(t, "float"))
	case Double:
		c.AppendF64(rapid.OneOf(rapid.SampledFrom(someFloats), rapid.Float64()).Draw(t, "double"))
	case Decimal:
		p := c.Type.Precision
		digits := rapid.IntRange(0, p).Draw(t, "digits")
		v := Int128{}
		for range digits {
			v, _ = v.MulAddUint64(10, rapid.Uint64Range(0, 9).Draw(t, "digit"))
		}
		if rapid.Bool().Draw(t, "negative") {
			v = v.Neg()
		}
		if !c.AppendDecimal(v) {
			panic("decimal does not fit")
		}
	case Timestamp, TimestampLTZ:
		millis := rapid.OneOf(rapid.SampledFrom([]int64{0, -1, 999, -1000, 253402300799999, -62135596800000}), rapid.Int64Range(-1<<45, 1<<45)).Draw(t, "millis")
		c.AppendMillis(millis, rapid.OneOf(rapid.SampledFrom([]int32{0, 1, 1000, 999_999}), rapid.Int32Range(0, 999_999)).Draw(t, "nanos"))
	case Char, VarChar:
		c.AppendString(rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 2, 'a', 'b', '"', '\\', '\n', 'é', '你', '😀'}), 0, 12, -1).Draw(t, "string"))
	case Binary, VarBinary:
		c.AppendBytes(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 0x7f, 0x80, 0xff}), 0, 12).Draw(t, "bytes"))
	case Array, Map, Multiset:
		for range rapid.IntRange(0, 4).Draw(t, "size") {
			for k := range c.Kids {
				drawValue(t, &c.Kids[k])
			}
		}
		c.EndList()
	case Row:
		for k := range c.Kids {
			drawValue(t, &c.Kids[k])
		}
		c.EndNested()
	}
}
