package parquet

import (
	"github.com/paimon-go/paimon-go/format/row"
)

// spread moves the values of dst from row base on apart to where defs says, and makes the other rows null. There are as
// many values as levels at limit; afterwards dst has base+len(defs) rows.
func spread(dst *row.Column, base int, defs []uint8, limit uint8) {
	n := len(defs)
	vals := dst.N - base
	switch dst.Type.Store() {
	case row.StoreI32:
		dst.I32 = spaced(dst.I32, base, vals, defs, limit)
	case row.StoreI64:
		dst.I64 = spaced(dst.I64, base, vals, defs, limit)
	case row.StoreF32:
		dst.F32 = spaced(dst.F32, base, vals, defs, limit)
	case row.StoreF64:
		dst.F64 = spaced(dst.F64, base, vals, defs, limit)
	case row.StoreI128:
		dst.I128 = spaced(dst.I128, base, vals, defs, limit)
	case row.StoreNanos:
		dst.I64 = spaced(dst.I64, base, vals, defs, limit)
		dst.I32 = spaced(dst.I32, base, vals, defs, limit)
	case row.StoreBytes:
		off := grown(dst.Off, n-vals)[:base+n+1]
		for i, v := n-1, vals; i >= 0; i-- {
			off[base+i+1] = off[base+v]
			if defs[i] == limit {
				v--
			}
		}
		dst.Off = off
	}
	words := (base + n + 63) >> 6
	for len(dst.Nulls) < words {
		dst.Nulls = append(dst.Nulls, 0)
	}
	for i, d := range defs {
		if d != limit {
			dst.Nulls[(base+i)>>6] |= 1 << (uint(base+i) & 63)
		}
	}
	dst.N = base + n
}

func spaced[T any](s []T, base, vals int, defs []uint8, limit uint8) []T {
	var zero T
	s = grown(s, len(defs)-vals)[:base+len(defs)]
	for i, v := len(defs)-1, vals-1; i >= 0; i-- {
		if defs[i] == limit {
			s[base+i] = s[base+v]
			v--
		} else {
			s[base+i] = zero
		}
	}
	return s
}

// truncate drops the rows of c from n on.
func truncate(c *row.Column, n int) {
	if n >= c.N {
		return
	}
	c.N = n
	if words := (n + 63) >> 6; len(c.Nulls) > words {
		clear(c.Nulls[words:])
		c.Nulls = c.Nulls[:words]
	}
	if w := n >> 6; w < len(c.Nulls) {
		c.Nulls[w] &= 1<<(uint(n)&63) - 1
	}
	switch c.Type.Store() {
	case row.StoreI32:
		c.I32 = c.I32[:n]
	case row.StoreI64:
		c.I64 = c.I64[:n]
	case row.StoreF32:
		c.F32 = c.F32[:n]
	case row.StoreF64:
		c.F64 = c.F64[:n]
	case row.StoreI128:
		c.I128 = c.I128[:n]
	case row.StoreNanos:
		c.I64, c.I32 = c.I64[:n], c.I32[:n]
	case row.StoreBytes:
		c.Off = c.Off[:n+1]
		c.Bytes = c.Bytes[:c.Off[n]]
	case row.StoreList:
		c.Off = c.Off[:n+1]
		for i := range c.Kids {
			truncate(&c.Kids[i], int(c.Off[n]))
		}
	case row.StoreRow:
		for i := range c.Kids {
			truncate(&c.Kids[i], n)
		}
	}
}

// assemble appends the batch's rows of b to dst, from the levels and values that its leaves have read. An entry of a leaf
// stands for a row of b when it doesn't go on with a list inside b, and when the list around b has an element there.
func assemble(b *bound, dst *row.Column, leaves []*leafReader) error {
	if b.missing {
		return nil // its parent knows how many nulls
	}
	if b.leaf >= 0 {
		assembleLeaf(b, dst, leaves[b.leaf])
		return nil
	}
	if dst.Type.Store() == row.StoreRow {
		return assembleRow(b, dst, leaves)
	}
	return assembleList(b, dst, leaves)
}

func assembleLeaf(b *bound, dst *row.Column, l *leafReader) {
	around, limit := uint8(b.around), uint8(b.def)
	// Entries without an element of the list around are dropped, in place: the levels are used up here.
	defs := l.bDefs
	if around > 0 {
		defs = make([]uint8, 0, len(l.bDefs))
		for _, d := range l.bDefs {
			if d >= around {
				defs = append(defs, d)
			}
		}
	}
	base := dst.N
	dst.AppendRange(&l.bVals, 0, l.bVals.N)
	if len(defs) > l.bVals.N {
		spread(dst, base, defs, limit)
	}
}

func assembleRow(b *bound, dst *row.Column, leaves []*leafReader) error {
	base := dst.N
	l := leaves[b.shape]
	around, def, rep := uint8(b.around), uint8(b.def), uint8(b.rep)
	for i, d := range l.bDefs {
		if d < around || l.bReps[i] > rep {
			continue
		}
		if d < def {
			dst.Nulls.Set(dst.N)
		}
		dst.N++
	}
	for i, k := range b.kids {
		kid := &dst.Kids[i]
		if k.missing {
			for kid.N < dst.N {
				kid.AppendNull()
			}
			continue
		}
		if err := assemble(k, kid, leaves); err != nil {
			return err
		}
		if kid.N != dst.N {
			return corrupt("field %q has %d values for %d rows", k.name, kid.N-base, dst.N-base)
		}
	}
	return nil
}

func assembleList(b *bound, dst *row.Column, leaves []*leafReader) error {
	l := leaves[b.shape]
	around, def, rep := uint8(b.around), uint8(b.def), uint8(b.rep)
	count := uint32(dst.Kids[0].N)
	open := false
	for i, d := range l.bDefs {
		if l.bReps[i] <= rep {
			if open {
				dst.Off = append(dst.Off, count)
			}
			if open = d >= around; open {
				if d < def {
					dst.Nulls.Set(dst.N)
				}
				dst.N++
			}
		}
		if d > def && l.bReps[i] <= rep+1 {
			if !open {
				return corrupt("column %q: an element is in no list", b.name)
			}
			count++
		}
	}
	if open {
		dst.Off = append(dst.Off, count)
	}
	for i, k := range b.kids {
		kid := &dst.Kids[i]
		if k.missing {
			for kid.N < int(count) {
				kid.AppendNull()
			}
			continue
		}
		if err := assemble(k, kid, leaves); err != nil {
			return err
		}
		if kid.N != int(count) {
			return corrupt("column %q has %d parts in lists of %d", b.name, kid.N, count)
		}
	}
	return nil
}
