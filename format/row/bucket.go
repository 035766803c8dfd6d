package row

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// hashWord mixes one little-endian word into a Murmur3 state.
func hashWord(h, k uint32) uint32 {
	k *= 0xcc9e2d51
	k = bits.RotateLeft32(k, 15)
	k *= 0x1b873593
	h = bits.RotateLeft32(h^k, 13)
	return h*5 + 0xe6546b64
}

// hashEnd finishes a Murmur3 state over n bytes.
func hashEnd(h uint32, n int) int32 {
	h ^= uint32(n)
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return int32(h ^ h>>16)
}

// Hash is Java's BinaryRow.hashCode: Murmur3 with seed 42 over the row bytes without the arity, whose length is a multiple
// of 8. It assigns buckets, of fixed and dynamic bucket tables alike.
func Hash(rowBytes []byte) int32 {
	h, n := uint32(42), len(rowBytes)
	for b := rowBytes; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		h = hashWord(hashWord(h, uint32(w)), uint32(w>>32))
	}
	return hashEnd(h, n)
}

// Bucket is DefaultBucketFunction: the magnitude of the truncated remainder.
func Bucket(hash int32, n int) int32 {
	b := hash % int32(n)
	if b < 0 {
		return -b
	}
	return b
}

// BucketFunc assigns rows to a fixed number of buckets, as Paimon's bucket-function.type says. It has no state: it may be
// copied and used by many goroutines.
type BucketFunc struct {
	kind  string
	n     int32
	types []*Type
}

// NewBucketFunc returns the function of this kind, "default", "mod" or "hive", for a bucket key of these types and n
// buckets. It refuses what Java refuses: "mod" wants one INT or BIGINT, "hive" has no timestamps and nested types.
func NewBucketFunc(kind string, types []*Type, n int) (BucketFunc, error) {
	f := BucketFunc{kind: kind, n: int32(n), types: types}
	if n < 1 || n > 1<<31-1 {
		return f, fmt.Errorf("%d buckets", n)
	}
	switch kind {
	case "default":
	case "mod":
		if len(types) != 1 || types[0].Root != Int && types[0].Root != BigInt {
			return f, fmt.Errorf("bucket function mod needs a key of one INT or BIGINT, not %v", types)
		}
	case "hive":
		for _, t := range types {
			switch t.Root {
			case Timestamp, TimestampLTZ, Array, Map, Multiset, Row:
				return f, fmt.Errorf("bucket function hive cannot have %s in the key", t)
			}
		}
	default:
		return f, fmt.Errorf("bucket function %q is none of default, mod, hive", kind)
	}
	return f, nil
}

// Buckets appends the buckets of rows from to to; cols are the columns of the bucket key in the key's order.
func (f BucketFunc) Buckets(dst []int32, cols []*Column, from, to int) []int32 {
	if to <= from {
		return dst
	}
	at := len(dst)
	switch f.kind {
	case "mod":
		return f.mod(dst, cols[0], from, to)
	case "hive":
		dst = hiveHashes(dst, cols, from, to)
		for i := at; i < len(dst); i++ {
			dst[i] = dst[i] & math.MaxInt32 % f.n
		}
	default:
		dst = AppendHashes(dst, cols, from, to)
		for i := at; i < len(dst); i++ {
			b := dst[i] % f.n
			if b < 0 {
				b = -b
			}
			dst[i] = b
		}
	}
	return dst
}

func (f BucketFunc) mod(dst []int32, c *Column, from, to int) []int32 {
	n := int64(f.n)
	for i := from; i < to; i++ {
		v := int64(0) // of a null too: Java reads the slot
		switch {
		case c.Nulls.Get(i):
		case c.Type.Root == Int:
			v = int64(c.I32[i])
		default:
			v = c.I64[i]
		}
		b := v % n
		if b < 0 {
			b += n
		}
		dst = append(dst, int32(b))
	}
	return dst
}

// AppendHashes appends Hash of the BinaryRow of each of the rows from to to.
func AppendHashes(dst []int32, cols []*Column, from, to int) []int32 {
	if len(cols) <= 56 && allSlots(cols) {
		return slotHashes(dst, cols, from, to)
	}
	if len(cols) == 1 && cols[0].Type.Store() == StoreBytes {
		return bytesHashes(dst, cols[0], from, to)
	}
	scratch := rowPool.Get().(*[]byte)
	b := *scratch
	for i := from; i < to; i++ {
		b = AppendBinaryRow(b[:0], cols, i)
		dst = append(dst, Hash(b))
	}
	if cap(b) <= maxPooledRow {
		*scratch = b
	}
	rowPool.Put(scratch)
	return dst
}

// rowPool has room for one row of a bucket key.
var rowPool = sync.Pool{New: func() any { return new([]byte) }}

const maxPooledRow = 64 << 10

// allSlots reports whether rows of these columns have no variable part.
func allSlots(cols []*Column) bool {
	for _, c := range cols {
		switch c.Type.Store() {
		case StoreI32, StoreF32, StoreF64:
		case StoreI64:
			if reserved(c.Type) > 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// slotHashes hashes rows of slots only, column by column: the state of row i is kept in its place of dst, so neither row
// bytes nor a switch on the type in the loop over rows are needed. There are at most 56 columns, so the header is one
// word of 8 bytes.
func slotHashes(dst []int32, cols []*Column, from, to int) []int32 {
	at, n := len(dst), to-from
	dst = slices.Grow(dst, n)[:at+n]
	hs := dst[at:]
	nulls := false
	for _, c := range cols {
		nulls = nulls || c.HasNulls()
	}
	for i := range hs {
		head := uint64(0)
		if nulls {
			for f, c := range cols {
				if c.Nulls.Get(from + i) {
					head |= 1 << (uint(f) + 8)
				}
			}
		}
		hs[i] = int32(hashSlot(42, head))
	}
	for _, c := range cols {
		slotHash(hs, c, from, to)
	}
	for i, h := range hs {
		hs[i] = hashEnd(uint32(h), 8+8*len(cols))
	}
	return dst
}

func hashSlot(h uint32, w uint64) uint32 { return hashWord(hashWord(h, uint32(w)), uint32(w>>32)) }

// slotHash mixes the slots of rows from to to of c into the states.
func slotHash(hs []int32, c *Column, from, to int) {
	if c.HasNulls() {
		// Null slots are zeros, whatever the column holds there.
		for i := range hs {
			w := uint64(0)
			if !c.Nulls.Get(from + i) {
				w = slot(c, from+i)
			}
			hs[i] = int32(hashSlot(uint32(hs[i]), w))
		}
		return
	}
	switch c.Type.Store() {
	case StoreI64:
		for i, v := range c.I64[from:to] {
			hs[i] = int32(hashSlot(uint32(hs[i]), uint64(v)))
		}
	case StoreF32:
		for i, v := range c.F32[from:to] {
			hs[i] = int32(hashSlot(uint32(hs[i]), uint64(math.Float32bits(v))))
		}
	case StoreF64:
		for i, v := range c.F64[from:to] {
			hs[i] = int32(hashSlot(uint32(hs[i]), math.Float64bits(v)))
		}
	case StoreI32:
		mask := uint64(1)<<(8*elementWidth(c.Type)) - 1
		for i, v := range c.I32[from:to] {
			hs[i] = int32(hashSlot(uint32(hs[i]), uint64(v)&mask))
		}
	}
}

// slot returns the slot of a value without variable part.
func slot(c *Column, i int) uint64 {
	switch c.Type.Store() {
	case StoreI64:
		return uint64(c.I64[i])
	case StoreF32:
		return uint64(math.Float32bits(c.F32[i]))
	case StoreF64:
		return math.Float64bits(c.F64[i])
	}
	return uint64(c.I32[i]) & (uint64(1)<<(8*elementWidth(c.Type)) - 1)
}

// bytesHashes hashes rows of one string without building them.
func bytesHashes(dst []int32, c *Column, from, to int) []int32 {
	valueHead, nullHead := hashSlot(42, 0), hashSlot(42, 1<<8)
	for i := from; i < to; i++ {
		if c.Nulls.Get(i) {
			dst = append(dst, hashEnd(hashSlot(nullHead, 0), 16))
			continue
		}
		v := c.Value(i)
		if len(v) <= 7 {
			dst = append(dst, hashEnd(hashSlot(valueHead, tailWord(v)|uint64(0x80|len(v))<<56), 16))
			continue
		}
		h, n := hashSlot(valueHead, 16<<32|uint64(uint32(len(v)))), 16+(len(v)+7)&^7
		for ; len(v) >= 8; v = v[8:] {
			h = hashSlot(h, binary.LittleEndian.Uint64(v))
		}
		if len(v) > 0 {
			h = hashSlot(h, tailWord(v))
		}
		dst = append(dst, hashEnd(h, n))
	}
	return dst
}

// tailWord returns up to 7 bytes as a little-endian word.
func tailWord(v []byte) (w uint64) {
	for i, b := range v {
		w |= uint64(b) << (8 * i)
	}
	return w
}
