package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A heap grows by the headroom, but a small one by four times of what is in it at most, and a large one by an eighth at least.
func TestTheHeapKeepsItsHeadroom(t *testing.T) {
	for _, c := range []struct {
		live    uint64
		percent int
	}{{0, 400}, {1 << 20, 400}, {16 << 20, 200}, {32 << 20, 100}, {64 << 20, 50}, {320 << 20, 12}, {1 << 40, 12}} {
		require.Equal(t, c.percent, gcPercent(c.live), c.live)
	}
}
