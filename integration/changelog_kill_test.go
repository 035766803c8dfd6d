//go:build integration

package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// stallPoints are where a commit of a table with a merged changelog is, from the first data file to the saved position, with the
// calls that each step makes of storage.
var stallPoints = []struct{ part, ops, what string }{
	{"/data-", "create write close", "the flush"},
	{"changelog-", "create write close", "the merged changelog"},
	{"/manifest/manifest-", "create write close", "manifests and their lists"},
	{"/manifest/manifest-list-", "create write close", "the lists"},
	{"/snapshot/snapshot-", "publish", "the snapshot"},
	{"/snapshot/LATEST", "replace", "the hint"},
	{"/paimon-go/", "replace", "the saved position"},
}

// TestKilledInFlushMergeAndCommit kills the job with -9 at chosen moments: its storage stops before, in or after a call of
// the flush, of the writing of the merged changelog or of one of the commit's steps. Snapshots never name what isn't there,
// and at the end every change is in the stream once.
func TestKilledInFlushMergeAndCommit(t *testing.T) {
	rng := seed(t)
	db := testkit.MySQL(t).Database(t)
	db.Exec(changedTable)
	c := newChanger(rng, db, 300)
	j := inputJob(t, db)
	j.Conf["precommit-compact"], j.Conf["bucket"] = "true", "3"
	for range 30 {
		c.step()
	}
	j.RunToLatest()
	before := c.counts()
	for k := range before {
		before[k] = 0 // all of it is in the table
	}
	stop := c.goOn()
	at := map[string]int{}
	for i := range kills(t, 12) {
		point := stallPoints[i%len(stallPoints)]
		ops := strings.Fields(point.ops)
		when, scope := []string{"before", "half", "after"}[rng.IntN(3)], []string{"one", "all"}[rng.IntN(2)]
		p := j.StartToStall(fmt.Sprintf("%s %s %d %s %s", ops[rng.IntN(len(ops))], point.part, 1+rng.IntN(4), when, scope))
		t.Logf("%s: %s", point.what, p.KillStalled(time.Duration(rng.IntN(2)*rng.IntN(300))*time.Millisecond))
		at[point.what]++
		j.At().RequireIntact()
	}
	stop()
	p := j.Start()
	p.WaitCaughtUp()
	p.Stop()
	t.Logf("kills: %v; %d snapshots", at, j.Latest())
	requireOneFileACommit(t, j)
	requireConsecutive(t, j)
	x := j.At()
	x.RequireIntact()
	c.requireStream(t, streamOf(t, j), before)
	stream := x.JavaChanges(testkit.JavaVersions[0])
	x.RequireChangelogCounts(stream)
	testkit.RequireSameRows(t, "the replay", db.Rows("s"), testkit.Replayed(t, stream))
	age(t, x, 48*time.Hour)
	x.Compact("remove_orphan_files")
	requireStrict(t, x)
	testkit.RequireSameRows(t, "java", db.Rows("s"), x.JavaRows(testkit.JavaVersions[0]))
}

// requireStrict requires that Java's check finds neither errors nor warnings nor files that nothing refers to, but for the
// saved position. By hand, with more kills, it compares each snapshot's rows too.
func requireStrict(t *testing.T, x *testkit.Table) {
	words := []string{"--strict"}
	if os.Getenv("PAIMON_GO_TEST_KILLS") != "" {
		words = append(words, "--deep")
	}
	lines, _ := x.TryJava(testkit.JavaVersions[0], "check", words...)
	require.NotEmpty(t, lines)
	require.Contains(t, lines[len(lines)-1], `"errors":0,"warnings":0,"orphans":1,`, strings.Join(lines, "\n"))
	require.Contains(t, strings.Join(lines, "\n"), `{"severity":"orphan","check":"orphan","at":"paimon-go/`)
}
