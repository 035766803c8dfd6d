package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"unsafe"

	"github.com/paimon-go/paimon-go/format/row"
)

// boolEncoder packs booleans into bits; they have no dictionary.
type boolEncoder struct {
	buf []byte
	n   int
	d   dictionary
}

func (e *boolEncoder) reset(*node, bool) { e.buf, e.n = resize(e.buf, headroom), 0 }
func (e *boolEncoder) dict() *dictionary { return &e.d }
func (e *boolEncoder) fallBack()         {}
func (e *boolEncoder) capacity() int     { return cap(e.buf) }

func (e *boolEncoder) plain() *[]byte {
	e.n = 0 // the page is over once its bytes are taken
	return &e.buf
}

func (e *boolEncoder) put(v *values) {
	for _, x := range v.i32 {
		if e.n&7 == 0 {
			e.buf = append(e.buf, 0)
		}
		if x != 0 {
			e.buf[len(e.buf)-1] |= 1 << (e.n & 7)
		}
		e.n++
	}
}

// numEncoder encodes INT32 and INT64, and FLOAT and DOUBLE by their bits.
type numEncoder[T int32 | int64] struct {
	buf  []byte
	d    dictionary
	vals []T // the dictionary's entries
}

func (e *numEncoder[T]) reset(_ *node, dict bool) {
	e.buf, e.vals = resize(e.buf, headroom), e.vals[:0]
	e.d.reset(dict)
}

func (e *numEncoder[T]) plain() *[]byte    { return &e.buf }
func (e *numEncoder[T]) dict() *dictionary { return &e.d }

func (e *numEncoder[T]) capacity() int {
	return cap(e.buf) + 4*cap(e.d.indexes) + 4*cap(e.d.table) + cap(e.d.bytes) + 8*cap(e.vals)
}

func (e *numEncoder[T]) put(v *values) {
	var in []T
	switch p := any(&in).(type) {
	case *[]int32:
		*p = v.i32
	case *[]int64:
		*p = v.i64
	}
	if !e.d.on {
		e.buf = appendNums(e.buf, in)
		return
	}
	d := &e.d
	d.indexes = grown(d.indexes, len(in))
	mask := len(d.table) - 1
	last, lastIdx := T(0), uint32(0)
	if len(in) > 0 {
		last = in[0] - 1
	}
	for _, x := range in {
		if x == last {
			d.indexes = append(d.indexes, lastIdx)
			continue
		}
		last = x
		h := int(hashNum(x) >> d.shift)
		for {
			s := d.table[h&mask]
			if s == 0 {
				d.table[h&mask] = uint32(d.entries + 1)
				lastIdx = uint32(d.entries)
				e.vals = append(e.vals, x)
				if d.entries++; d.full() {
					d.grown(func(i int) uint64 { return hashNum(e.vals[i]) })
					mask = len(d.table) - 1
				}
				break
			}
			if e.vals[s-1] == x {
				lastIdx = s - 1
				break
			}
			h++
		}
		d.indexes = append(d.indexes, lastIdx)
	}
	d.bytes = appendNums(d.bytes, e.vals[len(d.bytes)/int(unsafe.Sizeof(last)):])
}

func (e *numEncoder[T]) fallBack() {
	width := int(unsafe.Sizeof(T(0)))
	e.buf = grow(e.buf, len(e.d.indexes)*width)
	for _, i := range e.d.indexes {
		e.buf = append(e.buf, e.d.bytes[int(i)*width:(int(i)+1)*width]...)
	}
	e.d.on, e.d.indexes = false, e.d.indexes[:0]
}

func hashNum[T int32 | int64](x T) uint64 {
	h := uint64(x) * 0x9E3779B97F4A7C15
	return h ^ h>>29*0xBF58476D1CE4E5B9
}

func appendNums[T int32 | int64](dst []byte, vals []T) []byte {
	n := len(dst)
	if unsafe.Sizeof(T(0)) == 4 {
		dst = grow(dst, 4*len(vals))[:n+4*len(vals)]
		out := dst[n:]
		for i, x := range vals {
			binary.LittleEndian.PutUint32(out[4*i:4*i+4], uint32(x))
		}
		return dst
	}
	dst = grow(dst, 8*len(vals))[:n+8*len(vals)]
	out := dst[n:]
	for i, x := range vals {
		binary.LittleEndian.PutUint64(out[8*i:8*i+8], uint64(x))
	}
	return dst
}

// grown makes room for n more entries.
func grown[T any](s []T, n int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	g := make([]T, len(s), max(len(s)+n, 2*cap(s)))
	copy(g, s)
	return g
}

// bytesEncoder encodes BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY and INT96.
type bytesEncoder struct {
	buf    []byte
	d      dictionary
	width  int      // of a value; 0 for a BYTE_ARRAY, which has its length before it
	off    []uint32 // where entry i is in d.bytes, without its length
	hashes []uint32
}

func (e *bytesEncoder) reset(leaf *node, dict bool) {
	e.buf, e.off, e.hashes = resize(e.buf, headroom), e.off[:0], e.hashes[:0]
	e.width = leaf.width
	e.d.reset(dict)
}

func (e *bytesEncoder) plain() *[]byte    { return &e.buf }
func (e *bytesEncoder) dict() *dictionary { return &e.d }

func (e *bytesEncoder) capacity() int {
	return cap(e.buf) + 4*cap(e.d.indexes) + 4*cap(e.d.table) + cap(e.d.bytes) + 4*cap(e.off) + 4*cap(e.hashes)
}

// dictSeed makes the places in hash tables, and nothing that is written.
var dictSeed = maphash.MakeSeed()

// entry returns entry i of the dictionary.
func (e *bytesEncoder) entry(i uint32) []byte {
	from := e.off[i]
	if e.width > 0 {
		return e.d.bytes[from : from+uint32(e.width)]
	}
	return e.d.bytes[from : from+binary.LittleEndian.Uint32(e.d.bytes[from-4:])]
}

func (e *bytesEncoder) put(v *values) {
	switch {
	case e.d.on:
		e.putDict(v)
	case e.width > 0:
		e.buf = append(e.buf, v.fixed...)
	case v.idx == nil:
		e.buf = appendByteArrays(e.buf, v.bytes, v.off)
	default:
		for i := range v.n {
			x := v.value(i)
			e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(len(x)))
			e.buf = append(e.buf, x...)
		}
	}
}

func appendByteArrays(dst, src []byte, off []uint32) []byte {
	n := len(off) - 1
	if n <= 0 {
		return dst
	}
	at := len(dst)
	size := int(off[n]-off[0]) + 4*n
	dst = grow(dst, size)[:at+size]
	from := off[0]
	for _, to := range off[1:] {
		binary.LittleEndian.PutUint32(dst[at:], to-from)
		at += 4 + copy(dst[at+4:], src[from:to])
		from = to
	}
	return dst
}

func (e *bytesEncoder) putDict(v *values) {
	d := &e.d
	d.indexes = grown(d.indexes, v.n)
	mask := len(d.table) - 1
	var last []byte
	lastIdx := uint32(0)
	if len(d.indexes) > 0 {
		lastIdx = d.indexes[len(d.indexes)-1]
		last = e.entry(lastIdx)
	}
	for i := range v.n {
		x := v.value(i)
		if last != nil && bytes.Equal(x, last) {
			d.indexes = append(d.indexes, lastIdx)
			continue
		}
		last = x
		if last == nil {
			last = empty
		}
		hash := maphash.Bytes(dictSeed, x)
		h := int(hash >> d.shift)
		for {
			s := d.table[h&mask]
			if s == 0 {
				lastIdx = uint32(d.entries)
				d.table[h&mask] = lastIdx + 1
				if e.width == 0 {
					d.bytes = binary.LittleEndian.AppendUint32(d.bytes, uint32(len(x)))
				}
				e.off = append(e.off, uint32(len(d.bytes)))
				e.hashes = append(e.hashes, uint32(hash>>32))
				d.bytes = append(d.bytes, x...)
				if d.entries++; d.full() {
					d.grown(func(i int) uint64 { return uint64(e.hashes[i]) << 32 })
					mask = len(d.table) - 1
				}
				break
			}
			if e.hashes[s-1] == uint32(hash>>32) && bytes.Equal(e.entry(s-1), x) {
				lastIdx = s - 1
				break
			}
			h++
		}
		d.indexes = append(d.indexes, lastIdx)
	}
}

var empty = []byte{}

func (e *bytesEncoder) fallBack() {
	for _, i := range e.d.indexes {
		x := e.entry(i)
		if e.width == 0 {
			e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(len(x)))
		}
		e.buf = append(e.buf, x...)
	}
	e.d.on, e.d.indexes = false, e.d.indexes[:0]
}

// countedWidth is what parquet-mr counts for a value of a fixed width: with a dictionary, which FIXED_LEN_BYTE_ARRAY doesn't
// get, 4 more for a length that isn't there.
func countedWidth(leaf *node) int {
	if leaf.phys == pInt96 {
		return leaf.width + 4
	}
	return leaf.width
}

// plainSize is how many bytes the values take in PLAIN form, as parquet-mr counts them.
func plainSize(v *values, leaf *node) int {
	switch leaf.phys {
	case pBoolean:
		return (v.n + 7) / 8
	case pInt32, pFloat:
		return 4 * v.n
	case pInt64, pDouble:
		return 8 * v.n
	case pByteArray:
		if v.idx == nil {
			return int(v.off[v.n]-v.off[0]) + 4*v.n
		}
		n := 4 * v.n
		for _, i := range v.idx {
			n += int(v.off[i+1] - v.off[i])
		}
		return n
	}
	return v.n * countedWidth(leaf)
}

// rowsWithin returns how many rows from from, at most to-from and at least one, are needed to reach size PLAIN bytes.
func rowsWithin(leaf *node, c *row.Column, from, to, size int) int {
	if leaf.phys == pByteArray {
		base := c.Off[from]
		if int(c.Off[to]-base)+4*(to-from) < size {
			return to - from
		}
		lo, hi := 1, to-from
		for lo < hi {
			if m := (lo + hi) / 2; int(c.Off[from+m]-base)+4*m >= size {
				hi = m
			} else {
				lo = m + 1
			}
		}
		return lo
	}
	width := countedWidth(leaf)
	switch leaf.phys {
	case pBoolean:
		return to - from
	case pInt32, pFloat:
		width = 4
	case pInt64, pDouble:
		width = 8
	}
	return max(1, min(to-from, (size+width-1)/width))
}
