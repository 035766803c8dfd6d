package aggregate

import (
	"bufio"
	"encoding/base64"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sketchLine is a line of what testdata/Sketches.java makes.
type sketchLine struct {
	function string
	a, b, ab []byte
}

func sketchLines(t testing.TB, path string) (lines []sketchLine) {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<22)
	for sc.Scan() {
		w := strings.Split(sc.Text(), " ")
		l := sketchLine{function: w[0]}
		for i, b := range []*[]byte{&l.a, &l.b, &l.ab} {
			*b, err = base64.StdEncoding.DecodeString(w[i+1])
			require.NoError(t, err)
		}
		lines = append(lines, l)
	}
	require.NoError(t, sc.Err())
	require.NotEmpty(t, lines)
	return lines
}

// union merges b into a.
func union(t testing.TB, l sketchLine) ([]byte, error) {
	c := newBench(t, l.function, "BYTES", nil)
	for _, v := range [][]byte{l.a, l.b} {
		c.in.Reset()
		c.in.AppendBytes(v)
		if err := c.Add(&c.cell, &c.in, 0); err != nil {
			return nil, err
		}
	}
	return c.cell.Value(0), nil
}

// same tells whether two sketches are the same: byte by byte, or as 64-bit sets.
func same(t testing.TB, function string, x, y []byte) bool {
	if function != "rbm64" {
		return string(x) == string(y)
	}
	a, err := decode64(x)
	require.NoError(t, err)
	b, err := decode64(y)
	require.NoError(t, err)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].key != b[i].key || !a[i].bits.Equals(b[i].bits) {
			return false
		}
	}
	return true
}

func TestUnionsOfSketchesAreJavas(t *testing.T) {
	path := "testdata/sketches.txt"
	if p := os.Getenv("SKETCHES"); p != "" {
		path = p // more of them
	}
	var ours *os.File
	if p := os.Getenv("SKETCHES_OURS"); p != "" { // for Sketches.java to read
		ours, _ = os.Create(p)
	}
	wrong := map[string]int{}
	for _, l := range sketchLines(t, path) {
		got, err := union(t, l)
		require.NoError(t, err)
		if !same(t, l.function, got, l.ab) {
			wrong[l.function]++
		}
		if ours != nil {
			e := base64.StdEncoding.EncodeToString
			_, _ = ours.WriteString(l.function + " " + e(l.a) + " " + e(l.b) + " " + e(got) + "\n")
		}
	}
	require.Empty(t, wrong)
}

// TestDamagedSketchesAreErrors: whatever a column has in place of a sketch, nothing panics.
func TestDamagedSketchesAreErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, l := range sketchLines(t, "testdata/sketches.txt") {
		for range 40 {
			bad := slices.Clone(l.b)
			if r.IntN(3) == 0 {
				bad = bad[:r.IntN(len(bad)+1)]
			}
			for range r.IntN(4) {
				if len(bad) > 0 {
					bad[r.IntN(min(len(bad), 60))] = byte(r.Uint32())
				}
			}
			_, _ = union(t, sketchLine{function: l.function, a: l.a, b: bad})
			_, _ = union(t, sketchLine{function: l.function, a: bad, b: l.b})
		}
	}
	for _, function := range []string{"rbm32", "rbm64", "theta_sketch", "hll_sketch"} {
		_, err := union(t, sketchLine{function: function, a: []byte("this is no sketch"), b: []byte("nor is this one")})
		require.ErrorContains(t, err, "column c: function "+function)
	}
}

func TestSets64(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// Numbers near each other and far from each other, so that trees have nodes of all sizes.
		width := rapid.SampledFrom([]int{4, 16, 40, 64}).Draw(rt, "width")
		shift := rapid.IntRange(0, 64-min(width, 63)).Draw(rt, "shift")
		set := func(name string) (map[uint64]bool, []byte) {
			m := map[uint64]bool{}
			var slots []slot
			n := rapid.SampledFrom([]int{0, 1, 5, 60, 400}).Draw(rt, name)
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
			for range n {
				v := r.Uint64() >> (64 - width) << shift
				m[v] = true
				b := roaring.New()
				b.Add(uint32(v & 0xffff))
				slots = join64(slots, []slot{{v >> 16, b}})
			}
			text, err := encode64(nil, slots)
			require.NoError(rt, err)
			return m, text
		}
		x, a := set("a")
		y, b := set("b")
		maps.Copy(x, y)
		text, err := union(t, sketchLine{function: "rbm64", a: a, b: b})
		require.NoError(rt, err)
		slots, err := decode64(text)
		require.NoError(rt, err)
		got := map[uint64]bool{}
		for _, s := range slots {
			for _, low := range s.bits.ToArray() {
				got[s.key<<16|uint64(low)] = true
			}
		}
		require.Equal(rt, x, got)
	})
}
