//go:build integration

package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// TestStartupModes starts at each kind of place: rows 1-10 are before it, 11-20 after.
func TestStartupModes(t *testing.T) {
	for _, c := range []struct {
		name, mode string
		all        bool // rows before the place are in the table too
		set        func(j *testkit.Job, gtid, file, pos string, at time.Time)
	}{
		{name: "initial", mode: "initial", all: true},
		{name: "earliest", mode: "earliest-offset", all: true},
		{name: "latest", mode: "latest-offset"},
		{name: "file", mode: "specific-offset", set: func(j *testkit.Job, _, file, pos string, _ time.Time) {
			j.Set("scan.startup.specific-offset.file", file).Set("scan.startup.specific-offset.pos", pos)
		}},
		{name: "gtid", mode: "specific-offset", set: func(j *testkit.Job, gtid, _, _ string, _ time.Time) {
			j.Set("scan.startup.specific-offset.gtid-set", gtid)
		}},
		{name: "timestamp", mode: "timestamp", set: func(j *testkit.Job, _, _, _ string, at time.Time) {
			j.Set("scan.startup.timestamp-millis", fmt.Sprint(at.UnixMilli()))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := testkit.MySQL(t).Database(t)
			db.Exec(wide)
			if c.mode == "earliest-offset" {
				db.Exec("FLUSH BINARY LOGS") // so that the rows are not in the newest file
			}
			db.InsertRows("s", 1, 11, 3, wideRow)
			gtid := db.Server.End(t)
			file, pos := db.FilePos()
			time.Sleep(5 * time.Millisecond) // the time is compared in milliseconds
			at := time.Now()
			j := testkit.NewJob(t, db, "s").Set("scan.startup.mode", c.mode)
			if c.set != nil {
				c.set(j, gtid, file, pos, at)
			}
			if c.mode != "latest-offset" {
				db.InsertRows("s", 11, 16, 2, wideRow)
			}
			p := j.Start()
			p.Until(30*time.Second, "the stream", func() bool { return strings.Contains(p.Output(), "following the log") })
			db.InsertRows("s", 16, 21, 1, wideRow)
			if c.mode == "latest-offset" {
				db.InsertRows("s", 11, 16, 2, wideRow)
			}
			p.WaitCaughtUp()
			p.Kill()
			p = j.Start() // the mode no longer matters
			db.InsertRows("s", 21, 26, 5, wideRow)
			p.WaitCaughtUp()
			p.Stop()
			if !c.all {
				db.Exec("DELETE FROM s WHERE id < 11")
			}
			j.RequireJava(db.Rows("s"))
			saved, ok := j.Saved()
			require.True(t, ok)
			require.NotEmpty(t, saved.GTID, "the position has all transactions, also after a start at a file")
		})
	}
}

// TestLatestStaysWhatItWas ends a job before its first commit: what changes until the next start is not lost.
func TestLatestStaysWhatItWas(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	j := testkit.NewJob(t, db, "s").Set("scan.startup.mode", "latest-offset")
	j.Interval = "1h"
	p := j.Start()
	p.Until(30*time.Second, "the stream", func() bool { return strings.Contains(p.Output(), "following the log") })
	db.InsertRows("s", 0, 10, 5, wideRow)
	p.Kill()
	db.InsertRows("s", 10, 20, 5, wideRow)
	j.RunToLatest()
	j.RequireJava(db.Rows("s"))
}

func TestSnapshotModeEnds(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.InsertRows("s", 0, 2000, 500, wideRow)
	j := testkit.NewJob(t, db, "s").Set("scan.startup.mode", "snapshot")
	require.Equal(t, 0, j.Start().Wait(time.Minute))
	j.RequireJava(db.Rows("s"))
	db.InsertRows("s", 2000, 2010, 10, wideRow)
	require.Equal(t, 0, j.Start().Wait(time.Minute))
	j.RequireJava(db.Rows("s"))
}

// TestTakeOverAndHandBack takes a table over that Java filled up to a GTID, and lets Java go on.
func TestTakeOverAndHandBack(t *testing.T) {
	for i, v := range testkit.JavaVersions {
		t.Run(v, func(t *testing.T) {
			db := testkit.MySQL(t).Database(t)
			db.Exec("CREATE TABLE s (id BIGINT, data VARCHAR(50), dt VARCHAR(10), PRIMARY KEY (id, dt))")
			j := testkit.NewJob(t, db, "s").With("--partition_keys", "dt", "--primary_keys", "dt,id")
			spec := `{"fields":[{"name":"id","type":"BIGINT NOT NULL"},{"name":"data","type":"VARCHAR(50)"},{"name":"dt","type":"VARCHAR(10) NOT NULL"}],` +
				`"partitionKeys":["dt"],"primaryKeys":["dt","id"],"options":{"bucket":"2","write-only":"true","file.format":"` + []string{"parquet", "avro"}[i] + `"}}`
			j.Java(v, "create", "--spec", spec)
			insert := func(from, to int) {
				db.InsertRows("s", from, to, 10, func(i int) string { return fmt.Sprintf("%d,'row %d','d%d'", i, i, i%3) })
			}
			insert(0, 100)
			javaWrites(t, j, v, db.Rows("s"))
			j.Set("scan.startup.mode", "specific-offset").Set("scan.startup.specific-offset.gtid-set", db.Server.End(t))
			db.Exec("UPDATE s SET data = 'changed' WHERE id < 30")
			db.Exec("DELETE FROM s WHERE id BETWEEN 50 AND 59")
			p := j.Start()
			insert(100, 150)
			p.WaitCaughtUp()
			p.Stop()
			require.NotContains(t, p.Output(), "reading the table")
			j.RequireJava(db.Rows("s"))
			db.Exec("UPDATE s SET data = 'by Flink again' WHERE id < 20")
			javaWrites(t, j, v, db.Rows("s"))
			j.Java(v, "compact", "--full")
			j.RequireJava(db.Rows("s"))
			j.RequirePython(db.Rows("s"))
		})
	}
}

// javaWrites upserts rows by Java.
func javaWrites(t *testing.T, j *testkit.Job, version string, rows []string) {
	path := t.TempDir() + "/rows"
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(`{"_kind":"+I",` + r[1:] + "\n")
	}
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	j.Java(version, "write", "--input", path, "--commit-user", "flink")
}

func TestMariaDB(t *testing.T) {
	db := testkit.MariaDB(t).Database(t)
	db.Exec("CREATE TABLE s (id BIGINT UNSIGNED, name VARCHAR(40) CHARACTER SET latin1, d DECIMAL(20,5), ts TIMESTAMP(3) NULL, e ENUM('a','b'), dt DATE, PRIMARY KEY (id))")
	row := func(i int) string {
		return fmt.Sprintf("%d,'né %d',%d.5,'2024-01-02 03:04:05.%03d','%c','2024-02-%02d'", i, i, i, i%1000, 'a'+rune(i%2), 1+i%28)
	}
	db.InsertRows("s", 0, 20_000, 2000, row)
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	for i := range 50 {
		db.Txn(fmt.Sprintf("UPDATE s SET d = d + 1 WHERE id BETWEEN %d AND %d", i*10, i*10+5), fmt.Sprintf("DELETE FROM s WHERE id = %d", i*10+7),
			"INSERT INTO s VALUES ("+row(30_000+i)+")")
	}
	p.WaitCaughtUp()
	p.Kill()
	db.Exec("ALTER TABLE s ADD COLUMN x INT")
	db.Exec("UPDATE s SET x = id WHERE id < 100")
	p = j.Start()
	db.Exec("UPDATE s SET name = 'last' WHERE id = 1")
	p.WaitCaughtUp()
	p.Stop()
	require.NotContains(t, p.Output(), "reading the table")
	j.RequireJava(db.Rows("s"))

	c := db.Session()
	p = j.Start()
	p.Until(20*time.Second, "the stream", func() bool { return strings.Contains(p.Output(), "following the log") })
	c.Exec("XA START 'x" + db.Name + "'")
	c.Exec("INSERT INTO s (id) VALUES (999999)")
	c.Exec("XA END 'x" + db.Name + "'")
	c.Exec("XA PREPARE 'x" + db.Name + "'")
	c.Exec("XA ROLLBACK 'x" + db.Name + "'")
	p.RequireExit(5, "XA transaction")
}
