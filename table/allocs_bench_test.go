//go:build !race

package table

import (
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/mem"
)

// allocations counts those of a call in the steady state. Without collections pools stay full, so the number is exact.
func allocations(f func()) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	f()
	return testing.AllocsPerRun(3, f)
}

// TestAllocationsOfManifests is a gate on what an entry of a manifest allocates when it is written and when it is read.
func TestAllocationsOfManifests(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	var entries []Entry
	for i := range 3000 {
		entries = append(entries, Entry{Partition: binaryRow("a"), TotalBuckets: 2, File: testFile(fmt.Sprint("data-", i), 0, i, i)})
	}
	write := func(n int) float64 {
		return allocations(func() {
			_, err := newTestWriter(t, tab).manifests(t.Context(), entries[:n])
			require.NoError(t, err)
		})
	}
	write(3000)
	require.LessOrEqual(t, write(3000)-write(1000), 2110., "writing 2,000 entries more")
	read := func(n int, cold bool) float64 {
		list, err := newTestWriter(t, tab).manifests(t.Context(), entries[:n])
		require.NoError(t, err)
		return allocations(func() {
			if cold {
				for _, m := range list {
					tab.meta.drop(m.Name)
				}
			}
			for _, err := range tab.liveEntries(t.Context(), list, &Filter{}) {
				require.NoError(t, err)
			}
		})
	}
	require.LessOrEqual(t, read(3000, true)-read(1000, true), 4030., "reading 2,000 entries more, by name and keys")
	require.LessOrEqual(t, read(3000, false)-read(1000, false), 4020., "those of manifests in memory")
}

// TestAllocationsOfCommits is a gate on what a commit allocates, by the files in it.
func TestAllocationsOfCommits(t *testing.T) {
	commit := func(files int) float64 {
		tab := testTable(t, mem.New(), nil)
		c := tab.NewCommit("u", nil)
		id := int64(0)
		return allocations(func() {
			id++
			var data []DataFile
			for i := range files {
				data = append(data, testFile(fmt.Sprintf("f-%d-%d", id, i), 0, 0, 9))
			}
			mustCommit(t, c, id, appendOf("x", 0, data...))
		})
	}
	few := commit(2)
	require.LessOrEqual(t, few, 435., "a commit of two files")
	require.LessOrEqual(t, commit(202)-few, 5240., "200 files more, most of it the test's making of them")
}
