package row

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func jsonRows(b *Batch) (s string) {
	for i := range b.N {
		s += string(AppendJSONRow(nil, b, i, true)) + "\n"
	}
	return s
}

func TestTypesSurviveTextAndJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 3)
		require.NoError(t, typ.Validate())
		back, err := ParseType(typ.String())
		require.NoError(t, err)
		require.True(t, typ.EqualIgnoringIDs(&back, false), "%s and %s", &typ, &back)
		text, err := json.Marshal(typ)
		require.NoError(t, err)
		var fromJSON Type
		require.NoError(t, json.Unmarshal(text, &fromJSON))
		require.Equal(t, typ.String(), fromJSON.String())
		require.True(t, typ.Equal(&fromJSON, false), "%s", text)
		fromJSON.Nullable = !fromJSON.Nullable
		require.False(t, typ.Equal(&fromJSON, false))
		require.True(t, typ.Equal(&fromJSON, true))
	})
}

func TestRowsSurviveBinaryRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t, 3, 4)
		cols, types := columns(b), b.Type.FieldTypes()
		back := NewBatch(b.Type)
		for i := range b.N {
			raw := AppendBinaryRow([]byte{1, 2, 3}, cols, i)[3:]
			require.Zero(t, len(raw)%8)
			require.NoError(t, DecodeBinaryRow(raw, types, back))
			require.Equal(t, raw, AppendBinaryRow(nil, columns(back), i), "encoding twice")
			require.NoError(t, DecodeSerializedRow(AppendSerializedRow(nil, cols, i), types, back))
			back.Truncate(i + 1)
		}
		back.Kinds = b.Kinds
		require.Equal(t, jsonRows(b), jsonRows(back))
	})
}

func TestRowsSurviveJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t, 3, 4)
		back := NewBatch(b.Type)
		for i := range b.N {
			line := AppendJSONRow(nil, b, i, true)
			require.True(t, json.Valid(line), "%s", line)
			require.NoError(t, ParseJSONRow(line, back), "%s", line)
		}
		require.Equal(t, jsonRows(b), jsonRows(back))
	})
}

func TestHashesByColumnAreThoseOfTheRowBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t, 1, 70)
		cols := columns(b)
		from := rapid.IntRange(0, b.N).Draw(t, "from")
		var want []int32
		for i := from; i < b.N; i++ {
			want = append(want, Hash(AppendBinaryRow(nil, cols, i)))
		}
		require.Equal(t, want, AppendHashes(nil, cols, from, b.N))
		f, err := NewBucketFunc("default", b.Type.FieldTypes(), 7)
		require.NoError(t, err)
		for i, got := range f.Buckets([]int32{-1}, cols, from, b.N) {
			if i == 0 {
				require.EqualValues(t, -1, got)
				continue
			}
			require.Equal(t, Bucket(want[i-1], 7), got)
		}
	})
}

func TestKeysOrderAsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t, 2, 6)
		cols := columns(b)
		width, fixed := KeyWidth(b.Type.FieldTypes())
		keys, ends := AppendKeys(nil, nil, cols, 0, b.N)
		require.Len(t, ends, b.N)
		start := uint32(0)
		for i := range b.N {
			key := AppendKey(nil, cols, i)
			if fixed {
				require.Len(t, key, width)
			}
			require.Equal(t, key, keys[start:ends[i]])
			start = ends[i]
			for j := range b.N {
				want := 0
				for c := range cols {
					if want = CompareValues(cols[c], i, cols[c], j); want != 0 {
						break
					}
				}
				require.Equal(t, want, bytes.Compare(key, AppendKey(nil, cols, j)), "rows %d and %d of\n%s", i, j, jsonRows(b))
				// what follows a key must not disturb the order of different keys
				got := bytes.Compare(append(bytes.Clone(key), 0xff), append(AppendKey(nil, cols, j), 0))
				if want != 0 {
					require.Equal(t, want, got)
				}
			}
		}
	})
}

func TestSortFieldsHaveNullsLowestInBothDirections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 1)
		typ.Nullable = true
		var c Column
		c.Init(&typ)
		for range 6 {
			drawValue(t, &c)
		}
		c.AppendNull()
		for i := range c.N {
			for j := range c.N {
				want := CompareValues(&c, i, &c, j)
				require.Equal(t, want, bytes.Compare(AppendSortField(nil, &c, i, false), AppendSortField(nil, &c, j, false)))
				if !c.IsNull(i) && !c.IsNull(j) {
					want = -want
				}
				require.Equal(t, want, bytes.Compare(AppendSortField(nil, &c, i, true), AppendSortField(nil, &c, j, true)))
			}
		}
	})
}

// TestCopiesAreRowByRowCopies compares the bulk copies with copying one row at a time.
func TestCopiesAreRowByRowCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := drawBatch(t, 2, 150)
		one, bulk := NewBatch(src.Type), NewBatch(src.Type)
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "range") {
				from := rapid.IntRange(0, src.N).Draw(t, "from")
				to := rapid.IntRange(from, src.N).Draw(t, "to")
				bulk.AppendRange(src, from, to)
				for i := from; i < to; i++ {
					one.AppendRow(src, i)
				}
			} else {
				idx := rapid.SliceOf(rapid.Int32Range(0, int32(src.N-1))).Draw(t, "idx")
				bulk.AppendGather(src, idx)
				for _, i := range idx {
					one.AppendRow(src, int(i))
				}
			}
			if n := rapid.IntRange(0, one.N).Draw(t, "truncate"); n%3 == 0 {
				one.Truncate(n)
				bulk.Truncate(n)
			}
			if n := rapid.IntRange(0, 3).Draw(t, "nulls"); n > 1 {
				for c := range src.Cols {
					bulk.Cols[c].AppendNulls(n)
					for range n {
						one.Cols[c].AppendNull()
					}
				}
				for range n {
					one.Kinds, bulk.Kinds = append(one.Kinds, Insert), append(bulk.Kinds, Insert)
				}
				one.N, bulk.N = one.N+n, bulk.N+n
			}
		}
		require.Equal(t, jsonRows(one), jsonRows(bulk))
		for c := range one.Cols {
			require.Equal(t, one.Cols[c].Off, bulk.Cols[c].Off)
			require.Equal(t, one.Cols[c].Nulls.Count(one.N), bulk.Cols[c].Nulls.Count(bulk.N))
		}
	})
}

func TestInt128IsBigInt(t *testing.T) {
	draw := func(t *rapid.T, name string) (Int128, *big.Int) {
		v := Int128{Hi: rapid.OneOf(rapid.SampledFrom([]int64{0, -1, math.MinInt64, math.MaxInt64}), rapid.Int64()).Draw(t, name+" hi"),
			Lo: rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, math.MaxUint64, 1 << 63}), rapid.Uint64()).Draw(t, name+" lo")}
		b := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
		return v, b.Add(b, new(big.Int).SetUint64(v.Lo))
	}
	rapid.Check(t, func(t *rapid.T) {
		v, b := draw(t, "v")
		w, c := draw(t, "w")
		require.Equal(t, b.Cmp(c), v.Cmp(w))
		require.Equal(t, b.Sign(), v.Sign())
		require.Equal(t, b.String(), v.String())
		require.Equal(t, b.IsInt64(), v.IsInt64())
		for p := 1; p <= 38; p++ {
			limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p)), nil)
			fits := b.CmpAbs(limit) < 0
			require.Equal(t, fits, v.Fits(p))
			if v.IsInt64() {
				require.Equal(t, fits, FitsDecimal(v.Int64(), p))
			}
		}

		short := v.AppendBytes(nil)
		require.Len(t, short, v.BytesLen())
		for _, enc := range [][]byte{short, v.AppendFixed(nil, 16), v.AppendFixed(nil, 20), v.AppendFixed(nil, v.BytesLen())} {
			back, ok := Int128FromBytes(enc)
			require.True(t, ok)
			require.Equal(t, v, back)
		}
		if len(short) > 1 { // Java's BigInteger.toByteArray is minimal
			require.False(t, short[0] == 0 && short[1] < 0x80 || short[0] == 0xff && short[1] >= 0x80)
		}
		_, ok := Int128FromBytes(append([]byte{1}, v.AppendFixed(nil, 16)...))
		require.False(t, ok)

		scale := rapid.IntRange(0, 38).Draw(t, "scale")
		back, err := ParseDecimal(v.AppendText(nil, scale), scale)
		if v.Fits(38) {
			require.NoError(t, err)
			require.Equal(t, v, back)
		} else {
			require.ErrorIs(t, err, ErrDecimalRange)
		}

		to := rapid.IntRange(0, 38).Draw(t, "to")
		num, pow := new(big.Int).Set(b), func(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
		exact := true
		if to >= scale {
			num.Mul(num, pow(to-scale))
		} else {
			rest := new(big.Int)
			num.QuoRem(num, pow(scale-to), rest)
			exact = rest.Sign() == 0
		}
		inRange := num.Cmp(new(big.Int).Lsh(big.NewInt(1), 127)) < 0 && num.Cmp(new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 127))) >= 0
		r, ok := v.Rescale(scale, to)
		require.Equal(t, exact && inRange, ok)
		if ok {
			require.Equal(t, num.String(), r.String())
		}
	})
}

func TestFloatsInKeysOrderAsInJava(t *testing.T) {
	order := []float64{math.Inf(-1), -math.MaxFloat64, -1, math.Copysign(0, -1), 0, math.SmallestNonzeroFloat64, 1, math.Inf(1), math.NaN()}
	for i := 1; i < len(order); i++ {
		require.Less(t, orderF64(order[i-1]), orderF64(order[i]))
	}
	require.Equal(t, orderF64(math.NaN()), orderF64(math.Float64frombits(0xfff8000000000001)))
	require.Equal(t, orderF32(float32(math.NaN())), orderF32(math.Float32frombits(0xffc00001)))
	require.Less(t, orderF32(float32(math.Copysign(0, -1))), orderF32(0))
}

func TestNaNsInArraysAreOneNaN(t *testing.T) {
	typ := Type{Root: Array, Elem: &Type{Root: Double}}
	var c Column
	c.Init(&typ)
	c.Kids[0].AppendF64(math.Float64frombits(0xfff8000000000001))
	c.EndList()
	raw := AppendBinaryRow(nil, []*Column{&c}, 0)
	require.Equal(t, uint64(0x7ff8000000000000), binary.LittleEndian.Uint64(raw[24:]))
}
