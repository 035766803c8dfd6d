package format

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPaceKeepsBatchesWithinTheirBytes: rows of slowly changing size; once the size is known, no batch takes twice the limit.
func TestPaceKeepsBatchesWithinTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Pace{Rows: rapid.IntRange(1, 5000).Draw(t, "rows"), Bytes: rapid.IntRange(1, 1<<20).Draw(t, "bytes")}
		width := rapid.IntRange(1, 1<<17).Draw(t, "width")
		for i := range 30 {
			n := p.Next()
			require.Positive(t, n)
			require.LessOrEqual(t, n, p.Rows)
			if i > 0 && n > 1 {
				require.LessOrEqual(t, n*width, 2*p.Bytes)
			}
			p.Saw(n, n*width)
		}
		require.Equal(t, max(1, min(p.Rows, p.Bytes/width)), p.Next(), "as many as there may be")
	})
}

func TestPaceWithoutLimitGivesAllRows(t *testing.T) {
	p := Pace{Rows: 100}
	require.Equal(t, 100, p.Next())
	p.Saw(30, 0) // the format cut the batch short
	require.Equal(t, 60, p.Next())
	p.Saw(60, 0)
	require.Equal(t, 100, p.Next())
}
