package avro

import (
	"fmt"
	"slices"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

type encodeOp uint8

const (
	encBoolean encodeOp = iota + 1
	encInt
	encLong
	encBytes
	encFloat
	encDouble
	encDecimal64
	encDecimal128
	encArray
	encMap
	encArrayMap
	encRow
)

// encoder writes the values of one column, or of a kid of one. The type is looked at once, in init; the vectors of the
// batch at hand are taken once, in bind; append has one switch a value and allocates nothing.
type encoder struct {
	op       encodeOp
	nullable bool // a union in the file
	nulls    row.Bitmap
	i32      []int32
	i64      []int64
	off      []uint32
	bytes    []byte
	col      *row.Column // for the rarer stores
	kids     []encoder
	path     string
	fault    *error // shared by the encoders of a writer: the first value that cannot be written
}

func (e *encoder) init(t *row.Type, path string, fault *error) {
	*e = encoder{nullable: t.Nullable, path: path, fault: fault}
	switch t.Store() {
	case row.StoreI32:
		e.op = encInt
		if t.Root == row.Boolean {
			e.op = encBoolean
		}
	case row.StoreI64:
		e.op = encLong
		if t.Root == row.Decimal {
			e.op = encDecimal64
		}
	case row.StoreF32:
		e.op = encFloat
	case row.StoreF64:
		e.op = encDouble
	case row.StoreI128:
		e.op = encDecimal128
	case row.StoreBytes:
		e.op = encBytes
	case row.StoreRow:
		e.op = encRow
		e.kids = make([]encoder, len(t.Fields))
		for i := range t.Fields {
			e.kids[i].init(&t.Fields[i].Type, path+"."+t.Fields[i].Name, fault)
		}
	case row.StoreList:
		e.initList(t, path, fault)
	}
}

func (e *encoder) initList(t *row.Type, path string, fault *error) {
	if t.Root == row.Array {
		e.op = encArray
		e.kids = make([]encoder, 1)
		e.kids[0].init(t.Elem, path+"[]", fault)
		return
	}
	key, value := mapParts(t)
	e.op = encArrayMap
	e.kids = make([]encoder, 2)
	e.kids[0].init(key, path+".key", fault)
	e.kids[1].init(value, path+".value", fault)
	if isStringMap(t) {
		e.op = encMap
		e.kids[0].nullable = false // whatever the type says, an Avro map has no null key
	}
}

// bind takes the vectors of c, which must not change until the next bind.
func (e *encoder) bind(c *row.Column) {
	e.nulls = nil
	if c.HasNulls() {
		e.nulls = c.Nulls
	}
	e.i32, e.i64, e.off, e.bytes, e.col = c.I32, c.I64, c.Off, c.Bytes, c
	for i := range e.kids {
		e.kids[i].bind(&c.Kids[i])
	}
}

// room is what any value of fixed width takes at most, its union branch and putLong's spare bytes included.
const room = 32

// appendRow appends value i of each column. It is the hot loop of a writer: the frequent types are written in place, with
// one check for room, rather than by a function each.
func appendRow(dst []byte, cols []encoder, i int) []byte {
	for c := range cols {
		e := &cols[c]
		if cap(dst)-len(dst) < room {
			dst = slices.Grow(dst, max(room, cap(dst)/4))
		}
		p := len(dst)
		w := dst[:p+room]
		if e.nullable {
			if e.nulls != nil && e.nulls.Get(i) {
				w[p] = 0
				dst = w[:p+1]
				continue
			}
			w[p] = 2
			p++
		} else if e.nulls != nil && e.nulls.Get(i) {
			e.fail()
			return dst
		}
		switch e.op {
		case encLong:
			dst = w[:p+putLong(w[p:], e.i64[i])]
		case encInt:
			dst = w[:p+putLong(w[p:], int64(e.i32[i]))]
		case encBytes:
			v := e.bytes[e.off[i]:e.off[i+1]]
			dst = append(w[:p+putLong(w[p:], int64(len(v)))], v...)
		case encBoolean:
			w[p] = byte(e.i32[i])
			dst = w[:p+1]
		default:
			dst = e.append(w[:p], i)
		}
	}
	return dst
}

func (e *encoder) fail() {
	if *e.fault == nil {
		*e.fault = fmt.Errorf("column %s: %w", e.path, format.ErrNull)
	}
}

// append appends value i of a rarer type.
func (e *encoder) append(dst []byte, i int) []byte {
	switch e.op {
	case encDouble:
		return AppendDouble(dst, e.col.F64[i])
	case encFloat:
		return AppendFloat(dst, e.col.F32[i])
	case encDecimal64:
		return appendDecimal64(dst, e.i64[i])
	case encDecimal128:
		return appendDecimal128(dst, e.col.I128[i])
	case encRow:
		return appendRow(dst, e.kids, i)
	}
	from, to := int(e.off[i]), int(e.off[i+1])
	dst = AppendCount(dst, to-from)
	for j := from; j < to; j++ {
		dst = appendRow(dst, e.kids, j)
	}
	return AppendEnd(dst)
}

// appendDecimal64 appends the shortest big-endian two's complement, as Java's BigInteger.toByteArray.
func appendDecimal64(dst []byte, v int64) []byte {
	n := 1
	for s := v >> 7; s != 0 && s != -1; s >>= 8 {
		n++
	}
	dst = append(dst, byte(n<<1))
	for shift := 8 * (n - 1); shift >= 0; shift -= 8 {
		dst = append(dst, byte(v>>shift))
	}
	return dst
}

func appendDecimal128(dst []byte, v row.Int128) []byte {
	if v.Hi == int64(v.Lo)>>63 {
		return appendDecimal64(dst, int64(v.Lo))
	}
	n := 9
	for s := v.Hi >> 7; s != 0 && s != -1; s >>= 8 {
		n++
	}
	dst = append(dst, byte(n<<1))
	for shift := 8 * (n - 9); shift >= 0; shift -= 8 {
		dst = append(dst, byte(v.Hi>>shift))
	}
	for shift := 56; shift >= 0; shift -= 8 {
		dst = append(dst, byte(v.Lo>>shift))
	}
	return dst
}
