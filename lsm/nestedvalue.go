package lsm

import (
	"encoding/binary"
	"math"

	"github.com/paimon-go/paimon-go/format/row"
)

// Values of ARRAY, MAP, MULTISET and ROW columns lie in records as bytes: 00 for a null and 01 before a value; numbers in
// their width, little endian; bytes and lists behind their length as a varint; the kids of a list one after the other.
// They never leave the process (memory and spill files), so there is nothing to be compatible with.

func appendNestedValue(dst []byte, c *row.Column, i int) []byte {
	if c.IsNull(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch c.Type.Store() {
	case row.StoreI32:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(c.I32[i]))
	case row.StoreI64:
		dst = binary.LittleEndian.AppendUint64(dst, uint64(c.I64[i]))
	case row.StoreF32:
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(c.F32[i]))
	case row.StoreF64:
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(c.F64[i]))
	case row.StoreI128:
		dst = binary.LittleEndian.AppendUint64(dst, uint64(c.I128[i].Hi))
		dst = binary.LittleEndian.AppendUint64(dst, c.I128[i].Lo)
	case row.StoreNanos:
		dst = binary.LittleEndian.AppendUint64(dst, uint64(c.I64[i]))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(c.I32[i]))
	case row.StoreBytes:
		v := c.Value(i)
		dst = append(binary.AppendUvarint(dst, uint64(len(v))), v...)
	case row.StoreList:
		from, to := int(c.Off[i]), int(c.Off[i+1])
		dst = binary.AppendUvarint(dst, uint64(to-from))
		for k := range c.Kids {
			for j := from; j < to; j++ {
				dst = appendNestedValue(dst, &c.Kids[k], j)
			}
		}
	case row.StoreRow:
		for k := range c.Kids {
			dst = appendNestedValue(dst, &c.Kids[k], i)
		}
	}
	return dst
}

// readNestedValue appends the value at the front of b, which appendNestedValue made, to c and returns the rest of b.
func readNestedValue(b []byte, c *row.Column) []byte {
	if b[0] == 0 {
		c.AppendNull()
		return b[1:]
	}
	b = b[1:]
	switch c.Type.Store() {
	case row.StoreI32:
		c.AppendI32(int32(binary.LittleEndian.Uint32(b)))
		return b[4:]
	case row.StoreI64:
		c.AppendI64(int64(binary.LittleEndian.Uint64(b)))
		return b[8:]
	case row.StoreF32:
		c.AppendF32(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		return b[4:]
	case row.StoreF64:
		c.AppendF64(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		return b[8:]
	case row.StoreI128:
		c.AppendI128(row.Int128{Hi: int64(binary.LittleEndian.Uint64(b)), Lo: binary.LittleEndian.Uint64(b[8:])})
		return b[16:]
	case row.StoreNanos:
		c.AppendNanos(int64(binary.LittleEndian.Uint64(b)), int32(binary.LittleEndian.Uint32(b[8:])))
		return b[12:]
	case row.StoreBytes:
		n, w := binary.Uvarint(b)
		b = b[w:]
		c.AppendBytes(b[:n])
		return b[n:]
	case row.StoreList:
		n, w := binary.Uvarint(b)
		b = b[w:]
		for k := range c.Kids {
			for range n {
				b = readNestedValue(b, &c.Kids[k])
			}
		}
		c.EndList()
	case row.StoreRow:
		for k := range c.Kids {
			b = readNestedValue(b, &c.Kids[k])
		}
		c.EndNested()
	}
	return b
}
