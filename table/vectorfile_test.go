package table

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/stretchr/testify/require"
)

// vectorFiles that Java made of positions 7 and 9.
const (
	javaVector   = "01 00000018 5e43f2d0 3a300000 01000000 0000 0100 10000000 0700 0900 05a9ee85"
	javaVector64 = "01 00000024 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0700 0900 b7b020ff"
)

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

func TestVectorsAreJavas(t *testing.T) {
	want := roaring.BitmapOf(7, 9)
	file, n, err := appendVector([]byte{vectorVersion}, want)
	require.NoError(t, err)
	require.Equal(t, unhex(t, javaVector), file)
	require.Equal(t, 24, n)
	for s, length := range map[string]int{javaVector: 24, javaVector64: 44} {
		b, err := vectorAt(unhex(t, s), 1, length)
		require.NoError(t, err)
		require.True(t, b.Equals(want), "%v", b)
	}
}

// TestDamagedVectorsAreErrors changes and cuts the files at each byte.
func TestDamagedVectorsAreErrors(t *testing.T) {
	for s, length := range map[string]int{javaVector: 24, javaVector64: 44} {
		file := unhex(t, s)
		for i := range file {
			_, err := vectorAt(file[:i], 1, length)
			require.ErrorIs(t, err, errVector, "cut at %d", i)
			file[i] ^= 1
			_, err = vectorAt(file, 1, length)
			require.ErrorIs(t, err, errVector, "byte %d", i)
			file[i] ^= 1
		}
		_, err := vectorAt(file, 1, length+1)
		require.ErrorIs(t, err, errVector)
		_, err = vectorAt(file, 2, length)
		require.ErrorIs(t, err, errVector)
	}
}
