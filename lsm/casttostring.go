package lsm

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/paimon-go/paimon-go/format/row"
)

// text appends value i of a column, which is not null, as it is spelt when cast to STRING.
type text func(dst []byte, c *row.Column, i int) []byte

// toString cuts what it spells to the target's length, but for what Java doesn't.
func toString(from, to *row.Type) cast {
	spell := textOf(from)
	if spell == nil {
		return nil
	}
	switch from.Root {
	case row.Binary, row.VarBinary, row.Date, row.Time, row.Timestamp, row.Array, row.Map, row.Row:
		return func(dst, src *row.Column, i int) error {
			dst.AppendBytes(spell(nil, src, i))
			return nil
		}
	}
	return func(dst, src *row.Column, i int) error {
		dst.AppendBytes(fitString(spell(nil, src, i), to))
		return nil
	}
}

// textOf returns nil when there is no cast to STRING. A TIMESTAMP_LTZ is spelt in the zone of the machine in Java, so that it
// has none here.
func textOf(t *row.Type) text {
	switch t.Root {
	case row.Char, row.VarChar, row.Binary, row.VarBinary:
		return func(dst []byte, c *row.Column, i int) []byte { return append(dst, c.Value(i)...) }
	case row.Boolean:
		return func(dst []byte, c *row.Column, i int) []byte { return strconv.AppendBool(dst, c.I32[i] != 0) }
	case row.TinyInt, row.SmallInt, row.Int, row.BigInt:
		ints := integerAt(t)
		return func(dst []byte, c *row.Column, i int) []byte { return strconv.AppendInt(dst, ints(c, i), 10) }
	case row.Float:
		return func(dst []byte, c *row.Column, i int) []byte { return appendFloatText(dst, float64(c.F32[i]), 32) }
	case row.Double:
		return func(dst []byte, c *row.Column, i int) []byte { return appendFloatText(dst, c.F64[i], 64) }
	case row.Decimal:
		return func(dst []byte, c *row.Column, i int) []byte {
			return append(dst, decimalText(unscaled(c, i), t.Scale)...)
		}
	case row.Date:
		return func(dst []byte, c *row.Column, i int) []byte { return appendDateText(dst, int64(c.I32[i])) }
	case row.Time:
		return func(dst []byte, c *row.Column, i int) []byte { return appendTimeText(dst, c.I32[i], t.Precision) }
	case row.Timestamp:
		return func(dst []byte, c *row.Column, i int) []byte {
			ms, ns := instantAt(c, i)
			return appendTimestampText(dst, ms, ns, t.Precision)
		}
	}
	return nestedText(t)
}

// appendFloatText spells as Double.toString and Float.toString: 1.0, 1.0E7, 1.0E-4. The digits are the fewest that mean the value,
// as in Java since 19; earlier ones have a digit too many now and then.
func appendFloatText(dst []byte, v float64, bits int) []byte {
	switch {
	case v != v:
		return append(dst, "NaN"...)
	case math.IsInf(v, 0):
		if v < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	}
	if abs := math.Abs(v); v == 0 || abs >= 1e-3 && abs < 1e7 {
		at := len(dst)
		dst = strconv.AppendFloat(dst, v, 'f', -1, bits)
		if !strings.Contains(string(dst[at:]), ".") {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	digits, exp, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, bits), "e")
	if !strings.Contains(digits, ".") { // there are always two
		two := strconv.FormatFloat(v, 'e', 1, bits)
		if back, err := strconv.ParseFloat(two, bits); err == nil && back == v {
			digits, exp, _ = strings.Cut(two, "e")
		} else {
			digits += ".0"
		}
	}
	n, _ := strconv.Atoi(exp) // FormatFloat wrote it
	return strconv.AppendInt(append(append(dst, digits...), 'E'), int64(n), 10)
}

// appendDateText writes the last four digits of the year, whatever it is.
func appendDateText(dst []byte, days int64) []byte {
	y, m, d := time.Unix(days*86400, 0).UTC().Date()
	dst = appendDigits(dst, y, 4)
	dst = appendDigits(append(dst, '-'), int(m), 2)
	return appendDigits(append(dst, '-'), d, 2)
}

func appendDigits(dst []byte, n, width int) []byte {
	if width > 1 {
		dst = appendDigits(dst, n/10, width-1)
	}
	return append(dst, byte('0'+n%10))
}

func appendClock(dst []byte, seconds int) []byte {
	dst = appendDigits(dst, seconds/3600, 2)
	dst = appendDigits(append(dst, ':'), seconds/60%60, 2)
	return appendDigits(append(dst, ':'), seconds%60, 2)
}

// appendTimeText writes as many digits of the second as are not zeros at the end, one at least, and none for precision 0.
func appendTimeText(dst []byte, ms int32, precision int) []byte {
	t := int(ms)
	if t < 0 {
		t = int(int64(t) - floorDiv(int64(t), millisPerDay)*millisPerDay)
	}
	dst = appendClock(dst, t/1000)
	fraction := t % 1000
	for p := 0; p < precision && (p == 0 || fraction > 0); p++ {
		if p == 0 {
			dst = append(dst, '.')
		}
		dst = append(dst, byte('0'+fraction/100))
		fraction = fraction % 100 * 10
	}
	return dst
}

// appendTimestampText writes precision digits of the second, and more where there are.
func appendTimestampText(dst []byte, ms int64, ns int32, precision int) []byte {
	days := floorDiv(ms, millisPerDay)
	ofDay := int(ms - days*millisPerDay)
	dst = appendClock(append(appendDateText(dst, days), ' '), ofDay/1000)
	dst = appendDigits(append(dst, '.'), ofDay%1000*1_000_000+int(ns), 9)
	for digits := 9; digits > precision && dst[len(dst)-1] == '0'; digits-- {
		dst = dst[:len(dst)-1]
	}
	if dst[len(dst)-1] == '.' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// nestedText spells [1, null], {a -> 1, b -> null} and {1, x}.
func nestedText(t *row.Type) text {
	switch t.Root {
	case row.Array:
		elem := textOf(t.Elem)
		if elem == nil {
			return nil
		}
		return func(dst []byte, c *row.Column, i int) []byte {
			dst = append(dst, '[')
			for at := c.Off[i]; at < c.Off[i+1]; at++ {
				dst = appendElem(separate(dst, at > c.Off[i]), elem, &c.Kids[0], int(at))
			}
			return append(dst, ']')
		}
	case row.Map:
		key, elem := textOf(t.Key), textOf(t.Elem)
		if key == nil || elem == nil {
			return nil
		}
		return func(dst []byte, c *row.Column, i int) []byte {
			dst = append(dst, '{')
			for at := c.Off[i]; at < c.Off[i+1]; at++ {
				dst = appendElem(separate(dst, at > c.Off[i]), key, &c.Kids[0], int(at))
				dst = appendElem(append(dst, " -> "...), elem, &c.Kids[1], int(at))
			}
			return append(dst, '}')
		}
	case row.Row:
		fields := make([]text, len(t.Fields))
		for f := range fields {
			if fields[f] = textOf(&t.Fields[f].Type); fields[f] == nil {
				return nil
			}
		}
		return func(dst []byte, c *row.Column, i int) []byte {
			dst = append(dst, '{')
			for f := range fields {
				dst = appendElem(separate(dst, f > 0), fields[f], &c.Kids[f], i)
			}
			return append(dst, '}')
		}
	}
	return nil
}

func separate(dst []byte, again bool) []byte {
	if again {
		dst = append(dst, ", "...)
	}
	return dst
}

func appendElem(dst []byte, elem text, c *row.Column, i int) []byte {
	if c.IsNull(i) {
		return append(dst, "null"...)
	}
	return elem(dst, c, i)
}

// fitString cuts s to the type's length in code points and pads CHAR with blanks.
func fitString(s []byte, to *row.Type) []byte {
	if len(s) <= to.Length && to.Root == row.VarChar {
		return s
	}
	n := 0
	for at := 0; at < len(s); n++ {
		if n == to.Length {
			return s[:at]
		}
		_, size := utf8.DecodeRune(s[at:])
		at += size
	}
	if to.Root == row.Char && n < to.Length {
		s = append(s[:len(s):len(s)], strings.Repeat(" ", to.Length-n)...)
	}
	return s
}
