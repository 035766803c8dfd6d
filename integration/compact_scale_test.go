//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/table"
)

// TestManyTablesWithTricklingChanges has one process look after many tables. By hand: PAIMON_GO_TEST_TABLES=200
// PAIMON_GO_TEST_TABLE_SECONDS=1200 PAIMON_GO_TEST_TABLE_TICK=10 PAIMON_GO_TEST_IDLE_SECONDS=60: a commit of each table every
// ten seconds for twenty minutes.
func TestManyTablesWithTricklingChanges(t *testing.T) {
	n := setting(t, "PAIMON_GO_TEST_TABLES", 20)
	warehouse := t.TempDir()
	addr := testkit.FreeAddr(t)
	args := []string{"compact_database", "--warehouse", warehouse, "--listen", addr}
	tables := make([]*testkit.Table, n)
	writers := make([]*testkit.RowWriter, n)
	for i := range tables {
		tables[i] = testkit.CreateTable(t, warehouse, fmt.Sprintf("d%d", i%3), fmt.Sprintf("t%d", i), map[string]string{"bucket": "8"})
		writers[i] = tables[i].Writer("writer", i < 3)
	}
	p := testkit.Run(t, "paimon-go-compact", args)
	rounds, deepest := 0, 0
	tick := time.NewTicker(max(time.Millisecond, time.Duration(setting(t, "PAIMON_GO_TEST_TABLE_TICK", 0))*time.Second))
	defer tick.Stop()
	start := time.Now()
	for end := start.Add(time.Duration(setting(t, "PAIMON_GO_TEST_TABLE_SECONDS", 1)) * time.Second); rounds < 8 || time.Now().Before(end); rounds++ {
		<-tick.C
		for i, w := range writers {
			runs, _ := tables[i].MaxRuns() // what is left after a tick
			deepest = max(deepest, runs)
			for k := range 40 {
				w.Put(int64(rounds*7+k*13)%500, fmt.Sprintf("table %d round %d", i, rounds))
			}
			w.Commit()
		}
	}
	worst, took := 0, time.Since(start)
	for _, x := range tables {
		drained(t, x)
	}
	busy := p.CPU()
	start = time.Now()
	time.Sleep(time.Duration(setting(t, "PAIMON_GO_TEST_IDLE_SECONDS", 2)) * time.Second) // the time over which idling is measured
	idle := float64(p.CPU()-busy) / float64(time.Since(start))
	for _, x := range tables {
		runs, _ := x.MaxRuns()
		worst = max(worst, runs)
	}
	peak := p.PeakRSS()
	m := testkit.Metrics(t, addr)
	t.Logf("%d tables of 8 buckets, %d commits each in %.0f s: %.1f s of CPU, peak RSS %d MB, idle %.1f %% of a core; at most %d runs a bucket when the next commit came, %d at the end; %.0f commits, %.0f conflicts",
		n, rounds, took.Seconds(), busy.Seconds(), peak>>20, idle*100, deepest, worst, m["paimon_compact_commits_total"], m["paimon_compact_conflicts_total"])
	require.EqualValues(t, n, m["paimon_compact_tables"])
	require.LessOrEqual(t, worst, 5)
	require.Less(t, peak, int64(1)<<30)
	stopCompactor(t, p)
	for i := range 3 {
		writers[i].Close()
		tables[i].RequireRows(writers[i].Rows())
		tables[i].RequireCleanFiles()
	}
}

// TestFullCompactionStaysInItsMemory compacts a table far larger than --memory. By hand: PAIMON_GO_TEST_COMPACT_MB=10240
// PAIMON_GO_TEST_COMPACT_MEMORY=512.
func TestFullCompactionStaysInItsMemory(t *testing.T) {
	mb, memory := setting(t, "PAIMON_GO_TEST_COMPACT_MB", 300), setting(t, "PAIMON_GO_TEST_COMPACT_MEMORY", 128)
	x := testkit.CreateTable(t, t.TempDir(), "d", "t", map[string]string{"bucket": "2", "file.compression": "zstd", "write-buffer-size": "32 mb"})
	w := x.Writer("writer", false)
	rng := rand.New(rand.NewPCG(7, 7))
	const commits = 12
	rows := mb << 10 / commits
	keys := int64(rows * commits * 2 / 3)
	start := time.Now()
	for range commits {
		for range rows {
			w.Put(rng.Int64N(keys), random(rng, 1000))
		}
		w.Commit()
	}
	w.Close()
	before := total(x)
	runtime.GC()
	t.Logf("%d MB of files written in %.1f s", before.Size>>20, time.Since(start).Seconds())
	start = time.Now()
	p := x.Compactor("compact", "--once", "--memory", fmt.Sprintf("%d MiB", memory))
	var peak int64
	p.UntilEndWithin(time.Hour, func() { peak = max(peak, p.PeakRSS()) })
	require.Equal(t, 0, p.Wait(time.Minute), p.Output())
	after := total(x)
	t.Logf("full compaction under --memory %d MiB: %.1f s, peak RSS %d MB; %d MB and %d rows in %d files became %d MB and %d rows in %d files",
		memory, time.Since(start).Seconds(), peak>>20, before.Size>>20, before.RowCount, before.files, after.Size>>20, after.RowCount, after.files)
	runs, _ := x.MaxRuns()
	require.Equal(t, 1, runs)
	require.Less(t, after.RowCount, before.RowCount)
	require.LessOrEqual(t, peak, int64(memory)<<20)
	if mb < 1000 {
		x.RequireCleanFiles()
	}
}

type sums struct {
	table.DataFile
	files int
}

// total adds up the live files.
func total(x *testkit.Table) (s sums) {
	for _, files := range x.Live() {
		for i := range files {
			s.Size += files[i].Size
			s.RowCount += files[i].RowCount
			s.files++
		}
	}
	return s
}

// random is text that compresses a little.
func random(rng *rand.Rand, n int) string {
	b := make([]byte, 0, n+17)
	for len(b) < n {
		b = append(strconv.AppendUint(b, rng.Uint64(), 16), ' ')
	}
	return string(b[:n])
}
