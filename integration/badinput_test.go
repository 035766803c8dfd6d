//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

func TestBadSource(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.InsertRows("s", 0, 10, 10, wideRow)
	db.Exec("CREATE TABLE nokey (id INT, a INT)")
	db.Exec("CREATE TABLE geo (id INT PRIMARY KEY, a INT)")
	user, password := db.NewUser("")
	db.Exec("REVOKE REPLICATION SLAVE ON *.* FROM '" + user + "'@'%'")
	for _, c := range []struct {
		name  string
		set   func(j *testkit.Job)
		code  int
		texts []string
	}{
		{"wrong password", func(j *testkit.Job) { j.Set("password", "hunter2") }, 3, []string{"Access denied"}},
		{"no server", func(j *testkit.Job) { j.Set("port", "1").Set("connect.max-retries", "1").Set("connect.timeout", "1s") }, 3, []string{"127.0.0.1:1"}},
		{"missing grant", func(j *testkit.Job) { j.Set("username", user).Set("password", password) }, 3, []string{"REPLICATION SLAVE", "GRANT"}},
		{"no table", func(j *testkit.Job) { j.Set("table-name", "nosuch") }, 3, []string{"nosuch"}},
		{"no key", func(j *testkit.Job) { j.Set("table-name", "nokey") }, 2, []string{"primary key", "--primary_keys"}},
		{"purged file", func(j *testkit.Job) {
			j.Set("scan.startup.mode", "specific-offset").Set("scan.startup.specific-offset.file", "binlog.000000")
		}, 6, []string{"binlog.000000"}},
		{"misspelt setting", func(j *testkit.Job) { j.Set("scan.startup.mod", "initial") }, 2, []string{"did you mean scan.startup.mode"}},
		{"unknown mode", func(j *testkit.Job) { j.Set("scan.startup.mode", "latest") }, 2, []string{"latest-offset"}},
		{"zone", func(j *testkit.Job) { j.Set("server-time-zone", "CST") }, 2, []string{"CST", "server-time-zone"}},
		{"patterns", func(j *testkit.Job) { j.Set("table-name", "s.*") }, 2, []string{"patterns"}},
		{"events to skip", func(j *testkit.Job) {
			j.Set("scan.startup.mode", "specific-offset").Set("scan.startup.specific-offset.gtid-set", db.Server.End(t)).Set("scan.startup.specific-offset.skip-events", "3")
		}, 2, []string{"skip-events"}},
		{"computed column", func(j *testkit.Job) { j.With("--computed_column", "d=year(dt)") }, 2, []string{"computed_column"}},
		{"type mapping", func(j *testkit.Job) { j.With("--type_mapping", "to-nothing") }, 2, []string{"to-nothing"}},
		{"inline compaction with 64-bit vectors", func(j *testkit.Job) {
			j.Conf["write-only"], j.Conf["deletion-vectors.enabled"], j.Conf["deletion-vectors.bitmap64"] = "false", "true", "true"
		}, 2, []string{"write-only", "deletion-vectors.bitmap64"}},
		{"near option", func(j *testkit.Job) { j.Conf["buckets"] = "4" }, 2, []string{"bucket"}},
		{"option without a known prefix", func(j *testkit.Job) { j.Conf["quux.frob"] = "4" }, 2, []string{"quux.frob"}},
		{"bad size", func(j *testkit.Job) { j.Conf["write-buffer-size"] = "lots" }, 2, []string{"write-buffer-size"}},
		{"key column", func(j *testkit.Job) { j.With("--primary_keys", "nosuch") }, 2, []string{"nosuch"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := testkit.NewJob(t, db, "s")
			c.set(j)
			p := j.RequireExit(c.code, c.texts...)
			require.NotContains(t, p.Output(), "hunter2")
			require.NotContains(t, p.Output(), password)
			require.Zero(t, j.Latest())
		})
	}
	// An unknown key of Paimon's is a warning: a newer version may know it.
	j := testkit.NewJob(t, db, "s")
	j.Conf["scan.some-new-thing"] = "1"
	require.Contains(t, j.RunToLatest().Output(), "scan.some-new-thing")
}

func TestPurgedTransactions(t *testing.T) {
	replica := testkit.Replica(t)
	main := testkit.MySQL(t).Database(t)
	main.Exec(wide)
	main.InsertRows("s", 0, 10, 10, wideRow)
	end := main.Server.End(t)
	testkit.Until(t, 5*time.Minute, "the replica", func() bool { return testkit.Contains(t, replica, end) })
	j := testkit.NewJob(t, &testkit.DB{Conn: main.Conn, Server: replica, Name: main.Name}, "s")
	j.RunToLatest()
	main.InsertRows("s", 10, 20, 10, wideRow)
	end = main.Server.End(t)
	testkit.Until(t, 5*time.Minute, "the replica", func() bool { return testkit.Contains(t, replica, end) })
	c := replica.Connect(t, "")
	c.Exec("FLUSH BINARY LOGS")
	file, _ := c.FilePos()
	c.Exec("PURGE BINARY LOGS TO '" + file + "'")
	before := j.Latest()
	j.RequireExit(6, "purged", "scan.startup.mode")
	require.Equal(t, before, j.Latest())
}

// TestServersWithoutRowLogs changes settings of MariaDB for a moment.
func TestServersWithoutRowLogs(t *testing.T) {
	db := testkit.MariaDB(t).Database(t)
	db.Exec(wide)
	for _, c := range []struct{ name, value, back, text string }{
		{"binlog_format", "MIXED", "ROW", "binlog_format is MIXED"},
		{"binlog_row_image", "MINIMAL", "FULL", "binlog_row_image is MINIMAL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db.Exec("SET GLOBAL " + c.name + " = '" + c.value + "'")
			defer db.Exec("SET GLOBAL " + c.name + " = '" + c.back + "'")
			testkit.NewJob(t, db, "s").RequireExit(3, c.text, "remedy")
			p := testkit.NewJob(t, db, "s").CheckSource()
			require.Equal(t, 3, p.Wait(time.Minute))
			require.Contains(t, p.Output(), c.text)
		})
	}
}

// TestLogWithoutColumnNames follows a log that doesn't name its columns (MariaDB's default).
func TestLogWithoutColumnNames(t *testing.T) {
	db := testkit.MariaDB(t).Database(t)
	db.Exec("SET GLOBAL binlog_row_metadata = 'NO_LOG'")
	t.Cleanup(func() { db.Exec("SET GLOBAL binlog_row_metadata = 'FULL'") })
	db.Exec("CREATE TABLE s (id INT UNSIGNED PRIMARY KEY, name VARCHAR(20) CHARACTER SET latin1, e ENUM('x','y'))")
	db.Exec("INSERT INTO s VALUES (4000000000, 'né', 'y')")
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	w := db.Session() // the setting holds for new sessions
	w.Exec("INSERT INTO s VALUES (4000000001, 'nö', 'x')")
	w.Exec("ALTER TABLE s ADD COLUMN n SMALLINT UNSIGNED")
	w.Exec("INSERT INTO s VALUES (4000000002, 'nü', 'y', 65535)")
	p.WaitCaughtUp()
	p.Kill()
	w.Exec("INSERT INTO s VALUES (4000000003, 'nä', 'y', 40000)")
	w.Exec("ALTER TABLE s ADD COLUMN m TINYINT UNSIGNED")
	w.Exec("INSERT INTO s VALUES (4000000004, 'nß', 'y', 40000, 200)")
	p = j.Start()
	p.WaitCaughtUp()
	p.Stop()
	j.RequireJava(db.Rows("s"))
}

func TestBadTable(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id INT, a VARCHAR(20), dt VARCHAR(10), PRIMARY KEY (id, dt))")
	db.Exec("INSERT INTO s VALUES (1, 'x', 'd1'), (2, 'y', 'd2')")
	made := func(t *testing.T) *testkit.Job {
		j := testkit.NewJob(t, db, "s")
		j.RunToLatest()
		db.Exec("UPDATE s SET a = CONCAT(a, '.')")
		j.RunToLatest()
		return j
	}
	newest := func(t *testing.T, j *testkit.Job, pattern string) string {
		files, err := filepath.Glob(filepath.Join(j.Path(), pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		slices.SortFunc(files, func(a, b string) int {
			x, errx := os.Stat(a)
			y, erry := os.Stat(b)
			require.NoError(t, errx)
			require.NoError(t, erry)
			return x.ModTime().Compare(y.ModTime())
		})
		return files[len(files)-1]
	}
	edit := func(t *testing.T, path string, f func([]byte) []byte) {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, f(b), 0o600))
	}
	truncate := func(b []byte) []byte { return b[:len(b)/2] }
	flip := func(b []byte) []byte { b[len(b)-30] ^= 0x40; return b } // in the last block, before its end mark
	version := func(b []byte) []byte { return bytes.Replace(b, []byte(`"version" : 3`), []byte(`"version" : 99`), 1) }
	for _, c := range []struct {
		name string
		do   func(t *testing.T, j *testkit.Job)
		code int
		text string
	}{
		{"changed bucket", func(_ *testing.T, j *testkit.Job) { j.Conf["bucket"] = "3" }, 2, "bucket"},
		{"changed key", func(_ *testing.T, j *testkit.Job) { j.With("--primary_keys", "id") }, 2, "primary key"},
		{"changed partitions", func(_ *testing.T, j *testkit.Job) { j.With("--partition_keys", "dt") }, 2, "partition"},
		{"truncated schema", func(t *testing.T, j *testkit.Job) { edit(t, newest(t, j, "schema/schema-0"), truncate) }, 4, "schema-0"},
		{"newer schema", func(t *testing.T, j *testkit.Job) { edit(t, newest(t, j, "schema/schema-0"), version) }, 4, "schema-0"},
		{"truncated snapshot", func(t *testing.T, j *testkit.Job) { edit(t, newest(t, j, "snapshot/snapshot-2"), truncate) }, 4, "snapshot-2"},
		{"newer snapshot", func(t *testing.T, j *testkit.Job) { edit(t, newest(t, j, "snapshot/snapshot-2"), version) }, 4, "snapshot-2"},
		{"truncated manifest list", func(t *testing.T, j *testkit.Job) { edit(t, newest(t, j, "manifest/manifest-list-*"), truncate) }, 4, "manifest-list-"},
		{"flipped manifest list", func(t *testing.T, j *testkit.Job) { edit(t, newest(t, j, "manifest/manifest-list-*"), flip) }, 4, "manifest-list-"},
		{"flipped manifest", func(t *testing.T, j *testkit.Job) {
			list, err := filepath.Glob(filepath.Join(j.Path(), "manifest/manifest-*"))
			require.NoError(t, err)
			for _, f := range list {
				if !strings.Contains(f, "manifest-list-") {
					edit(t, f, flip)
				}
			}
			j.Conf["manifest.merge-min-count"] = "2" // the next commit reads them
		}, 4, "manifest-"},
		{"a file for a table", func(t *testing.T, j *testkit.Job) {
			require.NoError(t, os.RemoveAll(j.Path()))
			require.NoError(t, os.WriteFile(j.Path(), nil, 0o600))
		}, 7, "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := made(t)
			before := files(t, j.Path()+"/snapshot")
			c.do(t, j)
			db.Exec("UPDATE s SET a = CONCAT(a, '!')")
			j.RequireExit(c.code, c.text)
			if c.name != "a file for a table" {
				require.Equal(t, before, files(t, j.Path()+"/snapshot"), "no snapshot is made on it")
			}
		})
	}
	t.Run("source type changed", func(t *testing.T) {
		db := testkit.MySQL(t).Database(t)
		db.Exec("CREATE TABLE s (id INT PRIMARY KEY, a INT)")
		j := testkit.NewJob(t, db, "s")
		j.RunToLatest()
		db.Exec("ALTER TABLE s MODIFY a VARCHAR(10)")
		j.RequireExit(5, "column a")
	})
}

func files(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestFullDisk fills a small file system while rows come in. A job with little patience ends; it goes on when there is room again.
func TestFullDisk(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.InsertRows("s", 0, 1000, 500, wideRow)
	j := testkit.NewJob(t, db, "s")
	j.Conf["file.compression"] = "none"
	require.NoError(t, syscall.Mount("tmpfs", j.Warehouse, "tmpfs", 0, "size=3m"), "making a small file system")
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(j.Warehouse, 0)) })
	p := j.Start("--storage-patience", "5s")
	p.WaitCaughtUp()
	good := j.Latest()
	db.InsertRows("s", 1000, 60_000, 5000, wideRow) // more than there is room for, in one flush
	p.RequireExit(7, "no space left")
	j.RequireClean()
	require.GreaterOrEqual(t, j.Latest(), good)
	require.NoError(t, syscall.Mount("tmpfs", j.Warehouse, "tmpfs", syscall.MS_REMOUNT, "size=100m"))
	j.RunToLatest()
	records, _ := j.Appended()
	require.EqualValues(t, 60_000, records)
	j.RequireJava(db.Rows("s"))
}

func TestUnwritableWarehouse(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	j := testkit.NewJob(t, db, "s")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	j.Warehouse = file + "/warehouse"
	j.RequireExit(7, file)
}

func TestCheckSourceOfAGoodServer(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	p := testkit.NewJob(t, db, "s").CheckSource()
	require.Equal(t, 0, p.Wait(time.Minute), p.Output())
	require.Contains(t, p.Output(), "can be followed")
	dry := testkit.NewJob(t, db, "s").With("--dry_run")
	q := dry.Start()
	require.Equal(t, 0, q.Wait(time.Minute), q.Output())
	require.Contains(t, q.Output(), "nothing was written")
	require.NotContains(t, q.Output(), fmt.Sprint("password=", db.Server.Password))
	require.True(t, strings.Contains(q.Output(), "***"), q.Output())
	entries, err := os.ReadDir(dry.Warehouse)
	require.NoError(t, err)
	require.Empty(t, entries)
}
