package fastzstd

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	maxTableBits = 15
	minTableBits = 8
	// tagBits of the hash stand beside a position, so that nearly all positions of something else are told without a look.
	tagBits  = 32 - windowBits
	minMatch = 4
	// wildCopy is how many literals are copied at once, though there may be fewer.
	wildCopy = 16
	// searchMargin is how many bytes at the end of a block are literals without a look: a match, and what is loaded behind it.
	searchMargin = 1 + minMatch + 8 + 3
	// patience: after 1<<patience looks without a match steps become a byte longer, and again and again up to maxStep.
	patience = 4
	maxStep  = 64
)

// Noise of rows is about as long as in the rows before: a token, a hash, a number, a text that is coded. Where it was, about the least
// that they had of it is skipped.
const (
	skipFrom   = 40 // as many literals; less may as well be two short matches, which a skip would miss
	skipMargin = 8  // so much before its end the search goes on
	skipSure   = 6  // from as many runs of a kind in turn one is skipped
	skipStep   = 3  // how far apart looks are behind it: what comes now was in the rows before, and is found from its middle, too
	skipTurn   = 16 // each so many-th sequence is searched as a whole, to find out when there is something to find
)

// sequence is some literals and then a match: the value of its offset as the format codes it, and its length.
type sequence struct {
	literals, offset, match uint32
}

func load64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
func load32(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }

// spread multiplies the low 6 bytes of v so that the high bits are a hash.
func spread(v uint64) uint64 { return (v << 16) * 227718039650203 }

// search splits src[at:end] into literals and sequences. Positions are in the table since the last multiple of maxWindow.
func (e *Encoder) search(src []byte, at, end int) {
	e.literals = slices.Grow(e.literals[:0], end-at+wildCopy)
	e.sequences = slices.Grow(e.sequences[:0], (end-at)/minMatch+1)
	literals, copied := e.literals[:end-at+wildCopy], 0
	sequences, found := e.sequences[:(end-at)/minMatch+1], 0

	window := at &^ (maxWindow - 1)
	if at == window {
		e.tableBits = min(max(bits.Len(uint(len(src)-at))-1, minTableBits), maxTableBits)
		clear(e.table[:1<<e.tableBits])
	}
	table, shift := &e.table, uint(64-e.tableBits)
	src = src[:end:end]
	last := e.last
	anchor, looks, before := at, 1<<patience, uint(0)
	s := at
	if at == window {
		s++ // a position that is 0 is one that isn't there
	}
	for s < end-searchMargin {
		v := load64(src, s)
		x := spread(v)
		h := x >> (shift & 63) & (1<<maxTableBits - 1)
		tag := uint32(x>>((shift-tagBits)&63)) & (1<<tagBits - 1)
		seen := table[h]
		table[h] = uint32(s-window)<<tagBits | tag
		start, match := s+1, s+1-int(last[0])
		if match < 0 || uint32(v>>8) != load32(src, match) {
			start, match = s, window+int(seen>>tagBits)
			if seen&(1<<tagBits-1) != tag || uint32(v) != load32(src, match) || match == window {
				s += min(looks>>patience, maxStep)
				looks++
				continue
			}
		}
		offset := start - match
		for start > anchor && match > window && src[start-1] == src[match-1] {
			start, match = start-1, match-1
		}
		value := last.code(uint32(offset), start == anchor)
		n := minMatch
		if x := load64(src, start+minMatch) ^ load64(src, match+minMatch); x != 0 {
			n += bits.TrailingZeros64(x) >> 3
		} else {
			n += 8 + common(src, start+minMatch+8, match+minMatch+8)
		}
		run := start - anchor
		e.runs[before%uint(len(e.runs))].learn(run)
		if run <= wildCopy && start+wildCopy <= end {
			*(*[wildCopy]byte)(literals[copied:]) = *(*[wildCopy]byte)(src[anchor:])
		} else {
			copy(literals[copied:], src[anchor:start])
		}
		copied += run
		sequences[found] = sequence{uint32(run), value, uint32(n)}
		found++
		s = start + n
		anchor, looks = s, 1<<patience
		if s < end-searchMargin {
			x := spread(load64(src, s-2))
			table[x>>(shift&63)&(1<<maxTableBits-1)] = uint32(s-2-window)<<tagBits | uint32(x>>((shift-tagBits)&63))&(1<<tagBits-1)
		}
		if before = uint(n); found%skipTurn != 0 {
			if n := e.runs[before%uint(len(e.runs))].skip(); n > 0 {
				s, looks = s+n, skipStep<<patience
			}
		}
	}
	copied += copy(literals[copied:], src[anchor:])
	e.literals, e.sequences, e.last = literals[:copied], sequences[:found], last
}

// run is about how many literals came at least after matches of one length, as they do between the columns of rows, and in how many runs.
type run struct{ literals, sure int32 }

// learn takes in a run of n literals. Noise that is much shorter than what was before is of another kind.
func (r *run) learn(n int) {
	least := int(r.literals)
	switch {
	case n < skipFrom:
		r.sure = 0
		return
	case least == 0 || n < least-least/4:
		r.sure, least = 0, n
	case n < least:
		least = n
	default:
		least += (n - least) >> 4 // what is longer for long will be so
	}
	r.sure++
	r.literals = int32(least)
}

// skip is how many literals to take without a look.
func (r *run) skip() int {
	if r.sure < skipSure {
		return 0
	}
	return int(r.literals) - skipMargin
}

// offsets are the last three of a frame, the newest first.
type offsets [3]uint32

// code is the value by which the format codes an offset: by the last three if it is one of them, but for the newest right after a match, which
// stands for other things (RFC 8878, 3.1.1.5). Then it is the newest.
func (o *offsets) code(offset uint32, afterMatch bool) uint32 {
	switch {
	case offset == o[0] && !afterMatch:
		return 1
	case offset == o[1] && offset != o[0]:
		o[1], o[0] = o[0], offset
		if afterMatch {
			return 1
		}
		return 2
	case offset == o[2] && offset != o[0] && offset != o[1]:
		o[2], o[1], o[0] = o[1], o[0], offset
		if afterMatch {
			return 2
		}
		return 3
	}
	o[2], o[1], o[0] = o[1], o[0], offset
	return offset + 3
}

// common counts the bytes that are the same from i and from j on; j is before i.
func common(b []byte, i, j int) int {
	start := i
	for i+8 <= len(b) {
		if x := load64(b, i) ^ load64(b, j); x != 0 {
			return i - start + bits.TrailingZeros64(x)>>3
		}
		i, j = i+8, j+8
	}
	for i < len(b) && b[i] == b[j] {
		i, j = i+1, j+1
	}
	return i - start
}
