package aggregate

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
)

// index numbers different values, which it knows by their bytes, in the order in which they come. It keeps its memory.
type index struct {
	keys  []byte
	ends  []int   // where the bytes of value n end
	slots []int32 // hash table of n+1; its length is a power of 2
}

var seed = maphash.MakeSeed()

func (x *index) reset() {
	x.keys, x.ends = x.keys[:0], x.ends[:0]
	clear(x.slots)
}

// start returns where the bytes of a new value begin, which the caller appends to keys before add or find.
func (x *index) start() int {
	if n := len(x.ends); n > 0 {
		return x.ends[n-1]
	}
	return 0
}

// add takes the value that was appended to keys. It returns its number, and whether it was there before.
func (x *index) add() (n int, found bool) {
	if 2*(len(x.ends)+1) > len(x.slots) {
		x.grow()
	}
	slot, n := x.look()
	if n >= 0 {
		x.keys = x.keys[:x.start()]
		return n, true
	}
	x.ends = append(x.ends, len(x.keys))
	x.slots[slot] = int32(len(x.ends))
	return len(x.ends) - 1, false
}

// find returns the number of the value that was appended to keys, -1 when it is not there, and forgets it.
func (x *index) find() int {
	n := -1
	if len(x.ends) > 0 {
		_, n = x.look()
	}
	x.keys = x.keys[:x.start()]
	return n
}

func (x *index) value(n int) []byte {
	if n == 0 {
		return x.keys[:x.ends[0]]
	}
	return x.keys[x.ends[n-1]:x.ends[n]]
}

func (x *index) look() (slot, n int) {
	key := x.keys[x.start():]
	mask := len(x.slots) - 1
	for slot = int(maphash.Bytes(seed, key)) & mask; x.slots[slot] != 0; slot = (slot + 1) & mask {
		if n := int(x.slots[slot]) - 1; bytes.Equal(x.value(n), key) {
			return slot, n
		}
	}
	return slot, -1
}

func (x *index) grow() {
	x.slots = make([]int32, max(16, 2*len(x.slots)))
	mask := len(x.slots) - 1
	for n := range x.ends {
		slot := int(maphash.Bytes(seed, x.value(n))) & mask
		for x.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		x.slots[slot] = int32(n + 1)
	}
}

// appendValue appends bytes that are the same for two values of a type just when they are equal: for floats as Java's boxes
// see it, with all NaN the same and the two zeros different; for maps in any order.
func appendValue(dst []byte, c *row.Column, i int) []byte {
	if c.Nulls.Get(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	le := binary.LittleEndian
	switch c.Type.Store() {
	case row.StoreI32:
		return le.AppendUint32(dst, uint32(c.I32[i]))
	case row.StoreI64:
		return le.AppendUint64(dst, uint64(c.I64[i]))
	case row.StoreF32:
		if v := c.F32[i]; v == v {
			return le.AppendUint32(dst, math.Float32bits(v))
		}
		return le.AppendUint32(dst, 0x7fc00000)
	case row.StoreF64:
		if v := c.F64[i]; v == v {
			return le.AppendUint64(dst, math.Float64bits(v))
		}
		return le.AppendUint64(dst, 0x7ff8000000000000)
	case row.StoreI128:
		return le.AppendUint64(le.AppendUint64(dst, uint64(c.I128[i].Hi)), c.I128[i].Lo)
	case row.StoreNanos:
		return le.AppendUint32(le.AppendUint64(dst, uint64(c.I64[i])), uint32(c.I32[i]))
	case row.StoreBytes:
		v := c.Value(i)
		return append(le.AppendUint32(dst, uint32(len(v))), v...)
	case row.StoreList:
		return appendList(dst, c, int(c.Off[i]), int(c.Off[i+1]))
	case row.StoreRow:
		for k := range c.Kids {
			dst = appendValue(dst, &c.Kids[k], i)
		}
	}
	return dst
}

// appendFields appends the fields at these positions of row i of a ROW column.
func appendFields(dst []byte, c *row.Column, i int, fields []int) []byte {
	for _, f := range fields {
		dst = appendValue(dst, &c.Kids[f], i)
	}
	return dst
}

func appendList(dst []byte, c *row.Column, from, to int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(to-from))
	if c.Type.Root == row.Array {
		for j := from; j < to; j++ {
			dst = appendValue(dst, &c.Kids[0], j)
		}
		return dst
	}
	pairs := make([][]byte, 0, to-from)
	for j := from; j < to; j++ {
		pairs = append(pairs, appendValue(appendValue(nil, &c.Kids[0], j), &c.Kids[1], j))
	}
	slices.SortFunc(pairs, bytes.Compare)
	for _, p := range pairs {
		dst = append(dst, p...)
	}
	return dst
}
