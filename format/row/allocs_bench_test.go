//go:build !race

package row

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// allocations counts those of a call in the steady state. Without collections pools stay full, so the number is exact.
func allocations(f func()) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	f()
	return testing.AllocsPerRun(5, f)
}

// TestAllocationsOfRows is a gate: what happens to each row of a batch allocates nothing.
func TestAllocationsOfRows(t *testing.T) {
	batch := benchBatch()
	cols := columns(batch)
	for name, key := range map[string][]*Column{"bigint": cols[:1], "string": cols[1:2], "bigint,int": {cols[0], cols[2]}} {
		var types []*Type
		for _, c := range key {
			types = append(types, c.Type)
		}
		f, err := NewBucketFunc("default", types, 16)
		require.NoError(t, err)
		var dst []int32
		require.Zero(t, allocations(func() { dst = f.Buckets(dst[:0], key, 0, batch.N) }), "hash of %s", name)
	}
	out := NewBatch(batch.Type)
	require.Zero(t, allocations(func() {
		out.Reset()
		out.AppendRange(batch, 0, batch.N)
	}), "copy of a range")
	idx := make([]int32, batch.N)
	for i := range idx {
		idx[i] = int32(batch.N - 1 - i)
	}
	require.Zero(t, allocations(func() {
		out.Reset()
		out.AppendGather(batch, idx)
	}), "gather")
}
