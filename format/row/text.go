package row

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// AppendPartitionText appends the text of a partition value as it is in a directory name before escaping: of
// partition.legacy-name=true (the default) Java's toString of the internal value, otherwise the cast to STRING. Nothing is
// appended for null; null, empty and blank text become the default partition's name, which is the caller's matter.
//
// The text of TIMESTAMP WITH LOCAL TIME ZONE without the legacy name depends on the local zone of the process, as in Java.
func AppendPartitionText(dst []byte, c *Column, i int, legacy bool) []byte {
	if c.Nulls.Get(i) {
		return dst
	}
	switch c.Type.Root {
	case Boolean:
		return strconv.AppendBool(dst, c.I32[i] != 0)
	case TinyInt, SmallInt, Int:
		return strconv.AppendInt(dst, int64(c.I32[i]), 10)
	case BigInt:
		return strconv.AppendInt(dst, c.I64[i], 10)
	case Float:
		return appendJavaFloat(dst, float64(c.F32[i]), 32)
	case Double:
		return appendJavaFloat(dst, c.F64[i], 64)
	case Decimal:
		return c.Decimal(i).AppendText(dst, c.Type.Scale)
	case Char, VarChar, Binary, VarBinary:
		return append(dst, c.Value(i)...)
	case Date:
		if legacy {
			return strconv.AppendInt(dst, int64(c.I32[i]), 10)
		}
		return appendDate4(dst, int64(c.I32[i]))
	case Time:
		if legacy {
			return strconv.AppendInt(dst, int64(c.I32[i]), 10)
		}
		return appendTimeCast(dst, int(c.I32[i]), c.Type.Precision)
	case Timestamp, TimestampLTZ:
		millis, nanos := c.Millis(i)
		if legacy {
			return appendLocalDateTime(dst, millis, nanos)
		}
		if c.Type.Root == TimestampLTZ {
			_, offset := time.UnixMilli(millis).Zone()
			millis += int64(offset) * 1000
		}
		return appendTimestampCast(dst, millis, nanos, c.Type.Precision)
	}
	return AppendJSONValue(dst, c, i)
}

// appendJavaFloat appends a number as Java's Double.toString and Float.toString: plain from 1e-3 to 1e7, otherwise one
// digit, a point and an exponent, always with a fraction. The digits are those of Java 19 and later, the fewest that tell
// the number from its neighbours; older ones write a digit more for some, 2.0E23 as 1.9999999999999998E23, so tables
// partitioned by FLOAT or DOUBLE are not portable even between Javas.
func appendJavaFloat(dst []byte, v float64, bits int) []byte {
	switch a := math.Abs(v); {
	case v != v:
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	case a == 0 || a >= 1e-3 && a < 1e7:
		from := len(dst)
		dst = strconv.AppendFloat(dst, v, 'f', -1, bits)
		if !bytes.ContainsRune(dst[from:], '.') {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], v, 'e', -1, bits)
	if !bytes.ContainsRune(text, '.') {
		text = strconv.AppendFloat(buf[:0], v, 'e', 1, bits) // at least two digits, and the nearest ones: 4.9E-324
	}
	mantissa, exp, _ := bytes.Cut(text, []byte{'e'}) // "-1.5", "+10"
	dst = append(dst, mantissa...)
	dst = append(dst, 'E')
	if exp[0] == '-' {
		dst = append(dst, '-')
	}
	for exp = exp[1:]; len(exp) > 1 && exp[0] == '0'; {
		exp = exp[1:]
	}
	return append(dst, exp...)
}

// appendLocalDateTime appends a timestamp as Java's LocalDateTime.toString: seconds only when there are any, and the
// fraction in 3, 6 or 9 digits.
func appendLocalDateTime(dst []byte, millis int64, nanoOfMilli int32) []byte {
	days, sec, nanos := splitMillis(millis, nanoOfMilli)
	dst = appendDate(dst, days)
	from := len(dst) + 6
	dst = appendHMS(append(dst, 'T'), sec)
	switch {
	case nanos == 0 && sec%60 == 0:
		return dst[:from]
	case nanos == 0:
		return dst
	}
	dst = append(dst, '.')
	switch {
	case nanos%1_000_000 == 0:
		return appendFraction(dst, nanos, 3)
	case nanos%1_000 == 0:
		return appendFraction(dst, nanos, 6)
	}
	return appendFraction(dst, nanos, 9)
}

// appendDate4 appends a date with exactly four digits of year, as Java's DateTimeUtils.formatDate.
func appendDate4(dst []byte, days int64) []byte {
	y, m, d := civil(days)
	dst = append2(append2(dst, int(y/100%100)), int(y%100))
	dst = append2(append(dst, '-'), m)
	return append2(append(dst, '-'), d)
}

// appendTimestampCast appends a timestamp as Java's DateTimeUtils.formatTimestamp: precision digits of fraction, more only
// when they are not zeros.
func appendTimestampCast(dst []byte, millis int64, nanoOfMilli int32, precision int) []byte {
	days, sec, nanos := splitMillis(millis, nanoOfMilli)
	dst = appendHMS(append(appendDate4(dst, days), ' '), sec)
	n := 9
	for rest := nanos; n > precision && rest%10 == 0; n-- {
		rest /= 10
	}
	if n > 0 {
		dst = appendFraction(append(dst, '.'), nanos, n)
	}
	return dst
}

// appendTimeCast appends a time of day as Java's DateTimeUtils.formatTimestampMillis: of the precision's digits the last
// zeros are left out except the first.
func appendTimeCast(dst []byte, ms, precision int) []byte {
	if ms %= 86_400_000; ms < 0 {
		ms += 86_400_000
	}
	dst = appendHMS(dst, ms/1000)
	if precision > 0 {
		dst = append(dst, '.')
	}
	for ms %= 1000; precision > 0; precision-- {
		dst = append(dst, '0'+byte(ms/100))
		if ms = ms % 100 * 10; ms == 0 {
			break
		}
	}
	return dst
}
