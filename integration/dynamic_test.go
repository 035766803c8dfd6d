//go:build integration

package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// dynamicTables are ways to write tables whose buckets are assigned by the job.
var dynamicTables = map[string]map[string]string{
	"a dedicated compactor": {"write-only": "true", "changelog-producer": "input"},
	"compaction inside":     {"changelog-producer": "lookup", "changelog-producer.lookup-wait": "false", "num-sorted-run.stop-trigger": "2147483647"},
}

// requireIndexed requires that each key is in the bucket that the index says, by our check and by Java's.
func requireIndexed(t *testing.T, j *testkit.Job) {
	tab := j.At().Open()
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	if s == nil {
		return
	}
	for p := range lsm.CheckBuckets(t.Context(), tab, s) {
		require.NotEqual(t, table.SeverityError, p.Severity, p.String())
	}
	j.At().RequireIntact()
}

// TestSinkWithDynamicBuckets kills the job at writes of data and of the index, again and again.
func TestSinkWithDynamicBuckets(t *testing.T) {
	for name, conf := range dynamicTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := seed(t)
			db := testkit.MySQL(t).Database(t)
			db.Exec(changedTable)
			c := newChanger(rng, db, 20000)
			for range 50 {
				c.step()
			}
			j := inlineJob(t, db, conf)
			j.Conf["bucket"], j.Conf["dynamic-bucket.target-row-num"] = "-1", "1000"
			c.killAt(t, j, []string{"create /index-", "write /data-", "publish /snapshot-", "create /index-manifest"}, 2, 8, func() { requireIndexed(t, j) })
			requireIndexed(t, j)
			requireInline(t, j)
			require.Greater(t, bucketsOf(t, j), 1, "buckets of 1000 keys each")
		})
	}
}

func bucketsOf(t *testing.T, j *testkit.Job) int {
	tab := j.At().Open()
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	found := map[int32]bool{}
	for e, err := range tab.Scan(t.Context(), s, table.Filter{}) {
		require.NoError(t, err)
		found[e.Bucket] = true
	}
	return len(found)
}

// TestSinkMovesKeysBetweenPartitions writes a table whose key lacks the partition's column: a row that changes it moves.
func TestSinkMovesKeysBetweenPartitions(t *testing.T) {
	rng := seed(t)
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY, p VARCHAR(10) NOT NULL, v INT)")
	change := func(conn *testkit.Conn, n int) {
		for range n {
			id := rng.IntN(400)
			if rng.IntN(5) == 0 {
				conn.Exec(fmt.Sprintf("DELETE FROM s WHERE id = %d", id))
			} else {
				conn.Exec(fmt.Sprintf("REPLACE INTO s VALUES (%d, 'p%d', %d)", id, rng.IntN(4), rng.IntN(1000)))
			}
		}
	}
	conn := db.Session()
	change(conn, 500)
	j := inlineJob(t, db, map[string]string{"bucket": "-1", "dynamic-bucket.target-row-num": "40"}).With("--primary_keys", "id", "--partition_keys", "p")
	j.RunToLatest()
	j.RequireSame()
	for range 4 {
		p := j.Start()
		change(conn, 300)
		if rng.IntN(2) == 0 {
			time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
			p.Kill()
			continue
		}
		p.WaitCaughtUp()
		p.Stop()
	}
	j.RunToLatest()
	j.RequireSame()
	j.At().RequireIntact()
}
