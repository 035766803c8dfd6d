package avro

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// AppendLong appends a long (or an int: they are encoded alike) as a zigzag varint.
func AppendLong(dst []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	if u < 0x80 {
		return append(dst, byte(u))
	}
	return binary.AppendUvarint(dst, u)
}

// putLong writes what AppendLong appends and returns its length. There must be 10 bytes of room. It spreads seven bits
// to a byte all at once rather than in a loop, as keys, sequence numbers and timestamps take three to eight bytes.
func putLong(dst []byte, v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	if u < 0x80 {
		dst[0] = byte(u)
		return 1
	}
	if u >= 1<<56 {
		return binary.PutUvarint(dst, u)
	}
	n := (bits.Len64(u) + 6) / 7
	u = u&0x0fffffff | u&0x00fffffff0000000<<4
	u = u&0x00003fff00003fff | u&0x0fffc0000fffc000<<2
	u = u&0x007f007f007f007f | u&0x3f803f803f803f80<<1
	u |= 0x8080808080808080 & (1<<(8*(n-1)) - 1)
	binary.LittleEndian.PutUint64(dst, u)
	return n
}

// AppendInt appends an int.
func AppendInt(dst []byte, v int32) []byte { return AppendLong(dst, int64(v)) }

// AppendBoolean appends a boolean.
func AppendBoolean(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendFloat appends a float.
func AppendFloat(dst []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
}

// AppendDouble appends a double.
func AppendDouble(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

// AppendBytes appends bytes with their length.
func AppendBytes(dst, v []byte) []byte { return append(AppendLong(dst, int64(len(v))), v...) }

// AppendString appends a string with its length in bytes.
func AppendString(dst []byte, v string) []byte { return append(AppendLong(dst, int64(len(v))), v...) }

// AppendUnion appends the branch of a union ["null", X] : 1 and the caller appends the X, or 0 for null.
func AppendUnion(dst []byte, present bool) []byte {
	if present {
		return append(dst, 2)
	}
	return append(dst, 0)
}

// AppendCount starts an array or map of n items, which the caller appends; then comes AppendEnd. Nothing is appended
// for an empty one, as its end says it all.
func AppendCount(dst []byte, n int) []byte {
	if n == 0 {
		return dst
	}
	return AppendLong(dst, int64(n))
}

// AppendEnd ends an array or map.
func AppendEnd(dst []byte) []byte { return append(dst, 0) }
