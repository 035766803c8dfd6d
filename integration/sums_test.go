//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// TestSumsOfATableThatChangesWhileItIsRead: each change counts once in sums over the rows of a table, though rows change, move between
// sums and go while it is read, and though the job is killed again and again meanwhile.
func TestSumsOfATableThatChangesWhileItIsRead(t *testing.T) {
	t.Run("MySQL", func(t *testing.T) { sumsWhileRead(t, testkit.MySQL(t), kills(t, 3), false) })
	t.Run("MySQL, inline compaction", func(t *testing.T) { sumsWhileRead(t, testkit.MySQL(t), kills(t, 2), true) })
	t.Run("MariaDB", func(t *testing.T) { sumsWhileRead(t, testkit.MariaDB(t), kills(t, 3), false) })
}

func sumsWhileRead(t *testing.T, server *testkit.Server, kills int, inline bool) {
	const groups, rows, sessions = 40, 20000, 3
	rng := seed(t)
	db := server.Database(t)
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY, grp INT NOT NULL, v BIGINT NOT NULL)")
	db.InsertRows("s", -groups, 0, groups, func(i int) string { return fmt.Sprintf("%d,%d,1", i, -i-1) }) // so that none gets empty
	db.InsertRows("s", 0, rows, 5000, func(i int) string { return fmt.Sprintf("%d,%d,%d", i, i%groups, i%7) })
	db.Exec("ANALYZE TABLE s")
	stop := make(chan struct{})
	var changes sync.WaitGroup
	for range sessions {
		c := db.Session()
		rng := rand.New(rand.NewPCG(rng.Uint64(), 2))
		changes.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				time.Sleep(time.Millisecond)
				id, grp, v := rng.IntN(rows*3/2), rng.IntN(groups), rng.IntN(100)
				switch rng.IntN(6) {
				case 0:
					c.Exec(fmt.Sprintf("DELETE FROM s WHERE id = %d", id))
				case 1:
					c.Exec(fmt.Sprintf("UPDATE s SET v = v + %d WHERE id BETWEEN %d AND %d", v, id, id+30))
				case 2:
					c.Exec(fmt.Sprintf("REPLACE INTO s VALUES (%d, %d, %d)", id, grp, v))
				default:
					c.Exec(fmt.Sprintf("UPDATE s SET v = %d, grp = %d WHERE id = %d", v, grp, id))
				}
			}
		})
	}
	j := testkit.NewJob(t, db, "s").With("--primary_keys", "grp").Set("scan.incremental.snapshot.chunk.size", "100")
	j.Interval = "100ms"
	j.Conf["merge-engine"], j.Conf["fields.id.aggregate-function"], j.Conf["fields.v.aggregate-function"] = "aggregation", "sum", "sum"
	if inline {
		j.Conf["write-only"] = "false"
	}
	within := 0
	for range kills {
		p := j.Start()
		if _, ok := j.Saved(); ok {
			p.Kill()
			break // it was quick
		}
		p.Until(30*time.Second, "the read", func() bool { return strings.Contains(p.Output(), "reading the table") })
		time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond)
		p.Kill()
		if s, ok := j.Saved(); !ok {
			within++
			require.Zero(t, j.Latest(), "nothing is committed before the end of the read")
		} else {
			require.Nil(t, s.Snapshot)
		}
	}
	t.Logf("%d of the kills were in the middle of the read", within)
	p := j.Start()
	p.Until(time.Minute, "a commit", func() bool { return j.Latest() > 0 })
	for range 2 { // in the stream
		time.Sleep(time.Duration(rng.IntN(600)) * time.Millisecond)
		p.Kill()
		p = j.Start()
	}
	time.Sleep(time.Second)
	close(stop)
	changes.Wait()
	p.WaitCaughtUp()
	p.Stop()
	require.NotContains(t, p.Output(), "can't be read as it is at one moment")
	var want []string
	sums := db.Exec("SELECT CAST(SUM(id) AS SIGNED), grp, CAST(SUM(v) AS SIGNED) FROM s GROUP BY grp ORDER BY grp")
	for i := range sums.Values {
		var n [3]int64
		for c := range n {
			n[c], _ = sums.GetInt(i, c)
		}
		want = append(want, fmt.Sprintf(`{"id":%d,"grp":%d,"v":%d}`, n[0], n[1], n[2]))
	}
	slices.Sort(want)
	require.Len(t, want, groups)
	j.RequireJava(want)
	j.At().RequireIntact()
}
