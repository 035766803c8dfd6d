package row

import (
	"encoding/binary"
	"math/bits"
)

// Int128FromInt64 returns v.
func Int128FromInt64(v int64) Int128 { return Int128{Hi: v >> 63, Lo: uint64(v)} }

// IsInt64 reports whether the value fits an int64.
func (v Int128) IsInt64() bool { return v.Hi == int64(v.Lo)>>63 }

// Int64 returns the low 64 bits.
func (v Int128) Int64() int64 { return int64(v.Lo) }

// Sign returns -1, 0 or 1.
func (v Int128) Sign() int {
	switch {
	case v.Hi < 0:
		return -1
	case v.Hi == 0 && v.Lo == 0:
		return 0
	}
	return 1
}

// Cmp returns -1, 0 or 1 as v is below, equal to or above w.
func (v Int128) Cmp(w Int128) int {
	switch {
	case v.Hi != w.Hi:
		if v.Hi < w.Hi {
			return -1
		}
		return 1
	case v.Lo != w.Lo:
		if v.Lo < w.Lo {
			return -1
		}
		return 1
	}
	return 0
}

// Neg returns -v, wrapping at the minimum.
func (v Int128) Neg() Int128 {
	lo, borrow := bits.Sub64(0, v.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(v.Hi), borrow)
	return Int128{Hi: int64(hi), Lo: lo}
}

// Add returns v + w, wrapping.
func (v Int128) Add(w Int128) Int128 {
	lo, carry := bits.Add64(v.Lo, w.Lo, 0)
	hi, _ := bits.Add64(uint64(v.Hi), uint64(w.Hi), carry)
	return Int128{Hi: int64(hi), Lo: lo}
}

// abs returns the magnitude, 2^127 for the minimum.
func (v Int128) abs() (hi, lo uint64) {
	if v.Hi < 0 {
		v = v.Neg()
	}
	return uint64(v.Hi), v.Lo
}

// int128FromAbs is the inverse of abs; ok is false when the value does not fit.
func int128FromAbs(hi, lo uint64, neg bool) (v Int128, ok bool) {
	v = Int128{Hi: int64(hi), Lo: lo}
	if neg {
		v = v.Neg()
		return v, v.Hi < 0 || hi == 0 && lo == 0
	}
	return v, v.Hi >= 0
}

// MulAddUint64 returns v*m + a for v, which must not be negative; ok is false on overflow.
func (v Int128) MulAddUint64(m, a uint64) (r Int128, ok bool) {
	hi, lo, ok := mulAdd(uint64(v.Hi), v.Lo, m, a)
	return Int128{Hi: int64(hi), Lo: lo}, ok && int64(hi) >= 0
}

// mulAdd returns the unsigned (hi,lo)*m + a.
func mulAdd(hi, lo, m, a uint64) (rhi, rlo uint64, ok bool) {
	c1, rlo := bits.Mul64(lo, m)
	over, h := bits.Mul64(hi, m)
	rhi, c2 := bits.Add64(h, c1, 0)
	rlo, c3 := bits.Add64(rlo, a, 0)
	rhi, c4 := bits.Add64(rhi, 0, c3)
	return rhi, rlo, over == 0 && c2 == 0 && c4 == 0
}

// divMod returns the quotient and rest of the unsigned (hi,lo) by d.
func divMod(hi, lo, d uint64) (qhi, qlo, rest uint64) {
	qhi, rest = hi/d, hi%d
	qlo, rest = bits.Div64(rest, lo, d)
	return qhi, qlo, rest
}

// Bytes returns the value as 16 bytes of big-endian two's complement.
func (v Int128) Bytes() (b [16]byte) {
	binary.BigEndian.PutUint64(b[:], uint64(v.Hi))
	binary.BigEndian.PutUint64(b[8:], v.Lo)
	return b
}

// BytesLen returns the length of the shortest two's complement form, 1 to 16, as Java's BigInteger.toByteArray.
func (v Int128) BytesLen() int {
	hi, lo := uint64(v.Hi), v.Lo
	if v.Hi < 0 {
		hi, lo = ^hi, ^lo
	}
	n := bits.Len64(lo)
	if hi != 0 {
		n = 64 + bits.Len64(hi)
	}
	return n/8 + 1
}

// AppendBytes appends the shortest big-endian two's complement form.
func (v Int128) AppendBytes(dst []byte) []byte {
	b := v.Bytes()
	return append(dst, b[16-v.BytesLen():]...)
}

// AppendFixed appends exactly width bytes of big-endian two's complement; a wider value is cut to its low bytes.
func (v Int128) AppendFixed(dst []byte, width int) []byte {
	for ; width > 16; width-- {
		dst = append(dst, byte(v.Hi>>63))
	}
	b := v.Bytes()
	return append(dst, b[16-width:]...)
}

// Int128FromBytes reads big-endian two's complement of any length; ok is false when it is empty or does not fit.
func Int128FromBytes(b []byte) (v Int128, ok bool) {
	if len(b) == 0 {
		return v, false
	}
	sign := byte(int8(b[0]) >> 7)
	for len(b) > 16 {
		if b[0] != sign {
			return v, false
		}
		b = b[1:]
		if len(b) == 16 && byte(int8(b[0])>>7) != sign {
			return v, false
		}
	}
	v = Int128{Hi: int64(int8(sign)), Lo: uint64(int64(int8(sign)))}
	for _, c := range b {
		v.Hi = v.Hi<<8 | int64(v.Lo>>56)
		v.Lo = v.Lo<<8 | uint64(c)
	}
	return v, true
}

// pow10 has the powers of ten that fit an Int128, 10^0 to 10^38.
var pow10 = func() (p [39]Int128) {
	p[0].Lo = 1
	for i := 1; i < len(p); i++ {
		p[i], _ = p[i-1].MulAddUint64(10, 0)
	}
	return p
}()

// Fits reports whether the value has at most precision decimal digits.
func (v Int128) Fits(precision int) bool {
	if precision >= len(pow10) {
		return true
	}
	hi, lo := v.abs()
	p := pow10[precision]
	return hi < uint64(p.Hi) || hi == uint64(p.Hi) && lo < p.Lo
}

// FitsDecimal reports whether the unscaled value v has at most precision decimal digits.
func FitsDecimal(v int64, precision int) bool {
	if precision >= 19 {
		return true
	}
	p := int64(pow10[precision].Lo)
	return v > -p && v < p
}
