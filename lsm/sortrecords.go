package lsm

import (
	"bytes"
	"cmp"
	"slices"
)

// entry stands for a record while a part is sorted. Records of equal keys are told apart by the user-defined sequence
// and then by the ordinal, which is the order of arrival.
type entry struct {
	prefix uint64
	off    uint32 // place of the record in 8-byte units: page << shift | offset
	ord    uint32 // with distinctKey, once sorted
}

// distinctKey marks an entry whose key is known to differ from that of the entry before. Parts have fewer than maxRows
// rows, so the bit is free.
const (
	distinctKey = 1 << 31
	maxRows     = 1 << 30
)

// ordinal returns the record's ordinal.
func (e *entry) ordinal() uint32 { return e.ord &^ distinctKey }

// recordSorter sorts parts. It keeps scratch memory between calls; one a pool worker.
type recordSorter struct {
	tmp    []entry
	counts [8][256]uint32
}

// keepEntries is how many entries of scratch memory a worker keeps between flushes.
const keepEntries = 1 << 17

// radixMin is the number of entries from which radix sort wins.
const radixMin = 400

// sort appends the entries of p to dst in the order of keys, then of the user-defined sequence, then of arrival. Rows that
// arrived in order cost one pass.
func (s *recordSorter) sort(dst []entry, p *Part) []entry {
	from := len(dst)
	var (
		last   uint64
		sorted = true
		ties   bool
	)
	dst = slices.Grow(dst, int(p.rows))
	for i, page := range p.pages {
		at := uint32(i) << p.shift
		for off, end := uint32(0), p.fill[i]; off < end; {
			rec := page[off:]
			prefix := le64(rec[recordPrefix:])
			dst = append(dst, entry{prefix, at + off/8, le32(rec[recordOrd:])})
			sorted = sorted && prefix >= last
			ties = ties || prefix == last
			last = prefix
			off += le32(rec[recordSize:])
		}
	}
	ents := dst[from:]
	if !sorted {
		s.byPrefix(ents)
		ties = true
	}
	if ties && p.codec.hasSort {
		s.ties(ents, p, 0)
	}
	if cap(s.tmp) > keepEntries {
		s.tmp = nil
	}
	return dst
}

// byPrefix sorts by prefix and keeps the order of equal ones.
func (s *recordSorter) byPrefix(ents []entry) {
	if len(ents) < radixMin {
		slices.SortFunc(ents, func(a, b entry) int {
			if a.prefix != b.prefix {
				return cmp.Compare(a.prefix, b.prefix)
			}
			return cmp.Compare(a.ord, b.ord)
		})
		return
	}
	s.counts = [8][256]uint32{}
	for i := range ents {
		p := ents[i].prefix
		for d := range s.counts {
			s.counts[d][byte(p>>(8*d))]++
		}
	}
	if cap(s.tmp) < len(ents) {
		s.tmp = make([]entry, len(ents))
	}
	src, dst := ents, s.tmp[:len(ents)]
	for d := range s.counts {
		count := &s.counts[d]
		shift := 8 * d
		if count[byte(src[0].prefix>>shift)] == uint32(len(ents)) {
			continue // all have the same byte here
		}
		var sum uint32
		for b := range count {
			sum, count[b] = sum+count[b], sum
		}
		for i := range src {
			b := byte(src[i].prefix >> shift)
			dst[count[b]] = src[i]
			count[b]++
		}
		src, dst = dst, src
	}
	if &src[0] != &ents[0] {
		copy(ents, src)
	}
}

// ties sorts the runs of entries that agree in the first 8 bytes from depth on by what follows there.
func (s *recordSorter) ties(ents []entry, p *Part, depth int) {
	for i := 0; i < len(ents); {
		j := i + 1
		for j < len(ents) && ents[j].prefix == ents[i].prefix {
			j++
		}
		if j-i > 1 {
			s.tied(ents[i:j], p, depth+8)
		}
		i = j
	}
}

// tied sorts entries whose sort keys agree up to depth. Many of them, such as keys that begin with the same date, are
// radix sorted by their next 8 bytes; sort keys are prefix free, so padding the shorter ones with 00 changes no order.
func (s *recordSorter) tied(ents []entry, p *Part, depth int) {
	c := p.codec
	if depth == 8 { // of a shorter key the prefix was all, and only the sequence remains
		depth = min(depth, int(le32(p.record(ents[0].off)[c.keyLenOff:])))
	}
	if len(ents) < radixMin {
		slices.SortFunc(ents, func(a, b entry) int {
			ka, kb := c.sortKey(p.record(a.off)), c.sortKey(p.record(b.off))
			if r := bytes.Compare(ka[min(depth, len(ka)):], kb[min(depth, len(kb)):]); r != 0 {
				return r
			}
			return cmp.Compare(a.ord, b.ord)
		})
		return
	}
	prefix, more := ents[0].prefix, false
	depth += p.common(ents, depth)
	var last uint64
	sorted := true
	for i := range ents {
		key := c.sortKey(p.record(ents[i].off))
		more = more || len(key) > depth
		ents[i].prefix = prefixAt(key, depth)
		sorted = sorted && ents[i].prefix >= last
		last = ents[i].prefix
	}
	if more {
		if !sorted {
			s.byPrefix(ents)
		}
		s.ties(ents, p, depth)
	}
	last = ents[0].prefix
	for i := range ents {
		if ents[i].prefix != last && len(c.seqs) == 0 {
			ents[i].ord |= distinctKey // which saves lastOfKey a look at two records far apart
		}
		last = ents[i].prefix
		ents[i].prefix = prefix
	}
}

// common returns how many bytes from depth on all the sort keys have in common.
func (p *Part) common(ents []entry, depth int) int {
	first := p.codec.sortKey(p.record(ents[0].off))
	first = first[min(depth, len(first)):]
	for i := 1; i < len(ents) && len(first) > 0; i++ {
		key := p.codec.sortKey(p.record(ents[i].off))
		key = key[min(depth, len(key)):]
		n := 0
		for n+8 <= len(first) && n+8 <= len(key) && le64(first[n:]) == le64(key[n:]) {
			n += 8
		}
		for n < len(first) && n < len(key) && first[n] == key[n] {
			n++
		}
		first = first[:n]
	}
	return len(first)
}

// lastOfKey keeps the last entry of each key, in place.
func lastOfKey(ents []entry, p *Part) []entry {
	n := 0
	for i := range ents {
		if n > 0 && ents[n-1].prefix == ents[i].prefix && ents[i].ord < distinctKey && (p.codec.onlyPref || p.codec.sameKey(p.record(ents[n-1].off), p.record(ents[i].off))) {
			n--
		}
		if n != i {
			ents[n] = ents[i]
		}
		n++
	}
	return ents[:n]
}
