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
)

func TestMain(m *testing.M) {
	race() // ends the process if it is one of TestJavaRacesToPublish
	testkit.Main(m)
}

// guideRows is the size of the preload; PAIMON_GO_TEST_ROWS makes it larger by hand.
func guideRows(t *testing.T) int {
	if v := os.Getenv("PAIMON_GO_TEST_ROWS"); v != "" {
		n, err := strconv.Atoi(v)
		require.NoError(t, err)
		return n
	}
	return 60_000
}

// guideTable makes the table of the guide and a job with its options.
func guideTable(t *testing.T, format string) *testkit.Job {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id BIGINT, data TEXT, dt VARCHAR(10), PRIMARY KEY (dt, id))")
	return guideJob(t, db, format)
}

// guideJob is a job into a table of the guide, in a warehouse of its own.
func guideJob(t *testing.T, db *testkit.DB, format string) *testkit.Job {
	j := testkit.NewJob(t, db, "s").With("--partition_keys", "dt", "--primary_keys", "dt,id", "--type_mapping", "char-to-string")
	j.Table = "mysql_sync_paimon"
	j.Conf = map[string]string{"bucket": "4", "write-only": "true", "write-buffer-size": "256 mb",
		"num-sorted-run.stop-trigger": "2147483647", "sort-spill-threshold": "10", "file.format": format,
		"file.compression": "zstd", "file.compression.zstd-level": "3"}
	j.Interval = "1s"
	return j
}

func day(i int) string { return fmt.Sprintf("2024-01-%02d", 1+i%5) }

func guideRow(i int) string {
	return fmt.Sprintf("%d,'order %d of customer %d, paid by card, to be shipped',%q", i, i, i%977, day(i))
}

// change applies n random changes in transactions of random sizes.
func change(c *testkit.Conn, rng *rand.Rand, n, keys int) {
	for n > 0 {
		size := min(n, 1+rng.IntN(200))
		n -= size
		c.Exec("BEGIN")
		for range size {
			i := rng.IntN(keys + keys/10)
			switch rng.IntN(10) {
			case 0:
				c.Exec(fmt.Sprintf("DELETE FROM s WHERE dt='%s' AND id=%d", day(i), i))
			case 1: // the partition changes
				c.Exec(fmt.Sprintf("UPDATE IGNORE s SET dt='%s' WHERE dt='%s' AND id=%d", day(i+1), day(i), i))
			case 2, 3, 4:
				c.Exec(fmt.Sprintf("REPLACE INTO s VALUES (%d,'replaced %d',%q)", i, rng.Int64(), day(i)))
			default:
				c.Exec(fmt.Sprintf("UPDATE s SET data='changed %d' WHERE dt='%s' AND id=%d", rng.Int64(), day(i), i))
			}
		}
		c.Exec("COMMIT")
	}
}

func TestGuideTableIsWhatMySQLHas(t *testing.T) {
	for _, format := range []string{"parquet", "avro"} {
		t.Run(format, func(t *testing.T) {
			n := guideRows(t)
			j := guideTable(t, format)
			j.DB.InsertRows("s", 0, n, 5000, guideRow)
			start := time.Now()
			p := j.Start()
			rng := rand.New(rand.NewPCG(1, 2))
			change(j.DB.Conn, rng, n/20, n) // while the table is read
			p.WaitCaughtUp()
			t.Logf("%d rows and %d changes: %.1f s", n, n/20, time.Since(start).Seconds())
			change(j.DB.Conn, rng, n/20, n)
			j.DB.Exec("UPDATE s SET data=CONCAT(data,'!') WHERE id % 3 = 0")
			p.WaitCaughtUp()
			p.Stop()
			j.RequireSame()
			for _, s := range j.Snapshots() {
				require.Equal(t, "APPEND", string(s.CommitKind))
			}
		})
	}
}
