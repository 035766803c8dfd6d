package fastzstd

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/huff0"
	"github.com/stretchr/testify/require"
)

// frameOfLiterals makes a frame of one block that is nothing but literals.
func frameOfLiterals(e *Encoder, literals []byte) (frame []byte, section int) {
	e.literals = literals
	frame = e.appendHeader(nil, len(literals))
	head := len(frame)
	frame = e.appendLiterals(append(frame, 0, 0, 0))
	section = len(frame) - head - 3
	frame = append(frame, 0) // no sequences
	h := uint32(section+1)<<3 | blockCompressed<<1 | 1
	frame[head], frame[head+1], frame[head+2] = byte(h), byte(h>>8), byte(h>>16)
	return frame, section
}

// huff0Section is how long the section is with the codes of another implementation.
func huff0Section(literals []byte) int {
	other := huff0.Scratch{Reuse: huff0.ReusePolicyNone}
	n := len(literals)
	plain := len(appendPlainHeader(nil, literalsRaw, n))
	code, head := huff0.Compress4X, 5
	switch {
	case n < minHuffman:
		return plain + n
	case n <= oneStream:
		code, head = huff0.Compress1X, 3
	case n < 1<<10:
		head = 3
	case n < 1<<14:
		head = 4
	}
	out, _, err := code(literals, &other)
	switch err {
	case nil:
		return head + len(out)
	case huff0.ErrUseRLE:
		return plain + 1
	}
	return plain + n
}

func requireLiterals(t *testing.T, e *Encoder, literals []byte) {
	t.Helper()
	frame, section := frameOfLiterals(e, literals)
	other := huff0Section(literals)
	require.LessOrEqual(t, section, other+other/200+16, "%d literals", len(literals))
	if section+1 >= len(literals) {
		return // such a block is left raw
	}
	dec, err := reader()
	require.NoError(t, err)
	back, err := dec.DecodeAll(frame, nil)
	require.NoError(t, err, "%d literals", len(literals))
	require.True(t, bytes.Equal(literals, back), "%d literals", len(literals))
}

// drawn draws n of as many symbols as there are weights, in any places of the alphabet.
func drawn(rng *rand.Rand, n int, weights []float64) []byte {
	var upTo []float64
	sum := 0.0
	for _, w := range weights {
		sum += w
		upTo = append(upTo, sum)
	}
	symbols := rng.Perm(256)
	if rng.IntN(2) == 0 { // next to each other
		for i := range symbols {
			symbols[i] = i
		}
	}
	out := make([]byte, n)
	for i := range out {
		r, k := rng.Float64()*sum, 0
		for k < len(upTo)-1 && upTo[k] <= r {
			k++
		}
		out[i] = byte(symbols[k])
	}
	return out
}

// Few or many symbols, as frequent as each other or the less so the later: by powers, so that the best codes would be of any length.
func TestLiteralsOfAnyAlphabet(t *testing.T) {
	e := New(false)
	rng := rand.New(rand.NewPCG(1, 2))
	for symbols := 1; symbols <= 256; symbols++ {
		for _, ratio := range []float64{1, 0.98, 0.9, 0.7, 0.618, 0.5, 0.3} {
			weights := make([]float64, symbols)
			w := 1.0
			for i := range weights {
				weights[i] = max(w, 1e-4)
				w *= ratio
			}
			requireLiterals(t, e, drawn(rng, 48+rng.IntN(1<<(5+rng.IntN(10))), weights))
		}
	}
}

// Counts like Fibonacci's make the deepest trees.
func TestCodesAreCutToTheLongestAllowed(t *testing.T) {
	e := New(false)
	rng := rand.New(rand.NewPCG(1, 2))
	for symbols := 12; symbols <= 23; symbols++ {
		for _, rare := range []int{0, 1, 7, 60, 200} {
			var literals []byte
			for i, a, b := 0, 1, 1; i < symbols; i, a, b = i+1, b, a+b {
				literals = append(literals, bytes.Repeat([]byte{byte(i * 11)}, a)...)
			}
			for range rare {
				literals = append(literals, byte(rng.Uint32()))
			}
			rng.Shuffle(len(literals), func(i, j int) { literals[i], literals[j] = literals[j], literals[i] })
			requireLiterals(t, e, literals)
			requireCompleteCodes(t, &e.huff)
			if rare == 0 {
				require.Equal(t, lengthLimit(len(literals), symbols), e.huff.longest)
			}
		}
	}
}

func requireCompleteCodes(t *testing.T, h *huffman) {
	t.Helper()
	room := 0
	for s, length := range h.lengths {
		require.Equal(t, h.counts[0][s] > 0, length > 0)
		require.LessOrEqual(t, length, uint8(maxCodeBits))
		if length > 0 {
			room += 1 << (maxCodeBits - length)
		}
	}
	require.Equal(t, 1<<maxCodeBits, room)
}

func TestFewLiterals(t *testing.T) {
	e := New(false)
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 300; n++ {
		for _, symbols := range []int{1, 2, 3, 5, 16, 17, 64, 129, 256} {
			literals := make([]byte, n)
			for i := range literals {
				literals[i] = byte(rng.IntN(rng.IntN(symbols) + 1))
			}
			requireLiterals(t, e, literals)
			for i := range literals {
				literals[i] = ^literals[i] // the last symbols of the alphabet
			}
			requireLiterals(t, e, literals)
		}
	}
}

func TestLimitsOfNumbersOfLiterals(t *testing.T) {
	e := New(false)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int{oneStream, 1 << 10, 1 << 14, maxBlock} {
		for n := limit - 6; n <= min(limit+6, maxBlock); n++ {
			for _, symbols := range []int{2, 64, 100, 250, 256} {
				requireLiterals(t, e, drawn(rng, n, make([]float64, symbols))) // all of one symbol
				weights := make([]float64, symbols)
				for i := range weights {
					weights[i] = 1 + rng.Float64()
				}
				requireLiterals(t, e, drawn(rng, n, weights))
			}
		}
	}
}

func TestLiteralsOfRowsAreAsSmallAsOthers(t *testing.T) {
	for _, kind := range kinds {
		literals := literalsOf(kind, 64000)
		_, section := frameOfLiterals(New(false), literals)
		t.Logf("%s: %d literals, %d bytes, huff0 %d", kind, len(literals), section, huff0Section(literals))
		requireLiterals(t, New(false), literals)
	}
}

// literalsOf are the literals of rows: what no match covers.
func literalsOf(kind string, n int) []byte {
	e := New(true)
	e.last = offsets{1, 4, 8}
	src := rows(rand.New(rand.NewPCG(1, 1)), kind, n)
	e.search(src, 0, len(src))
	return e.literals
}

// BenchmarkLiterals gives the part of the plain bytes that is left, too.
func BenchmarkLiterals(b *testing.B) {
	for _, kind := range kinds {
		literals := literalsOf(kind, 64000)
		run := func(name string, encode func(dst []byte) []byte) {
			b.Run(kind+"/"+name, func(b *testing.B) {
				var dst []byte
				b.SetBytes(int64(len(literals)))
				for b.Loop() {
					dst = encode(dst[:0])
				}
				b.ReportMetric(float64(len(dst))/float64(len(literals)), "part")
			})
		}
		e := New(true)
		e.literals = literals
		run("ours", e.appendLiterals)
		other := huff0.Scratch{Reuse: huff0.ReusePolicyNone}
		run("huff0", func(dst []byte) []byte {
			out, _, err := huff0.Compress4X(literals, &other)
			require.NoError(b, err)
			return append(dst, out...)
		})
	}
}
