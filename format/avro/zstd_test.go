package avro

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file may begin with one kind of data and go on with another.
func TestZstdLevelIsTakenWhereItPays(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tokens := make([]byte, blockBytes)
	for i := range tokens {
		tokens[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[rng.IntN(64)]
	}
	var text []byte
	for len(text) < blockBytes {
		text = append(text, strings.Repeat("order paid shipped customer address warehouse ", 3)[rng.IntN(60):][:5+rng.IntN(30)]...)
	}
	comp, err := newZstdCompressor(3, t.Name())
	require.NoError(t, err)
	defer comp.release()
	c := comp.(*zstdCompressor)
	check := func(src []byte) int {
		t.Helper()
		out := c.compress([]byte("head"), src)
		require.Equal(t, "head", string(out[:4]))
		back, err := decompress(CodecZstandard, nil, out[4:])
		require.NoError(t, err)
		require.Equal(t, src, back)
		return len(out) - 4
	}
	sizes := func(src []byte) (int, int) { return len(c.fast.Append(nil, src)), len(c.full.EncodeAll(src, nil)) }

	easy, _ := sizes(tokens)
	quick, hard := sizes(text)
	require.Less(t, hard, quick*97/100)
	for range 128 { // as many blocks the outcome of a trial holds for at least
		require.Equal(t, easy, check(tokens))
	}
	for range 128 { // as many blocks the outcome of a trial holds for at least
		require.Equal(t, hard, check(text))
	}
	require.Equal(t, easy, check(tokens))
	small, _ := sizes(tokens[:1000])
	require.Equal(t, small, check(tokens[:1000]), "too small to tell")
}
