//go:build integration

package integration

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/table"
)

// TestChangelogOutlivesSnapshots has the service compact and expire, where changes are kept longer than snapshots: Java reads
// all of them from the first on, until they expire too.
func TestChangelogOutlivesSnapshots(t *testing.T) {
	for _, conf := range []map[string]string{
		{"changelog-producer": "lookup"},
		{"changelog-producer": "input", "precommit-compact": "true"},
		{"changelog-producer": "none"},
	} {
		t.Run(conf["changelog-producer"], func(t *testing.T) {
			conf["snapshot.num-retained.min"], conf["snapshot.num-retained.max"] = "2", "3"
			conf["changelog.num-retained.min"], conf["changelog.num-retained.max"] = "500", "1000"
			x := testkit.CreateTable(t, t.TempDir(), "d", "t", conf)
			w := x.Writer("writer", true)
			for c := range 12 {
				if trickle(w, c, 1, 300); c%3 == 2 {
					x.Compact("compact", "--once", "--compact-strategy", "minor", "--table-conf", "snapshot.num-retained.min=100", "--table-conf", "snapshot.num-retained.max=1000")
				}
			}
			w.Close()
			before, y := len(x.Snapshots()), x.Copy(t.TempDir())
			p := x.Compactor("compact")
			p.Until(time.Minute, "expiry", func() bool { return len(x.Snapshots()) <= 3 })
			stopCompactor(t, p)
			y.Java(testkit.JavaVersions[0], "expire", "--retain-max", "3", "--retain-min", "3")
			require.Equal(t, names(y), names(x), "files that are left, beside Java's")

			java := testkit.JavaVersions[0]
			kept, err := filepath.Glob(x.Path() + "/changelog/changelog-*")
			require.NoError(t, err)
			require.Len(t, kept, before-3)
			require.Len(t, x.Snapshots(), 3)
			stream := x.JavaChanges(java)
			require.LessOrEqual(t, stream[0].Snapshot, int64(4), "from the first change on")
			testkit.RequireSameChanges(t, stream, x.Changes())
			x.RequireRows(w.Rows())
			switch conf["changelog-producer"] {
			case "lookup":
				testkit.RequireSameRows(t, "the replay", w.Rows(), testkit.Replayed(t, stream))
			default: // the writer's rows are upserts
				testkit.RequireSameRows(t, "the replay", w.Rows(), upserted(stream))
			}
			x.RequireClean()
			age(t, x, 48*time.Hour)
			x.Compact("remove_orphan_files")
			testkit.RequireSameChanges(t, stream, x.JavaChanges(java))

			first := x.Snapshots()[0].ID
			x.Compact("expire_changelogs", "--retain-max", "8", "--retain-min", "1")
			left := x.JavaChanges(java)
			require.Less(t, left[0].Snapshot, first, "some changes outlive their snapshot")
			require.Greater(t, left[0].Snapshot, stream[0].Snapshot)
			testkit.RequireSameChanges(t, changesSince(stream, left[0].Snapshot), left)
			x.RequireClean()
			require.Empty(t, x.Orphans())
			x.Compact("expire_changelogs", "--delete-all")
			testkit.RequireSameChanges(t, changesSince(stream, first), x.JavaChanges(java))
			entries, err := os.ReadDir(x.Path() + "/changelog")
			require.NoError(t, err)
			for _, e := range entries {
				require.False(t, strings.HasPrefix(e.Name(), "changelog-"), e.Name())
			}
			x.RequireClean()
			require.Empty(t, x.Orphans())
			x.RequireRows(w.Rows())
		})
	}
}

// names are the names of a table's files that a streaming reader or expiry minds.
func names(x *testkit.Table) (list []string) {
	for path := range x.Bytes() {
		if !strings.HasSuffix(path, "/LATEST") && !strings.HasSuffix(path, "/EARLIEST") && !strings.HasSuffix(path, ".crc") {
			list = append(list, path)
		}
	}
	sort.Strings(list)
	return list
}

// upserted are the rows that a stream of upserts and deletes makes.
func upserted(stream []testkit.Change) []string {
	var list []testkit.Change
	rows := map[string]testkit.Change{}
	for _, c := range stream {
		if rows[c.Key] = c; c.Kind == "-D" {
			delete(rows, c.Key)
		}
	}
	for _, c := range rows {
		c.Kind = "+I"
		list = append(list, c)
	}
	return testkit.Bare(rowsOf(list))
}

func rowsOf(list []testkit.Change) (out []string) {
	for _, c := range list {
		out = append(out, `{"_kind":"",`+c.Row[1:])
	}
	return out
}

// TestChangelogProducerSwitchedOn gives a producer to a table that has kept what its writers wrote as its changelog. Expiry then
// takes files of level 0 that the old changelogs name, as Java's does: with a producer, readers look at changelog files only.
// Nothing that a reader looks at is missing, and when the old changelogs go, nothing of them is left.
func TestChangelogProducerSwitchedOn(t *testing.T) {
	x := testkit.CreateTable(t, t.TempDir(), "d", "t", map[string]string{
		"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "3", "changelog.num-retained.min": "500", "changelog.num-retained.max": "1000"})
	write := func(user string, from int) {
		w := x.Writer(user, false)
		defer w.Close()
		for c := range 6 {
			if trickle(w, from+c, 1, 300); c == 2 {
				x.Compact("compact", "--once", "--table-conf", "snapshot.num-retained.min=100", "--table-conf", "snapshot.num-retained.max=1000")
			}
		}
	}
	write("before", 0)
	x.Compact("expire_snapshots")
	require.Equal(t, int64(1), x.Changes()[0].Snapshot)
	last := x.Latest()
	_, err := x.Open().Alter(t.Context(), table.SchemaChange{Kind: table.SetOption, Key: "changelog-producer", Value: "input"})
	require.NoError(t, err)
	write("after", 10)
	java, y := testkit.JavaVersions[0], x.Copy(t.TempDir())
	x.Compact("expire_snapshots")
	y.Java(java, "expire", "--retain-max", "3", "--retain-min", "3")
	require.Equal(t, names(y), names(x), "files that are left, beside Java's")
	stream := x.JavaChanges(java)
	require.Equal(t, last+1, stream[0].Snapshot)
	testkit.RequireSameChanges(t, stream, x.Changes())
	x.RequireIntact()
	require.Empty(t, x.Orphans())
	x.Compact("expire_changelogs", "--delete-all")
	require.Empty(t, x.Orphans())
	x.RequireClean()
}
