package row

import (
	"math/bits"
	"slices"
)

// Bitmap has one bit a row, least significant first. Bits past its end are 0.
type Bitmap []uint64

// Get returns bit i.
func (m Bitmap) Get(i int) bool { return i>>6 < len(m) && m[i>>6]>>(uint(i)&63)&1 == 1 }

// Set sets bit i and grows the bitmap when needed.
func (m *Bitmap) Set(i int) {
	m.grow(i + 1)
	(*m)[i>>6] |= 1 << (uint(i) & 63)
}

// grow makes room for n bits.
func (m *Bitmap) grow(n int) {
	if w := (n + 63) >> 6; w > len(*m) {
		have := len(*m)
		*m = slices.Grow(*m, w-have)[:w]
		clear((*m)[have:])
	}
}

// Count returns the number of bits set among the first n.
func (m Bitmap) Count(n int) int {
	full, c := n>>6, 0
	for i, w := range m {
		if i >= full {
			if i == full {
				c += bits.OnesCount64(w & (1<<(uint(n)&63) - 1))
			}
			break
		}
		c += bits.OnesCount64(w)
	}
	return c
}

// word returns the 64 bits from bit i on.
func (m Bitmap) word(i int) (w uint64) {
	k, s := i>>6, uint(i)&63
	if k < len(m) {
		w = m[k] >> s
	}
	if s > 0 && k+1 < len(m) {
		w |= m[k+1] << (64 - s)
	}
	return w
}

// appendRange copies bits from to to of src to the positions from at on, which have to be 0.
func (m *Bitmap) appendRange(at int, src Bitmap, from, to int) {
	if to = min(to, len(src)*64); len(src) == 0 {
		return
	}
	for from < to {
		n := min(64, to-from)
		w := src.word(from)
		if n < 64 {
			w &= 1<<uint(n) - 1
		}
		if w != 0 {
			m.grow(at + n)
			k, s := at>>6, uint(at)&63
			(*m)[k] |= w << s
			if s > 0 && k+1 < len(*m) {
				(*m)[k+1] |= w >> (64 - s)
			}
		}
		from += n
		at += n
	}
}

// setRange sets bits from to to.
func (m *Bitmap) setRange(from, to int) {
	m.grow(to)
	for from < to {
		n := min(64-from&63, to-from)
		(*m)[from>>6] |= (1<<uint(n) - 1) << (uint(from) & 63)
		from += n
	}
}

// truncate clears the bits from n on.
func (m *Bitmap) truncate(n int) {
	if w := (n + 63) >> 6; w <= len(*m) {
		*m = (*m)[:w]
		if n&63 != 0 {
			(*m)[w-1] &= 1<<(uint(n)&63) - 1
		}
	}
}

// Next returns the position of the first bit from from on that is set, or is not, as asked; to when there is none before.
func (m Bitmap) Next(from, to int, set bool) int {
	for from < to {
		w := m.word(from)
		if !set {
			w = ^w
		}
		if w != 0 {
			return min(to, from+bits.TrailingZeros64(w))
		}
		from += 64
	}
	return to
}
