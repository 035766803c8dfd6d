package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/paimon-go/paimon-go/format/row"
)

// values are non-null values of a leaf on their way from a column into a page: exactly the slices of its physical type are
// in use. They are views of the column where that is possible, else copies in scratch memory.
type values struct {
	n   int
	i32 []int32 // INT32, BOOLEAN; FLOAT as its bits
	i64 []int64 // INT64; DOUBLE as its bits
	// BYTE_ARRAY: value i is bytes[off[i]:off[i+1]], or bytes[off[idx[i]]:off[idx[i]+1]] where idx is set.
	off   []uint32
	idx   []int32
	bytes []byte
	// FIXED_LEN_BYTE_ARRAY and INT96: value i is fixed[i*width:][:width].
	fixed []byte
	width int
}

// value returns value i of a BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY or INT96.
func (v *values) value(i int) []byte {
	if v.width > 0 {
		return v.fixed[i*v.width : (i+1)*v.width]
	}
	if v.idx != nil {
		i = int(v.idx[i])
	}
	return v.bytes[v.off[i]:v.off[i+1]]
}

// stager turns rows of a column into values of its leaf.
type stager struct {
	leaf  *node
	i32   []int32
	i64   []int64
	fixed []byte
}

// stage returns rows from to to of c where idx is nil, else rows idx; none of them may be null. The result is valid until
// the next call.
func (s *stager) stage(c *row.Column, from, to int, idx []int32) (v values) {
	v.n = to - from
	if idx != nil {
		v.n = len(idx)
	}
	store := c.Type.Store()
	switch s.leaf.phys {
	case pByteArray:
		v.bytes, v.off, v.idx = c.Bytes, c.Off, idx
		if idx == nil {
			v.off = c.Off[from : to+1]
		}
	case pBoolean, pInt32:
		switch {
		case store == row.StoreI64:
			// A DECIMAL of up to 9 digits. The sum of a column may have more than 32 bits; Java keeps the low ones too.
			s.i32 = resize(s.i32, v.n)
			for i := range s.i32 {
				s.i32[i] = int32(c.I64[at(idx, from, i)])
			}
			v.i32 = s.i32
		case idx == nil:
			v.i32 = c.I32[from:to]
		default:
			s.i32 = gather(s.i32, c.I32, idx)
			v.i32 = s.i32
		}
	case pInt64:
		if v.i64 = c.I64[from:to]; idx != nil {
			s.i64 = gather(s.i64, c.I64, idx)
			v.i64 = s.i64
		}
	case pFloat:
		s.i32 = resize(s.i32, v.n)
		for i := range s.i32 {
			s.i32[i] = int32(math.Float32bits(c.F32[at(idx, from, i)]))
		}
		v.i32 = s.i32
	case pDouble:
		s.i64 = resize(s.i64, v.n)
		for i := range s.i64 {
			s.i64[i] = int64(math.Float64bits(c.F64[at(idx, from, i)]))
		}
		v.i64 = s.i64
	case pInt96:
		v.width = int96Width
		s.fixed = resize(s.fixed, v.n*v.width)
		for i := range v.n {
			j := at(idx, from, i)
			putInt96(s.fixed[i*v.width:], c.I64[j], c.I32[j])
		}
		v.fixed = s.fixed
	case pFixed:
		v.width = s.leaf.width
		s.fixed = resize(s.fixed, v.n*v.width)
		for i := range v.n {
			putInt128(s.fixed[i*v.width:(i+1)*v.width], c.I128[at(idx, from, i)])
		}
		v.fixed = s.fixed
	}
	return v
}

func at(idx []int32, from, i int) int {
	if idx != nil {
		return int(idx[i])
	}
	return from + i
}

func gather[T any](dst, src []T, idx []int32) []T {
	dst = resize(dst, len(idx))
	for i, j := range idx {
		dst[i] = src[j]
	}
	return dst
}

// resize returns a slice of n entries of any content, b's memory where it suffices.
func resize[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n, max(n, 2*cap(b)))
	}
	return b[:n]
}

const (
	julianEpoch  = 2440588 // Julian day of 1970-01-01
	milliOfDay   = 86_400_000
	nanosOfMilli = 1_000_000
)

// putInt96 writes a timestamp with the day rounded down, so that the nanoseconds of the day are never negative.
func putInt96(dst []byte, millis int64, nano int32) {
	day := millis / milliOfDay
	ms := millis % milliOfDay
	if ms < 0 {
		ms += milliOfDay
		day--
	}
	binary.LittleEndian.PutUint64(dst, uint64(ms*nanosOfMilli+int64(nano)))
	binary.LittleEndian.PutUint32(dst[8:], uint32(day+julianEpoch))
}

// int96 is the reverse. Java writes negative nanoseconds for times before 1970.
func int96(b []byte) (millis int64, nano int32) {
	n := int64(binary.LittleEndian.Uint64(b))
	day := int64(int32(binary.LittleEndian.Uint32(b[8:]))) - julianEpoch
	ms := n / nanosOfMilli
	if n %= nanosOfMilli; n < 0 {
		n += nanosOfMilli
		ms--
	}
	return day*milliOfDay + ms, int32(n)
}

// putInt128 writes the low bytes of v, big endian.
func putInt128(dst []byte, v row.Int128) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = byte(v.Lo)
		v.Lo = v.Lo>>8 | uint64(v.Hi)<<56
		v.Hi >>= 8
	}
}

// int128 reads a big-endian two's complement number of any length; ok is false when it doesn't fit.
func int128(b []byte) (v row.Int128, ok bool) {
	if len(b) == 0 {
		return v, false
	}
	sign := byte(0)
	if b[0]&0x80 != 0 {
		v, sign = row.Int128{Hi: -1, Lo: math.MaxUint64}, 0xFF
	}
	for ; len(b) > 16; b = b[1:] {
		if b[0] != sign || (b[1]^sign)&0x80 != 0 {
			return v, false
		}
	}
	for _, x := range b {
		v.Hi = v.Hi<<8 | int64(v.Lo>>56)
		v.Lo = v.Lo<<8 | uint64(x)
	}
	return v, true
}

// encoder collects the values of a page in one of its encodings. There is one kind for each width of numbers, one for
// booleans and one for everything made of bytes; each starts with a dictionary if allowed and can fall back to PLAIN.
type encoder interface {
	reset(leaf *node, dict bool)
	put(v *values)
	// plain returns the PLAIN bytes of the page's values, after some room at the start for levels.
	plain() *[]byte
	dict() *dictionary
	// fallBack makes the page's values PLAIN and all that follow. The dictionary stays for the pages that use it.
	fallBack()
	// capacity is how much memory it holds, to judge whether it may be pooled.
	capacity() int
}

// headroom is kept free before PLAIN values, so that short level runs go before them without moving them.
const headroom = 32

// dictionary is the state of a column chunk's dictionary and of the page that is written with it.
type dictionary struct {
	on      bool
	indexes []uint32 // of the page's values
	entries int
	bytes   []byte // the entries, PLAIN: the body of the dictionary page
	table   []uint32
	shift   uint8
}

func (d *dictionary) reset(on bool) {
	d.on, d.indexes, d.entries, d.bytes = on, d.indexes[:0], 0, d.bytes[:0]
	if !on {
		return
	}
	if len(d.table) == 0 || len(d.table) > 1<<14 { // a big table costs more to clear than to make anew
		d.table = make([]uint32, 1<<8)
	} else {
		clear(d.table)
	}
	d.shift = uint8(64 - bits.Len(uint(len(d.table)-1)))
}

// grown doubles the table and calls rehash for each entry.
func (d *dictionary) grown(hash func(entry int) uint64) {
	d.table = make([]uint32, 2*len(d.table))
	d.shift--
	mask := len(d.table) - 1
	for e := range d.entries {
		h := int(hash(e) >> d.shift)
		for d.table[h&mask] != 0 {
			h++
		}
		d.table[h&mask] = uint32(e + 1)
	}
}

func (d *dictionary) full() bool { return d.entries*2 >= len(d.table) }

func (d *dictionary) width() int { return bitWidth(d.entries - 1) }

func newEncoder(phys int32) encoder {
	switch phys {
	case pBoolean:
		return new(boolEncoder)
	case pInt32, pFloat:
		return new(numEncoder[int32])
	case pInt64, pDouble:
		return new(numEncoder[int64])
	case pByteArray, pFixed, pInt96:
		return new(bytesEncoder)
	}
	panic(fmt.Sprintf("parquet: physical type %d", phys))
}
