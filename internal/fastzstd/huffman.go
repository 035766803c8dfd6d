package fastzstd

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

const (
	// maxCodeBits is the longest code that readers of literals take (RFC 8878, 4.2.1).
	maxCodeBits = 11
	// maxPlainWeights is how many weights can be listed without a code of their own.
	maxPlainWeights = 128
	// treeRoom is what the description of a tree takes, at most 129 bytes, and more: 255 weights of 6 bits are written before they turn out to
	// be too long, and the last word of the streams reaches beyond them.
	treeRoom = 512
)

// huffman codes literals by symbols of 1 to 11 bits (RFC 8878, 4.2). All of its memory is used anew for each block.
type huffman struct {
	counts  [4][256]uint32 // of every fourth literal; the first one gets their sum
	last    int            // symbol that occurs
	longest int            // length of a code
	bits    int            // that all literals take

	keys [2][257]uint32 // count<<8 | symbol, and a greater one behind them
	tree huffmanTree

	lengths [256]uint8
	weights [256]uint8
	codes   [256]uint64 // the bits of a code at the top, their number in the lowest byte
	coder   fseEncoder  // of weights
}

// count counts the literals and returns how many the most frequent one has.
func (h *huffman) count(literals []byte) int {
	h.counts = [4][256]uint32{}
	// The same symbol is often next to itself: with a table for each place, a counter needn't wait for its last change.
	a, b, c, d := &h.counts[0], &h.counts[1], &h.counts[2], &h.counts[3]
	rest := literals
	for ; len(rest) >= 8; rest = rest[8:] {
		p := (*[8]byte)(rest)
		a[p[0]]++
		b[p[1]]++
		c[p[2]]++
		d[p[3]]++
		a[p[4]]++
		b[p[5]]++
		c[p[6]]++
		d[p[7]]++
	}
	for _, s := range rest {
		a[s]++
	}
	most := uint32(0)
	for s := range a {
		a[s] += b[s] + c[s] + d[s]
		most = max(most, a[s])
	}
	return int(most)
}

// build makes the codes of the symbols that were counted, of which there are two at least. The most frequent one has most.
func (h *huffman) build(most int) {
	keys := h.sort(most)
	ofLength := h.tree.choose(keys)
	h.place(keys, &ofLength)
	var next [16]uint64 // code of a length
	code := uint64(0)
	for length := maxCodeBits; length > 0; length-- {
		next[length] = code
		code = (code + uint64(ofLength[length])) >> 1
	}
	for s, length := range h.lengths[:h.last+1] {
		if length == 0 {
			h.weights[s] = 0
			continue
		}
		h.weights[s] = uint8(h.longest) + 1 - length
		n := &next[length&15]
		h.codes[s] = *n<<(-length&63) | uint64(length)
		*n++
	}
}

// sort lists the symbols from the rarest to the most frequent, by the two digits of their counts.
func (h *huffman) sort(most int) []uint32 {
	var low [257]uint16 // where keys of a digit go
	var high [maxBlock>>8 + 2]uint16
	n := 0
	list := &h.keys[0]
	for s, c := range &h.counts[0] {
		if c > 0 {
			list[n&255] = c<<8 | uint32(s)
			n++
			low[c&255+1]++
			high[c>>8+1]++
			h.last = s
		}
	}
	for i := range 255 {
		low[i+1] += low[i]
	}
	other := &h.keys[1]
	for _, k := range list[:n] {
		at := &low[k>>8&255]
		other[*at&255] = k
		*at++
	}
	if most > 255 {
		for i := range most >> 8 {
			high[i+1] += high[i]
		}
		for _, k := range other[:n] {
			at := &high[k>>16]
			list[*at&255] = k
			*at++
		}
		other = list
	}
	other[n] = math.MaxUint32
	return other[:n]
}

// place gives the rarest of the sorted keys the longest codes.
func (h *huffman) place(keys []uint32, ofLength *lengths) {
	h.lengths, h.bits, h.longest = [256]uint8{}, 0, 0
	at := 0
	for length := maxCodeBits; length > 0; length-- {
		end := at + ofLength[length]
		if end > at {
			h.longest = max(h.longest, length)
		}
		for _, k := range keys[at:end] {
			h.lengths[byte(k)] = uint8(length)
			h.bits += int(k>>8) * length
		}
		at = end
	}
}

// appendLiterals writes the section of literals with the codes that were built, or returns false if it would save less than a thousandth.
func (h *huffman) appendLiterals(dst, literals []byte) ([]byte, bool) {
	n, head := len(literals), 5
	switch {
	case n < 1<<10:
		head = 3
	case n < 1<<14:
		head = 4
	}
	streams := (h.bits + 7) / 8
	limit := n - n>>10 - head
	if streams >= limit {
		return dst, false
	}
	start := len(dst)
	dst = slices.Grow(dst, head+streams+treeRoom)
	coded := h.appendTree(dst[:start+head])
	if coded == nil || len(coded)-start-head+streams >= limit {
		return dst, false
	}
	if n <= oneStream {
		coded = h.appendStream(coded, literals)
	} else {
		coded = h.appendStreams(coded, literals)
	}
	size := len(coded) - start - head
	if size >= n { // what the streams' ends and sizes took was not foreseen
		return dst, false
	}
	putSizes(coded[start:start+head], n, size)
	return coded, true
}

// putSizes writes the header of n coded literals (RFC 8878, 3.1.1.3.1.1), whose length tells the width of the sizes.
func putSizes(out []byte, n, coded int) {
	format := uint64(len(out) - 2)
	if n <= oneStream {
		format = 0
	}
	width := len(out)*4 - 2 // 10, 14 or 18 bits for each
	h := literalsCompressed | format<<2 | uint64(n)<<4 | uint64(coded)<<(4+width)
	for i := range out {
		out[i] = byte(h >> (8 * i))
	}
}

// appendTree writes the lengths of the codes as weights (RFC 8878, 4.2.1.1), which are higher for shorter ones. The last symbol's follows from
// the others'. It returns nil if there is no way to write them.
func (h *huffman) appendTree(dst []byte) []byte {
	weights := h.weights[:h.last]
	head := len(dst)
	dst = append(dst, 0)
	plain := (len(weights) + 1) / 2
	if coded := h.appendCodedWeights(dst, weights); coded != nil {
		size := len(coded) - head - 1
		if size < 128 && (size < plain || len(weights) > maxPlainWeights) {
			coded[head] = byte(size)
			return coded
		}
	}
	if len(weights) > maxPlainWeights {
		return nil
	}
	dst[head] = byte(127 + len(weights))
	h.weights[h.last] = 0 // what stands behind an odd number of them
	for i := 0; i < len(weights); i += 2 {
		dst = append(dst, h.weights[i]<<4|h.weights[i+1])
	}
	return dst
}

// appendCodedWeights writes weights by two states that take turns (RFC 8878, 4.2.1.2), from the last to the first. It returns nil if there is
// nothing to tell apart.
func (h *huffman) appendCodedWeights(dst, weights []byte) []byte {
	var counts [maxSymbols]uint32
	for _, w := range weights {
		counts[w&15]++
	}
	symbols, most := 0, uint32(0)
	for w, n := range &counts {
		if n > 0 {
			symbols, most = w+1, max(most, n)
		}
	}
	n := len(weights)
	if int(most) == n {
		return nil
	}
	f := &h.coder
	f.log = min(max(uint(bits.Len(uint(n)))-1, minLog), 6)
	f.normalize(&counts, symbols, uint32(n))
	dst = f.appendNorm(dst)
	f.build()
	at, out := len(dst), dst[:cap(dst)]
	var w bits64
	var states [2]uint32 // of even and odd places
	for i := n - 1; i >= 0; i-- {
		state := &states[i&1]
		if i >= n-2 {
			*state = f.first(weights[i])
			continue
		}
		*state = w.state(f, *state, weights[i])
		if i&7 == 0 { // 8 times 6 bits at most
			at = w.flush(out, at)
		}
	}
	mask := uint32(1)<<f.log - 1
	w.add(uint64(states[1]&mask), f.log)
	w.add(uint64(states[0]&mask), f.log)
	return w.end(out, at)
}

// appendStreams writes four streams, with the sizes of the first three ahead (RFC 8878, 3.1.1.3.1.6).
func (h *huffman) appendStreams(dst, literals []byte) []byte {
	sizes := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0)
	quarter := (len(literals) + 3) / 4
	for i := range 3 {
		at := len(dst)
		dst = h.appendStream(dst, literals[i*quarter:(i+1)*quarter])
		binary.LittleEndian.PutUint16(dst[sizes+2*i:], uint16(len(dst)-at))
	}
	return h.appendStream(dst, literals[3*quarter:])
}

// appendStream writes the codes of literals from the last to the first, as they are read from behind.
//
// New codes enter an accumulator at the top and push what is there down. So the number of bits of a code, which stands in its lowest byte,
// is at once what to shift by, and needn't be split off: it ends up below all bits that count.
//
// Checks of bounds would take a third of the time. What is read lies in literals by the loop's condition; and the room for what is written was
// reserved by the sum of these very codes, with treeRoom behind it for the whole words.
func (h *huffman) appendStream(dst, literals []byte) []byte {
	out, at := dst[:cap(dst)], len(dst)
	codes := &h.codes
	var acc, have uint64 // the upper bits are to be written, less than 8 after each write
	left := len(literals)
	for ; left%5 != 0; left-- {
		c := codes[literals[left-1]]
		acc = acc>>(c&63) | c&^63
		have += c & 63
		binary.LittleEndian.PutUint64(out[at:], acc>>(-have&63))
		at += int(have >> 3)
		have &= 7
	}
	from, start := unsafe.Pointer(unsafe.SliceData(literals)), unsafe.Pointer(unsafe.SliceData(out))
	to := unsafe.Add(start, at)
	for ; left > 0; left -= 5 { // up to 55 bits beside 7 of before
		next := (*[5]byte)(unsafe.Add(from, left-5))
		c := codes[next[4]]
		five, n := c, c // whose lowest bytes add up
		c = codes[next[3]]
		five, n = five>>(c&63)|c, n+c
		c = codes[next[2]]
		five, n = five>>(c&63)|c, n+c
		c = codes[next[1]]
		five, n = five>>(c&63)|c, n+c
		c = codes[next[0]]
		five, n = five>>(c&63)|c, n+c
		acc = acc>>(n&63) | five&^63
		have += n & 63
		binary.LittleEndian.PutUint64((*[8]byte)(to)[:], acc>>(-have&63))
		to = unsafe.Add(to, have>>3)
		have &= 7
	}
	at = int(uintptr(to) - uintptr(start))
	acc, have = acc>>1|1<<63, have+1 // tells where the last byte ends
	out[at] = byte(acc >> (-have & 63))
	return out[:at+1]
}
