package lsm

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
)

// cast appends value i of src, which is not null, to dst. A value that the target cannot hold becomes what it becomes in
// Java's CastExecutors: integers wrap, decimals turn null, strings and fractions of seconds are cut.
type cast func(dst, src *row.Column, i int) error

// newCast returns the cast from one type to another, nil when there is none: those that a change of a column's type may ask for
// in Paimon 1.4, but for those that depend on the time zone of the machine. Rows and lists of one kind are not its matter.
func newCast(from, to *row.Type) cast {
	if from.Root == row.Char || from.Root == row.VarChar {
		if c := fromString(to); c != nil {
			return c
		}
	}
	switch to.Root {
	case row.TinyInt, row.SmallInt, row.Int, row.BigInt:
		return toInteger(from, to)
	case row.Float, row.Double:
		return toFloat(from, to)
	case row.Decimal:
		return toDecimal(from, to)
	case row.Boolean:
		return toBoolean(from)
	case row.Char, row.VarChar:
		return toString(from, to)
	case row.Binary, row.VarBinary:
		return toBinary(from, to)
	case row.Date, row.Time, row.Timestamp, row.TimestampLTZ:
		return toDateTime(from, to)
	}
	return nil
}

func isInteger(r row.Root) bool { return r >= row.TinyInt && r <= row.BigInt }

// integerAt returns the getter of integers and booleans, nil for other types.
func integerAt(t *row.Type) func(c *row.Column, i int) int64 {
	switch {
	case t.Root == row.BigInt:
		return func(c *row.Column, i int) int64 { return c.I64[i] }
	case isInteger(t.Root) || t.Root == row.Boolean:
		return func(c *row.Column, i int) int64 { return int64(c.I32[i]) }
	}
	return nil
}

func floatAt(t *row.Type) func(c *row.Column, i int) float64 {
	switch t.Root {
	case row.Float:
		return func(c *row.Column, i int) float64 { return float64(c.F32[i]) }
	case row.Double:
		return func(c *row.Column, i int) float64 { return c.F64[i] }
	}
	return nil
}

func toInteger(from, to *row.Type) cast {
	get := integerAt(from)
	if f := floatAt(from); f != nil {
		narrow := to.Root != row.BigInt
		get = func(c *row.Column, i int) int64 { return truncateFloat(f(c, i), narrow) }
	}
	switch from.Root {
	case row.Timestamp, row.TimestampLTZ: // seconds
		if to.Root != row.Int && to.Root != row.BigInt {
			return nil
		}
		get = func(c *row.Column, i int) int64 {
			ms, _ := instantAt(c, i)
			return ms / 1000
		}
	case row.Decimal:
		get = func(c *row.Column, i int) int64 { return wrap64(new(big.Int).Quo(unscaled(c, i), pow10(from.Scale))) }
	}
	if get == nil {
		return nil
	}
	switch to.Root {
	case row.TinyInt:
		return func(dst, src *row.Column, i int) error { dst.AppendI32(int32(int8(get(src, i)))); return nil }
	case row.SmallInt:
		return func(dst, src *row.Column, i int) error { dst.AppendI32(int32(int16(get(src, i)))); return nil }
	case row.Int:
		return func(dst, src *row.Column, i int) error { dst.AppendI32(int32(get(src, i))); return nil }
	}
	return func(dst, src *row.Column, i int) error { dst.AppendI64(get(src, i)); return nil }
}

// truncateFloat is Java's (long) v, or (int) v: NaN is 0 and what is too large is the largest value.
func truncateFloat(v float64, narrow bool) int64 {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if narrow {
		lo, hi = math.MinInt32, math.MaxInt32
	}
	switch {
	case v != v:
		return 0
	case v <= float64(lo):
		return lo
	case v >= float64(hi):
		return hi
	}
	return int64(v)
}

// wrap64 returns the low 64 bits, as BigInteger.longValue.
func wrap64(v *big.Int) int64 {
	low := new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64)) // And works on the two's complement
	return int64(low.Uint64())
}

func toFloat(from, to *row.Type) cast {
	if ints := integerAt(from); ints != nil {
		if to.Root == row.Float {
			return func(dst, src *row.Column, i int) error { dst.AppendF32(float32(ints(src, i))); return nil }
		}
		return func(dst, src *row.Column, i int) error { dst.AppendF64(float64(ints(src, i))); return nil }
	}
	get := floatAt(from)
	if from.Root == row.Decimal {
		get = func(c *row.Column, i int) float64 {
			if from.Precision <= 18 {
				return float64(c.I64[i]) / math.Pow10(from.Scale) // as Java: not always the nearest
			}
			v, _ := strconv.ParseFloat(decimalText(unscaled(c, i), from.Scale), 64) // digits always parse; too large is infinite
			return v
		}
	}
	if get == nil {
		return nil
	}
	if to.Root == row.Float {
		return func(dst, src *row.Column, i int) error { dst.AppendF32(float32(get(src, i))); return nil }
	}
	return func(dst, src *row.Column, i int) error { dst.AppendF64(get(src, i)); return nil }
}

func toDecimal(from, to *row.Type) cast {
	if ints := integerAt(from); ints != nil {
		return func(dst, src *row.Column, i int) error {
			appendDecimal(dst, big.NewInt(ints(src, i)), 0, to)
			return nil
		}
	}
	if floats := floatAt(from); floats != nil {
		return func(dst, src *row.Column, i int) error { return appendFloatDecimal(dst, floats(src, i), to) }
	}
	if from.Root != row.Decimal {
		return nil
	}
	return func(dst, src *row.Column, i int) error {
		appendDecimal(dst, unscaled(src, i), from.Scale, to)
		return nil
	}
}

func unscaled(c *row.Column, i int) *big.Int {
	if c.Type.Precision <= 18 {
		return big.NewInt(c.I64[i])
	}
	v := c.I128[i]
	n := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
	return n.Or(n, new(big.Int).SetUint64(v.Lo))
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// appendDecimal rounds v, which has the given scale, half up to the type's scale. What doesn't fit is null.
func appendDecimal(dst *row.Column, v *big.Int, scale int, to *row.Type) {
	if d := to.Scale - scale; d >= 0 {
		v = new(big.Int).Mul(v, pow10(d))
	} else {
		v = roundHalfUp(v, pow10(-d))
	}
	if v.CmpAbs(pow10(to.Precision)) >= 0 {
		dst.AppendNull()
		return
	}
	if to.Precision <= 18 {
		dst.AppendI64(v.Int64())
		return
	}
	hi := new(big.Int).Rsh(v, 64) // an arithmetic shift
	dst.AppendI128(row.Int128{Hi: hi.Int64(), Lo: uint64(wrap64(v))})
}

// roundHalfUp divides and rounds half away from zero, as RoundingMode.HALF_UP.
func roundHalfUp(v, by *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(v, by, new(big.Int))
	if r.Lsh(r, 1).CmpAbs(by) >= 0 {
		q.Add(q, big.NewInt(int64(v.Sign())))
	}
	return q
}

// appendFloatDecimal takes the shortest digits that stand for v, as BigDecimal.valueOf(double). NaN and the infinite ones are
// no decimals, in Java neither.
func appendFloatDecimal(dst *row.Column, v float64, to *row.Type) error {
	digits, exp, ok := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	if !ok {
		return valueError(strconv.FormatFloat(v, 'g', -1, 64), to)
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	e, err := strconv.Atoi(exp)
	if !ok || err != nil {
		return valueError(digits, to)
	}
	scale := len(fraction) - e
	if scale < 0 {
		n, scale = n.Mul(n, pow10(-scale)), 0
	}
	appendDecimal(dst, n, scale, to)
	return nil
}

// valueError is about a value that the new type of its column doesn't have. No engine reads such a table.
func valueError(value string, to *row.Type) error {
	return fmt.Errorf("%w: %q, written when its column had another type, is not a %s", ErrUnsupported, value, to)
}

func decimalText(v *big.Int, scale int) string {
	s := new(big.Int).Abs(v).String()
	if scale > 0 {
		if len(s) <= scale {
			s = strings.Repeat("0", scale+1-len(s)) + s
		}
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if v.Sign() < 0 {
		s = "-" + s
	}
	return s
}

func toBoolean(from *row.Type) cast {
	if !isInteger(from.Root) {
		return nil
	}
	ints := integerAt(from)
	return func(dst, src *row.Column, i int) error {
		var v int32
		if ints(src, i) != 0 {
			v = 1
		}
		dst.AppendI32(v)
		return nil
	}
}

func toBinary(from, to *row.Type) cast {
	switch from.Root {
	case row.Binary, row.VarBinary, row.Char, row.VarChar:
	default:
		return nil
	}
	return func(dst, src *row.Column, i int) error {
		v := src.Value(i)
		if len(v) > to.Length {
			v = v[:to.Length]
		} else if to.Root == row.Binary && len(v) < to.Length {
			v = append(v[:len(v):len(v)], make([]byte, to.Length-len(v))...)
		}
		dst.AppendBytes(v)
		return nil
	}
}
