package mysql

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
)

// pow10 has the powers of ten that fit 64 bits.
var pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// int128 is the magnitude of a decimal while it is put together.
type int128 struct{ hi, lo uint64 }

// mulAdd returns n*m + a. The caller knows that it fits.
func (n int128) mulAdd(m, a uint64) int128 {
	hi, lo := bits.Mul64(n.lo, m)
	hi += n.hi * m
	lo, carry := bits.Add64(lo, a, 0)
	return int128{hi + carry, lo}
}

// scale returns n times ten to the k.
func (n int128) scale(k int) int128 {
	for ; k > 19; k -= 19 {
		n = n.mulAdd(pow10[19], 0)
	}
	if k > 0 {
		n = n.mulAdd(pow10[k], 0)
	}
	return n
}

func (n int128) signed(negative bool) row.Int128 {
	if !negative {
		return row.Int128{Hi: int64(n.hi), Lo: n.lo}
	}
	lo, carry := bits.Add64(^n.lo, 1, 0)
	return row.Int128{Hi: int64(^n.hi + carry), Lo: lo}
}

// digitBytes is how many bytes a group of 0 to 9 decimal digits takes.
var digitBytes = [10]uint8{0, 1, 1, 2, 2, 3, 3, 4, 4, 4}

// packedSize returns the bytes of a packed DECIMAL(p,s).
func packedSize(p, s int) int {
	if s > p {
		return 0
	}
	i := p - s
	return i/9*4 + int(digitBytes[i%9]) + s/9*4 + int(digitBytes[s%9])
}

// packedDecimal is the layout of a DECIMAL in row images: the digits before the point and those after it in groups of
// nine counted from the point, each group a big-endian integer of just enough bytes. The first bit is inverted, and all
// bits are when the number is negative. For DECIMAL(14,4), 1234567890.1234 is
//
//	80 00 00 01 | 0D FB 38 D2 | 04 D2 -> 81 0D FB 38 D2 04 D2 (1, 234567890, 1234; the first group has one digit)
type packedDecimal struct {
	precision, scale int
	groups           []digitGroup
}

type digitGroup struct{ bytes, digits uint8 }

func newPackedDecimal(p, s int) packedDecimal {
	d := packedDecimal{precision: p, scale: s}
	if n := (p - s) % 9; n > 0 {
		d.groups = append(d.groups, digitGroup{digitBytes[n], uint8(n)})
	}
	for range (p-s)/9 + s/9 {
		d.groups = append(d.groups, digitGroup{4, 9})
	}
	if n := s % 9; n > 0 {
		d.groups = append(d.groups, digitGroup{digitBytes[n], uint8(n)})
	}
	return d
}

// group returns the value of the next group. flip is xored into the bytes.
func (g digitGroup) value(v []byte, flip uint32) (uint64, bool) {
	var x uint32
	switch g.bytes {
	case 1:
		x = uint32(v[0]) ^ flip&0xff
	case 2:
		x = (uint32(v[0])<<8 | uint32(v[1])) ^ flip&0xffff
	case 3:
		x = (uint32(v[0])<<16 | uint32(v[1])<<8 | uint32(v[2])) ^ flip&0xffffff
	default:
		x = beUint32(v) ^ flip
	}
	return uint64(x), uint64(x) < pow10[g.digits]
}

func beUint32(v []byte) uint32 {
	return uint32(v[0])<<24 | uint32(v[1])<<16 | uint32(v[2])<<8 | uint32(v[3])
}

// decimal appends a packed DECIMAL.
func (d *Decoder) decimal(c *row.Column, f *field, v []byte) error {
	flip := ^uint32(0) // of negative numbers
	negative := v[0]&0x80 == 0
	if !negative {
		flip = 0
	}
	var n int128
	if f.sink == sinkText {
		d.scratch = d.scratch[:0]
	}
	first := uint32(0x80)
	for _, g := range f.dec.groups {
		x, ok := g.value(v, flip^first<<(8*(uint(g.bytes)-1)))
		first = 0
		if !ok {
			return malformed("column %s: a digit group of a DECIMAL is out of range", f.name)
		}
		switch f.sink {
		case sinkDec64:
			n.lo = n.lo*pow10[g.digits] + x
		case sinkDec128:
			n = n.mulAdd(pow10[g.digits], x)
		default:
			d.scratch = appendDigits(d.scratch, x, int(g.digits))
		}
		v = v[g.bytes:]
	}
	switch f.sink {
	case sinkDec64:
		x := int64(n.lo) * f.mul
		if negative {
			x = -x
		}
		c.AppendI64(x)
	case sinkDec128:
		c.AppendI128(n.scale(f.scaleUp).signed(negative))
	default:
		d.decimalDigits(c, f, d.scratch, negative)
	}
	return nil
}

// appendDigits appends x with exactly n digits.
func appendDigits(b []byte, x uint64, n int) []byte {
	for i := n - 1; i >= 0; i-- {
		b = append(b, byte('0'+x/pow10[i]%10))
	}
	return b
}

// decimalText appends a DECIMAL that came as text, such as "-12.50".
func (d *Decoder) decimalText(c *row.Column, f *field, v []byte) error {
	s := v
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	d.scratch = d.scratch[:0]
	frac := -1
	for _, ch := range s {
		switch {
		case ch >= '0' && ch <= '9':
			d.scratch = append(d.scratch, ch)
			if frac >= 0 {
				frac++
			}
		case ch == '.' && frac < 0:
			frac = 0
		default:
			return malformed("column %s: %q is no DECIMAL", f.name, v)
		}
	}
	for frac = max(frac, 0); frac < f.dec.scale; frac++ {
		d.scratch = append(d.scratch, '0')
	}
	digits := d.scratch
	for len(digits) > 0 && digits[0] == '0' {
		digits = digits[1:]
	}
	if frac > f.dec.scale || len(digits) > f.dec.precision {
		return fmt.Errorf("column %s: %s does not fit %s: %w", f.name, v, f.mysql, cdc.ErrRefused)
	}
	if f.sink == sinkText {
		for len(d.scratch) < f.dec.precision { // as many as the packed form has
			d.scratch = append(d.scratch, '0')
			copy(d.scratch[1:], d.scratch)
			d.scratch[0] = '0'
		}
		d.decimalDigits(c, f, d.scratch[len(d.scratch)-f.dec.precision:], negative)
		return nil
	}
	var n int128
	for _, ch := range digits {
		n = n.mulAdd(10, uint64(ch-'0'))
	}
	if f.sink == sinkDec64 {
		x := int64(n.lo) * f.mul
		if negative {
			x = -x
		}
		c.AppendI64(x)
		return nil
	}
	c.AppendI128(n.scale(f.scaleUp).signed(negative))
	return nil
}

// decimalDigits appends a number as text: digits are all digits of the declared precision.
func (d *Decoder) decimalDigits(c *row.Column, f *field, digits []byte, negative bool) {
	c.Bytes = appendDecimalDigits(c.Bytes, digits, f.dec.scale, negative, f.trim)
	c.Off = append(c.Off, uint32(len(c.Bytes)))
	c.N++
}

func appendDecimalDigits(b, digits []byte, scale int, negative, trim bool) []byte {
	whole, frac := digits[:len(digits)-scale], digits[len(digits)-scale:]
	for len(whole) > 1 && whole[0] == '0' {
		whole = whole[1:]
	}
	if trim {
		for len(frac) > 0 && frac[len(frac)-1] == '0' {
			frac = frac[:len(frac)-1]
		}
	}
	zero := true
	for _, ch := range digits {
		zero = zero && ch == '0'
	}
	if negative && !zero {
		b = append(b, '-')
	}
	if len(whole) == 0 {
		b = append(b, '0')
	}
	b = append(b, whole...)
	if len(frac) > 0 {
		b = append(b, '.')
		b = append(b, frac...)
	}
	return b
}

func appendInt(b []byte, v int64) []byte   { return strconv.AppendInt(b, v, 10) }
func appendUint(b []byte, v uint64) []byte { return strconv.AppendUint(b, v, 10) }

// appendJavaFloat writes a floating point number as Java's Float.toString and Double.toString do, which is what
// to-string gives with the Java action: at least one digit after the point, an E outside 10^-3 to 10^7.
func appendJavaFloat(b []byte, x float64, bitSize int) []byte {
	abs := x
	if abs < 0 {
		abs = -abs
	}
	if x == 0 || abs >= 1e-3 && abs < 1e7 {
		start := len(b)
		b = strconv.AppendFloat(b, x, 'f', -1, bitSize)
		for _, ch := range b[start:] {
			if ch == '.' {
				return b
			}
		}
		return append(b, '.', '0')
	}
	var tmp [32]byte
	t := strconv.AppendFloat(tmp[:0], x, 'e', -1, bitSize)
	for i, ch := range t { // d.ddde+07 -> d.dddE7
		if ch != 'e' {
			continue
		}
		b = append(b, t[:i]...)
		if i <= 2 && (i == 1 || t[0] == '-') {
			b = append(b, '.', '0')
		}
		b = append(b, 'E')
		e, _ := strconv.Atoi(string(t[i+1:]))
		return strconv.AppendInt(b, int64(e), 10)
	}
	return append(b, t...)
}
