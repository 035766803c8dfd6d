package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"

	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// replay runs mysql_sync_table on the demo's recording and returns what it printed.
func replay(t *testing.T, code int, warehouse string, args ...string) string {
	logs := filepath.Join(warehouse, "binlog")
	require.NoError(t, os.MkdirAll(logs, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(logs, "binlog.000001"), recording, 0o644))
	var out bytes.Buffer
	all := []string{"mysql_sync_table", "--warehouse", warehouse, "--mysql_conf", "binlog-dir=" + logs, "--mysql_conf", "database-name=shop", "--mysql_conf", "table-name=orders"}
	if !slices.Contains(args, "--database") {
		all = append(all, "--database", "d")
	}
	if !slices.Contains(args, "--table") {
		all = append(all, "--table", "t")
	}
	require.Equal(t, code, run(append(all, args...), &out, &out), "%v\n%s", args, &out)
	return out.String()
}

func openTable(t *testing.T, warehouse string) *table.Table {
	tab, err := table.Open(context.Background(), local.FS{}, filepath.Join(warehouse, "d.db", "t"), nil)
	require.NoError(t, err)
	return tab
}

func countRows(t *testing.T, warehouse string) (n int) {
	tab := openTable(t, warehouse)
	last, err := tab.Latest(context.Background())
	require.NoError(t, err)
	for b, err := range lsm.Scan(context.Background(), tab, last, lsm.ScanOptions{}) {
		require.NoError(t, err)
		n += b.N
	}
	return n
}

var fixedBucket = []string{"--table_conf", "bucket=2", "--table_conf", "write-only=true"}

func with(args ...string) []string { return append(slices.Clone(fixedBucket), args...) }

// A column outside of the primary key may partition the table: a row that changes it moves, and isn't there twice.
func TestRowsMoveBetweenPartitionsOutsideTheKey(t *testing.T) {
	inKey, outside := t.TempDir(), t.TempDir()
	replay(t, 0, inKey, with("--primary_keys", "day,id", "--partition_keys", "day")...)
	replay(t, 0, outside, with("--primary_keys", "day,id", "--partition_keys", "status")...)
	require.Equal(t, countRows(t, inKey), countRows(t, outside))
}

func TestRefusedOptionsLeaveTheTableAsItWas(t *testing.T) {
	w := t.TempDir()
	replay(t, 0, w, fixedBucket...)
	for _, o := range []string{"file.format=orc", "manifest.format=orc"} {
		require.Contains(t, replay(t, cli.ExitUsage, w, "--table_conf", o), strings.SplitN(o, "=", 2)[0])
		require.Equal(t, int64(0), openTable(t, w).Schema().ID, o)
	}
	replay(t, 0, w)
}

func TestDamagedTablesAreCorrupt(t *testing.T) {
	for _, lost := range []string{"schema/schema-0", "manifest/manifest-list-*", "manifest/manifest-[!l]*"} {
		w := t.TempDir()
		replay(t, 0, w, fixedBucket...)
		files, err := filepath.Glob(filepath.Join(w, "d.db", "t", lost))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, f := range files {
			require.NoError(t, os.Remove(f))
		}
		replay(t, cli.ExitCorrupt, w, fixedBucket...)
		files, err = filepath.Glob(filepath.Join(w, "d.db", "t", lost))
		require.NoError(t, err)
		require.Empty(t, files, "nothing is made in its place")
	}
}

// A directory in the place of the next snapshot, or a file in that of a bucket, has words of its own.
func TestWhatLiesInTheWayIsTold(t *testing.T) {
	w := t.TempDir()
	replay(t, 0, w, fixedBucket...)
	latest, err := openTable(t, w).Latest(t.Context())
	require.NoError(t, err)
	next := filepath.Join(w, "d.db", "t", "snapshot", fmt.Sprint("snapshot-", latest.ID+1))
	require.NoError(t, os.Mkdir(next, 0o700))
	out := replay(t, cli.ExitStorage, w, "--table_conf", "commit.user-prefix=other")
	require.Contains(t, out, "a directory lies at "+next)
	require.Contains(t, out, "exit 7: something else lies at a path named above")
	require.NoError(t, os.Remove(next))
	replay(t, 0, w, "--table_conf", "commit.user-prefix=other")

	buckets, err := filepath.Glob(filepath.Join(w, "d.db", "t", "*bucket-*"))
	require.NoError(t, err)
	require.NotEmpty(t, buckets)
	for _, b := range buckets {
		require.NoError(t, os.RemoveAll(b))
		require.NoError(t, os.WriteFile(b, nil, 0o600))
	}
	out = replay(t, cli.ExitStorage, w, "--table_conf", "commit.user-prefix=third")
	require.Contains(t, out, "a file lies at "+filepath.Join(w, "d.db", "t", "bucket-")) // whichever is written first
}

// Without its position, a job reads everything again and can't know what to delete.
func TestFirstStartWarnsOfRows(t *testing.T) {
	const warning = "no position of this job"
	w := t.TempDir()
	require.NotContains(t, replay(t, 0, w, fixedBucket...), warning)
	require.NotContains(t, replay(t, 0, w, fixedBucket...), warning)
	require.Contains(t, replay(t, 0, w, "--table_conf", "commit.user-prefix=other"), warning)
}

// What a start is refused for is found before its --table_conf gets into the table, where the running job would find it.
func TestARefusedStartLeavesTheTableAsItIs(t *testing.T) {
	w := t.TempDir()
	replay(t, 0, w) // dynamic buckets
	before := openTable(t, w).Schema()
	replay(t, cli.ExitUsage, w, "--table_conf", "snapshot.num-retained.min=3", "--table_conf", "write-only=false", "--compaction_memory", "1gb")
	require.Equal(t, before, openTable(t, w).Schema())

	running, err := writer.Open(t.Context(), openTable(t, w), writer.Config{CommitUser: "running"})
	require.NoError(t, err)
	replay(t, cli.ExitFenced, w, "--table_conf", "commit.user-prefix=other")
	require.Equal(t, before, openTable(t, w).Schema())
	require.NoError(t, running.Close(t.Context()))
	replay(t, 0, w, "--table_conf", "commit.user-prefix=other")
}

func TestWrongArgumentsAreUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--table", "../t"}, {"--table", "."}, {"--database", ".."}, {"--table", "a/b"}, {"--table", "t$files"}, {"--table", strings.Repeat("x", 300)},
		{"--primary_keys", "day,id,day"}, {"--primary_keys", "day", "--partition_keys", "day"}, {"--primary_keys", "nope"},
		{"--table_conf", "file.compression=foo"}, {"--table_conf", "file.format=avro", "--table_conf", "file.compression=foo"},
		{"--table_conf", "file.format=orc"},
	} {
		w := t.TempDir()
		replay(t, cli.ExitUsage, w, with(args...)...)
		dirs, err := filepath.Glob(filepath.Join(w, "*.db", "*", "snapshot", "*"))
		require.NoError(t, err)
		require.Empty(t, dirs, args)
	}
}

func TestDemoCompactsBesideTheSink(t *testing.T) {
	var out, errs bytes.Buffer
	dir := t.TempDir()
	require.Equal(t, 0, run([]string{"demo", "--dir", dir, "--rows_per_second", "8000"}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "8880 rows are in the table")
	require.Regexp(t, `(?m)^day=2026-01-02 +1 +[123] `, out.String())
	require.Equal(t, cli.ExitUsage, run([]string{"demo", "--dir", dir, "--rows_per_second", "0"}, &out, &errs))
}

func TestTheLogNamesWhatIsAltered(t *testing.T) {
	changes := []table.SchemaChange{
		{Kind: table.AddColumn, Column: "c"}, {Kind: table.SetOption, Key: "bucket", Value: "2"}, {Kind: table.SetOption, Key: "changelog-producer", Value: "none"},
	}
	require.Equal(t, "column c, bucket=2, changelog-producer=none (was input)", describe(changes, table.Options{"changelog-producer": "input"}))
}
