package lsm

import (
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
)

// pick takes rows from to to of source w.
func (m *merger) pick(w, from, to int) {
	m.picked += to - from
	if n := len(m.picks); n > 0 {
		if p := &m.picks[n-1]; p.source == int32(w) && p.hi == int32(from) {
			p.hi = int32(to)
			return
		}
	}
	m.picks = append(m.picks, pick{int32(w), int32(from), int32(to)})
}

// flush copies what was picked, column by column: runs that meet at every other key give ranges of a row or two.
func (m *merger) flush(dst *KeyValues) {
	if len(m.picks) == 0 {
		return
	}
	if m.withLevels {
		for _, p := range m.picks {
			for i := p.lo; i < p.hi; i++ {
				m.levels = append(m.levels, int8(m.sources[p.source].levelOf(int(i))))
			}
		}
	}
	if m.withPlaces {
		for _, p := range m.picks {
			for i := p.lo; i < p.hi; i++ {
				m.places = append(m.places, m.sources[p.source].placeOf(int(i)))
			}
		}
	}
	m.copyPicks(dst, m.picks, m.picked)
	m.picks, m.picked = m.picks[:0], 0
}

// copyPicks appends picks, n rows in all.
func (m *merger) copyPicks(dst *KeyValues, picks []pick, n int) {
	if len(picks) == 1 {
		p := picks[0]
		dst.AppendRange(m.kvs[p.source], int(p.lo), int(p.hi))
		return
	}
	for c := range dst.Rows.Cols {
		m.cols = m.cols[:0]
		for _, kv := range m.kvs {
			if kv == nil {
				m.cols = append(m.cols, nil)
			} else {
				m.cols = append(m.cols, &kv.Rows.Cols[c])
			}
		}
		appendPicks(&dst.Rows.Cols[c], m.cols, picks, n)
	}
	kinds, seqs := slices.Grow(dst.Rows.Kinds, n), slices.Grow(dst.Seq, n)
	for _, p := range picks {
		kv := m.kvs[p.source]
		kinds = append(kinds, kv.Rows.Kinds[p.lo:p.hi]...)
		seqs = append(seqs, kv.Seq[p.lo:p.hi]...)
	}
	dst.Rows.Kinds, dst.Seq = kinds, seqs
	dst.Rows.N += n
}

// appendPicks appends picks, n rows in all, of the same column of several sources.
func appendPicks(dst *row.Column, src []*row.Column, picks []pick, n int) {
	switch dst.Type.Store() {
	case row.StoreI32:
		v := slices.Grow(dst.I32, n)
		for _, p := range picks {
			if s := src[p.source].I32; p.hi-p.lo == 1 {
				v = append(v, s[p.lo])
			} else {
				v = append(v, s[p.lo:p.hi]...)
			}
		}
		dst.I32 = v
	case row.StoreI64:
		v := slices.Grow(dst.I64, n)
		for _, p := range picks {
			if s := src[p.source].I64; p.hi-p.lo == 1 {
				v = append(v, s[p.lo])
			} else {
				v = append(v, s[p.lo:p.hi]...)
			}
		}
		dst.I64 = v
	case row.StoreF64:
		v := slices.Grow(dst.F64, n)
		for _, p := range picks {
			v = append(v, src[p.source].F64[p.lo:p.hi]...)
		}
		dst.F64 = v
	case row.StoreBytes:
		appendBytePicks(dst, src, picks, n)
	default:
		for _, p := range picks {
			dst.AppendRange(src[p.source], int(p.lo), int(p.hi))
		}
		return
	}
	appendNullPicks(dst, src, picks)
	dst.N += n
}

func appendBytePicks(dst *row.Column, src []*row.Column, picks []pick, n int) {
	size := 0
	for _, p := range picks {
		off := src[p.source].Off
		size += int(off[p.hi] - off[p.lo])
	}
	b, ends := slices.Grow(dst.Bytes, size), slices.Grow(dst.Off, n)
	for _, p := range picks {
		s := src[p.source]
		from := s.Off[p.lo]
		base := uint32(len(b)) - from
		b = append(b, s.Bytes[from:s.Off[p.hi]]...)
		for _, e := range s.Off[p.lo+1 : p.hi+1] {
			ends = append(ends, e+base)
		}
	}
	dst.Bytes, dst.Off = b, ends
}

// appendNullPicks sets the nulls of rows whose values have been appended; dst.N doesn't count them yet.
func appendNullPicks(dst *row.Column, src []*row.Column, picks []pick) {
	at := dst.N
	for _, p := range picks {
		if s := src[p.source]; len(s.Nulls) > 0 {
			for i := p.lo; i < p.hi; i++ {
				if s.Nulls.Get(int(i)) {
					dst.Nulls.Set(at + int(i-p.lo))
				}
			}
		}
		at += int(p.hi - p.lo)
	}
}
