package row

import (
	"encoding/binary"
	"math"
	"slices"
)

// Order-preserving keys: bytes.Compare of two keys orders as Paimon orders the rows. Every encoding is prefix free, so
// more can be appended after it.
//
//	BOOLEAN, TINYINT               1 byte
//	SMALLINT                       2 bytes
//	INT, DATE, TIME                4 bytes
//	BIGINT, DECIMAL(<=18), TIMESTAMP(<=6)   8 bytes
//	DECIMAL(>18)                   16 bytes
//	TIMESTAMP(>6)                  8 bytes of milliseconds, 4 of nanoseconds
//	FLOAT, DOUBLE                  4 or 8 bytes in the order of Java's Double.compare: -0 below 0, NaN last
//	CHAR, VARCHAR, BINARY, VARBINARY        the bytes, 00 as 01 01, 01 as 01 02, and 00 at the end
//	ARRAY                          01 before each element, 00 at the end; elements as nullable fields
//	MAP, MULTISET                  4 bytes of size, the keys as an ARRAY, the values as an ARRAY
//	ROW                            the fields as nullable ones
//
// Integers are big endian with the sign bit flipped. A nullable field has a byte in front: 00 for null, 01 for a value.

// AppendKey appends the key of row i. Fields whose type is NOT NULL, as those of primary keys are, have no null byte.
// Keys are comparable only when made with types of equal nullability.
func AppendKey(dst []byte, cols []*Column, i int) []byte {
	for _, c := range cols {
		if c.Type.Nullable {
			if c.Nulls.Get(i) {
				dst = append(dst, 0)
				continue
			}
			dst = append(dst, 1)
		}
		dst = appendKeyValue(dst, c, i)
	}
	return dst
}

// KeyWidth returns the length of every key of these types; ok is false when it varies.
func KeyWidth(types []*Type) (fixed int, ok bool) {
	for _, t := range types {
		w := keyWidth(t)
		if w == 0 || t.Nullable {
			return 0, false
		}
		fixed += w
	}
	return fixed, true
}

// keyWidth returns the key length of a value of the type, 0 when it varies.
func keyWidth(t *Type) int {
	switch t.Store() {
	case StoreI32:
		return elementWidth(t)
	case StoreF32:
		return 4
	case StoreI64, StoreF64:
		return 8
	case StoreI128:
		return 16
	case StoreNanos:
		return 12
	}
	return 0
}

// AppendSortField appends a field of a user-defined sequence. There is always a null byte and nulls are lowest in both
// directions: Java negates only the comparison of values (GenerateUtils.generateRowCompare).
func AppendSortField(dst []byte, c *Column, i int, desc bool) []byte {
	from := len(dst) + 1
	dst = appendNullable(dst, c, i)
	if desc {
		for k := from; k < len(dst); k++ {
			dst[k] = ^dst[k]
		}
	}
	return dst
}

func appendNullable(dst []byte, c *Column, i int) []byte {
	if c.Nulls.Get(i) {
		return append(dst, 0)
	}
	return appendKeyValue(append(dst, 1), c, i)
}

func appendKeyValue(dst []byte, c *Column, i int) []byte {
	switch c.Type.Store() {
	case StoreI32:
		v := uint32(c.I32[i])
		switch elementWidth(c.Type) {
		case 1:
			return append(dst, byte(v)^0x80)
		case 2:
			return binary.BigEndian.AppendUint16(dst, uint16(v)^0x8000)
		}
		return binary.BigEndian.AppendUint32(dst, v^1<<31)
	case StoreI64:
		return binary.BigEndian.AppendUint64(dst, uint64(c.I64[i])^1<<63)
	case StoreF32:
		return binary.BigEndian.AppendUint32(dst, orderF32(c.F32[i]))
	case StoreF64:
		return binary.BigEndian.AppendUint64(dst, orderF64(c.F64[i]))
	case StoreI128:
		dst = binary.BigEndian.AppendUint64(dst, uint64(c.I128[i].Hi)^1<<63)
		return binary.BigEndian.AppendUint64(dst, c.I128[i].Lo)
	case StoreNanos:
		dst = binary.BigEndian.AppendUint64(dst, uint64(c.I64[i])^1<<63)
		return binary.BigEndian.AppendUint32(dst, uint32(c.I32[i]))
	case StoreBytes:
		return appendKeyBytes(dst, c.Value(i))
	case StoreList:
		from, to := int(c.Off[i]), int(c.Off[i+1])
		if c.Type.Root != Array {
			dst = binary.BigEndian.AppendUint32(dst, uint32(to-from))
		}
		for k := range c.Kids {
			for j := from; j < to; j++ {
				dst = appendNullable(append(dst, 1), &c.Kids[k], j)
			}
			dst = append(dst, 0)
		}
	case StoreRow:
		for k := range c.Kids {
			dst = appendNullable(dst, &c.Kids[k], i)
		}
	}
	return dst
}

// orderF32 maps a float to bits that order as Java's Float.compare.
func orderF32(v float32) uint32 {
	if v != v {
		return 0x7fc00000 | 1<<31
	}
	b := math.Float32bits(v)
	return b ^ (uint32(int32(b)>>31) | 1<<31)
}

// orderF64 maps a double to bits that order as Java's Double.compare.
func orderF64(v float64) uint64 {
	if v != v {
		return 0x7ff8<<48 | 1<<63
	}
	b := math.Float64bits(v)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// appendKeyBytes appends v with 00 and 01 escaped and 00 at the end.
func appendKeyBytes(dst, v []byte) []byte {
	for len(v) >= 8 {
		if w := binary.LittleEndian.Uint64(v); (w-0x0202020202020202)&^w&0x8080808080808080 != 0 {
			break // one of the bytes is below 2
		}
		dst = append(dst, v[:8]...)
		v = v[8:]
	}
	for _, b := range v {
		if b <= 1 {
			dst = append(dst, 1)
			b++
		}
		dst = append(dst, b)
	}
	return append(dst, 0)
}

// AppendKeys appends the keys of rows from to to and the end of each to ends. Keys of fixed width are made column by
// column.
func AppendKeys(dst []byte, ends []uint32, cols []*Column, from, to int) ([]byte, []uint32) {
	width := 0
	for _, c := range cols {
		w := keyWidth(c.Type)
		if w == 0 || c.Type.Nullable {
			for i := from; i < to; i++ {
				dst = AppendKey(dst, cols, i)
				ends = append(ends, uint32(len(dst)))
			}
			return dst, ends
		}
		width += w
	}
	at, n := len(dst), to-from
	dst = slices.Grow(dst, n*width)[:at+n*width]
	for i := range n {
		ends = append(ends, uint32(at+(i+1)*width))
	}
	for _, c := range cols {
		putKeys(dst[at:], width, c, from, to)
		at += keyWidth(c.Type)
	}
	return dst, ends
}

// putKeys writes the key values of rows from to to of c at the start of b and every width bytes from there.
func putKeys(b []byte, width int, c *Column, from, to int) {
	be := binary.BigEndian
	switch c.Type.Store() {
	case StoreI32:
		switch vs := c.I32[from:to]; elementWidth(c.Type) {
		case 1:
			for i, v := range vs {
				b[i*width] = byte(v) ^ 0x80
			}
		case 2:
			for i, v := range vs {
				be.PutUint16(b[i*width:], uint16(v)^0x8000)
			}
		default:
			for i, v := range vs {
				be.PutUint32(b[i*width:], uint32(v)^1<<31)
			}
		}
	case StoreI64:
		for i, v := range c.I64[from:to] {
			be.PutUint64(b[i*width:], uint64(v)^1<<63)
		}
	case StoreF32:
		for i, v := range c.F32[from:to] {
			be.PutUint32(b[i*width:], orderF32(v))
		}
	case StoreF64:
		for i, v := range c.F64[from:to] {
			be.PutUint64(b[i*width:], orderF64(v))
		}
	case StoreI128:
		for i, v := range c.I128[from:to] {
			be.PutUint64(b[i*width:], uint64(v.Hi)^1<<63)
			be.PutUint64(b[i*width+8:], v.Lo)
		}
	case StoreNanos:
		for i, v := range c.I64[from:to] {
			be.PutUint64(b[i*width:], uint64(v)^1<<63)
			be.PutUint32(b[i*width+8:], uint32(c.I32[from+i]))
		}
	}
}
