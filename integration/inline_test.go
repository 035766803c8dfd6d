//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/table"
)

// inlineTables are ways to compact inside the writer.
var inlineTables = map[string]map[string]string{
	"never waits": {"changelog-producer": "lookup", "changelog-producer.lookup-wait": "false", "num-sorted-run.stop-trigger": "2147483647", "sort-spill-threshold": "10"},
	"lookup":      {"changelog-producer": "lookup"},
	"full":        {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "3"},
	"waits":       {"num-sorted-run.stop-trigger": "3"},
}

func inlineJob(t *testing.T, db *testkit.DB, conf map[string]string) *testkit.Job {
	j := testkit.NewJob(t, db, "s")
	j.Interval = "100ms"
	j.Conf["write-only"], j.Conf["bucket"], j.Conf["num-sorted-run.compaction-trigger"] = "false", "2", "3"
	j.Conf["snapshot.num-retained.min"], j.Conf["snapshot.num-retained.max"] = "100000", "100000"
	for k, v := range conf {
		j.Conf[k] = v
	}
	return j
}

// requireInline requires that all engines read what MySQL has, and that the changelog tells the same once what is left has been
// compacted.
func requireInline(t *testing.T, j *testkit.Job) {
	j.RequireSame()
	x := j.At()
	if producer := j.Conf["changelog-producer"]; producer != "" {
		x.Compact("compact", "--once")
		stream := x.JavaChanges(testkit.JavaVersions[0])
		x.RequireChangelogCounts(stream)
		testkit.RequireSameRows(t, "the replay", j.DB.Rows("s"), testkit.Replayed(t, stream))
	}
	x.RequireIntact()
}

// killAt kills the job at calls of storage while rows change, each time at one of so many from the first, and looks whether all is
// sound. Then it goes on for some commits, and ends with all rows.
func (c *changer) killAt(t *testing.T, j *testkit.Job, calls []string, first, many int, sound func()) {
	rng := rand.New(rand.NewPCG(c.rng.Uint64(), 1)) // the changer's is in use from now on
	stop := c.goOn()
	for i := range kills(t, 4) {
		p := j.StartToStall(fmt.Sprintf("%s %d %s all", calls[i%len(calls)], first+rng.IntN(many), []string{"before", "half", "after"}[rng.IntN(3)]))
		t.Log(p.KillStalled(time.Duration(rng.IntN(200)) * time.Millisecond))
		sound()
	}
	p := j.Start()
	from := j.Latest()
	require.Eventually(t, func() bool { return j.Latest() > from+20 }, time.Minute, 100*time.Millisecond, "%s", p.Output())
	stop()
	p.WaitCaughtUp()
	p.Stop()
}

// TestInlineCompaction streams changes into tables that the job compacts, and kills it at compactions' calls of storage.
func TestInlineCompaction(t *testing.T) {
	for name, conf := range inlineTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := seed(t)
			db := testkit.MySQL(t).Database(t)
			db.Exec(changedTable)
			c := newChanger(rng, db, 300)
			for range 30 {
				c.step()
			}
			j := inlineJob(t, db, conf)
			// The files of compactions come after those of flushes, between two commits.
			c.killAt(t, j, []string{"create /data-", "write /data-", "close /data-"}, 5, 15, func() { j.At().RequireIntact() })
			require.Positive(t, compactSnapshots(j))
			requireInline(t, j)
		})
	}
}

func compactSnapshots(j *testkit.Job) (n int) {
	for _, s := range j.Snapshots() {
		if s.CommitKind == table.CommitCompact {
			n++
		}
	}
	return n
}

// TestInlineConflicts has Java compact the same buckets all the time: that costs compactions, and no commit. With
// PAIMON_GO_TEST_STORM=SECONDS it lasts so long with ticks of a second, none of which may come a tick late.
func TestInlineConflicts(t *testing.T) {
	rng := seed(t)
	db := testkit.MySQL(t).Database(t)
	db.Exec(changedTable)
	c := newChanger(rng, db, 300)
	c.step()
	j := inlineJob(t, db, inlineTables["never waits"])
	seconds, err := strconv.Atoi(os.Getenv("PAIMON_GO_TEST_STORM"))
	byHand := err == nil
	if byHand {
		j.Interval = "1s"
	} else {
		seconds = 15
	}
	p := j.Start()
	require.Eventually(t, func() bool { return j.Latest() > 0 }, time.Minute, 10*time.Millisecond, "%s", p.Output())
	stop := c.goOn()
	end := javaLoop(t, j.At(), testkit.JavaVersions[0])
	time.Sleep(time.Duration(seconds) * time.Second) // that long
	var longest, last int64                          // ms between the snapshots of ticks
	for _, s := range j.Snapshots() {
		if s.CommitKind == table.CommitAppend {
			if last > 0 {
				longest = max(longest, s.TimeMillis-last)
			}
			last = s.TimeMillis
		}
	}
	end()
	stop()
	p.WaitCaughtUp()
	t.Logf("%d snapshots, %d of compactions, at most %d ms between those of two ticks", j.Latest(), compactSnapshots(j), longest)
	p.Stop()
	require.NotContains(t, p.Output(), "ErrConflict")
	if byHand {
		require.LessOrEqual(t, longest, int64(2000), "a tick came later than the next was due")
	}
	requireInline(t, j)
}
