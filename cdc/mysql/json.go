package mysql

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/paimon-go/paimon-go/format/row"
)

// The value types of binary JSON. Small objects and arrays have offsets of 2 bytes, large ones of 4.
const (
	jsonSmallObject = 0x00
	jsonLargeObject = 0x01
	jsonSmallArray  = 0x02
	jsonLargeArray  = 0x03
	jsonLiteral     = 0x04
	jsonInt16       = 0x05
	jsonUint16      = 0x06
	jsonInt32       = 0x07
	jsonUint32      = 0x08
	jsonInt64       = 0x09
	jsonUint64      = 0x0a
	jsonDouble      = 0x0b
	jsonString      = 0x0c
	jsonOpaque      = 0x0f
)

// maxJSONDepth is above what the server lets in (100).
const maxJSONDepth = 128

// json appends a binary JSON document as the text that SELECT gives.
func (d *Decoder) json(c *row.Column, f *field, v []byte) error {
	w := jsonWriter{out: c.Bytes, left: len(v)}
	if len(v) == 0 { // INSERT IGNORE of NULL into a NOT NULL column
		w.out = append(w.out, "null"...)
	} else if !w.value(v[0], v[1:], 0) {
		return malformed("column %s: JSON document of %d bytes", f.name, len(v))
	}
	c.Bytes = w.out
	c.Off = append(c.Off, uint32(len(c.Bytes)))
	c.N++
	return nil
}

func (d *Decoder) jsonText(c *row.Column, f *field, v []byte) error {
	if len(v) == 0 {
		v = []byte("null")
	}
	return d.text(c, f, charsetUTF8, v)
}

// jsonWriter writes one document. left is how many bytes of the document may still be visited: containers give offsets,
// and bytes that point at each other must not make more text than the document is long.
type jsonWriter struct {
	out  []byte
	left int
}

func (w *jsonWriter) spend(n int) bool {
	w.left -= n
	return w.left >= 0
}

// value writes a value of type t whose bytes start at b. It reports false when the bytes are damaged.
func (w *jsonWriter) value(t byte, b []byte, depth int) bool {
	need := 0
	switch t {
	case jsonSmallObject, jsonLargeObject, jsonSmallArray, jsonLargeArray:
		return w.container(t, b, depth)
	case jsonLiteral:
		need = 1
	case jsonInt16, jsonUint16:
		need = 2
	case jsonInt32, jsonUint32:
		need = 4
	case jsonInt64, jsonUint64, jsonDouble:
		need = 8
	case jsonString:
		s, ok := jsonBytes(b)
		if ok = ok && w.spend(len(s)); ok {
			w.out = appendJSONString(w.out, s)
		}
		return ok
	case jsonOpaque:
		return w.opaque(b)
	default:
		return false
	}
	if len(b) < need {
		return false
	}
	switch t {
	case jsonLiteral:
		switch b[0] {
		case 0:
			w.out = append(w.out, "null"...)
		case 1:
			w.out = append(w.out, "true"...)
		case 2:
			w.out = append(w.out, "false"...)
		default:
			return false
		}
	case jsonInt16:
		w.out = appendInt(w.out, int64(int16(le.Uint16(b))))
	case jsonUint16:
		w.out = appendUint(w.out, uint64(le.Uint16(b)))
	case jsonInt32:
		w.out = appendInt(w.out, int64(int32(le.Uint32(b))))
	case jsonUint32:
		w.out = appendUint(w.out, uint64(le.Uint32(b)))
	case jsonInt64:
		w.out = appendInt(w.out, int64(le.Uint64(b)))
	case jsonUint64:
		w.out = appendUint(w.out, le.Uint64(b))
	case jsonDouble:
		w.out = appendJSONDouble(w.out, math.Float64frombits(le.Uint64(b)))
	}
	return true
}

// container writes an object or array: count, size, then for objects the key entries (offset, 2 byte length), then the
// value entries (type, and the value itself when it fits the offset, else the offset). Offsets count from the count.
func (w *jsonWriter) container(t byte, b []byte, depth int) bool {
	if depth >= maxJSONDepth {
		return false
	}
	width := 2
	if t == jsonLargeObject || t == jsonLargeArray {
		width = 4
	}
	isObject := t == jsonSmallObject || t == jsonLargeObject
	if len(b) < 2*width {
		return false
	}
	count, size := int(uintLE(b[:width])), int(uintLE(b[width:2*width]))
	keyEntry, valueEntry := width+2, width+1
	if !isObject {
		keyEntry = 0
	}
	header := 2*width + count*(keyEntry+valueEntry)
	if size > len(b) || header > size || !w.spend(header) {
		return false
	}
	b = b[:size]
	open, end := byte('['), byte(']')
	if isObject {
		open, end = '{', '}'
	}
	w.out = append(w.out, open)
	for i := range count {
		if i > 0 {
			w.out = append(w.out, ',', ' ')
		}
		if isObject {
			k := b[2*width+i*keyEntry:]
			from, n := int(uintLE(k[:width])), int(le.Uint16(k[width:]))
			if from > size || n > size-from || !w.spend(n) {
				return false
			}
			w.out = appendJSONString(w.out, b[from:from+n])
			w.out = append(w.out, ':', ' ')
		}
		v := b[2*width+count*keyEntry+i*valueEntry:]
		t, v := v[0], v[1:1+width]
		if !jsonInlined(t, width) {
			from := int(uintLE(v))
			if from >= size {
				return false
			}
			v = b[from:]
		}
		if !w.value(t, v, depth+1) {
			return false
		}
	}
	w.out = append(w.out, end)
	return true
}

func jsonInlined(t byte, width int) bool {
	switch t {
	case jsonLiteral, jsonInt16, jsonUint16:
		return true
	case jsonInt32, jsonUint32:
		return width == 4
	}
	return false
}

// jsonBytes cuts a value with a length in front: 7 bits a byte, the lowest first.
func jsonBytes(b []byte) ([]byte, bool) {
	n, k := binary.Uvarint(b)
	if k <= 0 || k > 5 || n > uint64(len(b)-k) {
		return nil, false
	}
	return b[k : k+int(n)], true
}

// opaque writes a value of an SQL type that JSON does not have.
func (w *jsonWriter) opaque(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	t := b[0]
	v, ok := jsonBytes(b[1:])
	if !ok || !w.spend(len(v)) {
		return false
	}
	switch t {
	case typeNewDecimal:
		return w.decimal(v)
	case typeDate, typeDatetime, typeTimestamp, typeTime:
		if len(v) != 8 {
			return false
		}
		w.out = append(w.out, '"')
		w.temporal(t, int64(le.Uint64(v)))
		w.out = append(w.out, '"')
		return true
	}
	w.out = append(w.out, "\"base64:type"...)
	w.out = strconv.AppendInt(w.out, int64(t), 10)
	w.out = append(w.out, ':')
	for len(v) > base64Line { // the server breaks lines, and escapes the break
		w.out = base64.StdEncoding.AppendEncode(w.out, v[:base64Line])
		w.out = append(w.out, '\\', 'n')
		v = v[base64Line:]
	}
	w.out = base64.StdEncoding.AppendEncode(w.out, v)
	w.out = append(w.out, '"')
	return true
}

// base64Line is how many bytes make a line of 76 characters.
const base64Line = 57

// decimal writes a packed DECIMAL behind its precision and scale.
func (w *jsonWriter) decimal(v []byte) bool {
	if len(v) < 3 {
		return false
	}
	p, s := int(v[0]), int(v[1])
	v = v[2:]
	if p == 0 || p > 81 || s > p || len(v) != packedSize(p, s) {
		return false
	}
	var digits [90]byte
	text := digits[:0]
	flip, first := uint32(0), uint32(0x80)
	if v[0]&0x80 == 0 {
		flip = ^uint32(0)
	}
	for _, g := range newPackedDecimal(p, s).groups {
		x, ok := g.value(v, flip^first<<(8*(uint(g.bytes)-1)))
		if !ok {
			return false
		}
		first = 0
		text = appendDigits(text, x, int(g.digits))
		v = v[g.bytes:]
	}
	w.out = appendDecimalDigits(w.out, text, s, flip != 0, false)
	return true
}

// temporal writes the server's packed form of a date or time: in a DATETIME 17 bits year*13+month, 5 day, 5 hour,
// 6 minute, 6 second, 24 microseconds; a TIME has 10 bits of hours and no day.
func (w *jsonWriter) temporal(t byte, x int64) {
	if x < 0 {
		w.out = append(w.out, '-')
		x = -x
	}
	clock := civil{hour: int(x >> 36 & 31), minute: int(x >> 30 & 63), second: int(x >> 24 & 63)}
	if t == typeTime {
		clock.hour = int(x >> 36 & 1023)
		if clock.hour > 99 {
			w.out = appendInt(w.out, int64(clock.hour/100))
			clock.hour %= 100
		}
	} else {
		ymd := int(x >> 41 & 0x3fffff)
		w.out = appendDigits(w.out, uint64(ymd>>5/13), 4)
		w.out = append(w.out, '-')
		w.out = appendDigits(w.out, uint64(ymd>>5%13), 2)
		w.out = append(w.out, '-')
		w.out = appendDigits(w.out, uint64(ymd&31), 2)
		if t == typeDate {
			return
		}
		w.out = append(w.out, ' ')
	}
	w.out = appendClock(w.out, clock)
	w.out = append(w.out, '.')
	w.out = appendDigits(w.out, uint64(x&0xffffff)%1000000, 6)
}

const hexDigits = "0123456789abcdef"

// appendJSONString writes a quoted string. Strings in a document are utf8mb4 and were checked by the server.
func appendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i, ch := range s {
		if ch >= 0x20 && ch != '"' && ch != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch ch {
		case '"', '\\':
			dst = append(dst, '\\', ch)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[ch>>4], hexDigits[ch&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// appendJSONDouble writes a double as the server does: the shortest digits that read back the same, in fixed form when
// the point is at most 15 digits behind or 14 before the first digit, else with an exponent without plus sign; a fixed
// form always has a fraction.
func appendJSONDouble(dst []byte, x float64) []byte {
	var tmp [32]byte
	t := strconv.AppendFloat(tmp[:0], x, 'e', -1, 64) // [-]d[.ddd]e[+-]dd
	i := len(t) - 1
	for i > 0 && t[i] != 'e' {
		i--
	}
	exp, err := strconv.Atoi(string(t[i+1:]))
	if err != nil { // infinities and NaN cannot be in a document
		return append(dst, t...)
	}
	if x == 0 || exp+1 >= -14 && exp+1 <= 15 {
		from := len(dst)
		dst = strconv.AppendFloat(dst, x, 'f', -1, 64)
		for _, ch := range dst[from:] {
			if ch == '.' {
				return dst
			}
		}
		return append(dst, '.', '0')
	}
	dst = append(dst, t[:i+1]...)
	return strconv.AppendInt(dst, int64(exp), 10)
}
