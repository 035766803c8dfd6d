package row

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
)

// Rows as JSON lines, one text for one row, so that tables can be compared and summed as text:
//
//	{"_kind":"+I","id":7,"price":"1.50","ts":"2024-01-31T13:14:15.123000000","tags":["a",null]}
//
// Columns are in order, without blanks, UTF-8 raw, only quotes, backslashes and control characters escaped. Integers are
// numbers; FLOAT and DOUBLE are as encoding/json writes them, "NaN", "Infinity", "-Infinity" as strings and -0 kept;
// DECIMAL is a string with all digits of the scale; binary strings are base64; DATE is "2024-01-31", TIME "13:14:15.123",
// TIMESTAMP has nine digits, and Z behind it with LOCAL TIME ZONE; ROW is an object; MAP and MULTISET are arrays of
// [key,value] sorted by the text of the key.

// AppendJSONRow appends row i of b as a JSON object, with _kind in front if asked.
func AppendJSONRow(dst []byte, b *Batch, i int, withKind bool) []byte {
	dst = append(dst, '{')
	if withKind {
		k := Insert
		if len(b.Kinds) > 0 {
			k = b.Kinds[i]
		}
		dst = append(dst, `"_kind":"`...)
		dst = append(dst, k.String()...)
		dst = append(dst, '"')
	}
	return appendJSONFields(dst, b.Type.Fields, b.Cols, i, !withKind)
}

// appendJSONFields appends the members and the closing brace of an object.
func appendJSONFields(dst []byte, fields []Field, cols []Column, i int, first bool) []byte {
	for f := range fields {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendJSONString(dst, fields[f].Name), ':')
		dst = AppendJSONValue(dst, &cols[f], i)
	}
	return append(dst, '}')
}

// AppendJSONValue appends row i of a column as JSON.
func AppendJSONValue(dst []byte, c *Column, i int) []byte {
	if c.Nulls.Get(i) {
		return append(dst, "null"...)
	}
	switch c.Type.Root {
	case Boolean:
		return strconv.AppendBool(dst, c.I32[i] != 0)
	case TinyInt, SmallInt, Int:
		return strconv.AppendInt(dst, int64(c.I32[i]), 10)
	case BigInt:
		return strconv.AppendInt(dst, c.I64[i], 10)
	case Float:
		return appendJSONFloat(dst, float64(c.F32[i]), 32)
	case Double:
		return appendJSONFloat(dst, c.F64[i], 64)
	case Char, VarChar:
		return appendJSONString(dst, c.Value(i))
	case Array:
		return appendJSONList(dst, c, i)
	case Map, Multiset:
		return appendJSONMap(dst, c, i)
	case Row:
		return appendJSONFields(append(dst, '{'), c.Type.Fields, c.Kids, i, true)
	}
	dst = append(dst, '"')
	switch c.Type.Root {
	case Decimal:
		dst = c.Decimal(i).AppendText(dst, c.Type.Scale)
	case Binary, VarBinary:
		dst = base64.StdEncoding.AppendEncode(dst, c.Value(i))
	case Date:
		dst = appendDate(dst, int64(c.I32[i]))
	case Time:
		if v := int(c.I32[i]); v >= 0 && v < 86_400_000 {
			dst = append(appendHMS(dst, v/1000), '.')
			dst = appendFraction(dst, v%1000*1_000_000, 3)
		} else {
			dst = strconv.AppendInt(append(dst, "bad time "...), int64(v), 10)
		}
	case Timestamp, TimestampLTZ:
		days, sec, nanos := splitMillis(c.Millis(i))
		dst = append(appendDate(dst, days), 'T')
		dst = append(appendHMS(dst, sec), '.')
		dst = appendFraction(dst, nanos, 9)
		if c.Type.Root == TimestampLTZ {
			dst = append(dst, 'Z')
		}
	}
	return append(dst, '"')
}

func appendJSONList(dst []byte, c *Column, i int) []byte {
	dst = append(dst, '[')
	for j := int(c.Off[i]); j < int(c.Off[i+1]); j++ {
		if j > int(c.Off[i]) {
			dst = append(dst, ',')
		}
		dst = AppendJSONValue(dst, &c.Kids[0], j)
	}
	return append(dst, ']')
}

func appendJSONMap(dst []byte, c *Column, i int) []byte {
	type entry struct {
		key []byte
		at  int
	}
	var es []entry
	for j := int(c.Off[i]); j < int(c.Off[i+1]); j++ {
		es = append(es, entry{AppendJSONValue(nil, &c.Kids[0], j), j})
	}
	slices.SortStableFunc(es, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	dst = append(dst, '[')
	for k, e := range es {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		dst = append(append(dst, e.key...), ',')
		dst = append(AppendJSONValue(dst, &c.Kids[1], e.at), ']')
	}
	return append(dst, ']')
}

// appendJSONFloat appends a number as encoding/json does.
func appendJSONFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case v != v:
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	a := math.Abs(v)
	if a == 0 || bits == 64 && a >= 1e-6 && a < 1e21 || bits == 32 && float32(a) >= 1e-6 && float32(a) < 1e21 {
		return strconv.AppendFloat(dst, v, 'f', -1, bits)
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, bits)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' { // e-09 is written e-9
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
