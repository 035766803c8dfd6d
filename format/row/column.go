package row

import "math"

// Int128 is a signed 128-bit integer in two's complement: the unscaled value of a wide DECIMAL.
type Int128 struct {
	Hi int64
	Lo uint64
}

// Column is one typed vector. Exactly the slices that its type's Store names are in use, and each has an entry for null
// rows too (zero, empty or no elements), so that value i is at index i whether or not there are nulls. Columns may share
// slices as long as nobody appends to them: a copied Column header is a read-only view. The offsets bound a column to less
// than 4 GiB of bytes; who fills one keeps batches far below that.
type Column struct {
	Type  *Type
	N     int
	Nulls Bitmap // bit set: the row is null. Empty: there are no nulls
	I32   []int32
	I64   []int64
	F32   []float32
	F64   []float64
	I128  []Int128
	Off   []uint32 // N+1 offsets, the first is 0
	Bytes []byte
	Kids  []Column
}

// Init makes c an empty column of type t, which it keeps.
func (c *Column) Init(t *Type) {
	*c = Column{Type: t}
	switch t.Store() {
	case StoreBytes:
		c.Off = append(c.Off, 0)
	case StoreList:
		c.Off = append(c.Off, 0)
		if t.Root == Array {
			c.Kids = make([]Column, 1)
			c.Kids[0].Init(t.Elem)
		} else {
			c.Kids = make([]Column, 2)
			if t.Root == Map {
				c.Kids[0].Init(t.Key)
				c.Kids[1].Init(t.Elem)
			} else {
				c.Kids[0].Init(t.Elem)
				c.Kids[1].Init(&multisetCount)
			}
		}
	case StoreRow:
		c.Kids = make([]Column, len(t.Fields))
		for i := range c.Kids {
			c.Kids[i].Init(&t.Fields[i].Type)
		}
	}
}

var multisetCount = Type{Root: Int}

// Reset empties the column and keeps its memory.
func (c *Column) Reset() {
	c.N = 0
	c.Nulls = c.Nulls[:0]
	c.I32, c.I64, c.F32, c.F64, c.I128 = c.I32[:0], c.I64[:0], c.F32[:0], c.F64[:0], c.I128[:0]
	if c.Off != nil {
		c.Off = c.Off[:1]
	}
	c.Bytes = c.Bytes[:0]
	for i := range c.Kids {
		c.Kids[i].Reset()
	}
}

// IsNull reports whether row i is null.
func (c *Column) IsNull(i int) bool { return c.Nulls.Get(i) }

// HasNulls reports whether any row is null. It may be true after nulls were only reserved, never false with a null.
func (c *Column) HasNulls() bool {
	for _, w := range c.Nulls {
		if w != 0 {
			return true
		}
	}
	return false
}

// Value returns the bytes of row i of a StoreBytes column. They belong to the column.
func (c *Column) Value(i int) []byte { return c.Bytes[c.Off[i]:c.Off[i+1]] }

// Millis returns TIMESTAMP row i of any precision as milliseconds since the epoch (floor) and the nanoseconds within that
// millisecond, which is Java's Timestamp.
func (c *Column) Millis(i int) (millis int64, nanoOfMilli int32) {
	v := c.I64[i]
	switch {
	case c.Type.Precision <= 3:
		return v, 0
	case c.Type.Precision <= 6:
		millis = v / 1000
		if v < millis*1000 {
			millis--
		}
		return millis, int32(v-millis*1000) * 1000
	}
	return v, c.I32[i]
}

// AppendNull appends a null.
func (c *Column) AppendNull() {
	c.Nulls.Set(c.N)
	switch c.Type.Store() {
	case StoreI32:
		c.I32 = append(c.I32, 0)
	case StoreI64:
		c.I64 = append(c.I64, 0)
	case StoreF32:
		c.F32 = append(c.F32, 0)
	case StoreF64:
		c.F64 = append(c.F64, 0)
	case StoreI128:
		c.I128 = append(c.I128, Int128{})
	case StoreNanos:
		c.I64 = append(c.I64, 0)
		c.I32 = append(c.I32, 0)
	case StoreBytes, StoreList:
		c.Off = append(c.Off, c.Off[c.N])
	case StoreRow:
		for i := range c.Kids {
			c.Kids[i].AppendNull()
		}
	}
	c.N++
}

// AppendI32 appends a value of a StoreI32 column.
func (c *Column) AppendI32(v int32) { c.I32 = append(c.I32, v); c.N++ }

// AppendI64 appends a value of a StoreI64 column.
func (c *Column) AppendI64(v int64) { c.I64 = append(c.I64, v); c.N++ }

// AppendF32 appends a value of a StoreF32 column.
func (c *Column) AppendF32(v float32) { c.F32 = append(c.F32, v); c.N++ }

// AppendF64 appends a value of a StoreF64 column.
func (c *Column) AppendF64(v float64) { c.F64 = append(c.F64, v); c.N++ }

// AppendI128 appends a value of a StoreI128 column.
func (c *Column) AppendI128(v Int128) { c.I128 = append(c.I128, v); c.N++ }

// AppendNanos appends a value of a StoreNanos column.
func (c *Column) AppendNanos(millis int64, nanoOfMilli int32) {
	c.I64 = append(c.I64, millis)
	c.I32 = append(c.I32, nanoOfMilli)
	c.N++
}

// AppendMillis appends a TIMESTAMP of any precision given as Millis returns it; digits beyond the column's unit are cut.
// It reports false, and appends nothing, when nanoOfMilli is no part of a millisecond or the value doesn't fit.
func (c *Column) AppendMillis(millis int64, nanoOfMilli int32) bool {
	if nanoOfMilli < 0 || nanoOfMilli > 999999 {
		return false
	}
	switch {
	case c.Type.Precision <= 3:
		c.AppendI64(millis)
	case c.Type.Precision <= 6:
		v := millis*1000 + int64(nanoOfMilli/1000)
		if millis > math.MaxInt64/1000 || millis < math.MinInt64/1000-1 || (millis < 0) != (v < 0) {
			return false
		}
		c.AppendI64(v)
	default:
		c.AppendNanos(millis, nanoOfMilli)
	}
	return true
}

// AppendBytes appends a copy of v to a StoreBytes column.
func (c *Column) AppendBytes(v []byte) {
	c.Bytes = append(c.Bytes, v...)
	c.Off = append(c.Off, uint32(len(c.Bytes)))
	c.N++
}

// AppendString is AppendBytes of a string.
func (c *Column) AppendString(v string) {
	c.Bytes = append(c.Bytes, v...)
	c.Off = append(c.Off, uint32(len(c.Bytes)))
	c.N++
}

// EndList completes a list whose elements were appended to the kids.
func (c *Column) EndList() { c.Off = append(c.Off, uint32(c.Kids[0].N)); c.N++ }

// EndNested completes a ROW value whose fields were appended to the kids.
func (c *Column) EndNested() { c.N++ }

// AppendFrom copies row i of src, a column of the same store.
func (c *Column) AppendFrom(src *Column, i int) {
	if src.Nulls.Get(i) {
		c.AppendNull()
		return
	}
	switch c.Type.Store() {
	case StoreI32:
		c.I32 = append(c.I32, src.I32[i])
	case StoreI64:
		c.I64 = append(c.I64, src.I64[i])
	case StoreF32:
		c.F32 = append(c.F32, src.F32[i])
	case StoreF64:
		c.F64 = append(c.F64, src.F64[i])
	case StoreI128:
		c.I128 = append(c.I128, src.I128[i])
	case StoreNanos:
		c.I64 = append(c.I64, src.I64[i])
		c.I32 = append(c.I32, src.I32[i])
	case StoreBytes:
		c.Bytes = append(c.Bytes, src.Value(i)...)
		c.Off = append(c.Off, uint32(len(c.Bytes)))
	case StoreList:
		for k := range c.Kids {
			for j := int(src.Off[i]); j < int(src.Off[i+1]); j++ {
				c.Kids[k].AppendFrom(&src.Kids[k], j)
			}
		}
		c.Off = append(c.Off, uint32(c.Kids[0].N))
	case StoreRow:
		for k := range c.Kids {
			c.Kids[k].AppendFrom(&src.Kids[k], i)
		}
	}
	c.N++
}

// MemBytes returns about how much memory the values take.
func (c *Column) MemBytes() int {
	n := 8*len(c.Nulls) + 4*len(c.I32) + 8*len(c.I64) + 4*len(c.F32) + 8*len(c.F64) + 16*len(c.I128) + 4*len(c.Off) + len(c.Bytes)
	for i := range c.Kids {
		n += c.Kids[i].MemBytes()
	}
	return n
}
