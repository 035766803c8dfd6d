//go:build integration

package lsm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSumsWithTooManyDigitsAreJavas: what Java reads after our compaction is what it reads after its own.
func TestSumsWithTooManyDigitsAreJavas(t *testing.T) {
	java := startJudge(t)
	for _, formatID := range []string{"parquet", "avro"} {
		theirs, ours := mustCreate(t, sumSpec(t, formatID)), mustCreate(t, sumSpec(t, formatID))
		writeSums(t, theirs)
		writeSums(t, ours)
		java.run(t, "compact", theirs, "--full")
		compactFully(t, ours)
		want := java.run(t, "read", theirs)
		require.Len(t, want, 2)
		require.Equal(t, want, java.run(t, "read", ours))
		if formatID == "parquet" {
			require.Equal(t, want[1:], java.run(t, "read", ours, "--filter", "a<0")) // by the bounds in the manifest
			java.run(t, "check", ours, "--strict")
		}
	}
}
