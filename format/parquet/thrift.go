package parquet

import (
	"encoding/binary"
	"errors"
	"math"
)

// Types of Thrift's compact protocol.
const (
	tTrue   = 1
	tFalse  = 2
	tByte   = 3
	tI16    = 4
	tI32    = 5
	tI64    = 6
	tDouble = 7
	tBinary = 8
	tList   = 9
	tSet    = 10
	tMap    = 11
	tStruct = 12
)

// thriftWriter appends structs of Thrift's compact protocol, the language of Parquet's page headers and footer.
type thriftWriter struct {
	b    []byte
	last []int16 // the id of the last field written, for each open struct
}

func (w *thriftWriter) reset() {
	w.b = w.b[:0]
	w.last = append(w.last[:0], 0)
}

func (w *thriftWriter) field(id int16, typ byte) {
	l := &w.last[len(w.last)-1]
	if d := id - *l; d > 0 && d <= 15 {
		w.b = append(w.b, byte(d)<<4|typ)
	} else {
		w.b = append(w.b, typ)
		w.b = binary.AppendVarint(w.b, int64(id))
	}
	*l = id
}

func (w *thriftWriter) i16(id int16, v int16) {
	w.field(id, tI16)
	w.b = binary.AppendVarint(w.b, int64(v))
}
func (w *thriftWriter) i32(id int16, v int32) {
	w.field(id, tI32)
	w.b = binary.AppendVarint(w.b, int64(v))
}
func (w *thriftWriter) i64(id int16, v int64) { w.field(id, tI64); w.b = binary.AppendVarint(w.b, v) }
func (w *thriftWriter) i8(id int16, v int8)   { w.field(id, tByte); w.b = append(w.b, byte(v)) }

func (w *thriftWriter) bool(id int16, v bool) {
	if v {
		w.field(id, tTrue)
	} else {
		w.field(id, tFalse)
	}
}

func (w *thriftWriter) bytes(id int16, v []byte) { w.field(id, tBinary); w.elemBytes(v) }

func (w *thriftWriter) string(id int16, v string) {
	w.field(id, tBinary)
	w.elemString(v)
}

// begin opens a struct in field id; a struct that is an element of a list is opened with beginElem.
func (w *thriftWriter) begin(id int16) { w.field(id, tStruct); w.last = append(w.last, 0) }
func (w *thriftWriter) beginElem()     { w.last = append(w.last, 0) }

func (w *thriftWriter) end() {
	w.b = append(w.b, 0)
	if len(w.last) > 1 {
		w.last = w.last[:len(w.last)-1]
	}
}

// empty writes a struct without fields.
func (w *thriftWriter) empty(id int16) { w.field(id, tStruct); w.b = append(w.b, 0) }

func (w *thriftWriter) list(id int16, elem byte, n int) {
	w.field(id, tList)
	if n < 15 {
		w.b = append(w.b, byte(n)<<4|elem)
		return
	}
	w.b = append(w.b, 0xF0|elem)
	w.b = binary.AppendUvarint(w.b, uint64(n))
}

func (w *thriftWriter) elemI32(v int32) { w.b = binary.AppendVarint(w.b, int64(v)) }
func (w *thriftWriter) elemI64(v int64) { w.b = binary.AppendVarint(w.b, v) }

func (w *thriftWriter) elemBool(v bool) {
	if v {
		w.b = append(w.b, tTrue)
	} else {
		w.b = append(w.b, tFalse)
	}
}

func (w *thriftWriter) elemBytes(v []byte) {
	w.b = binary.AppendUvarint(w.b, uint64(len(v)))
	w.b = append(w.b, v...)
}

func (w *thriftWriter) elemString(v string) {
	w.b = binary.AppendUvarint(w.b, uint64(len(v)))
	w.b = append(w.b, v...)
}

// errShort says that a struct goes on past the bytes at hand: a page header may be longer than what was read ahead.
var (
	errShort  = errors.New("thrift struct is cut off")
	errThrift = errors.New("malformed thrift struct")
)

// maxThriftDepth bounds the nesting that skip follows; Parquet's own structs nest less than 10 deep.
const maxThriftDepth = 32

// thriftReader decodes structs of the compact protocol from b. The first error sticks; values are then zero. Lengths are
// checked against the bytes left before anything is allocated.
type thriftReader struct {
	b   []byte
	pos int
	err error
}

func (r *thriftReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *thriftReader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.pos >= len(r.b) {
		r.fail(errShort)
		return 0
	}
	r.pos++
	return r.b[r.pos-1]
}

func (r *thriftReader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b[r.pos:])
	if n <= 0 {
		if n == 0 {
			r.fail(errShort)
		} else {
			r.fail(errThrift)
		}
		return 0
	}
	r.pos += n
	return v
}

func (r *thriftReader) i64() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *thriftReader) i32() int32 {
	v := r.i64()
	if v < math.MinInt32 || v > math.MaxInt32 {
		r.fail(errThrift)
		return 0
	}
	return int32(v)
}

// bytes returns a view of the input.
func (r *thriftReader) bytes() []byte {
	n := r.uvarint()
	if r.err != nil {
		return nil
	}
	if n > uint64(len(r.b)-r.pos) {
		if n > math.MaxInt32 {
			r.fail(errThrift)
		} else {
			r.fail(errShort)
		}
		return nil
	}
	v := r.b[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return v
}

// list returns a list's length, which is no more than the bytes left.
func (r *thriftReader) list() (n int, elem byte) {
	h := r.byte()
	elem = h & 15
	u := uint64(h >> 4)
	if u == 15 {
		u = r.uvarint()
	}
	if r.err == nil && u > uint64(len(r.b)-r.pos) {
		if u > math.MaxInt32 {
			r.fail(errThrift)
		} else {
			r.fail(errShort)
		}
	}
	if r.err != nil {
		return 0, elem
	}
	return int(u), elem
}

// fields calls f for each field of a struct; f must consume the value or return false to have it skipped. Booleans
// carry their value in typ.
func (r *thriftReader) fields(f func(id int16, typ byte) bool) {
	var last int16
	for r.err == nil {
		h := r.byte()
		if r.err != nil || h == 0 {
			return
		}
		typ := h & 15
		if d := h >> 4; d != 0 {
			last += int16(d)
		} else {
			v := r.i32()
			if v < math.MinInt16 || v > math.MaxInt16 {
				r.fail(errThrift)
				return
			}
			last = int16(v)
		}
		if !f(last, typ) {
			r.skip(typ, 0)
		}
	}
}

func (r *thriftReader) skip(typ byte, depth int) {
	if depth > maxThriftDepth {
		r.fail(errThrift)
	}
	if r.err != nil {
		return
	}
	switch typ {
	case tTrue, tFalse:
	case tByte:
		r.byte()
	case tI16, tI32, tI64:
		r.uvarint()
	case tDouble:
		if len(r.b)-r.pos < 8 {
			r.fail(errShort)
			return
		}
		r.pos += 8
	case tBinary:
		r.bytes()
	case tList, tSet:
		n, elem := r.list()
		for i := 0; i < n && r.err == nil; i++ {
			if elem == tTrue || elem == tFalse {
				r.byte()
			} else {
				r.skip(elem, depth+1)
			}
		}
	case tMap:
		n := r.uvarint()
		if n == 0 {
			return
		}
		kv := r.byte()
		for ; n > 0 && r.err == nil; n-- {
			r.skipElem(kv>>4, depth+1)
			r.skipElem(kv&15, depth+1)
		}
	case tStruct:
		for r.err == nil {
			h := r.byte()
			if r.err != nil || h == 0 {
				return
			}
			if h>>4 == 0 {
				r.i32()
			}
			r.skip(h&15, depth+1)
		}
	default:
		r.fail(errThrift)
	}
}

func (r *thriftReader) skipElem(typ byte, depth int) {
	if typ == tTrue || typ == tFalse {
		r.byte()
		return
	}
	r.skip(typ, depth)
}
