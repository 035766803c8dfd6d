package row

import "slices"

// AppendRange copies rows from to to of src, a column of the same store.
func (c *Column) AppendRange(src *Column, from, to int) {
	n := to - from
	if n <= 0 {
		return
	}
	c.Nulls.appendRange(c.N, src.Nulls, from, to)
	switch c.Type.Store() {
	case StoreI32:
		c.I32 = append(c.I32, src.I32[from:to]...)
	case StoreI64:
		c.I64 = append(c.I64, src.I64[from:to]...)
	case StoreF32:
		c.F32 = append(c.F32, src.F32[from:to]...)
	case StoreF64:
		c.F64 = append(c.F64, src.F64[from:to]...)
	case StoreI128:
		c.I128 = append(c.I128, src.I128[from:to]...)
	case StoreNanos:
		c.I64 = append(c.I64, src.I64[from:to]...)
		c.I32 = append(c.I32, src.I32[from:to]...)
	case StoreBytes:
		c.Off = appendShifted(c.Off, src.Off[from:to+1], uint32(len(c.Bytes)))
		c.Bytes = append(c.Bytes, src.Bytes[src.Off[from]:src.Off[to]]...)
	case StoreList:
		c.Off = appendShifted(c.Off, src.Off[from:to+1], uint32(c.Kids[0].N))
		for k := range c.Kids {
			c.Kids[k].AppendRange(&src.Kids[k], int(src.Off[from]), int(src.Off[to]))
		}
	case StoreRow:
		for k := range c.Kids {
			c.Kids[k].AppendRange(&src.Kids[k], from, to)
		}
	}
	c.N += n
}

// appendShifted appends the ends of the ranges that off delimits, moved so that the first begins at base.
func appendShifted(dst, off []uint32, base uint32) []uint32 {
	base -= off[0]
	n := len(dst)
	dst = slices.Grow(dst, len(off)-1)[:n+len(off)-1]
	out := dst[n:]
	for i, o := range off[1:] {
		out[i] = o + base
	}
	return dst
}

// AppendGather copies the rows idx of src, a column of the same store, in the order of idx.
func (c *Column) AppendGather(src *Column, idx []int32) {
	if len(idx) == 0 {
		return
	}
	if src.HasNulls() {
		for k, i := range idx {
			if src.Nulls.Get(int(i)) {
				c.Nulls.Set(c.N + k)
			}
		}
	}
	switch c.Type.Store() {
	case StoreI32:
		c.I32 = gather(c.I32, src.I32, idx)
	case StoreI64:
		c.I64 = gather(c.I64, src.I64, idx)
	case StoreF32:
		c.F32 = gather(c.F32, src.F32, idx)
	case StoreF64:
		c.F64 = gather(c.F64, src.F64, idx)
	case StoreI128:
		c.I128 = gather(c.I128, src.I128, idx)
	case StoreNanos:
		c.I64 = gather(c.I64, src.I64, idx)
		c.I32 = gather(c.I32, src.I32, idx)
	case StoreBytes:
		n, size := len(c.Off), len(c.Bytes)
		c.Off = slices.Grow(c.Off, len(idx))[:n+len(idx)]
		ends := c.Off[n:]
		for k, i := range idx {
			size += int(src.Off[i+1] - src.Off[i])
			ends[k] = uint32(size)
		}
		b := slices.Grow(c.Bytes, size-len(c.Bytes))
		for _, i := range idx {
			b = append(b, src.Bytes[src.Off[i]:src.Off[i+1]]...)
		}
		c.Bytes = b
	case StoreList:
		for _, i := range idx {
			from, to := int(src.Off[i]), int(src.Off[i+1])
			for k := range c.Kids {
				c.Kids[k].AppendRange(&src.Kids[k], from, to)
			}
			c.Off = append(c.Off, uint32(c.Kids[0].N))
		}
	case StoreRow:
		for k := range c.Kids {
			c.Kids[k].AppendGather(&src.Kids[k], idx)
		}
	}
	c.N += len(idx)
}

func gather[T any](dst, src []T, idx []int32) []T {
	n := len(dst)
	dst = slices.Grow(dst, len(idx))[:n+len(idx)]
	out := dst[n:]
	for k, i := range idx {
		out[k] = src[i]
	}
	return dst
}

// AppendNulls appends n nulls.
func (c *Column) AppendNulls(n int) {
	if n <= 0 {
		return
	}
	c.Nulls.setRange(c.N, c.N+n)
	switch c.Type.Store() {
	case StoreI32:
		c.I32 = appendZero(c.I32, n)
	case StoreI64:
		c.I64 = appendZero(c.I64, n)
	case StoreF32:
		c.F32 = appendZero(c.F32, n)
	case StoreF64:
		c.F64 = appendZero(c.F64, n)
	case StoreI128:
		c.I128 = appendZero(c.I128, n)
	case StoreNanos:
		c.I64 = appendZero(c.I64, n)
		c.I32 = appendZero(c.I32, n)
	case StoreBytes, StoreList:
		last := c.Off[c.N]
		for range n {
			c.Off = append(c.Off, last)
		}
	case StoreRow:
		for i := range c.Kids {
			c.Kids[i].AppendNulls(n)
		}
	}
	c.N += n
}

func appendZero[T any](s []T, n int) []T {
	at := len(s)
	s = slices.Grow(s, n)[:at+n]
	clear(s[at:])
	return s
}

// Truncate drops the rows from n on, as well as values that were appended after the last complete row.
func (c *Column) Truncate(n int) {
	c.Nulls.truncate(n)
	c.N = n
	switch c.Type.Store() {
	case StoreI32:
		c.I32 = c.I32[:n]
	case StoreI64:
		c.I64 = c.I64[:n]
	case StoreF32:
		c.F32 = c.F32[:n]
	case StoreF64:
		c.F64 = c.F64[:n]
	case StoreI128:
		c.I128 = c.I128[:n]
	case StoreNanos:
		c.I64, c.I32 = c.I64[:n], c.I32[:n]
	case StoreBytes:
		c.Off = c.Off[:n+1]
		c.Bytes = c.Bytes[:c.Off[n]]
	case StoreList:
		c.Off = c.Off[:n+1]
		for k := range c.Kids {
			c.Kids[k].Truncate(int(c.Off[n]))
		}
	case StoreRow:
		for k := range c.Kids {
			c.Kids[k].Truncate(n)
		}
	}
}

// AppendRange copies rows from to to of src, a batch of the same type, with their kinds.
func (b *Batch) AppendRange(src *Batch, from, to int) {
	for c := range b.Cols {
		b.Cols[c].AppendRange(&src.Cols[c], from, to)
	}
	if len(src.Kinds) > 0 {
		b.Kinds = append(b.Kinds, src.Kinds[from:to]...)
	}
	b.N += to - from
}

// AppendGather copies the rows idx of src, a batch of the same type, in the order of idx, with their kinds.
func (b *Batch) AppendGather(src *Batch, idx []int32) {
	for c := range b.Cols {
		b.Cols[c].AppendGather(&src.Cols[c], idx)
	}
	if len(src.Kinds) > 0 {
		b.Kinds = gather(b.Kinds, src.Kinds, idx)
	}
	b.N += len(idx)
}

// Truncate drops the rows from n on, as well as values that were appended after the last complete row.
func (b *Batch) Truncate(n int) {
	for c := range b.Cols {
		b.Cols[c].Truncate(n)
	}
	if len(b.Kinds) > n {
		b.Kinds = b.Kinds[:n]
	}
	b.N = n
}
