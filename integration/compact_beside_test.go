//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

// javaLoop compacts by Java until the returned function is called. Java may lose each of its commits to a busy compactor of ours.
func javaLoop(t *testing.T, x *testkit.Table, version string) (end func()) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := x.TryJava(version, "compact", "--streaming"); err != nil {
					assert.Contains(t, err.Error(), "conflict", "Java's compaction")
				}
			}
		}
	})
	return func() { close(stop); wg.Wait() }
}

// TestJavaWritesAndWeCompact has writers of both Java versions write, one after the other, while our service compacts.
func TestJavaWritesAndWeCompact(t *testing.T) { javaWritesAndWeCompact(t, testkit.OnDisk) }

func javaWritesAndWeCompact(t *testing.T, on testkit.Storage) {
	x := testkit.NewTableOn(t, on, `{"fields":[{"name":"id","type":"BIGINT NOT NULL"},{"name":"data","type":"STRING"}],"primaryKeys":["id"],"options":{"bucket":"2","write-only":"true"}}`)
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
		x.Java(testkit.JavaVersions[round%2], "write", "--input", input, "--commit-every", fmt.Sprint(25*int(testkit.Slowness(x.Warehouse))))
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
	require.Empty(t, leftByUs(t, x))
}

// leftByUs are a table's orphans but for what Java leaves when one of its commits is overtaken: manifests, and data files. Those
// tell who wrote them, unless Java was interrupted: it writes them in place. Of ours none has its name before it is whole.
func leftByUs(t *testing.T, x *testkit.Table) (left []string) {
	for _, path := range x.Orphans() {
		b, err := testkit.Read(t, x.Path()+"/"+path)
		require.NoError(t, err)
		if strings.HasPrefix(path, "manifest/") || strings.HasSuffix(path, ".parquet") && !bytes.Contains(b, []byte("paimon-go")) {
			t.Logf("Java left %s of %d bytes", path, len(b))
			continue
		}
		left = append(left, path)
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
func TestWeWriteAndJavaCompacts(t *testing.T) { weWriteAndJavaCompacts(t, testkit.OnDisk) }

func weWriteAndJavaCompacts(t *testing.T, on testkit.Storage) {
	x := testkit.CreateTable(t, on(t), "d", "t", nil)
	w := x.Writer("writer", true)
	end := javaLoop(t, x, testkit.JavaVersions[0])
	trickle(w, 0, 50/int(testkit.Slowness(x.Warehouse)), 2000)
	w.Close()
	end()
	require.Positive(t, compactions(x))
	x.RequireRows(w.Rows())
	x.RequireCleanFiles()
}

// restarted is Java's dedicated job on a table where others compact too: it is started again when it loses, as Flink does.
type restarted struct {
	lost atomic.Int64 // times that it ended because of a conflict
	end  func()
}

func restartJava(t *testing.T, x *testkit.Table, version string) *restarted {
	r := &restarted{}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	r.end = sync.OnceFunc(func() { close(stop); wg.Wait() })
	t.Cleanup(r.end)
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := x.TryJava(version, "compact", "--streaming"); err != nil {
				assert.Contains(t, err.Error(), "conflict", "Java's compaction")
				r.lost.Add(1)
			}
		}
	})
	return r
}

// TestAllCompactorsAtOnce has our services and Java's job compact while our writer commits: a slow one of ours until it lost to
// Java's, a fast one until Java's lost to it, and then two of them. The writer and ours never fail, and nothing is lost.
func TestAllCompactorsAtOnce(t *testing.T) {
	x := testkit.CreateTable(t, t.TempDir(), "d", "t", map[string]string{"bucket": "4"})
	w := x.Writer("writer", true)
	w.Put(0, "first")
	w.Commit()
	java := restartJava(t, x, testkit.JavaVersions[1])
	commits := 0
	write := func(what string, until func() bool) {
		for end := time.Now().Add(3 * time.Minute); !until(); time.Sleep(50 * time.Millisecond) { // a tick
			require.True(t, time.Now().Before(end), "waiting for %s", what)
			if runs, _ := x.MaxRuns(); runs < 20 { // more would make a compaction take ever longer
				trickle(w, commits, 4, 3000)
				commits += 4
			}
		}
	}
	compacted := func(user string) (n int) {
		for _, s := range x.Snapshots() {
			if s.CommitKind == "COMPACT" && strings.HasPrefix(s.CommitUser, user) {
				n++
			}
		}
		return n
	}
	addr := testkit.FreeAddr(t)
	slow := x.Compactor("compact", "--listen", addr, "--bytes-per-second", "8 KiB")
	write("Java's commits and our conflicts", func() bool {
		m, ok := testkit.TryMetrics(addr)
		return ok && m["paimon_compact_conflicts_total"] >= 3 && compacted("oracle") >= 3
	})
	stopCompactor(t, slow)
	t.Logf("%d commits of the writer: Java's job committed %d compactions, a slow service of ours %d", commits, compacted("oracle"), compacted("paimon-go"))
	before, lost := compacted("paimon-go"), java.lost.Load()
	one := x.Compactor("compact")
	write("our commits and Java's conflicts", func() bool { return java.lost.Load() >= lost+3 && compacted("paimon-go") >= before+3 })
	two := x.Compactor("compact")
	end := commits + 40
	write("forty more commits", func() bool { return commits >= end })
	w.Close()
	java.end()
	drained(t, x)
	stopCompactor(t, one)
	stopCompactor(t, two)
	t.Logf("%d commits of the writer: Java's job committed %d compactions and lost %d times, ours committed %d", commits, compacted("oracle"), java.lost.Load(), compacted("paimon-go"))
	x.RequireRows(w.Rows())
	x.RequireCleanFiles()
	require.Empty(t, leftByUs(t, x))
}

// TestTwoOfOursLeaveNothing has two services compact the same buckets: what the loser wrote is removed.
func TestTwoOfOursLeaveNothing(t *testing.T) { twoOfOursLeaveNothing(t, testkit.OnDisk) }

func twoOfOursLeaveNothing(t *testing.T, on testkit.Storage) {
	x := testkit.CreateTable(t, on(t), "d", "t", map[string]string{"bucket": "4"})
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
