//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// changer changes a MySQL table at random and remembers what it did to each key. Every value is new.
type changer struct {
	rng   *rand.Rand
	conn  *testkit.Conn
	keys  int
	n     int
	state map[string]string
	log   map[string][]string // as "+I value"
}

const changedTable = "CREATE TABLE s (id VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, data VARCHAR(200), f DOUBLE, j JSON)"

func newChanger(rng *rand.Rand, db *testkit.DB, keys int) *changer {
	return &changer{rng: rng, conn: db.Session(), keys: keys, state: map[string]string{}, log: map[string][]string{}}
}

func (c *changer) values() (data, rest string) {
	c.n++
	data = fmt.Sprintf("v%d %s", c.n, strings.Repeat("x", c.n%50))
	return data, fmt.Sprintf("%d.25, '{\"n\": [%d, \"%c\"]}'", c.n, c.n, 'a'+c.n%26)
}

func (c *changer) key() string { return fmt.Sprintf("Key-%d", c.rng.IntN(c.keys)) }

// step makes a transaction of a few changes.
func (c *changer) step() {
	c.conn.Exec("BEGIN")
	for range 1 + c.rng.IntN(8) {
		k := c.key()
		old, has := c.state[k]
		data, rest := c.values()
		switch what := c.rng.IntN(10); {
		case !has:
			c.conn.Exec(fmt.Sprintf("INSERT INTO s VALUES ('%s', '%s', %s)", k, data, rest))
			c.note(k, "+I "+data)
			c.state[k] = data
		case what < 2:
			c.conn.Exec("DELETE FROM s WHERE id = '" + k + "'")
			c.note(k, "-D "+old)
			delete(c.state, k)
		case what < 4: // to another key
			to := c.key()
			if _, taken := c.state[to]; taken {
				continue
			}
			c.conn.Exec(fmt.Sprintf("UPDATE s SET id = '%s', data = '%s' WHERE id = '%s'", to, data, k))
			c.note(k, "-D "+old)
			c.note(to, "+I "+data)
			delete(c.state, k)
			c.state[to] = data
		default:
			c.conn.Exec(fmt.Sprintf("UPDATE s SET data = '%s', f = %d.5 WHERE id = '%s'", data, c.n, k))
			c.note(k, "-U "+old, "+U "+data)
			c.state[k] = data
		}
	}
	c.conn.Exec("COMMIT")
}

func (c *changer) note(k string, changes ...string) { c.log[k] = append(c.log[k], changes...) }

// goOn makes changes until it is told to stop.
func (c *changer) goOn() (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-quit:
				return
			default:
				c.step()
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// requireStream requires that a stream has, for each key, the row as it was read at some moment, if it was there, and then
// every change since, once and in order. The first n changes of a key came before the job began.
func (c *changer) requireStream(t *testing.T, stream map[string][]string, n map[string]int) {
	for k, log := range c.log {
		got := stream[k]
		at := -1
		for i := n[k]; i <= len(log) && at < 0; i++ {
			if i > 0 && i < len(log) && strings.HasPrefix(log[i-1], "-U") {
				continue
			}
			var want []string
			if i > 0 && !strings.HasPrefix(log[i-1], "-D") {
				want = append(want, "+I "+log[i-1][3:])
			}
			if strings.Join(append(want, log[i:]...), "\n") == strings.Join(got, "\n") {
				at = i
			}
		}
		require.GreaterOrEqual(t, at, 0, "%s: the stream has\n%s\nof\n%s", k, strings.Join(got, "\n"), strings.Join(log[n[k]:], "\n"))
	}
}

func (c *changer) counts() map[string]int {
	n := map[string]int{}
	for k, l := range c.log {
		n[k] = len(l)
	}
	return n
}

// streamOf reads the changes of a job's table by key: by our reader, and the same by Java's.
func streamOf(t *testing.T, j *testkit.Job) map[string][]string {
	tbl := j.Open()
	ours := map[string][]string{}
	add := func(m map[string][]string, id, change string) { m[id] = append(m[id], change) }
	for c, err := range lsm.ReadChangelog(t.Context(), tbl, 1, j.Latest(), lsm.ScanOptions{}) {
		require.NoError(t, err)
		for i, k := range c.Rows.Kinds {
			add(ours, string(c.Rows.Cols[0].Value(i)), k.String()+" "+string(c.Rows.Cols[1].Value(i)))
		}
	}
	java := map[string][]string{}
	for _, line := range j.Java(testkit.JavaVersions[0], "changelog", "--from", "1") {
		var r struct {
			Kind string `json:"_kind"`
			ID   string `json:"id"`
			Data string `json:"data"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		add(java, r.ID, r.Kind+" "+r.Data)
	}
	require.Equal(t, ours, java)
	return ours
}

func inputJob(t *testing.T, db *testkit.DB) *testkit.Job {
	j := testkit.NewJob(t, db, "s").Set("scan.incremental.snapshot.chunk.size", "50")
	j.Conf["changelog-producer"] = "input"
	j.Interval = "100ms"
	return j
}

// TestChangelogOfATableThatChangesWhileItIsRead kills the job at random moments of the initial read, of the catch-up and
// of the stream, while the table changes: every change since a row was read is in the changelog once.
func TestChangelogOfATableThatChangesWhileItIsRead(t *testing.T) {
	t.Run("mysql", func(t *testing.T) { changeWhileRead(t, testkit.MySQL(t), kills(t, 6), "false") })
	t.Run("mariadb", func(t *testing.T) { changeWhileRead(t, testkit.MariaDB(t), kills(t, 3), "false") })
	t.Run("merged", func(t *testing.T) { changeWhileRead(t, testkit.MySQL(t), kills(t, 6), "true") })
}

func changeWhileRead(t *testing.T, server *testkit.Server, kills int, merge string) {
	rng := seed(t)
	db := server.Database(t)
	db.Exec(changedTable)
	c := newChanger(rng, db, 3000)
	for range 700 {
		c.step()
	}
	before := c.counts()
	stop := c.goOn()
	j := inputJob(t, db)
	j.Conf["precommit-compact"] = merge
	for i := range kills {
		p := j.Start()
		p.Until(30*time.Second, "the start", func() bool { return strings.Contains(p.Output(), "msg=started") })
		time.Sleep(time.Duration(rng.IntN(150+300*min(i, 6))) * time.Millisecond) // the random moment
		p.Kill()
	}
	p := j.Start()
	p.Until(time.Minute, "the stream", func() bool { return strings.Contains(p.Output(), "following the log") })
	time.Sleep(time.Second) // of changes in the stream
	stop()
	p.WaitCaughtUp()
	p.Stop()
	if merge == "true" {
		requireOneFileACommit(t, j)
	}
	for p := range j.Open().Check(t.Context(), nil, true, lsm.CheckFile) {
		require.Equal(t, table.SeverityOrphan, p.Severity, p.String()) // of the kills
	}
	c.requireStream(t, streamOf(t, j), before)
	j.RequireJava(db.Rows("s"))
}

// requireOneFileACommit requires that the changelog of each commit is in one file, and that files are merged.
func requireOneFileACommit(t *testing.T, j *testkit.Job) {
	ctx, tbl, merged := t.Context(), j.Open(), 0
	for s, err := range tbl.Snapshots(ctx) {
		require.NoError(t, err)
		files := map[string]bool{}
		for e, err := range tbl.ScanChangelog(ctx, s) {
			require.NoError(t, err)
			path, err := tbl.DataFilePath(e.Partition, e.Bucket, &e.File)
			require.NoError(t, err)
			part, ok, err := tbl.MergedPart(e.Partition, e.Bucket, &e.File)
			require.NoError(t, err)
			if ok {
				merged++
				path = part.Path
			}
			files[path] = true
		}
		require.LessOrEqual(t, len(files), 1, "files of snapshot %d", s.ID)
	}
	require.Positive(t, merged)
}
