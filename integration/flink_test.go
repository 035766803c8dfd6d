//go:build integration

package integration

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/table"
)

// The tables in testdata/flink were written by Flink 1.20.1, Flink CDC 3.5.0 and Paimon 1.3.1's mysql_sync_table from what
// tables.sql and before.sql make: rows up to 99 by its snapshot, the others from the binlog. overlap.sql ran before the
// job was stopped, so Flink has applied it too.

// flinkTables gives the MySQL tables as they were when the position was noted, and Flink's warehouse.
func flinkTables(t *testing.T) (db *testkit.DB, warehouse string) {
	db = testkit.MySQL(t).Database(t)
	runFile(t, db, "tables.sql")
	runFile(t, db, "before.sql")
	warehouse = t.TempDir()
	f, err := os.Open(filepath.Join("testdata", "flink", "warehouse.tar.gz"))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return db, warehouse
		}
		require.NoError(t, err)
		path := filepath.Join(warehouse, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, b, 0o600))
	}
}

func runFile(t *testing.T, db *testkit.DB, name string) {
	b, err := os.ReadFile(filepath.Join("testdata", "flink", name))
	require.NoError(t, err)
	for q := range strings.SplitSeq(string(b), ";\n") {
		if q = strings.TrimSpace(q); q != "" {
			db.Exec(q)
		}
	}
}

// flinkJobs are the commands that made the tables: the Paimon table's name and the job.
func flinkJobs(t *testing.T, db *testkit.DB, warehouse string) map[string]*testkit.Job {
	jobs := map[string]*testkit.Job{"types": testkit.NewJob(t, db, "types"),
		"types_m":           testkit.NewJob(t, db, "types").With("--type_mapping", "to-nullable,tinyint1-not-bool"),
		"mysql_sync_paimon": testkit.NewJob(t, db, "mysql_sync_paimon").With("--primary_keys", "dt,id", "--partition_keys", "dt", "--type_mapping", "to-nullable,tinyint1-not-bool")}
	for name, j := range jobs {
		j.Table, j.Conf = name, map[string]string{"bucket": "4", "write-only": "true"}
		if warehouse != "" {
			j.Warehouse, j.Database = warehouse, "flinkx"
		}
	}
	return jobs
}

func TestSchemasAreThoseOfFlink(t *testing.T) {
	db, warehouse := flinkTables(t)
	flink := flinkJobs(t, db, warehouse)
	for name, ours := range flinkJobs(t, db, "") {
		ours.RunToLatest()
		want, have := flink[name].Open().Schema(), ours.Open().Schema()
		require.Equal(t, want.Fields, have.Fields, name)
		require.Equal(t, want.HighestFieldID, have.HighestFieldID, name)
		require.Equal(t, want.PrimaryKeys, have.PrimaryKeys, name)
		require.Equal(t, want.PartitionKeys, have.PartitionKeys, name)
		require.Equal(t, want.Options, have.Options, name)
		require.Equal(t, want.Comment, have.Comment, name)
		require.Equal(t, want.Version, have.Version, name)
	}
}

// TestTakeOverOfFlinksTables starts at a position that Flink had passed when it was stopped.
func TestTakeOverOfFlinksTables(t *testing.T) {
	db, warehouse := flinkTables(t)
	position := db.Server.End(t)
	file := db.Exec("SHOW BINARY LOG STATUS")
	runFile(t, db, "overlap.sql")
	// Values that Flink converts otherwise (docs/operating.md) are written anew.
	db.Exec("UPDATE types SET i = 77 WHERE id % 100 BETWEEN 1 AND 5 OR id = 108")
	db.Exec("INSERT INTO types (id, k2, c10) VALUES (9, 'new', '')")
	db.Exec("UPDATE types SET k2 = 'moved' WHERE id IN (0, 100)")
	db.Exec("UPDATE mysql_sync_paimon SET data = 'taken over' WHERE id % 17 = 0")
	db.Exec("UPDATE mysql_sync_paimon SET dt = '2024-03-01' WHERE id % 19 = 0")
	db.Exec("DELETE FROM mysql_sync_paimon WHERE id % 23 = 0")
	jobs, fresh := flinkJobs(t, db, warehouse), flinkJobs(t, db, "")
	for name, j := range jobs {
		j.Set("scan.startup.mode", "specific-offset")
		if name == "types_m" {
			logFile, _ := file.GetString(0, 0)
			pos, _ := file.GetString(0, 1)
			j.Set("scan.startup.specific-offset.file", logFile).Set("scan.startup.specific-offset.pos", pos)
		} else {
			j.Set("scan.startup.specific-offset.gtid-set", position)
		}
		before, err := table.Open(t.Context(), local.FS{}, j.Path(), nil)
		require.NoError(t, err)
		newest, err := before.Latest(t.Context())
		require.NoError(t, err)
		p := j.RunToLatest()
		require.NotContains(t, p.Output(), "reading the table")
		require.Equal(t, newest.ID+1, j.Latest(), name)
		fresh[name].RunToLatest()
		for _, v := range testkit.JavaVersions {
			require.Equal(t, fresh[name].JavaRows(v), j.JavaRows(v), "%s, Java %s", name, v)
		}
	}
	require.Equal(t, db.Rows("mysql_sync_paimon"), jobs["mysql_sync_paimon"].JavaRows(testkit.JavaVersions[0]))
}
