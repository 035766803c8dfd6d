package row

import "errors"

// Errors of ParseDecimal.
var (
	ErrDecimalSyntax  = errors.New("not a decimal number")
	ErrDecimalRange   = errors.New("decimal has too many digits")
	ErrDecimalInexact = errors.New("decimal has more digits than the scale")
)

// ParseDecimal reads a decimal number, "-12.340" or "1e3", as the unscaled value of a DECIMAL of this scale. It never
// rounds: digits beyond the scale have to be zeros. The result has at most 38 digits; whether it fits a smaller
// precision is Fits's to say.
func ParseDecimal[S string | []byte](s S, scale int) (Int128, error) {
	i, neg := 0, false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg, i = s[0] == '-', 1
	}
	var d digits
	point, any := false, false
	for ; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			any = true
			if point {
				d.exp--
			}
			d.add(c - '0')
			continue
		case c == '.' && !point:
			point = true
			continue
		}
		break
	}
	if !any {
		return Int128{}, ErrDecimalSyntax
	}
	if i < len(s) {
		e, ok := parseExponent(s[i:])
		if !ok {
			return Int128{}, ErrDecimalSyntax
		}
		d.exp += e
	}
	return d.value(neg, scale)
}

// parseExponent reads "e-12"; what is far out of range is cut to something that is still out of range.
func parseExponent[S string | []byte](s S) (int, bool) {
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	i, neg, n := 1, false, 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	if i == len(s) {
		return 0, false
	}
	for ; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = min(n*10+int(s[i]-'0'), 1<<20)
	}
	if neg {
		n = -n
	}
	return n, true
}

// digits is a decimal number under construction: v * 10^(exp+zeros) where the zeros are digits not yet multiplied in.
type digits struct {
	v     Int128
	exp   int
	zeros int
	over  bool
}

func (d *digits) add(c byte) {
	if c == 0 {
		if d.v.Sign() != 0 {
			d.zeros++
		}
		return
	}
	for ; d.zeros > 0 && !d.over; d.zeros-- {
		d.mul(10, 0)
	}
	d.mul(10, uint64(c))
}

func (d *digits) mul(m, a uint64) {
	v, ok := d.v.MulAddUint64(m, a)
	if !ok {
		d.over = true
		return
	}
	d.v = v
}

// value returns the unscaled value for a scale.
func (d *digits) value(neg bool, scale int) (Int128, error) {
	if d.v.Sign() == 0 {
		return Int128{}, nil
	}
	// The number is v * 10^shift units of the scale. v doesn't end in 0, so a negative shift is never exact.
	shift := d.exp + d.zeros + scale
	if shift < 0 {
		return Int128{}, ErrDecimalInexact
	}
	if shift > 38 {
		return Int128{}, ErrDecimalRange
	}
	d.zeros = 0
	for ; shift > 0 && !d.over; shift-- {
		d.mul(10, 0)
	}
	if d.over || !d.v.Fits(38) {
		return Int128{}, ErrDecimalRange
	}
	if neg {
		return d.v.Neg(), nil
	}
	return d.v, nil
}

// Rescale changes an unscaled value from one scale to another; ok is false when digits would be lost or it overflows.
func (v Int128) Rescale(from, to int) (r Int128, ok bool) {
	hi, lo := v.abs()
	for ; from < to; from++ {
		if hi, lo, ok = mulAdd(hi, lo, 10, 0); !ok {
			return Int128{}, false
		}
	}
	for ; from > to; from-- {
		var rest uint64
		if hi, lo, rest = divMod(hi, lo, 10); rest != 0 {
			return Int128{}, false
		}
	}
	return int128FromAbs(hi, lo, v.Hi < 0)
}

// AppendText appends the decimal with all digits of the scale, "-0.05", as Java's toPlainString.
func (v Int128) AppendText(dst []byte, scale int) []byte {
	var buf [48]byte
	i := len(buf)
	hi, lo := v.abs()
	for n := 0; ; n++ {
		if n == scale && n > 0 {
			i--
			buf[i] = '.'
		}
		if n > scale && hi|lo == 0 {
			break
		}
		var d uint64
		if hi == 0 {
			lo, d = lo/10, lo%10
		} else {
			hi, lo, d = divMod(hi, lo, 10)
		}
		i--
		buf[i] = '0' + byte(d)
	}
	if v.Hi < 0 {
		i--
		buf[i] = '-'
	}
	return append(dst, buf[i:]...)
}

// String returns the integer in decimal.
func (v Int128) String() string { return string(v.AppendText(nil, 0)) }

// Decimal returns the unscaled value of row i of a DECIMAL column of any precision.
func (c *Column) Decimal(i int) Int128 {
	if c.Type.Precision <= 18 {
		return Int128FromInt64(c.I64[i])
	}
	return c.I128[i]
}

// AppendDecimal appends an unscaled value to a DECIMAL column. It reports false, and appends nothing, when the value has
// more digits than the precision.
func (c *Column) AppendDecimal(v Int128) bool {
	if !v.Fits(c.Type.Precision) {
		return false
	}
	if c.Type.Precision <= 18 {
		c.AppendI64(v.Int64())
	} else {
		c.AppendI128(v)
	}
	return true
}
