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

// kills is how often a process is killed; PAIMON_GO_TEST_KILLS makes it more by hand.
func kills(t *testing.T, n int) int {
	if v := os.Getenv("PAIMON_GO_TEST_KILLS"); v != "" {
		var err error
		n, err = strconv.Atoi(v)
		require.NoError(t, err)
	}
	return n
}

// seed makes random moments that differ from run to run and are known afterwards; PAIMON_GO_TEST_SEED replays one.
func seed(t *testing.T) *rand.Rand {
	s := uint64(time.Now().UnixNano())
	if v := os.Getenv("PAIMON_GO_TEST_SEED"); v != "" {
		var err error
		s, err = strconv.ParseUint(v, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("seed %d", s)
	return rand.New(rand.NewPCG(s, 1))
}

const wide = "CREATE TABLE s (id BIGINT PRIMARY KEY, data VARCHAR(200))"

func wideRow(i int) string { return fmt.Sprintf("%d,'%s %d'", i, strings.Repeat("x", 100), i) }

// history adds up what the job's commits added, also over snapshots that expire between two calls.
type history map[int64]int64

func (h history) take(j *testkit.Job) (sum int64) {
	for _, s := range j.Snapshots() {
		if string(s.CommitKind) == "APPEND" && strings.Contains(s.CommitUser, "paimon-go-sink-") {
			h[s.ID] = s.DeltaRecordCount
		}
	}
	for _, n := range h {
		sum += n
	}
	return sum
}

// requireConsecutive requires that the job's commit identifiers go up by one.
func requireConsecutive(t *testing.T, j *testkit.Job) {
	var last int64
	for _, s := range j.Snapshots() {
		if strings.Contains(s.CommitUser, "paimon-go-sink-") {
			require.Equal(t, last+1, s.CommitIdentifier)
			last = s.CommitIdentifier
		}
	}
}

func TestKilledInTheInitialRead(t *testing.T) { killedInTheInitialRead(t, testkit.OnDisk) }

func killedInTheInitialRead(t *testing.T, on testkit.Storage) {
	rng := seed(t)
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	j := testkit.NewJob(t, db, "s").On(on).Set("scan.incremental.snapshot.chunk.size", "20")
	n := 6000 * kills(t, 5)
	db.InsertRows("s", 0, n, 5000, wideRow)
	proxy := testkit.NewProxy(t, db.Server.Addr)
	proxy.Limit(300_000) // else the read may be over before the first kill
	through(t, j, proxy.Addr)
	j.Interval = "100ms"
	within := 0
	for range kills(t, 5) {
		was := j.Latest()
		p := j.Start()
		// It gets on a little each time, and is killed at a random moment after a commit.
		p.Until(30*time.Second, "a commit", func() bool { return j.Latest() > was })
		time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
		p.Kill()
		if s, ok := j.Saved(); ok && s.Snapshot != nil {
			within++
		} else if ok {
			break // it was quick
		}
	}
	require.Positive(t, within, "kills in the middle of the read")
	t.Logf("%d of the kills were in the middle of the read", within)
	proxy.Limit(0)
	j.RunToLatest()
	require.EqualValues(t, n, history{}.take(j), "each row is in one commit")
	requireConsecutive(t, j)
	j.RequireJava(db.Rows("s"))
}

func TestKilledWhileStreaming(t *testing.T) { killedWhileStreaming(t, testkit.OnDisk) }

func killedWhileStreaming(t *testing.T, on testkit.Storage) {
	rng := seed(t)
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	j := testkit.NewJob(t, db, "s").On(on)
	j.Interval = (100 * time.Millisecond * j.Slowness()).String()
	j.RunToLatest() // the table is empty: every row comes from the log
	ended := make(chan int)
	stop := make(chan struct{})
	writes := db.Session()
	go func() {
		i := 0
		for {
			select {
			case <-stop:
				ended <- i
				return
			default:
			}
			n := 1 + i%211
			writes.Exec("BEGIN")
			writes.InsertRows("s", i, i+n, 50, wideRow)
			writes.Exec("COMMIT")
			i += n
		}
	}()
	for range kills(t, 6) {
		p := j.Start()
		p.Until(30*time.Second, "the start", func() bool { return strings.Contains(p.Output(), "msg=started") })
		time.Sleep(time.Duration(rng.IntN(700)) * time.Millisecond * j.Slowness())
		p.Kill()
	}
	close(stop)
	n := <-ended
	p := j.Start()
	p.WaitCaughtUp()
	p.Stop()
	require.EqualValues(t, n, history{}.take(j), "each row is in one commit")
	requireConsecutive(t, j)
	j.RequireJava(db.Rows("s"))
}

// TestSinkAndCompactorKilled kills both while they work on one table.
func TestSinkAndCompactorKilled(t *testing.T) { sinkAndCompactorKilled(t, testkit.OnDisk) }

func sinkAndCompactorKilled(t *testing.T, on testkit.Storage) {
	rng := seed(t)
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	j := testkit.NewJob(t, db, "s").On(on)
	j.RunToLatest()
	sink, compactor := j.Start(), j.At().Compactor("compact")
	n := 0
	for range kills(t, 4) {
		for until := j.Latest() + 3 + rng.Int64N(6); j.Latest() < until; n += 50 {
			db.InsertRows("s", n, n+50, 50, wideRow)
			db.Exec(fmt.Sprintf("UPDATE s SET data = 'changed %d' WHERE id %% 17 = %d", n, n/50%17))
		}
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond * j.Slowness()) // the random moment
		if rng.IntN(2) == 0 {
			sink.Kill()
			sink = j.Start()
		}
		compactor.Kill()
		compactor = j.At().Compactor("compact")
	}
	sink.WaitCaughtUp()
	sink.Stop()
	drained(t, j.At())
	stopCompactor(t, compactor)
	requireConsecutive(t, j)
	j.RequireSame()
}

func TestKilledWhileJavaCompactsAndExpires(t *testing.T) {
	killedWhileJavaCompactsAndExpires(t, testkit.OnDisk)
}

func killedWhileJavaCompactsAndExpires(t *testing.T, on testkit.Storage) {
	rng := seed(t)
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	j := testkit.NewJob(t, db, "s").On(on)
	j.Interval = (100 * time.Millisecond * j.Slowness()).String()
	j.RunToLatest()
	h := history{}
	n := 0
	for round := range kills(t, 3) {
		p := j.Start()
		before := j.Latest()
		for range 10 {
			db.InsertRows("s", n, n+300, 100, wideRow)
			n += 300
		}
		p.WaitSnapshot(before + 1)
		db.InsertRows("s", n, n+300, 10, wideRow)
		n += 300
		time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
		p.Kill()
		h.take(j)
		v := testkit.JavaVersions[round%2]
		j.Java(v, "compact", "--full")
		j.Java(v, "expire", "--retain-max", "1", "--retain-min", "1", "--older-than-ms", "0")
		require.Len(t, j.Snapshots(), 1)
		require.NotContains(t, j.Snapshots()[0].CommitUser, "paimon-go-sink-", "our snapshots have expired")
	}
	p := j.Start()
	p.WaitCaughtUp()
	p.Stop()
	require.EqualValues(t, n, h.take(j), "each row is in one commit")
	require.NotContains(t, p.Output(), "reading the table", "the job goes on from its state file")
	j.RequireJava(db.Rows("s"))
}

func TestStopCommitsWhatCame(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	j := testkit.NewJob(t, db, "s")
	j.Interval = "1h"
	p := j.Start()
	p.Until(20*time.Second, "the stream", func() bool { return strings.Contains(p.Output(), "following the log") })
	db.InsertRows("s", 0, 1, 1, wideRow)
	p.WaitSnapshot(1) // the first rows are committed at once
	db.InsertRows("s", 1, 1000, 100, wideRow)
	time.Sleep(500 * time.Millisecond) // so that the rows arrive; without them the test would prove less, not fail
	p.Signal(syscall.SIGTERM)
	require.Equal(t, 0, p.Wait(10*time.Second))
	records, commits := j.Appended()
	require.Equal(t, 2, commits)
	require.EqualValues(t, 1000, records)
	j.RunToLatest()
	j.RequireJava(db.Rows("s"))
}

func TestStopAtLatest(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.InsertRows("s", 0, 5000, 1000, wideRow)
	j := testkit.NewJob(t, db, "s")
	j.Interval = "1h"
	j.RunToLatest()
	require.Len(t, db.Rows("s"), 5000)
	first, _ := j.Appended()
	require.EqualValues(t, 5000, first)
	start := time.Now()
	j.RunToLatest() // idle
	require.Less(t, time.Since(start), 10*time.Second)

	// A busy source: what was there at the start is there at the end, and the run ends.
	stop, ended := make(chan struct{}), make(chan int)
	writes := db.Session()
	go func() {
		i := 10_000
		for {
			select {
			case <-stop:
				ended <- i
				return
			default:
				writes.InsertRows("s", i, i+20, 20, wideRow)
				i += 20
			}
		}
	}()
	db.InsertRows("s", 5000, 7000, 100, wideRow)
	j.RunToLatest()
	close(stop)
	<-ended
	have := map[string]bool{}
	for _, r := range j.JavaRows(testkit.JavaVersions[0]) {
		have[r] = true
	}
	for _, r := range db.Rows("s") {
		var id int
		_, err := fmt.Sscanf(r, `{"id":%d`, &id)
		require.NoError(t, err)
		if id < 7000 {
			require.True(t, have[r], r)
		}
	}
	j.RunToLatest()
	j.RequireJava(db.Rows("s"))
}

func TestStartIsQuick(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.InsertRows("s", 0, 100, 100, wideRow)
	j := testkit.NewJob(t, db, "s")
	j.Interval = "1s"
	testkit.SinkProgram(t)
	p := j.Start()
	p.WaitSnapshot(1)
	first := time.Since(p.Started)
	_, text, ok := strings.Cut(p.Output()[strings.Index(p.Output(), "msg=started"):], " ms=")
	require.True(t, ok)
	ms, err := strconv.Atoi(text[:strings.IndexAny(text, " \n")])
	require.NoError(t, err)
	t.Logf("started after %d ms, first snapshot after %d ms", ms, first.Milliseconds())
	require.Less(t, ms, 1000, "300 ms on a machine that does nothing else")
	require.Less(t, first, 4*time.Second, "2 s on a machine that does nothing else")
	p.Stop()
}

func TestSecondInstanceIsFenced(t *testing.T) { secondInstanceIsFenced(t, testkit.OnDisk) }

func secondInstanceIsFenced(t *testing.T, on testkit.Storage) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.InsertRows("s", 0, 10, 10, wideRow)
	j := testkit.NewJob(t, db, "s").On(on)
	one := j.Start()
	one.WaitCaughtUp()
	two := j.Start()
	two.Until(20*time.Second, "the second to follow the log", func() bool { return strings.Contains(two.Output(), "following the log") })
	var ended, other *testkit.Process
	for i := 10; ended == nil; i += 10 {
		require.Less(t, i, 100_000)
		db.InsertRows("s", i, i+10, 10, wideRow)
		if !one.Running() {
			ended, other = one, two
		} else if !two.Running() {
			ended, other = two, one
		}
	}
	ended.RequireExit(8, "fenced")
	other.WaitCaughtUp()
	other.Stop()
	records, _ := j.Appended()
	rows := db.Rows("s")
	require.EqualValues(t, len(rows), records, "nothing is committed twice")
	j.RequireJava(rows)
}

// TestJavaWritesAndCompactsBeside has a Java writer and a Java compactor work on the table while rows come in.
func TestJavaWritesAndCompactsBeside(t *testing.T) { javaWritesAndCompactsBeside(t, testkit.OnDisk) }

func javaWritesAndCompactsBeside(t *testing.T, on testkit.Storage) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id BIGINT PRIMARY KEY, data VARCHAR(200))")
	j := testkit.NewJob(t, db, "s").On(on)
	j.Interval = (300 * time.Millisecond * j.Slowness() * j.Slowness()).String() // Java gives up a commit that is overtaken ten times
	p := j.Start()
	db.InsertRows("s", 0, 100, 100, wideRow)
	p.WaitSnapshot(1)
	stop, ended := make(chan struct{}), make(chan int)
	writes := db.Session()
	go func() {
		i := 100
		for {
			select {
			case <-stop:
				ended <- i
				return
			default:
				writes.InsertRows("s", i, i+10, 10, wideRow)
				i += 10
				time.Sleep(time.Millisecond)
			}
		}
	}()
	input := t.TempDir() + "/rows"
	for round := range 3 {
		var b strings.Builder
		for i := range 20 {
			fmt.Fprintf(&b, `{"_kind":"+I","id":%d,"data":"by java"}`+"\n", -1-round*100-i)
		}
		require.NoError(t, os.WriteFile(input, []byte(b.String()), 0o644))
		v := testkit.JavaVersions[round%2]
		j.Java(v, "write", "--input", input, "--commit-every", "5", "--option", "write-only=true")
		j.Java(v, "compact", "--full")
	}
	p.Until(time.Minute, "commits of ours among Java's", func() bool {
		_, commits := j.Appended()
		return commits > 3
	})
	close(stop)
	n := <-ended
	p.WaitCaughtUp()
	p.Stop()
	records, _ := j.Appended()
	require.EqualValues(t, n, records)
	want := db.Rows("s")
	got := j.JavaRows(testkit.JavaVersions[0])
	ours := 0
	for _, r := range got {
		if !strings.Contains(r, "by java") {
			require.Contains(t, want[ours:ours+1], r) // both are sorted
			ours++
		}
	}
	require.Equal(t, len(want), ours)
	require.Equal(t, len(want)+60, len(got))
	j.RequireClean()
}
