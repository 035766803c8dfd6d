package row

import "math"

// hiveHashes appends the hash of Hive's bucketing, 31*h + hash of each field, for rows from to to. A null counts as 0.
func hiveHashes(dst []int32, cols []*Column, from, to int) []int32 {
	at := len(dst)
	dst = appendZero(dst, to-from)
	hs := dst[at:]
	for _, c := range cols {
		for i := range hs {
			h := int32(0)
			if !c.Nulls.Get(from + i) {
				h = hiveHash(c, from+i)
			}
			hs[i] = 31*hs[i] + h
		}
	}
	return dst
}

func hiveHash(c *Column, i int) int32 {
	switch c.Type.Root {
	case Decimal:
		return hiveDecimal(c.Decimal(i), c.Type.Scale)
	case BigInt:
		return foldLong(uint64(c.I64[i]))
	case Float:
		switch v := c.F32[i]; {
		case v == 0:
			return 0
		case v != v:
			return 0x7fc00000
		default:
			return int32(math.Float32bits(v))
		}
	case Double:
		switch v := c.F64[i]; {
		case v == 0:
			return 0
		case v != v:
			return foldLong(0x7ff8 << 48)
		default:
			return foldLong(math.Float64bits(v))
		}
	case Char, VarChar, Binary, VarBinary:
		h := int32(0)
		for _, b := range c.Value(i) {
			h = 31*h + int32(int8(b))
		}
		return h
	}
	return c.I32[i]
}

func foldLong(v uint64) int32 { return int32(v ^ v>>32) }

// hiveDecimal is Java's BigDecimal.hashCode after HiveHasher.normalizeDecimal, which drops zeros at the end of the
// fraction: 31 * hash of the unscaled BigInteger + scale.
func hiveDecimal(v Int128, scale int) int32 {
	hi, lo := v.abs()
	if hi|lo == 0 {
		return 0
	}
	for scale > 0 {
		qhi, qlo, rest := divMod(hi, lo, 10)
		if rest != 0 {
			break
		}
		hi, lo = qhi, qlo
		scale--
	}
	h := int32(0)
	for _, w := range [4]uint32{uint32(hi >> 32), uint32(hi), uint32(lo >> 32), uint32(lo)} {
		h = 31*h + int32(w)
	}
	if v.Hi < 0 {
		h = -h
	}
	return 31*h + int32(scale)
}
