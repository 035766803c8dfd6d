//go:build integration

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/integration/testkit"
)

// TestVectorsAreKeptByTurns writes tables with deletion vectors and compacts them by turns with Java, in full at times: after each
// compaction level 0 is empty, and both read the rows of the model.
func TestVectorsAreKeptByTurns(t *testing.T) {
	for _, version := range testkit.JavaVersions {
		for _, m := range []matrixCase{
			{engine: "deduplicate", producer: "none"}, {engine: "deduplicate", producer: "lookup"}, {engine: "deduplicate", producer: "none", sequence: true},
			{engine: "partial", producer: "lookup"}, {engine: "aggregation", producer: "none"},
		} {
			m.buckets, m.vectors = matrixBuckets[0].name, true
			t.Run(fmt.Sprint(version, "/", m.String()), func(t *testing.T) {
				r := newMatrixRun(t, m, seed(t))
				r.java = version
				r.open()
				for i := range 12 {
					r.tick()
					full := r.rng.IntN(4) == 0
					switch {
					case i%2 == 0 && full:
						r.compact(compactor.Full)
					case i%2 == 0:
						r.compact(compactor.Minor)
					case full:
						r.x.JavaCompacts(version, "--full")
					default:
						r.x.JavaCompacts(version)
					}
					rows := r.x.JavaRows(version)
					testkit.RequireSameRows(t, fmt.Sprintf("step %d, we", i), rows, scanned(t, r.x))
					if r.model.sound {
						testkit.RequireSameRows(t, fmt.Sprintf("step %d, the model", i), r.model.rows(), rows)
					}
				}
				r.close()
				require.Empty(t, errorsOfVectors(r.x))
			})
		}
	}
}

// errorsOfVectors are errors that Java's check finds, but for what Java's own full compaction makes: it rewrites files of the last
// level and leaves the vectors of the old ones behind.
func errorsOfVectors(x *testkit.Table) []string {
	return slices.DeleteFunc(x.CheckErrors(), func(s string) bool {
		return strings.Contains(s, `"check":"dv"`) && strings.Contains(s, "which is not live")
	})
}

// TestVectorsInsideTheWriter streams changes into tables with deletion vectors that the job compacts. It is killed where these, and
// what they belong to, are written; then Java compacts the same buckets beside it.
func TestVectorsInsideTheWriter(t *testing.T) {
	for name, conf := range map[string]map[string]string{
		"waits":           {},
		"never waits":     {"changelog-producer.lookup-wait": "false", "num-sorted-run.stop-trigger": "2147483647"},
		"dynamic buckets": {"changelog-producer": "lookup", "bucket": "-1", "dynamic-bucket.target-row-num": "40"},
	} {
		t.Run(name, func(t *testing.T) {
			rng := seed(t)
			db := testkit.MySQL(t).Database(t)
			db.Exec(changedTable)
			c := newChanger(rng, db, 300)
			for range 30 {
				c.step()
			}
			j := inlineJob(t, db, conf)
			j.Conf["deletion-vectors.enabled"] = "true"
			stop := c.goOn()
			for i := range kills(t, 4) {
				call := []string{"create /index-", "close /data-", "write /index-", "close /index-"}[i%4]
				p := j.StartToStall(fmt.Sprintf("%s %d %s all", call, 2+rng.IntN(6), []string{"before", "half", "after"}[rng.IntN(3)]))
				t.Log(p.KillStalled(time.Duration(rng.IntN(200)) * time.Millisecond))
				j.At().RequireIntact()
			}
			p := j.Start()
			from := j.Latest()
			end := javaLoop(t, j.At(), testkit.JavaVersions[0])
			require.Eventually(t, func() bool { return j.Latest() > from+20 }, time.Minute, 100*time.Millisecond, "%s", p.Output())
			end()
			stop()
			p.WaitCaughtUp()
			p.Stop()
			require.Positive(t, compactSnapshots(j))
			x := j.At()
			x.Compact("compact", "--once") // what is in level 0 is not visible yet
			require.Empty(t, errorsOfVectors(x))
			testkit.RequireSameRows(t, "java", j.DB.Rows("s"), x.JavaRows(testkit.JavaVersions[0]))
			if j.Conf["changelog-producer"] != "" {
				stream := x.JavaChanges(testkit.JavaVersions[0])
				x.RequireChangelogCounts(stream)
				testkit.RequireSameRows(t, "the replay", j.DB.Rows("s"), testkit.Replayed(t, stream))
			}
			x.RequireIntact()
		})
	}
}
