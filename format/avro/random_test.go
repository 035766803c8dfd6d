package avro

import (
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/paimon-go/paimon-go/format/row"
)

// randomType returns a type that an Avro file can hold; nested while depth is above 0.
func randomType(r *rand.Rand, depth int) row.Type {
	nullable := r.IntN(3) > 0
	leaf := func(t row.Type) row.Type { t.Nullable = nullable; return t }
	n := 15
	if depth > 0 {
		n = 20
	}
	elem := func() *row.Type { t := randomType(r, depth-1); return &t }
	text := row.Type{Root: row.VarChar, Length: row.MaxLength}
	switch r.IntN(n) {
	case 0:
		return leaf(row.Type{Root: row.Boolean})
	case 1:
		return leaf(row.Type{Root: row.TinyInt})
	case 2:
		return leaf(row.Type{Root: row.SmallInt})
	case 3:
		return leaf(row.Type{Root: row.Int})
	case 4, 5:
		return leaf(row.Type{Root: row.BigInt})
	case 6:
		return leaf(row.Type{Root: row.Float})
	case 7:
		return leaf(row.Type{Root: row.Double})
	case 8:
		p := 1 + r.IntN(38)
		return leaf(row.Type{Root: row.Decimal, Precision: p, Scale: r.IntN(p + 1)})
	case 9:
		return leaf(row.Type{Root: row.Binary, Length: 4})
	case 10:
		return leaf(row.Type{Root: row.VarBinary, Length: row.MaxLength})
	case 11:
		return leaf(row.Type{Root: row.Date})
	case 12:
		return leaf(row.Type{Root: row.Time, Precision: r.IntN(4)})
	case 13:
		return leaf(row.Type{Root: row.Timestamp + row.Root(r.IntN(2)), Precision: r.IntN(7)})
	case 15:
		return leaf(row.Type{Root: row.Array, Elem: elem()})
	case 16:
		return leaf(row.Type{Root: row.Map, Key: &text, Elem: elem()})
	case 17:
		key := randomType(r, 0)
		key.Nullable = key.Nullable && key.Root != row.VarChar
		return leaf(row.Type{Root: row.Map, Key: &key, Elem: elem()})
	case 18:
		return leaf(row.Type{Root: row.Multiset, Elem: &text})
	case 19:
		return leaf(randomRow(r, depth-1, 1+r.IntN(3)))
	default:
		return leaf(text)
	}
}

func randomRow(r *rand.Rand, depth, fields int) row.Type {
	t := row.NewRow()
	for i := range fields {
		t.Fields = append(t.Fields, row.Field{ID: i, Name: "f" + strconv.Itoa(i), Type: randomType(r, depth)})
	}
	return t
}

// randomInt is often near a power of two.
func randomInt(r *rand.Rand) int64 {
	return int64(r.Uint64()>>r.IntN(64)) * int64(1-2*r.IntN(2))
}

func appendRandom(r *rand.Rand, c *row.Column) {
	t := c.Type
	if t.Nullable && r.IntN(4) == 0 {
		c.AppendNull()
		return
	}
	switch t.Store() {
	case row.StoreI32:
		v := int32(randomInt(r))
		switch t.Root {
		case row.Boolean:
			v &= 1
		case row.TinyInt:
			v = int32(int8(v))
		case row.SmallInt:
			v = int32(int16(v))
		}
		c.AppendI32(v)
	case row.StoreI64:
		v := randomInt(r)
		if t.Root == row.Decimal {
			v %= int64(powers[t.Precision].Lo)
		}
		c.AppendI64(v)
	case row.StoreF32:
		c.AppendF32(float32(r.NormFloat64()))
	case row.StoreF64:
		c.AppendF64(math.Ldexp(r.NormFloat64(), r.IntN(200)))
	case row.StoreI128:
		v := row.Int128{Hi: randomInt(r), Lo: r.Uint64()}
		for !fits(v, t.Precision) {
			v = row.Int128{Hi: v.Hi / 256, Lo: v.Lo}
			if v.Hi == 0 {
				v.Lo >>= 8
			}
		}
		c.AppendI128(v)
	case row.StoreBytes:
		c.AppendString("añb語"[:[]int{0, 1, 3, 4, 7}[r.IntN(5)]])
	case row.StoreList:
		for range r.IntN(4) {
			appendRandom(r, &c.Kids[0])
			if len(c.Kids) == 2 {
				appendRandom(r, &c.Kids[1])
			}
		}
		c.EndList()
	case row.StoreRow:
		for i := range c.Kids {
			appendRandom(r, &c.Kids[i])
		}
		c.EndNested()
	}
}

func randomBatch(r *rand.Rand, t *row.Type, rows int) *row.Batch {
	b := row.NewBatch(t)
	for range rows {
		for c := range b.Cols {
			appendRandom(r, &b.Cols[c])
		}
		b.N++
	}
	return b
}
