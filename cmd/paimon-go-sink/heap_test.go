package main

import (
	"runtime"
	"runtime/debug"
	goruntime "runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A heap grows by the headroom and what has pointers, a small one by four times of what is in it at most.
func TestTheHeapKeepsItsHeadroom(t *testing.T) {
	for _, c := range []struct {
		live, scanned uint64
		percent       int
	}{{0, 0, 400}, {1 << 20, 1 << 20, 400}, {16 << 20, 0, 200}, {64 << 20, 0, 50}, {64 << 20, 32 << 20, 100}, {320 << 20, 0, 10}, {1 << 30, 1 << 30, 103}, {1 << 40, 0, 1}} {
		require.Equal(t, c.percent, gcPercent(c.live, c.scanned), "%v", c)
	}
}

// The target is set anew by each collection: it follows what is live.
func TestTheCollectorFollowsTheHeap(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	keepHeadroom()
	percent := []goruntime.Sample{{Name: "/gc/gogc:percent"}}
	now := func() uint64 {
		runtime.GC()
		goruntime.Read(percent)
		return percent[0].Value.Uint64()
	}
	rows := make([]byte, 256<<20)
	require.Eventually(t, func() bool { return now() < 30 }, time.Minute, time.Millisecond)
	runtime.KeepAlive(rows)
	rows = nil
	require.Eventually(t, func() bool { return now() > 100 }, time.Minute, time.Millisecond)
}
