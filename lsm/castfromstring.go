package lsm

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
)

// fromString returns the cast that parses strings, nil for types that strings are not parsed into. A string that doesn't mean a
// value of the type is an error, as it is in Java.
func fromString(to *row.Type) cast {
	var parse func(dst *row.Column, s string) bool
	switch to.Root {
	case row.Boolean:
		parse = parseBoolean
	case row.TinyInt, row.SmallInt, row.Int, row.BigInt:
		bits := map[row.Root]int{row.TinyInt: 8, row.SmallInt: 16, row.Int: 32, row.BigInt: 64}[to.Root]
		parse = func(dst *row.Column, s string) bool { return parseInteger(dst, s, bits) }
	case row.Float, row.Double:
		parse = parseFloat
	case row.Decimal:
		parse = parseDecimal
	case row.Date:
		parse = func(dst *row.Column, s string) bool { return parseDays(dst, s) }
	case row.Time:
		parse = parseClock
	case row.Timestamp:
		parse = parseTimestamp
	default:
		return nil
	}
	return func(dst, src *row.Column, i int) error {
		if s := string(src.Value(i)); !parse(dst, s) {
			return valueError(s, to)
		}
		return nil
	}
}

func parseBoolean(dst *row.Column, s string) bool {
	switch strings.ToLower(s) {
	case "t", "true", "y", "yes", "1":
		dst.AppendI32(1)
	case "f", "false", "n", "no", "0":
		dst.AppendI32(0)
	default:
		return false
	}
	return true
}

// wholePart matches what is an integer once its fraction is cut.
var wholePart = regexp.MustCompile(`^([+-]?)([0-9]*)(?:\.[0-9]*)?$`)

func parseInteger(dst *row.Column, s string, bits int) bool {
	m := wholePart.FindStringSubmatch(s)
	if m == nil || s == m[1] { // nothing, or only a sign
		return false
	}
	if m[2] == "" {
		m[2] = "0"
	}
	v, err := strconv.ParseInt(m[1]+m[2], 10, bits)
	if err != nil {
		return false
	}
	if bits == 64 {
		dst.AppendI64(v)
	} else {
		dst.AppendI32(int32(v))
	}
	return true
}

// javaFloat matches what Double.parseDouble takes, blanks around it aside.
var javaFloat = regexp.MustCompile(`^[+-]?(?:NaN|Infinity|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?` +
	`|0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)$`)

func parseFloat(dst *row.Column, s string) bool {
	s = trimJava(s)
	m := javaFloat.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	bits := 64
	if dst.Type.Root == row.Float {
		bits = 32
	}
	v := math.NaN()
	if !strings.HasSuffix(s, "NaN") {
		if m[1] == "" {
			m[1] = "Inf"
		}
		v, _ = strconv.ParseFloat(m[1], bits) // what is too large is infinite
		if s[0] == '-' {
			v = -v
		}
	}
	if bits == 32 {
		dst.AppendF32(float32(v))
	} else {
		dst.AppendF64(v)
	}
	return true
}

// trimJava is String.trim.
func trimJava(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

var javaDecimal = regexp.MustCompile(`^([+-]?)(?:([0-9]+)\.?([0-9]*)|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?$`)

func parseDecimal(dst *row.Column, s string) bool {
	m := javaDecimal.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	fraction := m[3] + m[4]
	n, _ := new(big.Int).SetString(m[1]+m[2]+fraction, 10) // digits
	exp := 0
	if m[5] != "" {
		var err error
		if exp, err = strconv.Atoi(m[5]); err != nil {
			return false
		}
	}
	scale := len(fraction) - exp
	if scale > math.MaxInt32 || scale < math.MinInt32 {
		return false
	}
	switch digits := len(m[2]) + len(fraction); {
	case n.Sign() == 0 || scale > digits+dst.Type.Scale+1: // nothing of it is left
		n, scale = new(big.Int), 0
	case scale < -dst.Type.Precision: // too large
		dst.AppendNull()
		return true
	case scale < 0:
		n, scale = n.Mul(n, pow10(-scale)), 0
	}
	appendDecimal(dst, n, scale, dst.Type)
	return true
}

// allDigits says that a date, a time or a timestamp is given by its number.
func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// parseDays takes Y, Y-M and Y-M-D, and no heed of what follows a blank.
func parseDays(dst *row.Column, s string) bool {
	if allDigits(s) {
		return parseInteger(dst, s, 32)
	}
	if at := strings.IndexByte(s, ' '); at > 0 {
		s = s[:at]
	}
	v := [3]int{0, 1, 1}
	for i, part := range strings.SplitN(s, "-", 3) {
		var ok bool
		if v[i], ok = number(part); !ok {
			return false
		}
	}
	t := time.Date(v[0], time.Month(v[1]), v[2], 0, 0, 0, 0, time.UTC)
	if v[0] > 9999 || t.Month() != time.Month(v[1]) || t.Day() != v[2] {
		return false
	}
	dst.AppendI32(int32(t.Unix() / 86400))
	return true
}

func number(s string) (int, bool) {
	s = trimJava(s)
	if !allDigits(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil
}

// parseClock takes H, H:M, H:M:S and H:M:S.fraction. A zone, as +H or -H:M, is added.
func parseClock(dst *row.Column, s string) bool {
	if allDigits(s) {
		return parseInteger(dst, s, 32)
	}
	zone, sign := "", int32(1)
	at := strings.IndexByte(s, '-')
	if at >= 0 {
		sign = -1
	} else {
		at = strings.IndexByte(s, '+')
	}
	var v [3]int
	if at >= 0 {
		s, zone = s[:at], s[at+1:]
		if !parseNumbers(v[:2], strings.SplitN(zone, ":", 2)) {
			return false
		}
	}
	ms := sign * (int32(v[0])*3_600_000 + int32(v[1])*60_000) // it wraps, as everything here
	parts := strings.SplitN(s, ":", 3)
	if len(parts) == 3 {
		seconds, fraction, _ := strings.Cut(parts[2], ".")
		parts[2] = seconds
		ms += parseMillis(trimJava(fraction))
	}
	v = [3]int{}
	if !parseNumbers(v[:], parts) {
		return false
	}
	dst.AppendI32(ms + int32(v[0])*3_600_000 + int32(v[1])*60_000 + int32(v[2])*1000)
	return true
}

func parseNumbers(dst []int, parts []string) bool {
	for i, part := range parts {
		var ok bool
		if dst[i], ok = number(part); !ok {
			return false
		}
	}
	return true
}

// parseMillis rounds a fraction to milliseconds. What is no digit counts as 0.
func parseMillis(s string) (ms int32) {
	unit := int32(100)
	for i := 0; i < len(s) && unit > 0; i++ {
		if s[i] >= '0' && s[i] <= '9' {
			ms += unit * int32(s[i]-'0')
		}
		if unit == 1 && i+1 < len(s) && s[i+1] >= '5' {
			ms++
		}
		unit /= 10
	}
	return ms
}

var javaTimestamp = regexp.MustCompile(`^([0-9]{4}|\+[0-9]{5,9})-([0-9]{1,2})-([0-9]{1,2})(?: ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{0,9}))?)?$`)

func parseTimestamp(dst *row.Column, s string) bool {
	if allDigits(s) {
		return parseEpoch(dst, s)
	}
	m := javaTimestamp.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	var v [6]int
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1]) // digits or nothing
	}
	nanos, _ := strconv.Atoi((m[7] + "000000000")[:9])
	late := v[3] == 24 && v[4] == 0 && v[5] == 0 && nanos == 0 // the end of the day
	if v[0] < 1 || v[1] < 1 || v[1] > 12 || v[2] < 1 || v[2] > 31 || v[3] > 23 && !late || v[4] > 59 || v[5] > 59 {
		return false
	}
	last := time.Date(v[0], time.Month(v[1])+1, 0, 0, 0, 0, 0, time.UTC).Day()
	t := time.Date(v[0], time.Month(v[1]), min(v[2], last), v[3], v[4], v[5], nanos, time.UTC)
	for unit, p := 1_000_000_000, dst.Type.Precision; ; unit, p = unit/10, p-1 {
		if p == 0 {
			nanos -= nanos % unit
			break
		}
	}
	appendInstant(dst, t.Unix()*1000+int64(nanos/1_000_000), int32(nanos%1_000_000))
	return true
}

// parseEpoch takes the number of units of the type's precision since 1970, for the precisions that have a name.
func parseEpoch(dst *row.Column, s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return false
	}
	switch dst.Type.Precision {
	case 0:
		appendInstant(dst, n*1000, 0)
	case 3:
		appendInstant(dst, n, 0)
	case 6:
		appendInstant(dst, n/1000, int32(n%1000)*1000)
	case 9:
		appendInstant(dst, n/1_000_000, int32(n%1_000_000))
	default:
		return false
	}
	return true
}
