package aggregate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// A sketch is, little endian:
//
//	byte    number of words of 4 bytes before the coupons or slots: 2 list, 3 set, 10 slots
//	byte    1, the version
//	byte    7, the family
//	byte    logarithm of the number of slots
//	byte    logarithm of the size of a set's table, or of that of the exceptions
//	byte    flags: 4 empty, 8 compact, 16 hip is no estimate, 32 the sums have to be made anew
//	byte    list: number of coupons; slots: the least number, if they have 4 bits
//	byte    0 list, 1 set, 2 slots; plus 0, 4 or 8 for slots of 4, 6 or 8 bits
//	int32   set: number of coupons
//	uint32  list and set: each coupon; sets that are not compact: the table with zeros between
//
// and if there are slots
//
//	float64 hip, float64 sum of low numbers, float64 sum of high numbers
//	int32   how many slots have the least number
//	int32   number of exceptions: slots of 4 bits whose number is 15 or more above the least one, which have 15
//	        each slot, the low bits of a byte first
//	uint32  each exception: slot | number<<26; if not compact: the table with zeros between
const (
	hllFlags   = 5
	hllLeast   = 6
	hllType    = 7
	hllHip     = 8
	hllAtLeast = 32
	hllAuxes   = 36
	hllArray   = 40

	hllIsEmpty, hllIsCompact, hllIsOutOfOrder, hllIsStale = 4, 8, 16, 32

	hllToken = 15 // in slots of 4 bits: there is an exception
)

var errHll = errors.New("they end too early or are of an unknown form")

func badHll(v []byte) error {
	return fmt.Errorf("%d bytes that are no HLL sketch: %w", len(v), errHll)
}

// read makes s the sketch of these bytes.
func (s *hllSketch) read(v []byte) error {
	if len(v) < 8 {
		return badHll(v)
	}
	words, lgK, mode := int(v[0]&0x3f), int(v[3]), hllMode(v[hllType]&3)
	if v[1] != 1 || v[2] != 7 || lgK < hllMinLgK || lgK > hllMaxLgK || len(v) < 4*words {
		return badHll(v)
	}
	*s = hllSketch{lgK: lgK, mode: mode, coupons: s.coupons[:0], slots: s.slots[:0], spare: s.spare}
	ok := false
	switch {
	case mode == hllList && words == 2:
		ok = s.readList(v)
	case mode == hllSet && words == 3:
		ok = s.readSet(v)
	case mode == hllSlots && words == 10:
		ok = s.readSlots(v)
	}
	if !ok {
		return badHll(v)
	}
	return nil
}

func (s *hllSketch) readList(v []byte) bool {
	n := int(v[hllLeast])
	if n >= hllListSize || len(v) < 8+4*n {
		return false
	}
	for i := range n {
		c := binary.LittleEndian.Uint32(v[8+4*i:])
		if c>>hllKeyBits == 0 {
			return false
		}
		s.addToList(c)
	}
	return true
}

func (s *hllSketch) readSet(v []byte) bool {
	n, in := int(int32(binary.LittleEndian.Uint32(v[8:]))), v[12:]
	if s.lgK < 8 || n < 0 || hllFull(n, 1<<s.lgK>>3) {
		return false
	}
	if v[hllFlags]&hllIsCompact == 0 {
		return s.readTable(v, n)
	}
	if len(in) < 4*n {
		return false
	}
	s.resize(hllSetLg)
	for i := range n {
		c := binary.LittleEndian.Uint32(in[4*i:])
		if c>>hllKeyBits == 0 {
			return false
		}
		s.addToSet(c)
	}
	return true
}

// readTable reads a set's table of n coupons.
func (s *hllSketch) readTable(v []byte, n int) bool {
	lgSize := int(v[4])
	if lgSize < hllSetLg { // not written by old versions
		lgSize = hllSetLg
		for hllFull(n, 1<<lgSize) {
			lgSize++
		}
	}
	if lgSize > s.lgK-3 || hllFull(n, 1<<lgSize) || len(v) < 12+4<<lgSize {
		return false
	}
	s.resize(lgSize)
	for i := range s.coupons {
		c := binary.LittleEndian.Uint32(v[12+4*i:])
		if c == 0 {
			continue
		}
		if c>>hllKeyBits == 0 {
			return false
		}
		s.coupons[i] = c
		s.n++
	}
	return s.n == n
}

func (s *hllSketch) readSlots(v []byte) bool {
	le := binary.LittleEndian
	s.hip = math.Float64frombits(le.Uint64(v[hllHip:]))
	s.outOfOrder = v[hllFlags]&hllIsOutOfOrder != 0
	s.slots = slices.Grow(s.slots, 1<<s.lgK)[:1<<s.lgK]
	k, in := len(s.slots), v[hllArray:]
	switch v[hllType] >> 2 & 3 {
	case 0:
		return s.read4(v)
	case 1:
		if len(in) < k*3/4 {
			return false
		}
		for i := 0; i < k; i += 4 {
			w := uint32(in[0]) | uint32(in[1])<<8 | uint32(in[2])<<16
			s.slots[i], s.slots[i+1], s.slots[i+2], s.slots[i+3] = byte(w&63), byte(w>>6&63), byte(w>>12&63), byte(w>>18)
			in = in[3:]
		}
	case 2:
		if len(in) < k {
			return false
		}
		for i, b := range in[:k] {
			s.slots[i] = b & hllMaxNumber
		}
		if v[hllFlags]&hllIsStale == 0 {
			// Those of a union count numbers of 32 and more otherwise than sumSlots does.
			s.summed = true
			s.sumLow, s.sumHigh = math.Float64frombits(le.Uint64(v[hllHip+8:])), math.Float64frombits(le.Uint64(v[hllHip+16:]))
		}
	default:
		return false
	}
	return true
}

// read4 reads slots of 4 bits.
func (s *hllSketch) read4(v []byte) bool {
	const pending = 0xff
	least, half := v[hllLeast], len(s.slots)/2
	aux := int(int32(binary.LittleEndian.Uint32(v[hllAuxes:])))
	if least > hllMaxNumber || aux < 0 || aux > len(s.slots) || len(v) < hllArray+half {
		return false
	}
	tokens := 0
	for i, b := range v[hllArray : hllArray+half] {
		for j, x := range [2]byte{b & 15, b >> 4} {
			if x == hllToken {
				x = pending
				tokens++
			} else if x += least; x > hllMaxNumber {
				return false
			}
			s.slots[2*i+j] = x
		}
	}
	if tokens != aux {
		return false
	}
	in := v[hllArray+half:]
	if v[hllFlags]&hllIsCompact == 0 && aux > 0 {
		if v[4] > hllMaxLgK || aux > 1<<v[4] {
			return false
		}
		aux = 1 << v[4]
	}
	if len(in) < 4*aux {
		return false
	}
	for i := range aux {
		pair := binary.LittleEndian.Uint32(in[4*i:])
		if pair == 0 {
			continue
		}
		slot := &s.slots[pair&uint32(len(s.slots)-1)]
		if *slot != pending {
			return false
		}
		*slot = byte(pair >> hllKeyBits)
		tokens--
	}
	return tokens == 0
}

// write makes out the compact sketch that s is, with slots of 4 bits.
func (f *hll) write(s *hllSketch) {
	le := binary.LittleEndian
	f.out = append(f.out[:0], 2, 1, 7, byte(s.lgK), 3, hllIsCompact, byte(s.n), byte(s.mode))
	switch s.mode {
	case hllSlots:
		f.writeSlots(s)
		return
	case hllSet:
		f.out[0], f.out[4], f.out[hllLeast] = 3, byte(lg(len(s.coupons))), 0
		f.out = le.AppendUint32(f.out, uint32(s.n))
	case hllList:
	}
	if s.n == 0 {
		f.out[hllFlags] |= hllIsEmpty
	}
	for _, c := range s.coupons {
		if c != 0 {
			f.out = le.AppendUint32(f.out, c)
		}
	}
}

func (f *hll) writeSlots(s *hllSketch) {
	least, atLeast := s.sumSlots()
	f.out[0], f.out[4], f.out[hllLeast] = 10, 0, least
	if s.outOfOrder {
		f.out[hllFlags] |= hllIsOutOfOrder
	}
	le := binary.LittleEndian
	for _, v := range [3]float64{s.hip, s.sumLow, s.sumHigh} {
		f.out = le.AppendUint64(f.out, math.Float64bits(v))
	}
	f.out = le.AppendUint32(f.out, uint32(atLeast))
	f.out = le.AppendUint32(f.out, 0)
	f.aux.begin(s.lgK)
	for i := 0; i < len(s.slots); i += 2 {
		f.out = append(f.out, f.nibble(s, i, least)|f.nibble(s, i+1, least)<<4)
	}
	if f.aux.n == 0 {
		return
	}
	f.out[4] = byte(lg(len(f.aux.pairs)))
	le.PutUint32(f.out[hllAuxes:], uint32(f.aux.n))
	for _, p := range f.aux.pairs {
		if p != 0 {
			f.out = le.AppendUint32(f.out, p)
		}
	}
}

// nibble is a slot in 4 bits; it adds an exception.
func (f *hll) nibble(s *hllSketch, slot int, least byte) byte {
	v := s.slots[slot]
	if v-least < hllToken {
		return v - least
	}
	f.aux.add(uint32(slot), v)
	return hllToken
}

// hllAux is the hash table of exceptions, in whose order they are written.
type hllAux struct {
	pairs, spare []uint32
	n            int
	mask         uint32 // of slots
}

func (a *hllAux) begin(lgK int) {
	size := [...]int{4: 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13}[lgK] // logarithm
	*a = hllAux{pairs: zeroed(a.pairs, 1<<size), spare: a.spare, mask: 1<<lgK - 1}
}

func (a *hllAux) add(slot uint32, v byte) {
	a.place(slot | uint32(v)<<hllKeyBits)
	if a.n++; !hllFull(a.n, len(a.pairs)) {
		return
	}
	old := a.pairs
	a.pairs, a.spare = zeroed(a.spare, 2*len(old)), old
	for _, p := range old {
		if p != 0 {
			a.place(p)
		}
	}
}

func (a *hllAux) place(pair uint32) {
	slot, mask := pair&a.mask, uint32(len(a.pairs)-1)
	step := slot>>lg(len(a.pairs)) | 1
	at := slot & mask
	for a.pairs[at] != 0 {
		at = (at + step) & mask
	}
	a.pairs[at] = pair
}

// lg is the logarithm of a power of 2.
func lg(n int) int { return bits.TrailingZeros(uint(n)) }
