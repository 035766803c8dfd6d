//go:build integration

package writer

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Java's assigners make as many buckets of the same load, or more, and hold their index in the heap.
func TestDynamicBucketsAreNoMoreThanJavas(t *testing.T) {
	tbl, keys, heap := writeManyKeys(t)
	program := os.Getenv("PAIMON_GO_ORACLE")
	require.NotEmpty(t, program, "PAIMON_GO_ORACLE names the judge of integration/java")
	cmd := exec.CommandContext(t.Context(), program, "assign", filepath.Dir(filepath.Dir(tbl.Path())), "db", "t",
		"--keys", strconv.Itoa(keys), "--partitions", strconv.Itoa(loadPartitions), "--channels", strconv.Itoa(loadAssigners))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var java struct {
		Heap    int64
		Buckets []int
	}
	require.NoError(t, json.Unmarshal(out, &java))

	require.Len(t, java.Buckets, loadPartitions)
	total, all := 0, 0
	for partition, ours := range bucketsOf(t, tbl) {
		values, err := tbl.PartitionValues([]byte(partition))
		require.NoError(t, err)
		p, err := strconv.Atoi(values[0])
		require.NoError(t, err)
		require.LessOrEqual(t, len(ours), java.Buckets[p], "partition %d", p)
		total += len(ours)
		all += java.Buckets[p]
	}
	million := float64(keys) / 1e6
	t.Logf("%d buckets, Java %d; heap for 1 M keys: %.4f MB, Java %.1f MB", total, all, float64(heap)/1e6/million, float64(java.Heap)/1e6/million)
	if keys >= 10_000_000 {
		require.Less(t, heap*5, java.Heap)
	}
}
