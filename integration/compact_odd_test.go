//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/table"
)

// TestCompactsInOddStorageStates compacts tables whose metadata is not as a healthy writer leaves it, once and as a service.
func TestCompactsInOddStorageStates(t *testing.T) {
	base := testkit.CreateTable(t, t.TempDir(), "d", "t", nil)
	w := base.Writer("writer", true)
	trickle(w, 0, 10, 1000)
	w.Close()
	rows := w.Rows()
	file := func(x *testkit.Table, name string) string { return filepath.Join(x.Path(), "snapshot", name) }
	write := func(t *testing.T, x *testkit.Table, name, text string) {
		require.NoError(t, os.WriteFile(file(x, name), []byte(text), 0o644))
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, x *testkit.Table)
		gap  bool // Java's check tells of it, too
	}{
		{name: "a snapshot is missing in the middle", gap: true, make: func(t *testing.T, x *testkit.Table) { require.NoError(t, os.Remove(file(x, "snapshot-6"))) }},
		{name: "the first snapshots are missing", make: func(t *testing.T, x *testkit.Table) {
			for i := 1; i <= 4; i++ {
				require.NoError(t, os.Remove(file(x, fmt.Sprintf("snapshot-%d", i))))
			}
		}},
		{name: "no hints", make: func(t *testing.T, x *testkit.Table) {
			_ = os.Remove(file(x, "LATEST"))
			_ = os.Remove(file(x, "EARLIEST"))
		}},
		{name: "a stale hint", make: func(t *testing.T, x *testkit.Table) { write(t, x, "LATEST", "3") }},
		{name: "hints of what isn't there", make: func(t *testing.T, x *testkit.Table) { write(t, x, "LATEST", "999"); write(t, x, "EARLIEST", "777") }},
		{name: "hints that are no numbers", make: func(t *testing.T, x *testkit.Table) { write(t, x, "LATEST", "x"); write(t, x, "EARLIEST", "") }},
		{name: "the writer's clock is a day ahead", make: func(t *testing.T, x *testkit.Table) { shiftClock(t, x, 24*time.Hour) }},
		{name: "the writer's clock is a year behind", make: func(t *testing.T, x *testkit.Table) { shiftClock(t, x, -365*24*time.Hour) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, service := range []bool{false, true} {
				x := base.In(t).Copy(t.TempDir())
				c.make(t, x)
				if service {
					p := x.Compactor("compact")
					drained(t, x)
					stopCompactor(t, p)
				} else {
					x.Compact("compact", "--once", "--compact-strategy", "minor")
				}
				runs, _ := x.MaxRuns()
				require.LessOrEqual(t, runs, 5)
				x.RequireRows(rows)
				if !c.gap {
					x.RequireCleanFiles()
				}
			}
		})
	}
}

// shiftClock makes snapshots and files look as if a host with another time had written them.
func shiftClock(t *testing.T, x *testkit.Table, by time.Duration) {
	names, err := filepath.Glob(filepath.Join(x.Path(), "snapshot", "snapshot-*"))
	require.NoError(t, err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		var s struct {
			Time int64 `json:"timeMillis"`
		}
		require.NoError(t, json.Unmarshal(b, &s))
		b = bytes.Replace(b, fmt.Appendf(nil, `"timeMillis" : %d`, s.Time), fmt.Appendf(nil, `"timeMillis" : %d`, s.Time+by.Milliseconds()), 1)
		require.NoError(t, os.WriteFile(name, b, 0o644))
	}
	age(t, x, -by)
	shifted := time.UnixMilli(x.Snapshots()[0].TimeMillis)
	require.Greater(t, time.Since(shifted).Abs(), by.Abs()/2, "the time is another")
}

// TestServiceOutlivesItsTables drops, makes anew, moves away and brings back the tables of a running service.
func TestServiceOutlivesItsTables(t *testing.T) {
	warehouse := filepath.Join(t.TempDir(), "w")
	other := testkit.CreateTable(t, warehouse, "d", "other", nil)
	p := testkit.Run(t, "paimon-go-compact", []string{"compact_database", "--warehouse", warehouse})
	fill := func(x *testkit.Table, user string) *testkit.RowWriter {
		w := x.Writer(user, true)
		trickle(w, 0, 10, 500)
		w.Close()
		return w
	}
	w := fill(other, "first")
	drained(t, other)
	other.RequireRows(w.Rows())

	// A table comes, goes and comes again with other rows and buckets.
	for i, buckets := range []string{"1", "3"} {
		x := testkit.CreateTable(t, warehouse, "d", "t", map[string]string{"bucket": buckets})
		w := fill(x, "second")
		drained(t, x)
		x.RequireRows(w.Rows())
		x.RequireClean()
		if i == 0 {
			require.NoError(t, os.RemoveAll(x.Path()))
		}
	}

	// The whole storage is away for a while, with work to do when it is back.
	away := setting(t, "PAIMON_GO_TEST_AWAY_SECONDS", 4)
	v := other.Writer("third", true)
	trickle(v, 100, 7, 500)
	v.Close()
	require.NoError(t, os.Rename(warehouse, warehouse+".away"))
	time.Sleep(time.Duration(away) * time.Second) // the outage
	require.True(t, p.Running(), p.Output())
	require.NoError(t, os.Rename(warehouse+".away", warehouse))
	u := other.Writer("fourth", true)
	trickle(u, 200, 12, 500)
	u.Close()
	drained(t, other)
	other.RequireClean()
	stopCompactor(t, p)
}

// TestSchemaChangesUnderTheService adds and widens columns by the sink and Java's ALTER while the service compacts.
func TestSchemaChangesUnderTheService(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.InsertRows("s", 0, 500, 100, wideRow)
	j := testkit.NewJob(t, db, "s")
	j.Interval = "100ms"
	sink := j.Start()
	sink.WaitCaughtUp()
	p := j.At().Compactor("compact")
	for i := range 4 {
		db.Exec(fmt.Sprintf("ALTER TABLE s ADD COLUMN c%d INT", i))
		for k := range 8 {
			db.Exec(fmt.Sprintf("UPDATE s SET c%d = id * %d WHERE id %% 8 = %d", i, i+1, k))
			sink.WaitCaughtUp()
		}
	}
	sink.Stop()
	drained(t, j.At())
	stopCompactor(t, p)
	require.Positive(t, compactions(j.At()))
	j.RequireJava(db.Rows("s"))
	newest := j.At().Open().Schema().ID
	require.EqualValues(t, 4, newest)
	j.At().Compact("compact", "--once")
	for _, files := range j.At().Live() {
		for i := range files {
			require.Equal(t, newest, files[i].SchemaID, "a full compaction writes the newest schema")
		}
	}
	j.RequireJava(db.Rows("s"))
}

// TestSnapshotsExpireUnderTheService expires all but the newest snapshot by Java and by us, again and again, while the service
// works.
func TestSnapshotsExpireUnderTheService(t *testing.T) {
	x := testkit.CreateTable(t, t.TempDir(), "d", "t", map[string]string{"bucket": "4"})
	w := x.Writer("writer", true)
	w.Put(0, "first")
	w.Commit()
	p := x.Compactor("compact")
	for round := range 6 {
		trickle(w, round*10, 10, 3000)
		if round%2 == 0 {
			x.Java(testkit.JavaVersions[0], "expire", "--retain-max", "1", "--retain-min", "1", "--older-than-ms", "0")
		} else {
			x.Compact("expire_snapshots", "--retain-max", "1", "--retain-min", "1")
		}
	}
	w.Close()
	drained(t, x)
	stopCompactor(t, p)
	x.RequireRows(w.Rows())
	x.RequireCleanFiles()
	require.NotContains(t, strings.ToLower(p.Output()), "corrupt")
	var kinds []table.CommitKind
	for _, s := range x.Snapshots() {
		kinds = append(kinds, s.CommitKind)
	}
	t.Logf("%d snapshots are left: %v", len(kinds), kinds)
}
