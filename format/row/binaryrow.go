package row

import (
	"encoding/binary"
	"math"
	"slices"
)

// BinaryRow is Java Paimon's row of bytes. For n fields:
//
//	header      1 byte, the row kind, always 0 here
//	null bits   bit i+8 counted from the start of the row, least significant first
//	            header and null bits take (n+71)/64*8 bytes: 8 up to 56 fields
//	slots       8 bytes a field, little endian
//	variable    what doesn't fit a slot, each value padded with zeros to 8 bytes
//
// For example (INT 7, STRING 'abc') is
//
//	0000000000000000 0700000000000000 6162630000000083
//
// A string of up to 7 bytes lies in its slot with 0x80|length in the last byte; a longer one, and every nested value, is
// a slot of int32 length and int32 offset from the row's start. The bytes are hashed for buckets and compared by readers
// byte by byte, so they have to be exactly Java's.

// nullBytes returns the size of header and null bits of a row with n fields.
func nullBytes(n int) int { return (n + 63 + 8) / 64 * 8 }

var zeros [256]byte

// appendZeros appends n zero bytes.
func appendZeros(dst []byte, n int) []byte {
	for n > len(zeros) {
		dst = append(dst, zeros[:]...)
		n -= len(zeros)
	}
	return append(dst, zeros[:n]...)
}

// AppendBinaryRow appends row i of cols in Java's BinaryRow form, without the arity.
func AppendBinaryRow(dst []byte, cols []*Column, i int) []byte {
	start, nb := len(dst), nullBytes(len(cols))
	dst = appendZeros(dst, nb+8*len(cols))
	for f, c := range cols {
		dst = appendRowField(dst, start, nb, f, c, i)
	}
	return dst
}

// appendNestedRow is AppendBinaryRow of a ROW value.
func appendNestedRow(dst []byte, kids []Column, i int) []byte {
	start, nb := len(dst), nullBytes(len(kids))
	dst = appendZeros(dst, nb+8*len(kids))
	for f := range kids {
		dst = appendRowField(dst, start, nb, f, &kids[f], i)
	}
	return dst
}

// AppendSerializedRow appends row i of cols as it is in manifests: int32 arity, big endian, then the row bytes.
func AppendSerializedRow(dst []byte, cols []*Column, i int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(cols)))
	return AppendBinaryRow(dst, cols, i)
}

// EmptySerializedRow returns the serialized row without fields, such as the partition of an unpartitioned table.
func EmptySerializedRow() []byte { return make([]byte, 12) }

// appendRowField fills slot f of the row that starts at start and appends the variable part.
func appendRowField(dst []byte, start, nb, f int, c *Column, i int) []byte {
	at := start + nb + 8*f
	if c.Nulls.Get(i) {
		dst[start+(f+8)>>3] |= 1 << (uint(f) & 7)
		// Java keeps room for a later update of these in place, so a null has its offset and zeros.
		switch n := reserved(c.Type); n {
		case 0:
			return dst
		default:
			binary.LittleEndian.PutUint32(dst[at+4:], uint32(len(dst)-start))
			return appendZeros(dst, n)
		}
	}
	return appendSlot(dst, start, at, c, i)
}

// reserved returns how many bytes of variable part a null of the type has.
func reserved(t *Type) int {
	switch {
	case t.Root == Decimal && t.Precision > 18:
		return 16
	case (t.Root == Timestamp || t.Root == TimestampLTZ) && t.Precision > 3:
		return 8
	}
	return 0
}

// appendSlot fills the slot at position at, which has the width of the type, with a value that is not null; offsets
// count from start.
func appendSlot(dst []byte, start, at int, c *Column, i int) []byte {
	switch c.Type.Root {
	case Boolean, TinyInt:
		dst[at] = byte(c.I32[i])
	case SmallInt:
		binary.LittleEndian.PutUint16(dst[at:], uint16(c.I32[i]))
	case Int, Date, Time:
		binary.LittleEndian.PutUint32(dst[at:], uint32(c.I32[i]))
	case BigInt:
		binary.LittleEndian.PutUint64(dst[at:], uint64(c.I64[i]))
	case Float:
		binary.LittleEndian.PutUint32(dst[at:], math.Float32bits(c.F32[i]))
	case Double:
		binary.LittleEndian.PutUint64(dst[at:], math.Float64bits(c.F64[i]))
	case Decimal:
		if c.Type.Precision <= 18 {
			binary.LittleEndian.PutUint64(dst[at:], uint64(c.I64[i]))
			break
		}
		v := c.I128[i]
		putSlot(dst, start, at, v.BytesLen())
		end := len(dst) + 16
		dst = v.AppendBytes(dst)
		dst = appendZeros(dst, end-len(dst))
	case Timestamp, TimestampLTZ:
		if c.Type.Precision <= 3 {
			binary.LittleEndian.PutUint64(dst[at:], uint64(c.I64[i]))
			break
		}
		millis, nanos := c.Millis(i)
		putSlot(dst, start, at, int(nanos))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(millis))
	case Char, VarChar, Binary, VarBinary:
		v := c.Value(i)
		if len(v) <= 7 {
			copy(dst[at:at+7], v)
			dst[at+7] = 0x80 | byte(len(v))
			break
		}
		putSlot(dst, start, at, len(v))
		dst = append(dst, v...)
		dst = pad(dst, len(v))
	case Array, Map, Multiset, Row:
		from := len(dst)
		switch c.Type.Root {
		case Array:
			dst = appendArray(dst, &c.Kids[0], int(c.Off[i]), int(c.Off[i+1]))
		case Row:
			dst = appendNestedRow(dst, c.Kids, i)
		default:
			dst = append(dst, 0, 0, 0, 0)
			dst = appendArray(dst, &c.Kids[0], int(c.Off[i]), int(c.Off[i+1]))
			binary.LittleEndian.PutUint32(dst[from:], uint32(len(dst)-from-4))
			dst = appendArray(dst, &c.Kids[1], int(c.Off[i]), int(c.Off[i+1]))
		}
		size := len(dst) - from
		binary.LittleEndian.PutUint32(dst[at:], uint32(size))
		binary.LittleEndian.PutUint32(dst[at+4:], uint32(from-start))
		dst = pad(dst, size)
	}
	return dst
}

// putSlot writes a slot of a value that is about to be appended.
func putSlot(dst []byte, start, at, n int) {
	binary.LittleEndian.PutUint64(dst[at:], uint64(len(dst)-start)<<32|uint64(uint32(n)))
}

// pad appends zeros so that a value of n bytes takes a multiple of 8.
func pad(dst []byte, n int) []byte { return append(dst, zeros[:-n&7]...) }

// elementWidth returns the size of an array's slot.
func elementWidth(t *Type) int {
	switch t.Root {
	case Boolean, TinyInt:
		return 1
	case SmallInt:
		return 2
	case Int, Date, Time, Float:
		return 4
	}
	return 8
}

// appendArray appends elements from to to of c as a BinaryArray: int32 count, null bits in words of 4 bytes, the slots
// padded to 8 bytes, the variable part. Offsets count from the array's start.
func appendArray(dst []byte, c *Column, from, to int) []byte {
	n, start := to-from, len(dst)
	head, width := 4+(n+31)/32*4, elementWidth(c.Type)
	size := (head + n*width + 7) &^ 7
	dst = slices.Grow(dst, size)
	dst = appendZeros(dst, size)
	binary.LittleEndian.PutUint32(dst[start:], uint32(n))
	for k := range n {
		i, at := from+k, start+head+k*width
		switch {
		case c.Nulls.Get(i):
			dst[start+4+k>>3] |= 1 << (uint(k) & 7)
		case c.Type.Root == Float && c.F32[i] != c.F32[i]:
			binary.LittleEndian.PutUint32(dst[at:], 0x7fc00000) // BinaryArrayWriter writes one NaN, BinaryRowWriter any
		case c.Type.Root == Double && c.F64[i] != c.F64[i]:
			binary.LittleEndian.PutUint64(dst[at:], 0x7ff8000000000000)
		default:
			dst = appendSlot(dst, start, at, c, i)
		}
	}
	return dst
}
