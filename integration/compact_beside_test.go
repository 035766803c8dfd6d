//go:build integration

package integration

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// drained requires that no bucket has more runs than the trigger, once the compactor had its chance.
func drained(t *testing.T, x *testkit.Table) {
	t.Helper()
	testkit.Until(t, time.Minute, "the buckets to be within their trigger", func() bool {
		runs, _ := x.In(t).MaxRuns()
		return runs <= 5
	})
}

// javaLoop compacts by Java until the returned function is called.
func javaLoop(t *testing.T, x *testkit.Table, version string) (end func()) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				x.JavaCompacts(version, "--streaming")
			}
		}
	})
	return func() { close(stop); wg.Wait() }
}

// TestJavaWritesAndWeCompact has writers of both Java versions write, one after the other, while our service compacts.
func TestJavaWritesAndWeCompact(t *testing.T) {
	x := testkit.NewTable(t, `{"fields":[{"name":"id","type":"BIGINT NOT NULL"},{"name":"data","type":"STRING"}],"primaryKeys":["id"],"options":{"bucket":"2","write-only":"true"}}`)
	p := x.Compactor("compact")
	rows := map[int]string{}
	input := t.TempDir() + "/rows"
	for round := range 4 {
		var b strings.Builder
		for i := range 400 {
			id := (i*37 + round*11) % 300
			if i%9 == 8 {
				fmt.Fprintf(&b, `{"_kind":"-D","id":%d}`+"\n", id)
				delete(rows, id)
				continue
			}
			rows[id] = fmt.Sprintf(`{"id":%d,"data":"round %d row %d"}`, id, round, i)
			b.WriteString(rows[id] + "\n")
		}
		require.NoError(t, os.WriteFile(input, []byte(b.String()), 0o644))
		x.Java(testkit.JavaVersions[round%2], "write", "--input", input, "--commit-every", "25")
	}
	drained(t, x)
	stopCompactor(t, p)
	require.Positive(t, compactions(x))
	var want []string
	for _, r := range rows {
		want = append(want, r)
	}
	sort.Strings(want)
	x.RequireRows(want)
	x.RequirePython(want)
	x.RequireCleanFiles()
	require.Empty(t, leftByUs(x))
}

// leftByUs are a table's orphans but for manifests: Java leaves some when one of its commits is overtaken.
func leftByUs(x *testkit.Table) (left []string) {
	for _, path := range x.Orphans() {
		if !strings.HasPrefix(path, "manifest/") {
			left = append(left, path)
		}
	}
	return left
}

// trickle writes commits of changes of a small table.
func trickle(w *testkit.RowWriter, from, commits, keys int) {
	for c := from; c < from+commits; c++ {
		for i := range 200 {
			id := int64((i*61 + c*17) % keys)
			if (i+c)%13 == 12 {
				w.Delete(id)
			} else {
				w.Put(id, fmt.Sprintf("commit %d row %d", c, i))
			}
		}
		w.Commit()
	}
}

// TestWeWriteAndJavaCompacts has our writer work while Java compacts.
func TestWeWriteAndJavaCompacts(t *testing.T) {
	x := testkit.CreateTable(t, t.TempDir(), "d", "t", nil)
	w := x.Writer("writer", true)
	end := javaLoop(t, x, testkit.JavaVersions[0])
	trickle(w, 0, 50, 2000)
	w.Close()
	end()
	require.Positive(t, compactions(x))
	x.RequireRows(w.Rows())
	x.RequireCleanFiles()
}

// TestAllCompactorsAtOnce has two services of ours and Java's job compact while our writer commits: the writer and ours never
// fail, Java's job is restarted when it loses as Flink would, and nothing is lost.
func TestAllCompactorsAtOnce(t *testing.T) {
	x := testkit.CreateTable(t, t.TempDir(), "d", "t", map[string]string{"bucket": "4"})
	w := x.Writer("writer", true)
	w.Put(0, "first")
	w.Commit()
	one, two := x.Compactor("compact"), x.Compactor("compact")
	end := javaLoop(t, x, testkit.JavaVersions[1])
	for from, until := 0, time.Now().Add(5*time.Second); time.Now().Before(until); from += 10 {
		trickle(w, from, 10, 3000)
	}
	w.Close()
	drained(t, x)
	end()
	stopCompactor(t, one)
	stopCompactor(t, two)
	by := map[string]int{}
	for _, s := range x.Snapshots() {
		if s.CommitKind == "COMPACT" {
			by[strings.Split(s.CommitUser, "-")[0]]++
		}
	}
	t.Logf("compactions by user: %v", by)
	x.RequireRows(w.Rows())
	x.RequireCleanFiles()
}

// TestTwoOfOursLeaveNothing has two services compact the same buckets: what the loser wrote is removed.
func TestTwoOfOursLeaveNothing(t *testing.T) {
	x := testkit.CreateTable(t, t.TempDir(), "d", "t", map[string]string{"bucket": "4"})
	w := x.Writer("writer", true)
	w.Put(0, "first")
	w.Commit()
	one, two := x.Compactor("compact"), x.Compactor("compact")
	for from, until := 0, time.Now().Add(3*time.Second); time.Now().Before(until); from += 10 {
		trickle(w, from, 10, 3000)
	}
	w.Close()
	drained(t, x)
	stopCompactor(t, one)
	stopCompactor(t, two)
	require.Empty(t, x.Orphans())
	x.RequireRows(w.Rows())
	x.RequireCleanFiles()
}

// TestShardsShareTheBuckets splits the buckets of a table between two services.
func TestShardsShareTheBuckets(t *testing.T) {
	x := testkit.CreateTable(t, t.TempDir(), "d", "t", map[string]string{"bucket": "8"})
	w := x.Writer("writer", true)
	trickle(w, 0, 12, 3000)
	w.Close()
	x.Compact("compact", "--once", "--compact-strategy", "minor", "--shard", "0/2")
	some, _ := x.MaxRuns()
	require.Greater(t, some, 5, "the other half is not ours")
	x.Compact("compact", "--once", "--compact-strategy", "minor", "--shard", "1/2")
	all, _ := x.MaxRuns()
	require.LessOrEqual(t, all, 5)
	x.RequireRows(w.Rows())
	x.RequireCleanFiles()
}
