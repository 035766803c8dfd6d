package aggregate

import (
	"math"

	"github.com/paimon-go/paimon-go/format/row"
)

// hll joins HLL sketches of Apache DataSketches, which count different values. A value's hash gives a slot and a number, how
// many zeros begin the rest of the hash, and one more; the sketch knows the greatest number of each slot. While there are
// few of them it keeps the values themselves, as coupons: slot | number<<26, for 2^26 slots.
//
// A result has the bytes that Java makes: of the newer sketch's size or, if the older one is smaller and both have slots, of
// that; so the order of what is done to the estimate and where a coupon comes to lie are Java's too.
type hll struct {
	noState
	noRetract
	older, newer hllSketch
	aux          hllAux
	out          []byte
}

func newHll(t *row.Type, _ params) (Func, error) {
	if t.Root != row.VarBinary {
		return nil, needs("VARBINARY or BYTES", t)
	}
	return &hll{}, nil
}

func (f *hll) Add(acc, in *row.Column, i int) error {
	if skipNull(acc, in, i) {
		return nil
	}
	if err := f.older.read(acc.Value(0)); err != nil {
		return err
	}
	if err := f.newer.read(in.Value(i)); err != nil {
		return err
	}
	f.write(f.union())
	acc.Reset()
	acc.AppendBytes(f.out)
	return nil
}

// union joins the two sketches into one of them.
func (f *hll) union() *hllSketch {
	from, to := &f.older, &f.newer
	switch {
	case from.mode == hllSlots && to.mode == hllSlots:
		lgK := min(from.lgK, to.lgK)
		from.fold(lgK)
		to.fold(lgK)
		for i, v := range from.slots {
			to.slots[i] = max(to.slots[i], v)
		}
		to.hip, to.outOfOrder = 0, true
	case from.mode == hllSlots:
		from.fold(to.lgK)
		from, to = to, from
		to.addAll(from.coupons)
	case from.mode == hllSet && to.mode == hllList && to.n == 0 && from.lgK == to.lgK:
		return from // the coupons stay where they are
	default:
		to.addAll(from.coupons)
	}
	return to
}

// hllMode is the form of a sketch, numbered as in its bytes.
type hllMode byte

const (
	hllList  hllMode = iota // coupons as they came
	hllSet                  // a hash table of coupons
	hllSlots                // a number for each slot
)

const (
	hllMinLgK, hllMaxLgK = 4, 21
	hllListSize          = 8 // a list of so many coupons becomes a set
	hllSetLg             = 5 // logarithm of the size with which a set begins
	hllKeyBits           = 26
	hllKeyMask           = 1<<hllKeyBits - 1
	hllMaxNumber         = 63
)

// hllSketch is a sketch in memory, which keeps its memory.
type hllSketch struct {
	lgK     int
	mode    hllMode
	coupons []uint32 // with zeros between in sets
	n       int      // coupons that are there
	slots   []byte
	// hip is the estimate as long as values come one by one.
	hip        float64
	summed     bool    // the sums are there
	sumLow     float64 // of 2^-number of the slots, where that is below 32
	sumHigh    float64 // and of the others
	outOfOrder bool    // hip is no estimate
	spare      []uint32
}

// hllFirst is the estimate with which a sketch changes to slots, by lgK. That always happens at the same number of coupons:
// 8 for less than 256 slots, else one more than 3/32 of the slots.
var hllFirst = [...]float64{
	4: 8.000000139077509, 5: 8.000000139077509, 6: 8.000000139077509, 7: 8.000000139077509,
	8: 25.000001490116226, 9: 49.000005841256005, 10: 97.00002312660857, 11: 193.0000920296221,
	12: 385.00036716501364, 13: 769.0014667542962, 14: 1537.0058632152502, 15: 3073.0234453338026,
	16: 6145.093766894186, 17: 12289.375043556112, 18: 24578.500165384026, 19: 49159.00095816141,
	20: 98329.00694041034, 21: 196705.05408470574,
}

func (s *hllSketch) addAll(coupons []uint32) {
	if s.mode == hllSlots && !s.summed {
		s.sumSlots()
	}
	for _, c := range coupons {
		if c != 0 {
			s.add(c)
		}
	}
}

func (s *hllSketch) add(coupon uint32) {
	switch s.mode {
	case hllList:
		s.addToList(coupon)
	case hllSet:
		s.addToSet(coupon)
	case hllSlots:
		s.addToSlots(coupon)
	}
}

func (s *hllSketch) addToList(coupon uint32) {
	for _, c := range s.coupons {
		if c == coupon {
			return
		}
	}
	s.coupons = append(s.coupons, coupon)
	switch s.n = len(s.coupons); {
	case s.n < hllListSize:
	case s.lgK < 8:
		s.promote()
	default:
		old := s.resize(hllSetLg)
		s.mode, s.n = hllSet, 0
		for _, c := range old {
			s.addToSet(c)
		}
	}
}

func (s *hllSketch) addToSet(coupon uint32) {
	at, found := findCoupon(s.coupons, coupon)
	if found {
		return
	}
	s.coupons[at] = coupon
	s.n++
	if !hllFull(s.n, len(s.coupons)) {
		return
	}
	if len(s.coupons) >= 1<<s.lgK>>3 {
		s.promote()
		return
	}
	for _, c := range s.resize(lg(len(s.coupons)) + 1) {
		if c != 0 {
			at, _ := findCoupon(s.coupons, c)
			s.coupons[at] = c
		}
	}
}

// hllFull tells whether a hash table with n entries has to grow.
func hllFull(n, size int) bool { return 4*n > 3*size }

// findCoupon returns where a coupon is in a table, or should be. There is at least one place that is free.
func findCoupon(table []uint32, coupon uint32) (at int, found bool) {
	mask := uint32(len(table) - 1)
	step := coupon&hllKeyMask>>lg(len(table)) | 1
	for p := coupon & mask; ; p = (p + step) & mask {
		if c := table[p]; c == 0 || c == coupon {
			return int(p), c != 0
		}
	}
}

// resize makes coupons an empty table and returns what they were.
func (s *hllSketch) resize(lgSize int) (old []uint32) {
	old = s.coupons
	s.coupons = zeroed(s.spare, 1<<lgSize)
	s.spare = old
	return old
}

// promote turns coupons into slots.
func (s *hllSketch) promote() {
	s.mode, s.slots = hllSlots, zeroed(s.slots, 1<<s.lgK)
	s.summed, s.sumLow, s.sumHigh = true, float64(len(s.slots)), 0
	s.addAll(s.coupons)
	s.hip, s.outOfOrder = hllFirst[s.lgK], false
}

func (s *hllSketch) addToSlots(coupon uint32) {
	slot, v := &s.slots[coupon&uint32(len(s.slots)-1)], byte(coupon>>hllKeyBits)
	if v <= *slot {
		return
	}
	s.hip += float64(len(s.slots)) / (s.sumLow + s.sumHigh)
	s.sum(*slot, -1)
	s.sum(v, 1)
	*slot = v
}

// sum adds sign * 2^-v to the sums, which are exact: there are at most 2^21 slots.
func (s *hllSketch) sum(v byte, sign float64) {
	if v < 32 {
		s.sumLow += math.Ldexp(sign, -int(v))
	} else {
		s.sumHigh += math.Ldexp(sign, -int(v))
	}
}

// sumSlots makes the sums anew. It also counts the slots that have the least number.
func (s *hllSketch) sumSlots() (least byte, atLeast int) {
	var counts [2][hllMaxNumber + 1]int // two, so that equal numbers side by side don't wait for each other
	for i := 0; i < len(s.slots); i += 2 {
		counts[0][s.slots[i]]++
		counts[1][s.slots[i+1]]++
	}
	s.summed, s.sumLow, s.sumHigh = true, 0, 0
	for v := hllMaxNumber; v >= 0; v-- {
		if n := counts[0][v] + counts[1][v]; n > 0 {
			s.sum(byte(v), float64(n))
			least, atLeast = byte(v), n
		}
	}
	return least, atLeast
}

// fold makes slots that are more than 2^lgK so few.
func (s *hllSketch) fold(lgK int) {
	if s.lgK <= lgK {
		return
	}
	few := s.slots[:1<<lgK]
	for i, v := range s.slots[1<<lgK:] {
		j := i & (1<<lgK - 1)
		few[j] = max(few[j], v)
	}
	s.lgK, s.slots, s.summed = lgK, few, false
	if s.outOfOrder {
		s.hip = 0
	}
}

// zeroed returns n zeros in the memory of v, if that suffices.
func zeroed[T byte | uint32](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	v = v[:n]
	clear(v)
	return v
}
