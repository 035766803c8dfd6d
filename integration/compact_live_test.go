//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// livePace is how rows come in TestCompactorBesideTheSink. PAIMON_GO_TEST_LIVE=ROWS_A_SECOND,SECONDS,KEYS sets another by hand
// (20000,300,1000000 is the product's figure, with ticks of a second).
type livePace struct {
	rows, seconds, keys int
	tick                string
}

func readLivePace(t *testing.T) livePace {
	p := livePace{4000, 6, 20_000, "250ms"}
	if v := os.Getenv("PAIMON_GO_TEST_LIVE"); v != "" {
		_, err := fmt.Sscanf(v, "%d,%d,%d", &p.rows, &p.seconds, &p.keys)
		require.NoError(t, err)
		p.tick = "1s"
	}
	return p
}

// TestCompactorBesideTheSink replays the recorded log of upserts at a pace into the guide's table: without a compactor, with ours
// and with Java's beside it. Every engine reads MySQL's rows, our compactor keeps the runs down, ends with about as many files
// as Java's, and the sink doesn't notice it.
func TestCompactorBesideTheSink(t *testing.T) {
	pace := readLivePace(t)
	logs := t.TempDir()
	first := guideTable(t, "parquet")
	db := first.DB
	db.Record(logs, func(c *testkit.Conn) { upserts(c, pace) })
	rows := db.Rows("s")

	alone := replay(t, first, logs, pace, nil)
	t.Logf("alone:        %s", alone)
	testkit.RequireSameRows(t, "java", rows, first.At().JavaRows(testkit.JavaVersions[0]))

	job := guideJob(t, db, "parquet")
	ours := replay(t, job, logs, pace, func(j *testkit.Job) func() {
		p := j.At().Compactor("compact")
		return func() { stopCompactor(t, p) }
	})
	t.Logf("ours beside:  %s", ours)
	job.At().Compact("compact", "--once", "--compact-strategy", "minor") // what is left to pick
	runs, files := job.At().MaxRuns()
	require.LessOrEqual(t, runs, 5, "sorted runs of a bucket that has no more work")
	job.At().RequireRows(rows)
	job.At().RequirePython(rows)
	job.At().RequireCleanFiles()
	require.Positive(t, compactions(job.At()), "compactions while the sink ran")

	java := guideJob(t, db, "parquet")
	javas := replay(t, java, logs, pace, func(j *testkit.Job) func() {
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					if j.Latest() > 0 {
						j.At().JavaCompacts(testkit.JavaVersions[0], "--streaming")
					}
				}
			}
		}()
		return func() { close(stop); <-done }
	})
	t.Logf("Java's beside: %s", javas)
	java.At().JavaDrains(testkit.JavaVersions[0], "--streaming")
	javaRuns, javaFiles := java.At().MaxRuns()
	testkit.RequireSameRows(t, "java", rows, java.At().JavaRows(testkit.JavaVersions[0]))
	java.At().RequireCleanFiles()
	t.Logf("live files when all is compacted: ours %d (at most %d runs a bucket), Java's %d (at most %d runs)", files, runs, javaFiles, javaRuns)
	if pace.seconds >= 60 {
		require.LessOrEqual(t, float64(files), 1.2*float64(javaFiles))
		require.LessOrEqual(t, ours.late, alone.late+0.5, "p95 of the commits' lateness")
		require.LessOrEqual(t, ours.wait, alone.wait+0.01, "time that the reader waited")
	}

	// The same snapshots, compacted afterwards by each.
	a, b := first.At().Copy(t.TempDir()), first.At().Copy(t.TempDir())
	a.Compact("compact", "--once", "--compact-strategy", "minor")
	b.JavaDrains(testkit.JavaVersions[0], "--streaming")
	_, ourFiles := a.MaxRuns()
	_, javaFiles = b.MaxRuns()
	t.Logf("live files when the same snapshots are compacted at the end: ours %d, Java's %d", ourFiles, javaFiles)
	require.LessOrEqual(t, float64(ourFiles), 1.2*float64(javaFiles))
	require.GreaterOrEqual(t, float64(ourFiles), 0.8*float64(javaFiles))
	require.Equal(t, shape(t, b), shape(t, a))
	testkit.RequireSameRows(t, "java", rows, a.JavaRows(testkit.JavaVersions[0]))
}

// upserts writes the changes of a whole run, in transactions of 200 rows.
func upserts(c *testkit.Conn, pace livePace) {
	rng := rand.New(rand.NewPCG(4, 4))
	for n := 0; n < pace.rows*pace.seconds; n += 200 {
		var b strings.Builder
		b.WriteString("INSERT INTO s VALUES ")
		for i := range 200 {
			if i > 0 {
				b.WriteByte(',')
			}
			k := rng.IntN(pace.keys)
			fmt.Fprintf(&b, "(%d,'order %d of customer %d, paid by card %d',%q)", k, k, k%977, rng.Int32(), day(0))
		}
		b.WriteString(" ON DUPLICATE KEY UPDATE data=VALUES(data)")
		c.Exec(b.String())
		if n%5000 == 0 {
			c.Exec(fmt.Sprintf("DELETE FROM s WHERE dt=%q AND id BETWEEN %d AND %d", day(0), n%pace.keys, n%pace.keys+20))
		}
	}
}

// figures are what one replay measured.
type figures struct {
	commits    int
	late       float64 // p95 of the seconds from a tick to its snapshot
	wait       float64 // seconds that the reader waited for memory
	held       float64 // seconds that commits waited for compactions
	peak, last int     // sorted runs of the worst bucket, and at the end
	files      int
}

func (f figures) String() string {
	return fmt.Sprintf("%d commits, p95 %.3f s from tick to snapshot, reader waited %.3f s, commits waited %.3f s for compactions, at most %d runs a bucket, %d at the end, %d files",
		f.commits, f.late, f.wait, f.held, f.peak, f.last, f.files)
}

// replay runs the job on recorded logs to their end. beside starts what runs beside it and returns what ends that.
func replay(t *testing.T, j *testkit.Job, logs string, pace livePace, beside func(j *testkit.Job) func()) figures {
	for _, k := range []string{"hostname", "port", "username", "password", "heartbeat.interval"} {
		j.Set(k, "")
	}
	j.Set("binlog-dir", logs).Set("binlog-dir.rows-per-second", strconv.Itoa(pace.rows))
	j.Interval = pace.tick
	addr := testkit.FreeAddr(t)
	p := j.Start("--listen", addr)
	p.Until(30*time.Second, "the table", func() bool { return j.Latest() > 0 })
	end := func() {}
	if beside != nil {
		end = beside(j)
	}
	var f figures
	var late []float64
	var before map[string]float64
	for p.Running() {
		time.Sleep(200 * time.Millisecond) // a sampling interval
		runs, _ := j.At().MaxRuns()
		f.peak = max(f.peak, runs)
		m, ok := testkit.TryMetrics(addr)
		if !ok {
			break
		}
		if n := m["paimon_commits_total"] - before["paimon_commits_total"]; n > 0 {
			took := m["paimon_flush_duration_seconds_sum"] + m["paimon_commit_duration_seconds_sum"] - before["paimon_flush_duration_seconds_sum"] - before["paimon_commit_duration_seconds_sum"]
			late = append(late, m["paimon_checkpoint_late_seconds"]+took/n)
			before = m
		}
		f.wait, f.held = m["paimon_write_stall_seconds_total"], m["paimon_inline_compaction_wait_seconds_total"]
	}
	require.Equal(t, 0, p.Wait(time.Minute), p.Output())
	f.last, f.files = j.At().MaxRuns()
	end()
	f.commits, f.late = len(late), testkit.Percentile(late, 0.95)
	return f
}

// stopCompactor ends a service and requires that it was well until then.
func stopCompactor(t *testing.T, p *testkit.Process) {
	t.Helper()
	p.Until(30*time.Second, "the start", func() bool { return strings.Contains(p.Output(), "msg=started") }) // before, a signal kills it
	require.True(t, p.Running(), p.Output())
	p.Signal(syscall.SIGTERM)
	require.Equal(t, 0, p.Wait(15*time.Second), p.Output())
	require.NotContains(t, p.Output(), "level=ERROR")
	require.NotContains(t, p.Output(), "goroutine ")
}

// compactions is the number of a table's snapshots that compacted.
func compactions(x *testkit.Table) (n int) {
	for _, s := range x.Snapshots() {
		if s.CommitKind == "COMPACT" {
			n++
		}
	}
	return n
}
