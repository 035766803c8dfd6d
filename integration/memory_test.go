//go:build integration

package integration

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/table"
)

// insertWide fills table s with rows of a kilobyte, in an order that is not the key's.
func insertWide(db *testkit.DB, rows int) {
	fill := strings.Repeat("y", 900)
	db.InsertRows("s", 0, 2000, 500, func(i int) string { return fmt.Sprintf("%d,'%d %s',0", i*1_000_003, i, fill) })
	for n := 2000; n < rows; n *= 2 {
		db.Exec(fmt.Sprintf("INSERT INTO s SELECT id + %d, CONCAT(%d, data), id * 7919 %% 1000003 FROM s LIMIT %d", n, n%10, rows-n))
	}
}

// TestSmallBufferSpills lets far more rows come in within one tick than the write buffer holds. PAIMON_GO_TEST_MB makes it
// more by hand.
func TestSmallBufferSpills(t *testing.T) {
	mb := 120
	if v := os.Getenv("PAIMON_GO_TEST_MB"); v != "" {
		var err error
		mb, err = strconv.Atoi(v)
		require.NoError(t, err)
	}
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id BIGINT PRIMARY KEY, data VARCHAR(1100), x BIGINT)")
	rows := mb << 10
	insertWide(db, rows)
	j := testkit.NewJob(t, db, "s")
	j.Interval = "1h"
	j.Conf["write-buffer-size"] = "8 mb"
	j.Conf["file.compression"] = "none"
	start := time.Now()
	p := j.Start()
	p.Until(10*time.Minute, "the stream", func() bool { return strings.Contains(p.Output(), "following the log") })
	db.Exec("UPDATE s SET x = x + 1 WHERE id % 10 = 0")
	p.Signal(15)
	var peak int64
	p.UntilEnd(func() { peak = max(peak, p.PeakRSS()) })
	require.Equal(t, 0, p.Wait(time.Minute))
	t.Logf("%d MB in %.1f s, peak RSS %d MB", mb, time.Since(start).Seconds(), peak>>20)
	require.Less(t, peak, int64(8+200)<<20)
	snapshots := j.Snapshots()
	require.Len(t, snapshots, 2, "the first rows are committed at once, all others at the end")
	files := map[int32][]table.DataFile{}
	tbl := j.Open()
	for e, err := range tbl.ScanDelta(t.Context(), snapshots[1]) {
		require.NoError(t, err)
		require.EqualValues(t, 0, e.File.Level)
		files[e.Bucket] = append(files[e.Bucket], e.File)
	}
	require.Equal(t, len(db.Rows("s")), len(j.At().JavaRows(testkit.JavaVersions[0])))
	for b, list := range files {
		var bytes int64
		for i := range list {
			bytes += list[i].Size
		}
		require.LessOrEqual(t, int64(len(list)), 1+bytes/(128<<20), "bucket %d: one run of files, rolled at the target size", b)
	}
	j.RequireClean()
}

// TestCompactionsStayWithinTheBuffer has the job compact what it writes all the time, of far more rows than its memory holds.
func TestCompactionsStayWithinTheBuffer(t *testing.T) {
	const buffer = 48
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id BIGINT PRIMARY KEY, data VARCHAR(1100), x BIGINT)")
	insertWide(db, 60<<10)
	j := testkit.NewJob(t, db, "s")
	j.Interval = "300ms"
	j.Conf["write-only"], j.Conf["bucket"], j.Conf["num-sorted-run.compaction-trigger"] = "false", "2", "2"
	j.Conf["num-sorted-run.stop-trigger"], j.Conf["sort-spill-threshold"] = "3", "2"
	j.Conf["write-buffer-size"] = fmt.Sprint(buffer, " mb")
	p := j.Start()
	p.Until(10*time.Minute, "the stream", func() bool { return strings.Contains(p.Output(), "following the log") })
	for i := 0; i < 3 || compactSnapshots(j) == 0; i++ { // one commit may hold all of a quick round
		require.Less(t, i, 30, "each round is a level-0 file, and two runs are enough to compact")
		db.Exec(fmt.Sprint("UPDATE s SET x = x + 1 WHERE id % 10 = ", i%10))
		p.WaitCaughtUp()
	}
	p.Signal(15)
	var peak int64
	p.UntilEnd(func() { peak = max(peak, p.PeakRSS()) })
	require.Equal(t, 0, p.Wait(time.Minute))
	t.Logf("peak RSS %d MB, %d compactions", peak>>20, compactSnapshots(j))
	require.Positive(t, compactSnapshots(j))
	require.Less(t, peak, int64(buffer+200)<<20)
	j.RequireClean()
}
