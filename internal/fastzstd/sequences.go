package fastzstd

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Which of the three codes of a sequence.
const (
	literalLength = iota
	offsetCode
	matchLength
)

// lengthCode is a code of lengths: the first length it means, and how many further bits tell which.
type lengthCode struct {
	first uint32
	bits  uint8
}

// Codes of RFC 8878, 3.1.1.3.2.1.1.
var (
	literalCodes = lengthCodes(0, 16, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	matchCodes   = lengthCodes(3, 32, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)

	shortLiterals = shortCodes[[64]uint8](literalCodes)
	shortMatches  = shortCodes[[131]uint8](matchCodes)
)

// lengthCodes makes codes: plain of single lengths from first on, then such of so many bits.
func lengthCodes(first uint32, plain int, more ...uint8) (list [64]lengthCode) {
	for i := range plain + len(more) {
		list[i].first = first
		if i >= plain {
			list[i].bits = more[i-plain]
		}
		first += 1 << list[i].bits
	}
	return list
}

// shortCodes lists the codes of lengths below the size of the array.
func shortCodes[A [64]uint8 | [131]uint8](codes [64]lengthCode) (a A) {
	c := 0
	for n := range len(a) {
		for codes[c+1].first <= uint32(n) && codes[c+1].first > 0 {
			c++
		}
		a[n] = uint8(c)
	}
	return a
}

func literalCode(n uint32) uint8 {
	if n < uint32(len(shortLiterals)) {
		return shortLiterals[n]
	}
	return uint8(bits.Len32(n)) + 18
}

func matchCode(n uint32) uint8 {
	if n < uint32(len(shortMatches)) {
		return shortMatches[n]
	}
	return uint8(bits.Len32(n-3)) + 35
}

// appendSequences writes the sequences section.
func (e *Encoder) appendSequences(dst []byte) []byte {
	n := len(e.sequences)
	switch {
	case n < 128:
		dst = append(dst, byte(n))
	case n < 0x7F00:
		dst = append(dst, byte(n>>8)|128, byte(n))
	default:
		dst = append(dst, 255, byte(n-0x7F00), byte((n-0x7F00)>>8))
	}
	if n == 0 {
		return dst
	}
	for i := range e.codes {
		if cap(e.codes[i]) < n {
			e.codes[i] = make([]byte, max(n, 2048))
		}
		e.codes[i] = e.codes[i][:n]
	}
	ll, of, ml := e.codes[literalLength], e.codes[offsetCode], e.codes[matchLength]
	for i := range e.sequences {
		s := &e.sequences[i]
		ll[i], of[i], ml[i] = literalCode(s.literals), uint8(bits.Len32(s.offset)-1), matchCode(s.match)
	}
	modes := len(dst)
	dst = append(dst, 0)
	for i := range e.fse {
		var mode byte
		dst, mode = e.fse[i].prepare(dst, e.codes[i], &fseKinds[i])
		dst[modes] |= mode << (6 - 2*i)
	}
	return e.appendBits(dst)
}

// sequenceBytes is more than a sequence takes: 8 + 9 + 9 bits of states, 16 + 15 of lengths and 20 of an offset.
const sequenceBytes = 10

// appendBits writes the sequences from the last to the first, as they are read from behind.
func (e *Encoder) appendBits(dst []byte) []byte {
	n := len(e.sequences)
	ll, of, ml := &e.fse[literalLength], &e.fse[offsetCode], &e.fse[matchLength]
	cl, co, cm := e.codes[literalLength][:n], e.codes[offsetCode][:n], e.codes[matchLength][:n]
	at := len(dst)
	dst = slices.Grow(dst, n*sequenceBytes+16)
	out := dst[:cap(dst)]
	var w bits64
	sm, so, sl := ml.first(cm[n-1]), of.first(co[n-1]), ll.first(cl[n-1])
	for i := n - 1; i >= 0; i-- {
		if i < n-1 { // 7 bits of before, 20 of an offset and these are less than 64
			so = w.state(of, so, co[i])
			sm = w.state(ml, sm, cm[i])
			sl = w.state(ll, sl, cl[i])
		}
		s := &e.sequences[i]
		l, m := literalCodes[cl[i]&63], matchCodes[cm[i]&63]
		if w.have+uint(l.bits+m.bits) > 64 {
			at = w.flush(out, at)
		}
		w.add(uint64(s.literals-l.first), uint(l.bits))
		w.add(uint64(s.match-m.first), uint(m.bits))
		at = w.flush(out, at)
		w.add(uint64(s.offset)&(1<<(co[i]&63)-1), uint(co[i]))
	}
	at = w.flush(out, at)
	w.add(uint64(sm)&(1<<(ml.log&63)-1), ml.log)
	w.add(uint64(so)&(1<<(of.log&63)-1), of.log)
	w.add(uint64(sl)&(1<<(ll.log&63)-1), ll.log)
	return w.end(out, at)
}

// bits64 is up to 64 bits that are to be written, the first ones lowest.
type bits64 struct {
	acc  uint64
	have uint
}

// add takes the n low bits of v, which has no others.
func (w *bits64) add(v uint64, n uint) {
	w.acc |= v << (w.have & 63)
	w.have += n
}

// flush writes whole bytes at at, of which 8 must be free, and returns where the next ones go. Fewer than 8 bits stay.
func (w *bits64) flush(out []byte, at int) int {
	binary.LittleEndian.PutUint64(out[at:], w.acc)
	n := w.have >> 3
	w.acc = w.acc >> (n * 4 & 63) >> (n * 4 & 63)
	w.have &= 7
	return at + int(n)
}

// end writes all bits at at, and one that tells where the last byte ends, and returns what was written up to there.
func (w *bits64) end(out []byte, at int) []byte {
	w.add(1, 1)
	at = w.flush(out, at)
	if w.have > 0 {
		out[at] = byte(w.acc)
		at++
	}
	return out[:at]
}

// state writes bits of a state and returns the state of the symbol before.
func (w *bits64) state(f *fseEncoder, state uint32, symbol byte) uint32 {
	c := &f.change[symbol&63]
	n := (state + c.bits) >> 16 & 31
	w.add(uint64(state&(1<<n-1)), uint(n))
	return uint32(f.states[(int32(state>>n)+c.state)&(1<<maxLog-1)])
}
