package format

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pack stands for a compression: the column and the plain bytes can be told from what it makes.
func pack(column int, plain []byte) []byte { return fmt.Appendf(nil, "%d:%s", column, plain) }

// next is a file's next block: found, or compressed and kept.
func next(s *TwinSide, column int, plain []byte) (packed []byte, found bool) {
	if same := s.Find(column, plain); same != nil {
		return bytes.Clone(same), true
	}
	packed = pack(column, plain)
	s.Keep(column, plain, packed)
	return packed, false
}

// TestTwinsGetWhatTheirBlocksBecome draws two files with blocks that are partly equal, written in any order.
func TestTwinsGetWhatTheirBlocksBecome(t *testing.T) {
	var twin Twin // one for many pairs, as a flush worker has it
	rapid.Check(t, func(t *rapid.T) {
		var sides [2]*TwinSide
		sides[0], sides[1] = twin.Sides()
		var files [2][2][][]byte // by file and column
		for range rapid.IntRange(0, 60).Draw(t, "blocks") {
			i := rapid.IntRange(0, 1).Draw(t, "file")
			plain := bytes.Repeat([]byte{byte(rapid.IntRange(0, 2).Draw(t, "content"))}, rapid.SampledFrom([]int{0, 1, 100, 1 << 20}).Draw(t, "size"))
			column := rapid.IntRange(0, 1).Draw(t, "column")
			packed, found := next(sides[i], column, plain)
			require.Equal(t, pack(column, plain), packed)
			if n := len(files[i][column]); found {
				require.Less(t, n, len(files[1-i][column]))
				require.Equal(t, files[1-i][column][n], packed)
			}
			files[i][column] = append(files[i][column], packed)
			held := 0
			for _, c := range twin.columns {
				for _, b := range c.held {
					held += len(b.plain)
				}
			}
			require.Equal(t, twin.bytes, held)
			require.LessOrEqual(t, held, twinBytes)
		}
	})
}

func TestEqualTwinsCompressOnce(t *testing.T) {
	var twin Twin
	for range 2 {
		a, b := twin.Sides()
		for i := range 300 {
			first, second := a, b
			if i%7 == 0 { // whichever comes first
				first, second = b, a
			}
			plain := bytes.Repeat(fmt.Append(nil, i, ","), 5000)
			_, found := next(first, 0, plain)
			require.False(t, found)
			_, found = next(second, 0, plain)
			require.True(t, found)
		}
	}
	require.Len(t, twin.spare, 1, "and the memory is used again")
}

// TestColumnsThatEndTogetherAreFound: narrow columns of Parquet end their pages at the same row, so one file makes a round of pages,
// here of 1.5 MB, and then the other.
func TestColumnsThatEndTogetherAreFound(t *testing.T) {
	var twin Twin
	a, b := twin.Sides()
	for round := range 10 {
		for _, s := range []*TwinSide{a, b} {
			for column := range 10 {
				_, found := next(s, column, bytes.Repeat([]byte{byte(round), byte(column), 1}, 50_000))
				require.Equal(t, s == b, found, "round %d, column %d", round, column)
			}
		}
	}
	twin.Release()
	require.LessOrEqual(t, twin.spares, twinSpare)
	require.Zero(t, twin.bytes)
}

// TestMemoryIsBoundedWhateverColumnsDo: columns of pages of all sizes, in one file only, and never asked for.
func TestMemoryIsBoundedWhateverColumnsDo(t *testing.T) {
	var twin Twin
	for range 3 {
		a, _ := twin.Sides()
		for i := range 400 {
			next(a, i%100, make([]byte, 1+i*5000))
			require.LessOrEqual(t, twin.bytes, twinBytes)
			require.LessOrEqual(t, twin.spares, twinSpare)
		}
	}
}

// TestTwinsThatPartStopLooking: an update in one file moves all blocks behind it.
func TestTwinsThatPartStopLooking(t *testing.T) {
	var twin Twin
	a, b := twin.Sides()
	for i := range 10 {
		next(a, 0, fmt.Append(nil, "changelog", i))
		next(b, 0, fmt.Append(nil, "data", i))
	}
	require.Empty(t, twin.columns[0].held)
	next(a, 0, []byte("same"))
	_, found := next(b, 0, []byte("same"))
	require.False(t, found)
	a, b = twin.Sides()
	next(a, 0, []byte("same"))
	_, found = next(b, 0, []byte("same"))
	require.True(t, found, "the next pair begins anew")
}

func TestAFileAloneHasNoTwin(t *testing.T) {
	var s *TwinSide
	require.Nil(t, s.Find(0, []byte("x")))
	s.Keep(0, []byte("x"), []byte("y"))
}
