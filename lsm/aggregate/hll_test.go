package aggregate

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// hllOf is a list of coupons, as a sketch of 2^lgK slots of 8 bits begins.
func hllOf(lgK int, coupons ...uint32) []byte {
	v := []byte{2, 1, 7, byte(lgK), 3, hllIsCompact, byte(len(coupons)), byte(hllList) | 8}
	if len(coupons) == 0 {
		v[hllFlags] |= hllIsEmpty
	}
	for _, c := range coupons {
		v = binary.LittleEndian.AppendUint32(v, c)
	}
	return v
}

// TestHllKeepsTheGreatestNumbers: whatever forms a sketch passes on its way, each slot has the greatest number of those
// that came, as far as the smallest sketch that was joined in as slots tells slots apart.
func TestHllKeepsTheGreatestNumbers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lgK := rapid.IntRange(hllMinLgK, 9).Draw(rt, "lgK")
		step := func(c *bench, want map[uint32]byte, label string) {
			coupons := rapid.SliceOfNDistinct(rapid.Uint32Range(1<<hllKeyBits, 1<<32-1), 0, 7, rapid.ID).Draw(rt, label)
			for _, x := range coupons {
				slot := x & (1<<lgK - 1)
				want[slot] = max(want[slot], byte(x>>hllKeyBits))
			}
			c.in.Reset()
			c.in.AppendBytes(hllOf(lgK, coupons...))
			require.NoError(rt, c.Add(&c.cell, &c.in, 0))
		}
		want := map[uint32]byte{}
		var sides [2]*bench
		for i := range sides {
			sides[i] = newBench(rt, "hll_sketch", "BYTES", nil)
			for range rapid.SampledFrom([]int{1, 2, 5, 40}).Draw(rt, "steps") {
				step(sides[i], want, "coupons")
			}
		}
		require.NoError(rt, sides[0].Add(&sides[0].cell, &sides[1].cell, 0))
		var s hllSketch
		require.NoError(rt, s.read(sides[0].cell.Value(0)))
		require.Equal(rt, lgK, s.lgK)
		got := map[uint32]byte{}
		for i, v := range s.slots {
			if v > 0 {
				got[uint32(i)] = v
			}
		}
		for _, x := range s.coupons {
			if x != 0 {
				slot := x & (1<<lgK - 1)
				got[slot] = max(got[slot], byte(x>>hllKeyBits))
			}
		}
		require.Equal(rt, want, got)
	})
}

func TestHllOfManyValuesAllocatesNothing(t *testing.T) {
	for _, l := range sketchLines(t, "testdata/sketches.txt") {
		if l.function != "hll_sketch" || l.a[hllType]&3 != byte(hllSlots) {
			continue
		}
		c := newBench(t, l.function, "BYTES", nil)
		other := newBench(t, l.function, "BYTES", nil)
		c.in.AppendBytes(l.a)
		other.in.AppendBytes(l.b)
		require.Zero(t, testing.AllocsPerRun(5, func() {
			c.begin()
			require.NoError(t, c.Add(&c.cell, &c.in, 0))
			require.NoError(t, c.Add(&c.cell, &other.in, 0))
		}))
	}
}

// FuzzHll: no bytes make a union panic, and a union is a sketch.
func FuzzHll(f *testing.F) {
	for _, l := range sketchLines(f, "testdata/sketches.txt") {
		if l.function == "hll_sketch" {
			f.Add(l.a, l.b)
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		got, err := union(t, sketchLine{function: "hll_sketch", a: a, b: b})
		if err == nil {
			_, err = union(t, sketchLine{function: "hll_sketch", a: got, b: got})
			require.NoError(t, err)
		}
	})
}

func BenchmarkHll(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var s hllSketch
	require.NoError(b, s.read(hllOf(12)))
	for range 20000 {
		s.add(r.Uint32()&hllKeyMask | uint32(1+bits.LeadingZeros64(r.Uint64()))<<hllKeyBits)
	}
	f := &hll{}
	f.write(&s)
	c := newBench(b, "hll_sketch", "BYTES", nil)
	c.in.AppendBytes(f.out)
	for b.Loop() {
		require.NoError(b, c.Add(&c.cell, &c.in, 0))
	}
}
