//go:build integration

package integration

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// TestCompactorBesideTheSinkElsewhere is the guide's table on HDFS and S3: our compactor beside the paced sink, which it doesn't
// hold up.
func TestCompactorBesideTheSinkElsewhere(t *testing.T) {
	pace := readLivePace(t)
	logs := t.TempDir()
	db := guideTable(t, "parquet").DB
	db.Record(logs, func(c *testkit.Conn) { upserts(c, pace) })
	rows := db.Rows("s")
	for name, on := range map[string]testkit.Storage{"hdfs": testkit.OnHDFS, "s3": testkit.OnS3} {
		t.Run(name, func(t *testing.T) {
			job := guideJob(t, db, "parquet").On(on)
			f := replay(t, job, logs, pace, func(j *testkit.Job) func() {
				p := j.At().Compactor("compact")
				return func() { stopCompactor(t, p) }
			})
			t.Log(f)
			job.At().Compact("compact", "--once", "--compact-strategy", "minor")
			runs, files := job.At().MaxRuns()
			t.Logf("then %d runs, %d files", runs, files)
			require.LessOrEqual(t, runs, 5, "sorted runs of a bucket that has no more work")
			testkit.RequireSameRows(t, "java", rows, job.At().JavaRows(testkit.JavaVersions[0]))
			job.At().RequireCleanFiles()
			require.Positive(t, compactions(job.At()), "compactions while the sink ran")
			require.LessOrEqual(t, f.wait, 0.01, "seconds that the reader waited")
		})
	}
}

// TestPlanB is the guide's other table: dynamic buckets, and a compaction inside the job that nothing waits for. With a stop
// trigger its commits wait while a bucket has more sorted runs, and go on.
func TestPlanB(t *testing.T) {
	pace := readLivePace(t)
	logs := t.TempDir()
	db := guideTable(t, "parquet").DB
	db.Record(logs, func(c *testkit.Conn) { upserts(c, pace) })
	rows := db.Rows("s")
	for _, stop := range []int{math.MaxInt32, 8} {
		t.Run(strconv.Itoa(stop), func(t *testing.T) {
			j := guideJob(t, db, "parquet")
			for k, v := range map[string]string{"bucket": "-1", "write-only": "false", "num-sorted-run.stop-trigger": strconv.Itoa(stop),
				"sort-spill-threshold": "10", "changelog-producer": "lookup", "changelog-producer.lookup-wait": "false",
				"snapshot.num-retained.min": "100000", "snapshot.num-retained.max": "100000", "dynamic-bucket.target-row-num": "200000"} {
				j.Conf[k] = v
			}
			if stop < math.MaxInt32 { // it compacts as late as it may, so that commits do wait when rows come quickly
				j.Conf["num-sorted-run.compaction-trigger"] = strconv.Itoa(stop)
			}
			f := replay(t, j, logs, pace, nil)
			t.Log(f)
			require.Positive(t, compactions(j.At()), "compactions while the sink ran")
			if stop == math.MaxInt32 {
				require.LessOrEqual(t, f.wait, 0.01, "seconds that the reader waited")
				require.Zero(t, f.held, "seconds that commits waited")
			} else {
				require.LessOrEqual(t, f.peak, stop+1, "sorted runs of a bucket") // the one that made it wait is committed
			}
			requireIndexed(t, j)
			testkit.RequireSameRows(t, "java", rows, j.At().JavaRows(testkit.JavaVersions[0]))
			j.At().RequirePython(rows)
			j.At().Compact("compact", "--once") // what is left at the end, whose changelog is still to come
			runs, files := j.At().MaxRuns()
			t.Logf("then %d runs, %d files", runs, files)
			testkit.RequireSameRows(t, "the replay", rows, j.At().JavaReplayed(testkit.JavaVersions[0]))
			j.At().RequireCleanFiles()
		})
	}
}
