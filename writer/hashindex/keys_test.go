package hashindex

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestKeysAreFoundWhereTheyWerePut(t *testing.T) {
	s, err := NewStore([]string{t.TempDir()}, nil)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		k, err := NewKeys(s, 0)
		require.NoError(t, err)
		defer k.Close()
		model := map[string]Place{}
		for range rapid.SampledFrom([]int{10, 500, 8000}).Draw(t, "puts") {
			key := binary.LittleEndian.AppendUint32(nil, rapid.Uint32Range(0, 15000).Draw(t, "key"))
			p := Place{int32(len(model) % 7), int32(len(model) % 3)}
			was, known := model[string(key)]
			before, had, err := k.Put(key, p)
			require.NoError(t, err)
			require.Equal(t, known, had)
			require.Equal(t, was, before)
			model[string(key)] = p
		}
		require.EqualValues(t, len(model), k.Len())
		for key, want := range model {
			got, ok := k.Get([]byte(key))
			require.True(t, ok)
			require.Equal(t, want, got)
		}
		_, ok := k.Get([]byte("no key"))
		require.False(t, ok)
	})
	require.Zero(t, s.Mapped())
	require.NoError(t, s.Close())
}

func BenchmarkKeys(b *testing.B) {
	s, err := NewStore([]string{b.TempDir()}, nil)
	require.NoError(b, err)
	k, err := NewKeys(s, 0)
	require.NoError(b, err)
	var key [16]byte
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		n++
		binary.LittleEndian.PutUint64(key[:], n%5_000_000)
		if _, _, err := k.Put(key[:], Place{1, 2}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(s.Mapped())/float64(k.Len()), "bytes/key")
	k.Close()
	require.NoError(b, s.Close())
}
