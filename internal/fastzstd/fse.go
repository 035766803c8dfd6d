package fastzstd

import (
	"math/bits"
	"slices"
)

const (
	maxSymbols = 53
	maxLog     = 9
	minLog     = 5
)

// fseKind is what holds for one of the three codes (RFC 8878, 3.1.1.3.2.2 and appendix).
type fseKind struct {
	log      uint // greatest
	presumed fseEncoder
}

var fseKinds = [3]fseKind{
	literalLength: {9, presumed(6, 4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1)},
	offsetCode:    {8, presumed(5, 1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1)},
	matchLength: {9, presumed(6, 1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, -1, -1, -1, -1, -1, -1, -1)},
}

func presumed(log uint, norm ...int16) (f fseEncoder) {
	f.log, f.symbols = log, copy(f.norm[:], norm)
	f.build()
	return f
}

// fseEncoder codes symbols by a table of states, after FSE (finite state entropy).
type fseEncoder struct {
	log     uint
	symbols int
	norm    [maxSymbols]int16 // of 1<<log; -1 is less than one
	change  [64]symbolChange  // maxSymbols, and what any 6 bits may say
	states  [1 << maxLog]uint16
}

type symbolChange struct {
	bits  uint32 // 16 bits of fraction: states from a limit on write one bit more
	state int32
}

const (
	modePresumed = 0
	modeRLE      = 1
	modeTable    = 2
)

// prepare makes the encoder ready for codes, and writes what the reader needs to know of it.
func (f *fseEncoder) prepare(dst, codes []byte, kind *fseKind) ([]byte, byte) {
	var counts [maxSymbols]uint32
	for _, c := range codes {
		counts[c%maxSymbols]++ // codes are below
	}
	symbols, most := 0, uint32(0)
	for s, n := range &counts {
		if n > 0 {
			symbols, most = s+1, max(most, n)
		}
	}
	total := uint32(len(codes))
	if most == total {
		f.rle()
		return append(dst, codes[0]), modeRLE
	}
	presumed := kind.presumed.cost(&counts, symbols)
	f.log = min(max(uint(bits.Len32(total-1))-3, uint(bits.Len(uint(symbols)))+1, minLog), kind.log)
	f.normalize(&counts, symbols, total)
	head := len(dst)
	dst = f.appendNorm(dst)
	if presumed <= f.cost(&counts, symbols)+uint32(len(dst)-head)*8 {
		*f = kind.presumed
		return dst[:head], modePresumed
	}
	f.build()
	return dst, modeTable
}

// rle is a table of one symbol, which takes no bits.
func (f *fseEncoder) rle() {
	f.log = 0
	f.states[0] = 0
	clear(f.change[:])
}

// cost is about how many bits symbols take.
func (f *fseEncoder) cost(counts *[maxSymbols]uint32, symbols int) uint32 {
	if symbols > f.symbols {
		return 1 << 31
	}
	var sum uint32
	for s, n := range counts[:symbols] {
		p := max(f.norm[s], 1)
		sum += n * (uint32(f.log)<<8 - log2(uint32(p)))
	}
	return sum >> 8
}

// log2 has 8 bits of fraction, by a straight line between powers.
func log2(v uint32) uint32 {
	n := uint32(bits.Len32(v)) - 1
	return n<<8 + (v<<8)>>n - 256
}

// normalize spreads 1<<log states over symbols by their counts, one at least.
func (f *fseEncoder) normalize(counts *[maxSymbols]uint32, symbols int, total uint32) {
	f.symbols = symbols
	left, largest := int32(1)<<f.log, 0
	for s, n := range counts[:symbols] {
		f.norm[s] = 0
		if n == 0 {
			continue
		}
		p := max((uint64(n)<<f.log+uint64(total)/2)/uint64(total), 1)
		f.norm[s] = int16(p)
		left -= int32(p)
		if f.norm[s] > f.norm[largest] {
			largest = s
		}
	}
	for left < 0 { // many rare symbols: the most frequent give
		take := min(-left, int32(f.norm[largest])/4)
		if take == 0 {
			take = 1
		}
		f.norm[largest] -= int16(take)
		left += take
		for s := range f.norm[:symbols] {
			if f.norm[s] > f.norm[largest] {
				largest = s
			}
		}
	}
	f.norm[largest] += int16(left)
}

// appendNorm writes the table's description (RFC 8878, 4.1.1).
func (f *fseEncoder) appendNorm(dst []byte) []byte {
	at := len(dst)
	dst = slices.Grow(dst, maxSymbols*2+16)
	out := dst[:cap(dst)]
	var w bits64
	w.add(uint64(f.log-minLog), 4)
	size := int32(1) << f.log
	left, threshold, width := size+1, size, f.log+1
	zeros := false
	for s := 0; s < f.symbols && left > 1; {
		if zeros {
			start := s
			for f.norm[s] == 0 {
				s++ // the last one isn't 0
			}
			n := s - start
			for ; n >= 3; n -= 3 {
				w.add(3, 2)
				at = w.flush(out, at)
			}
			w.add(uint64(n), 2)
		}
		p := int32(f.norm[s])
		s++
		most := 2*threshold - 1 - left
		left -= p
		v := p + 1
		if v >= threshold {
			v += most
		}
		n := width
		if v < most {
			n--
		}
		w.add(uint64(v), n)
		at = w.flush(out, at)
		zeros = p == 0
		for left < threshold && threshold > 1 {
			width--
			threshold >>= 1
		}
	}
	if w.have > 0 {
		out[at] = byte(w.acc)
		at++
	}
	return out[:at]
}

// build makes the table of states from norm.
func (f *fseEncoder) build() {
	size := uint32(1) << f.log
	var at [maxSymbols + 1]uint32 // of a symbol's states
	var symbol [1 << maxLog]uint8
	high := size
	for s, p := range f.norm[:f.symbols] {
		if p < 0 {
			at[s+1] = at[s] + 1
			high--
			symbol[high] = uint8(s)
			continue
		}
		at[s+1] = at[s] + uint32(p)
	}
	step, mask, pos := size>>1+size>>3+3, size-1, uint32(0)
	for s, p := range f.norm[:f.symbols] {
		for range p {
			symbol[pos] = uint8(s)
			for pos = (pos + step) & mask; pos >= high; {
				pos = (pos + step) & mask
			}
		}
	}
	next := at
	for i, s := range symbol[:size] {
		f.states[next[s]] = uint16(size) + uint16(i)
		next[s]++
	}
	for s, p := range f.norm[:f.symbols] {
		switch {
		case p == 0:
		case p == 1 || p < 0:
			f.change[s] = symbolChange{uint32(f.log)<<16 - size, int32(at[s]) - 1}
		default:
			n := uint32(f.log) - uint32(bits.Len32(uint32(p-1))-1)
			f.change[s] = symbolChange{n<<16 - uint32(p)<<n, int32(at[s]) - int32(p)}
		}
	}
}

// first is the state for the last symbol.
func (f *fseEncoder) first(symbol byte) uint32 {
	c := &f.change[symbol]
	n := (c.bits + 1<<15) >> 16
	v := n<<16 - c.bits
	return uint32(f.states[int32(v>>n)+c.state])
}
