//go:build integration

package integration

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// compacted is a case of a table whose changelog the compactor makes while the sink writes.
type compacted struct {
	name  string
	conf  map[string]string
	full  bool // full-compaction; else lookup
	kills int
	maria bool
}

// TestChangelogOfTheCompactor has the sink write and the service compact, with changelog-producer lookup and full-compaction,
// while the source's rows change at random, several times a tick; in some cases both are killed at random moments. Java's
// streaming reader gives each change once: they replay to the table as it is without level 0 (or at the top level) at every
// snapshot of a compaction, and to MySQL's rows at the end.
func TestChangelogOfTheCompactor(t *testing.T) {
	for _, c := range []compacted{
		{name: "lookup", conf: map[string]string{"file.format": "avro"}},
		{name: "lookup killed", conf: map[string]string{"changelog-producer.row-deduplicate": "true"}, kills: kills(t, 5)},
		{name: "lookup gentle", conf: map[string]string{"lookup-compact": "gentle", "lookup-compact.max-interval": "3"}, maria: true},
		{name: "full", conf: map[string]string{"full-compaction.delta-commits": "2"}, full: true},
		{name: "full killed", conf: map[string]string{"full-compaction.delta-commits": "2", "file.format": "avro", "changelog-file.format": "parquet"}, full: true, kills: kills(t, 4)},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, seed(t)) })
	}
}

func (c compacted) run(t *testing.T, rng *rand.Rand) {
	server := testkit.MySQL(t)
	if c.maria {
		server = testkit.MariaDB(t)
	}
	db := server.Database(t)
	db.Exec(changedTable)
	changes := newChanger(rng, db, 300)
	for range 100 {
		changes.step() // rows of the initial read
	}
	j := testkit.NewJob(t, db, "s")
	j.Interval = "100ms"
	for k, v := range c.conf {
		j.Conf[k] = v
	}
	if j.Conf["changelog-producer"] = "lookup"; c.full {
		j.Conf["changelog-producer"] = "full-compaction"
	}
	p := j.Start()
	p.Until(30*time.Second, "the table", func() bool { return j.Latest() > 0 })
	x := j.At()
	stop := changes.goOn()
	service := x.Compactor("compact")
	for range c.kills {
		p.Until(30*time.Second, "the start", func() bool { return strings.Contains(p.Output(), "msg=started") })
		service.Until(30*time.Second, "the start", func() bool { return strings.Contains(service.Output(), "msg=started") })
		time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond) // the random moment
		if rng.IntN(3) > 0 {
			p.Kill()
			p = j.Start()
		}
		service.Kill()
		service = x.Compactor("compact")
	}
	from := compactions(x)
	service.Until(time.Minute, "compactions", func() bool { return compactions(x) >= from+4 })
	stop()
	p.WaitCaughtUp()
	p.Stop()
	c.drain(t, x, service)

	rows := db.Rows("s")
	x.RequireRows(rows)
	x.RequireClean()
	stream := x.JavaChanges(testkit.JavaVersions[0])
	testkit.RequireSameChanges(t, stream, x.Changes())
	x.RequireChangelogCounts(stream)
	c.requireReplay(t, x, stream, rows)
	changes.requireAfterImages(t, stream)
	c.requireFromTheMiddle(t, x, rows)
}

// drain lets the service do what is left and ends it, so that nothing is out of the changelog.
func (c compacted) drain(t *testing.T, x *testkit.Table, service *testkit.Process) {
	if c.full {
		stopCompactor(t, service)
		x.Compact("compact", "--once")
		return
	}
	if c.conf["lookup-compact"] != "gentle" { // gentle: what is left comes with the next writes
		testkit.Until(t, time.Minute, "level 0 to be empty", func() bool {
			for _, files := range x.In(t).Live() {
				for i := range files {
					if files[i].Level == 0 {
						return false
					}
				}
			}
			return true
		})
	}
	stopCompactor(t, service)
	x.Compact("compact", "--once")
}

// lowest is the lowest level whose rows the changelog has.
func (c compacted) lowest() int {
	if c.full {
		return 5
	}
	return 1
}

// requireReplay replays the stream and compares with the table at each snapshot of a compaction.
func (c compacted) requireReplay(t *testing.T, x *testkit.Table, stream []testkit.Change, rows []string) {
	r := testkit.NewReplay(t)
	made := 0
	snapshots := x.Snapshots()
	for i, s := range snapshots {
		n := 0
		for n < len(stream) && stream[n].Snapshot == s.ID {
			r.Apply(stream[n])
			n++
		}
		stream = stream[n:]
		if s.CommitKind != "COMPACT" {
			require.Zero(t, n, "rows of snapshot %d, which is none of a compaction", s.ID)
			continue
		}
		if made += n; i%4 == 0 || i == len(snapshots)-1 {
			testkit.RequireSameRows(t, "the snapshot without newer levels", r.Rows(), x.RowsAbove(s, c.lowest()))
		}
	}
	require.Empty(t, stream)
	require.Greater(t, made, len(rows))
	testkit.RequireSameRows(t, "the replay", rows, r.Rows())
}

// requireFromTheMiddle starts streams at a compaction in the middle: with the table as it was then, and after it.
func (c compacted) requireFromTheMiddle(t *testing.T, x *testkit.Table, rows []string) {
	var ids []string
	for _, s := range x.Snapshots() {
		if s.CommitKind == "COMPACT" {
			ids = append(ids, itoa(s.ID))
		}
	}
	id := ids[len(ids)/2]
	stream := x.JavaChanges(testkit.JavaVersions[1], "--from", id, "--full-scan")
	for i := range stream {
		if itoa(stream[i].Snapshot) == id {
			stream[i].Kind = "+I" // as stored, but it is the row as it is
		}
	}
	testkit.RequireSameRows(t, "a replay from the middle", rows, testkit.Replayed(t, stream))
}

// requireAfterImages requires that the rows that come in the stream for a key are ones that it had, in that order.
func (c *changer) requireAfterImages(t *testing.T, stream []testkit.Change) {
	at := map[string]int{}
	for _, x := range stream {
		if x.Kind[0] == '-' {
			continue
		}
		id, data := cell(t, x.Row, "id"), cell(t, x.Row, "data")
		i := at[id]
		for i < len(c.log[id]) && (c.log[id][i][0] == '-' || c.log[id][i][3:] != data) {
			i++
		}
		require.Less(t, i, len(c.log[id]), "snapshot %d has %s of %s, which was not there then", x.Snapshot, x.Kind, x.Row)
		at[id] = i + 1
	}
}
