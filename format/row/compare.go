package row

import (
	"bytes"
	"cmp"
)

// CompareValues compares row i of c with row j of d, a column of the same type, as Paimon orders keys: -1, 0 or 1. A null
// is below every value. Floats order as Java's Double.compare, the order of Paimon 2.0: -0 is below 0 and NaN is the
// highest. (Java 1.x compares float keys by < and > alone, where -0 and 0 are the same key and NaN equals every other.)
func CompareValues(c *Column, i int, d *Column, j int) int {
	if a, b := c.Nulls.Get(i), d.Nulls.Get(j); a || b {
		switch {
		case a && b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	switch c.Type.Store() {
	case StoreI32:
		return cmp.Compare(c.I32[i], d.I32[j])
	case StoreI64:
		return cmp.Compare(c.I64[i], d.I64[j])
	case StoreF32:
		return cmp.Compare(orderF32(c.F32[i]), orderF32(d.F32[j]))
	case StoreF64:
		return cmp.Compare(orderF64(c.F64[i]), orderF64(d.F64[j]))
	case StoreI128:
		return c.I128[i].Cmp(d.I128[j])
	case StoreNanos:
		if r := cmp.Compare(c.I64[i], d.I64[j]); r != 0 {
			return r
		}
		return cmp.Compare(c.I32[i], d.I32[j])
	case StoreBytes:
		return bytes.Compare(c.Value(i), d.Value(j))
	case StoreList:
		from, to := int(c.Off[i]), int(c.Off[i+1])
		dfrom, dto := int(d.Off[j]), int(d.Off[j+1])
		if c.Type.Root != Array && to-from != dto-dfrom {
			return cmp.Compare(to-from, dto-dfrom)
		}
		for k := range c.Kids {
			for n := range min(to-from, dto-dfrom) {
				if r := CompareValues(&c.Kids[k], from+n, &d.Kids[k], dfrom+n); r != 0 {
					return r
				}
			}
		}
		return cmp.Compare(to-from, dto-dfrom)
	case StoreRow:
		for k := range c.Kids {
			if r := CompareValues(&c.Kids[k], i, &d.Kids[k], j); r != 0 {
				return r
			}
		}
	}
	return 0
}
