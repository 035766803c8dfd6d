//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// cell is the text of a column of a row.
func cell(t *testing.T, row, name string) string {
	t.Helper()
	var cells map[string]any
	require.NoError(t, json.Unmarshal([]byte(row), &cells), row)
	return fmt.Sprint(cells[name])
}

// perTick is what changelog files of the commits of a table cost.
type perTick struct {
	commits, files, most int // commits with a changelog, their files, the most in one place
}

// countChangelogFiles counts the files of each snapshot; a place is a partition when files are merged, else a bucket.
func countChangelogFiles(x *testkit.Table, merged bool) (c perTick) {
	for _, s := range x.Snapshots() {
		places := x.ChangelogFiles(s, merged)
		if len(places) > 0 {
			c.commits++
		}
		for _, files := range places {
			c.files += len(files)
			c.most = max(c.most, len(files))
		}
	}
	return c
}

// threeDays changes rows of three partitions, all four buckets of each, and some of them move from one to another.
func threeDays(c *testkit.Conn, from, n int) {
	c.Exec("BEGIN")
	for i := from; i < from+n; i++ {
		id := i * 7 % 211
		switch i % 9 {
		case 0:
			c.Exec(fmt.Sprintf("DELETE FROM s WHERE dt='%s' AND id=%d", day(i%3), id))
		case 1:
			c.Exec(fmt.Sprintf("UPDATE IGNORE s SET dt='%s' WHERE dt='%s' AND id=%d", day((i+1)%3), day(i%3), id))
		case 2, 3, 4, 5:
			c.Exec(fmt.Sprintf("INSERT INTO s VALUES (%d,'new %d','%s') ON DUPLICATE KEY UPDATE data=VALUES(data)", id, i, day(i%3)))
		default:
			c.Exec(fmt.Sprintf("UPDATE s SET data='changed %d' WHERE dt='%s' AND id=%d", i, day(i%3), id))
		}
	}
	c.Exec("COMMIT")
}

// TestChangelogFilesPerTick counts the changelog files of three partitions of four buckets: at most one a bucket and tick as a
// rule, and one a partition and tick when they are merged. Merged or not, Java (with Flink's reader) and paimon-go give the
// same stream, which replays to MySQL's rows, and expiry and remove_orphan_files keep it.
func TestChangelogFilesPerTick(t *testing.T) {
	for _, c := range []struct {
		name   string
		conf   map[string]string
		merged bool
	}{
		{"ordinary", map[string]string{}, false},
		{"merged", map[string]string{"precommit-compact": "true"}, true},
		{"merged parquet", map[string]string{"changelog.precommit-compact": "true", "changelog-file.format": "parquet"}, true},
		{"packed", map[string]string{"paimon-go.changelog.pack": "bucket-tick", "write-buffer-spillable": "false", "write-buffer-size": "4 mb"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := guideTable(t, "avro")
			j.Interval = "250ms"
			j.Conf["changelog-producer"] = "input"
			for k, v := range c.conf {
				j.Conf[k] = v
			}
			threeDays(j.DB.Conn, 0, 300)
			p := j.Start()
			p.WaitCaughtUp()
			n := 300
			p.Until(time.Minute, "ticks with changes", func() bool {
				threeDays(j.DB.Conn, n, 60)
				n += 60
				return j.Latest() > 8
			})
			p.WaitCaughtUp()
			p.Stop()
			x := j.At()
			count := countChangelogFiles(x, c.merged)
			t.Logf("%d commits, %d changelog files, of which at most %d in one place", count.commits, count.files, count.most)
			require.Equal(t, 1, count.most)
			require.Greater(t, count.commits, 4)
			j.RequireJava(j.DB.Rows("s"))
			stream := x.JavaChanges(testkit.JavaVersions[0])
			if c.name != "merged" { // 1.3 never comes to the end of a merged Avro part
				testkit.RequireSameChanges(t, stream, x.JavaChanges(testkit.JavaVersions[1]))
			}
			testkit.RequireSameChanges(t, stream, x.Changes())
			x.RequireChangelogCounts(stream)
			testkit.RequireSameRows(t, "the replay", j.DB.Rows("s"), testkit.Replayed(t, stream))
			requireKept(t, x, stream, j.DB.Rows("s"))
		})
	}
}

// requireKept expires snapshots and removes orphan files: what is left has all its changes.
func requireKept(t *testing.T, x *testkit.Table, stream []testkit.Change, rows []string) {
	age(t, x, 48*time.Hour)
	x.Compact("remove_orphan_files")
	testkit.RequireSameChanges(t, stream, x.JavaChanges(testkit.JavaVersions[0]))
	x.Compact("expire_snapshots", "--retain-max", "3", "--retain-min", "3")
	left := x.Snapshots()
	require.Len(t, left, 3)
	x.RequireClean()
	require.Empty(t, x.Orphans(), "what expired is gone")
	testkit.RequireSameChanges(t, changesSince(stream, left[0].ID), x.JavaChanges(testkit.JavaVersions[0]))
	age(t, x, 48*time.Hour)
	x.Compact("remove_orphan_files")
	testkit.RequireSameChanges(t, changesSince(stream, left[0].ID), x.Changes())
	x.RequireRows(rows)
}

// changesSince are the changes from a snapshot on.
func changesSince(stream []testkit.Change, id int64) (out []testkit.Change) {
	for _, c := range stream {
		if c.Snapshot >= id {
			out = append(out, c)
		}
	}
	return out
}
