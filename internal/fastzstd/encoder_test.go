package fastzstd

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// reader is another implementation.
var reader = sync.OnceValues(func() (*zstd.Decoder, error) { return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)) })

func requireRoundTrip(t *testing.T, e *Encoder, src []byte) []byte {
	t.Helper()
	dec, err := reader()
	require.NoError(t, err)
	prefix := []byte("prefix")
	out := e.Append(bytes.Clone(prefix), src)
	require.Equal(t, prefix, out[:len(prefix)])
	out = out[len(prefix):]
	back, err := dec.DecodeAll(out, nil)
	require.NoError(t, err, "%d bytes", len(src))
	require.True(t, bytes.Equal(src, back), "%d bytes", len(src))
	return out
}

// rows makes n bytes of what tables hold.
func rows(rng *rand.Rand, kind string, n int) []byte {
	var b []byte
	for id := rng.Uint64N(1 << 20); len(b) < n; id += rng.Uint64N(9) {
		b = binary.AppendUvarint(b, id)
		b = append(b, 20)
		b = append(b, "2024-01-01"...)
		switch kind {
		case "tokens":
			raw := make([]byte, 75)
			for i := range raw {
				raw[i] = byte(rng.Uint32())
			}
			b = append(b, base64.StdEncoding.EncodeToString(raw)...)
		case "lengths": // tokens of 80 to 120 characters
			token := make([]byte, 80+rng.IntN(41))
			for i := range token {
				token[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[rng.IntN(64)]
			}
			b = append(binary.AppendVarint(b, int64(len(token))), token...)
		case "words":
			for range 15 {
				b = append(b, words[rng.IntN(len(words))]...)
				b = append(b, ' ')
			}
		case "numbers":
			for range 8 {
				b = binary.AppendVarint(b, rng.Int64N(1<<rng.IntN(60)))
			}
		case "uuids":
			b = fmt.Appendf(b, "%08x-%04x-4%03x-%04x-%012x%s.%s@mail%d.example.com", rng.Uint32(), rng.IntN(1<<16), rng.IntN(1<<12), rng.IntN(1<<16), rng.Uint64N(1<<48),
				words[rng.IntN(len(words))], words[rng.IntN(len(words))], rng.IntN(20))
		case "short":
			b = fmt.Appendf(b, "%s%c%02d", words[rng.IntN(9)], 'A'+rune(rng.IntN(4)), rng.IntN(30))
			b = binary.AppendVarint(b, rng.Int64N(5000))
			b = binary.AppendVarint(b, 1700000000+rng.Int64N(100000))
			b = append(b, words[rng.IntN(len(words))]...)
		case "json":
			b = fmt.Appendf(b, `{"id":%d,"name":"%s","price":%d.%02d,"tags":["%s","%s"]}`, id, words[rng.IntN(len(words))], rng.IntN(1000), rng.IntN(100),
				words[rng.IntN(len(words))], words[rng.IntN(len(words))])
		}
		b = append(b, 20)
		b = append(b, "2024-01-01"...)
	}
	return b[:n]
}

var (
	words = strings.Fields(`the quick brown fox jumps over a lazy dog while seven wizards brew potions of unusual strength and merchants
		count silver coins in quiet halls under stars that nobody has named yet although many have tried before winter came`)
	kinds = []string{"tokens", "lengths", "words", "uuids", "json", "numbers", "short"}
	sizes = []int{0, 1, 2, 3, 15, 16, 17, 47, 48, 49, 100, 255, 256, 257, 1000, 1023, 1024, 4096, 16383, 16384, 64000, 65535, 65536, 65791, 65792,
		maxBlock - 1, maxBlock, maxBlock + 1, 3 * maxBlock, maxWindow, maxWindow + 1, 3<<20 + 7}
)

func TestAnotherDecoderReadsWhatIsWritten(t *testing.T) {
	for _, checksum := range []bool{false, true} {
		e := New(checksum)
		rng := rand.New(rand.NewPCG(1, 2))
		for _, n := range sizes {
			for _, kind := range kinds {
				requireRoundTrip(t, e, rows(rng, kind, n))
			}
			requireRoundTrip(t, e, make([]byte, n))
			requireRoundTrip(t, e, bytes.Repeat([]byte("abcdefg"), n/7+1)[:n])
			noise := make([]byte, n)
			for i := range noise {
				noise[i] = byte(rng.Uint32())
			}
			requireRoundTrip(t, e, noise)
		}
	}
}

// Blocks of all shapes: pieces of what was before at any distance, runs and noise of few or many symbols.
func TestAnyShapeIsReadBack(t *testing.T) {
	e := New(true)
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var b []byte
		symbols := 1 + rng.IntN(256)
		for n := rng.IntN(1 << (1 + rng.IntN(19))); len(b) < n; {
			switch k := 1 + rng.IntN(1<<(1+rng.IntN(14))); rng.IntN(4) {
			case 0:
				if len(b) > 0 {
					for at := rng.IntN(len(b)); k > 0; k, at = k-1, at+1 {
						b = append(b, b[at])
					}
				}
			case 1:
				b = append(b, bytes.Repeat([]byte{byte(rng.IntN(symbols))}, k)...)
			default:
				for range k % (1 + rng.IntN(300)) {
					b = append(b, byte(rng.IntN(symbols)))
				}
			}
		}
		requireRoundTrip(t, e, b)
	}
}

// Noise that was skipped for long and then is none in the middle: what repeats there is found again soon.
func TestWhatWasNoiseIsLookedAtAgain(t *testing.T) {
	e := New(true)
	rng := rand.New(rand.NewPCG(4, 4))
	noise := func(b []byte, n int) []byte {
		for range n {
			b = append(b, byte(rng.Uint32()))
		}
		return b
	}
	for _, name := range []string{"in the middle", "at the end", "at the start"} {
		head, tail := 50, 50
		switch name {
		case "at the end":
			head, tail = 100, 0
		case "at the start":
			head, tail = 0, 100
		}
		var b []byte
		for i := range 800 {
			b = append(b, "a row of some table, "...)
			if i < 400 {
				b = noise(b, 150)
				continue
			}
			b = append(noise(b, head), "a text of fifty characters that now is in each row"...)
			b = noise(b, tail)
		}
		out := requireRoundTrip(t, e, b)
		require.Less(t, len(out), 400*150+400*100+20*50+400*12, name)
	}
}

// What the frames before had must not be taken for what this one has.
func TestEachFrameBeginsAnew(t *testing.T) {
	e := New(true)
	for _, n := range []int{100, 64000, 3000, 2 * maxWindow, 64000} {
		src := rows(rand.New(rand.NewPCG(1, 1)), "words", n)
		require.Equal(t, New(true).Append(nil, src), requireRoundTrip(t, e, src))
	}
}

func TestFilesAreAsSmallAsOthers(t *testing.T) {
	other := klauspost(t, zstd.SpeedFastest)
	e := New(true)
	for _, kind := range kinds {
		src := rows(rand.New(rand.NewPCG(1, 1)), kind, 64000)
		ours, theirs := len(e.Append(nil, src)), len(other.EncodeAll(src, nil))
		t.Logf("%s: %.3f, klauspost's fastest %.3f", kind, float64(ours)/64000, float64(theirs)/64000)
		require.Less(t, float64(ours), 1.03*float64(theirs), kind)
	}
}

// BenchmarkAppend gives the part of the plain bytes that is left, too.
func BenchmarkAppend(b *testing.B) {
	for _, kind := range kinds {
		src := rows(rand.New(rand.NewPCG(1, 1)), kind, 64000)
		run := func(name string, encode func(dst, src []byte) []byte) {
			b.Run(kind+"/"+name, func(b *testing.B) {
				var dst []byte
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					dst = encode(dst[:0], src)
				}
				b.ReportMetric(float64(len(dst))/float64(len(src)), "part")
			})
		}
		run("ours", New(true).Append)
		for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault} {
			other := klauspost(b, level)
			run(level.String(), func(dst, src []byte) []byte { return other.EncodeAll(src, dst) })
		}
	}
}

func klauspost(t testing.TB, level zstd.EncoderLevel) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<17), zstd.WithAllLitEntropyCompression(true))
	require.NoError(t, err)
	return e
}

func TestAllocationsOfAppend(t *testing.T) {
	for _, kind := range kinds {
		e := New(true)
		src := rows(rand.New(rand.NewPCG(1, 1)), kind, 64000)
		dst := e.Append(nil, src)
		require.Zero(t, testing.AllocsPerRun(20, func() { dst = e.Append(dst[:0], src) }), kind)
	}
}

func FuzzAppend(f *testing.F) {
	for _, kind := range kinds {
		f.Add(rows(rand.New(rand.NewPCG(1, 1)), kind, 3000))
	}
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"))
	e := New(true)
	f.Fuzz(func(t *testing.T, src []byte) { requireRoundTrip(t, e, src) })
}
