//go:build integration

package integration

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// strike is a fault in the middle of a flush, and how long the table may then stand still.
type strike struct {
	what  string
	do    func()
	limit time.Duration
}

// underFire has a sink follow a stream of changes into a table while strikes come: commits go on after each without anybody's help,
// no row is lost or doubled, and Java reads the table while the cluster is still as the strikes left it.
func underFire(t *testing.T, warehouse testkit.Storage, strikes ...strike) {
	rng := seed(t)
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	j := testkit.NewJob(t, db, "s").On(warehouse)
	j.Interval = "500ms"
	j.RunToLatest()
	p := j.Start()
	stop, ended := make(chan struct{}), make(chan int)
	writes := db.Session()
	go func() {
		i := 0
		for {
			select {
			case <-stop:
				ended <- i
				return
			case <-time.After(5 * time.Millisecond): // a load that goes on while the storage is away
				n := 1 + i%97
				writes.Exec("BEGIN")
				writes.InsertRows("s", i, i+n, 50, wideRow)
				writes.Exec("COMMIT")
				i += n
			}
		}
	}()
	at := make([]time.Time, len(strikes))
	for i, s := range strikes {
		p.WaitSnapshot(j.Latest() + 2)
		time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond) // the random moment of a tick
		at[i] = time.Now()
		s.do()
		before := j.Latest()
		p.Until(s.limit+time.Minute, "commits after: "+s.what, func() bool { return j.Latest() >= before+4 })
	}
	close(stop)
	n := <-ended
	p.WaitCaughtUp()
	p.Stop()
	require.EqualValues(t, n, history{}.take(j), "each row is in one commit")
	requireConsecutive(t, j)
	var times []time.Time
	for _, s := range j.Snapshots() {
		times = append(times, time.UnixMilli(s.TimeMillis))
	}
	for i, s := range strikes {
		last, longest := at[i], time.Duration(0)
		for _, snapshot := range times {
			if snapshot.After(last) && (i+1 == len(strikes) || snapshot.Before(at[i+1])) {
				longest = max(longest, snapshot.Sub(last))
				last = snapshot
			}
		}
		t.Logf("%s: no commit for %s", s.what, longest.Round(10*time.Millisecond))
		require.Less(t, longest, s.limit, s.what)
	}
	j.RequireJava(db.Rows("s"))
	require.Empty(t, visible(j.At().Orphans()), "half-written files under a final name, or files of no snapshot")
}

// visible are paths that don't show that they are unfinished.
func visible(paths []string) (list []string) {
	for _, p := range paths {
		if !strings.Contains(p, "/.") {
			list = append(list, p)
		}
	}
	return list
}

// TestDataNodeDies kills one of three DataNodes, with three replicas of each block, and leaves it dead. The NameNode goes on to name
// it for ten minutes.
func TestDataNodeDies(t *testing.T) {
	c := testkit.FaultyHDFS(t)
	underFire(t, c.Warehouse, strike{"kill -9 of a DataNode", func() { c.Signal("dn1", syscall.SIGKILL) }, 30 * time.Second})
}

// TestDataNodeFreezes stops a DataNode without ending it: connections stay open and nothing answers.
func TestDataNodeFreezes(t *testing.T) {
	c := testkit.FaultyHDFS(t)
	underFire(t, c.Warehouse,
		strike{"a DataNode frozen", func() { c.Signal("dn2", syscall.SIGSTOP) }, time.Minute},
		strike{"it goes on", func() { c.Signal("dn2", syscall.SIGCONT) }, 30 * time.Second})
}

// TestNameNodeRestarts ends the NameNode at once, starts it again, and freezes it for a while.
func TestNameNodeRestarts(t *testing.T) {
	c := testkit.FaultyHDFS(t)
	underFire(t, c.Warehouse,
		strike{"the NameNode killed and started again", func() {
			c.Signal("nn", syscall.SIGKILL)
			c.Up("nn")
		}, 2 * time.Minute},
		strike{"the NameNode frozen for 10 s", func() {
			c.Signal("nn", syscall.SIGSTOP)
			time.Sleep(10 * time.Second)
			c.Signal("nn", syscall.SIGCONT)
		}, time.Minute})
}

// TestNameNodesFailOver makes the other NameNode of a pair active, first in order and then because the active one is gone.
func TestNameNodesFailOver(t *testing.T) {
	c := testkit.StartHDFSInOne(t, "ha=true", "datanodes=2", "-Ddfs.replication=2")
	underFire(t, c.Warehouse,
		strike{"fail-over in order", func() { c.Control("/ha/active?i=1") }, time.Minute},
		strike{"the active NameNode ends, and 5 s later the other takes over", func() {
			c.Control("/nn/stop?i=1")
			time.Sleep(5 * time.Second)
			c.Control("/ha/active?i=0")
		}, time.Minute},
		strike{"it is back", func() { c.Control("/nn/start?i=1") }, time.Minute})
}
