package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// asProgram is the environment variable that makes the test binary the program, with arguments separated by spaces.
const asProgram = "PAIMON_GO_TEST_ARGUMENTS"

func TestMain(m *testing.M) {
	if args := os.Getenv(asProgram); args != "" {
		os.Exit(run(strings.Fields(args), os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// call runs the program and returns its output and what it wrote to stderr.
func call(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, code, run(args, &out, &errs), "%v\n%s%s", args, &out, &errs)
	return out.String(), errs.String()
}

// fill makes a table, unless it is there, and commits rows to two partitions and two buckets, each commit over the same keys.
func fill(t *testing.T, warehouse, database, name string, commits int, options table.Options) *table.Table {
	ctx := t.Context()
	fields, err := row.ParseType("ROW<dt STRING NOT NULL, id INT NOT NULL, v STRING>")
	require.NoError(t, err)
	path := table.TablePath(warehouse, database, name)
	tab, err := table.Create(ctx, local.FS{}, path, table.Spec{Fields: fields.Fields, PrimaryKeys: []string{"dt", "id"}, PartitionKeys: []string{"dt"},
		Options: table.Options{"bucket": "2", "write-only": "true"}.With(options)})
	require.NoError(t, err)
	w, err := writer.Open(ctx, tab, writer.Config{CommitUser: "test"})
	require.NoError(t, err)
	b := row.NewBatch(w.Type())
	for n := range commits {
		b.Reset()
		for id := range 40 {
			for _, dt := range []string{"2024-01-01", "2024-01-02"} {
				b.Cols[0].AppendString(dt)
				b.Cols[1].AppendI32(int32(id))
				b.Cols[2].AppendString(fmt.Sprintf("%d of commit %d", id, n))
				b.EndRow(row.Insert)
			}
		}
		require.NoError(t, w.Write(ctx, b))
		require.NoError(t, w.Checkpoint(ctx, int64(n+1), nil))
		require.NoError(t, w.Wait(ctx))
	}
	require.NoError(t, w.Close(ctx))
	return tab
}

// state is what a table holds: its rows in order of reading, and its files by level and partition.
func state(t *testing.T, tab *table.Table) (rows []string, files map[string]int) {
	ctx := context.Background()
	s, err := tab.Latest(ctx)
	require.NoError(t, err)
	for b, err := range lsm.Scan(ctx, tab, s, lsm.ScanOptions{}) {
		require.NoError(t, err)
		for i := range b.N {
			rows = append(rows, string(row.AppendJSONRow(nil, b, i, false)))
		}
	}
	files = map[string]int{}
	for e, err := range tab.Scan(ctx, s, table.Filter{}) {
		require.NoError(t, err)
		p, err := tab.PartitionPath(e.Partition)
		require.NoError(t, err)
		files[fmt.Sprintf("%s level %d", p, e.File.Level)]++
	}
	return rows, files
}

func place(w, database, name string) []string {
	return []string{"--warehouse", w, "--database", database, "--table", name}
}

func TestCompactOnce(t *testing.T) {
	w := t.TempDir()
	tab := fill(t, w, "d", "t", 3, nil)
	before, files := state(t, tab)
	require.Equal(t, 6, files["dt=2024-01-01 level 0"])
	out, _ := call(t, 0, append([]string{"compact", "--once", "--partition", "dt=2024-01-01"}, place(w, "d", "t")...)...)
	require.Contains(t, out, "d.t")
	rows, files := state(t, tab)
	require.ElementsMatch(t, before, rows)
	require.Equal(t, map[string]int{"dt=2024-01-01 level 5": 2, "dt=2024-01-02 level 0": 6}, files)
	call(t, 0, append([]string{"compact", "--once=true", "--where", "dt > '2024-01-01' and dt in ('2024-01-02', 'x')", "--compact_strategy", "full"}, place(w, "d", "t")...)...)
	rows, files = state(t, tab)
	require.ElementsMatch(t, before, rows)
	require.Equal(t, map[string]int{"dt=2024-01-01 level 5": 2, "dt=2024-01-02 level 5": 2}, files)
}

func TestMinorCompactsWhatIsDue(t *testing.T) {
	w := t.TempDir()
	few := fill(t, w, "d", "few", 3, nil)
	many := fill(t, w, "d", "many", 8, nil)
	out, _ := call(t, 0, "compact_database", "--once", "--compact_strategy", "minor", "--json", "--warehouse", w)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 2)
	for i, want := range []struct {
		name string
		jobs int64
	}{{"d.few", 0}, {"d.many", 4}} {
		var l doneLine
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &l))
		require.Equal(t, want.name, l.Table)
		require.Equal(t, want.jobs, l.Compactions)
	}
	_, files := state(t, few)
	require.Equal(t, 6, files["dt=2024-01-01 level 0"])
	_, files = state(t, many)
	require.Zero(t, files["dt=2024-01-01 level 0"])
}

func TestShardsShareTheBuckets(t *testing.T) {
	w := t.TempDir()
	tab := fill(t, w, "d", "t", 2, nil)
	before, _ := state(t, tab)
	n := int64(0)
	for shard := range 3 {
		out, _ := call(t, 0, append([]string{"compact", "--once", "--json", "--shard", fmt.Sprintf("%d/3", shard)}, place(w, "d", "t")...)...)
		var l doneLine
		require.NoError(t, json.Unmarshal([]byte(out), &l))
		n += l.Compactions
	}
	require.Equal(t, int64(4), n)
	rows, files := state(t, tab)
	require.ElementsMatch(t, before, rows)
	require.Equal(t, map[string]int{"dt=2024-01-01 level 5": 2, "dt=2024-01-02 level 5": 2}, files)
}

func TestDatabasesAreChosenByPatterns(t *testing.T) {
	w := t.TempDir()
	for _, n := range [][2]string{{"a", "t1"}, {"a", "t2"}, {"a", "tmp_x"}, {"b", "t1"}, {"c", "t1"}} {
		fill(t, w, n[0], n[1], 1, nil)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(w, "a.db", "no_table"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(w, "junk"), 0o755))
	for _, c := range []struct{ args, want string }{
		{"", "a.t1 a.t2 a.tmp_x b.t1 c.t1"},
		{"--including_databases a|b", "a.t1 a.t2 a.tmp_x b.t1"},
		{"--including_tables .*\\.t1", "a.t1 b.t1 c.t1"},
		{"--excluding_tables .*\\.tmp_.*", "a.t1 a.t2 b.t1 c.t1"},
		{"--including_tables a\\..* --excluding_tables .*t1", "a.t2 a.tmp_x"},
		{"--including_databases a --mode divided --including_tables t1", ""},
	} {
		out, _ := call(t, 0, append([]string{"compact-database", "--once", "--json", "--warehouse", w}, strings.Fields(c.args)...)...)
		var names []string
		for line := range strings.Lines(out) {
			var l doneLine
			require.NoError(t, json.Unmarshal([]byte(line), &l))
			names = append(names, l.Table)
		}
		require.Equal(t, c.want, strings.Join(names, " "), c.args)
	}
	for _, mode := range []string{"--once", "--dry_run"} {
		out, _ := call(t, 0, "compact_database", mode, "--warehouse", w, "--including_tables", "t1")
		require.Contains(t, out, "no table is chosen", mode)
	}
}

func TestDryRunSaysWhatAndWhyAndDoesNothing(t *testing.T) {
	w := t.TempDir()
	tab := fill(t, w, "d", "t", 6, nil)
	out, _ := call(t, 0, append([]string{"compact", "--dry_run"}, place(w, "d", "t")...)...)
	require.Contains(t, out, "dt=2024-01-02")
	require.Contains(t, out, "compactions due: 4, of tables: 1")
	out, _ = call(t, 0, append([]string{"compact", "--dry_run", "--json", "--partition=dt=2024-01-02"}, place(w, "d", "t")...)...)
	require.Equal(t, 2, strings.Count(out, "\n"))
	for line := range strings.Lines(out) {
		var j jobLine
		require.NoError(t, json.Unmarshal([]byte(line), &j))
		require.Equal(t, "dt=2024-01-02", j.Partition)
		require.Equal(t, 6, j.Level0)
		require.NotEmpty(t, j.Reason)
	}
	out, _ = call(t, 0, append([]string{"compact", "--dry_run", "--table_conf", "num-sorted-run.compaction-trigger=9"}, place(w, "d", "t")...)...)
	require.Contains(t, out, "no compaction is due")
	out, _ = call(t, 0, append([]string{"compact", "--explain"}, place(w, "d", "t")...)...)
	require.Contains(t, out, "d.t has 24 files")
	require.Contains(t, out, "4 of 4 buckets are due\n")
	out, _ = call(t, 0, append([]string{"compact", "--explain", "--json"}, place(w, "d", "t")...)...)
	require.Equal(t, 4, strings.Count(out, "\n"))
	for line := range strings.Lines(out) {
		var b bucketLine
		require.NoError(t, json.Unmarshal([]byte(line), &b))
		require.Equal(t, 6, b.Runs)
		require.Equal(t, 6, b.Groups[0].Files)
		require.NotNil(t, b.Job)
	}
	out, _ = call(t, 0, append([]string{"compact", "--once", "--dry_run", "--table_conf", "num-sorted-run.compaction-trigger=9"}, place(w, "d", "t")...)...)
	require.Contains(t, out, "compactions due: 4,", "in full")
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(6), s.ID)
}

func TestTablesThatAreNotCompactedAreLeftAlone(t *testing.T) {
	w := t.TempDir()
	tab := fill(t, w, "d", "t", 2, nil)
	good := fill(t, w, "d", "u", 2, nil)
	_, err := tab.Alter(t.Context(), table.SchemaChange{Kind: table.SetOption, Key: "file.format", Value: "orc"})
	require.NoError(t, err)
	_, stderr := call(t, cli.ExitUsage, append([]string{"compact", "--once"}, place(w, "d", "t")...)...)
	require.Contains(t, stderr, "orc")
	out, _ := call(t, 0, "compact_database", "--once", "--warehouse", w)
	require.Contains(t, out, "d.t was left as it is")
	dry, _ := call(t, 0, "compact_database", "--dry_run", "--warehouse", w)
	require.Contains(t, dry, "d.t is left as it is")
	_, files := state(t, tab)
	require.Equal(t, 4, files["dt=2024-01-01 level 0"])
	_, files = state(t, good)
	require.Equal(t, 2, files["dt=2024-01-01 level 5"])
}

// TestPostponedRowsAreCompactedByOneCommand: the command gives rows their buckets and compacts these; chosen partitions are refused.
func TestPostponedRowsAreCompactedByOneCommand(t *testing.T) {
	w := t.TempDir()
	tab := fill(t, w, "d", "t", 3, table.Options{"bucket": "-2", "postpone.default-bucket-num": "2"})
	before, _ := state(t, tab)
	require.Empty(t, before)
	compact := func(args ...string) []string {
		return append(append([]string{"compact"}, place(w, "d", "t")...), args...)
	}
	for _, args := range [][]string{{"--partition", "dt=2024-01-01"}, {"--where", "dt = '2024-01-01'"}} {
		_, errs := call(t, 2, compact(append(args, "--once")...)...)
		require.Contains(t, errs, "--partition and --where")
		require.Contains(t, errs, "bucket=-2")
		require.Contains(t, errs, "d.t")
	}
	out, _ := call(t, 0, compact("--dry_run")...)
	require.Contains(t, out, "rows without a bucket")
	call(t, 0, compact("--explain")...)
	call(t, 0, compact("--once")...)
	rows, files := state(t, tab)
	require.NotEmpty(t, rows)
	require.Equal(t, map[string]int{"dt=2024-01-01 level 5": 2, "dt=2024-01-02 level 5": 2}, files)
}

func TestArguments(t *testing.T) {
	w := t.TempDir()
	fill(t, w, "d", "t", 1, nil)
	at := place(w, "d", "t")
	compact := func(args ...string) []string { return append(append([]string{"compact"}, at...), args...) }
	for _, args := range [][]string{
		{"compact"}, {"compact", "--warehouse", w, "--database", "d"}, {"no_such"}, compact("--no_such"),
		compact("--compact_strategy", "full"), compact("--once", "--compact_strategy", "some"),
		compact("--once", "--partition", "id=1"), compact("--once", "--where", "id = 1"), compact("--once", "--where", "dt ="),
		compact("--once", "--where", "dt = 'a'", "--partition", "dt=a"), compact("--once", "--shard", "2/2"), compact("--once", "--shard", "x"),
		compact("--once", "--memory", "1MiB"), compact("--once", "--memory", "lots"), compact("--once", "--workers", "-1"),
		compact("--once", "--bytes_per_second", "0"), compact("--once", "--operations_per_second", "-3"), compact("--once", "--partition_idle_time", "soon"),
		compact("--once", "--table_conf", "no-such-option-at-all"), compact("--once", "--table_conf", "num-levels=x"),
		compact("--once", "--catalog_conf", "metastore=hive"), compact("--once", "--order_strategy", "zorder", "--order_by", "v"),
		compact("--once", "--listen", "nowhere:1"), append([]string{"compact", "--once"}, place(w, "d", "missing")...),
		{"compact_database", "--once", "--warehouse", w, "--including_tables", "("}, {"compact_database", "--once"},
		{"compact_database", "--once", "--warehouse", w, "--mode", "both"},
		append([]string{"expire_snapshots", "--retain_max", "0"}, at...), append([]string{"expire_snapshots", "--older_than", "yesterday"}, at...),
		append([]string{"expire_snapshots", "--max_deletes", "-1"}, at...), append([]string{"expire_snapshots", "--options", "x"}, at...),
		append([]string{"expire_snapshots", "--max_deletes", "0"}, at...), append([]string{"expire_changelogs", "--max_deletes", "0"}, at...),
		append([]string{"expire_partitions", "--expiration_time", "1 d", "--max_expires", "0"}, at...),
		append([]string{"expire_partitions", "--expiration_time", "1 d", "--max_expires", "-1"}, at...),
		{"compact_database", "--once", "--warehouse", w + "/no"}, {"compact_database", "--dry_run", "--warehouse", w + "/no"},
		{"remove_orphan_files", "--warehouse", w, "--database", "no"}, {"remove_orphan_files", "--warehouse", w, "--database", "no", "--table", "*"},
		append([]string{"expire_partitions"}, at...), append([]string{"remove_orphan_files", "--older_than", "2999-01-01 00:00:00"}, at...),
		{"remove_orphan_files", "--warehouse", w},
	} {
		_, stderr := call(t, cli.ExitUsage, args...)
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		require.True(t, strings.HasPrefix(lines[len(lines)-1], "exit 2: "), "%v\n%s", args, stderr)
	}
	out, _ := call(t, 0, "--version")
	require.Equal(t, version+"\n", out)
	out, _ = call(t, 0)
	require.Contains(t, out, "compact-database")
}

func TestOneFileServesAllCommands(t *testing.T) {
	w := t.TempDir()
	tab := fill(t, w, "d", "t", 2, nil)
	file := filepath.Join(t.TempDir(), "compact.yaml")
	require.NoError(t, os.WriteFile(file, []byte("warehouse: "+w+"\nexcluding_tables: x\nworkers: 1\nmemory: 512MiB\nretain_max: 3\ntable_conf: {num-levels: 4}\n"), 0o600))
	call(t, 0, "compact_database", "--once", "--config", file)
	_, files := state(t, tab)
	require.Equal(t, 2, files["dt=2024-01-01 level 3"], "num-levels of the file")
	call(t, 0, "expire_snapshots", "--config", file, "--database", "d", "--table", "t", "--retain_min", "1", "--dry_run", "true")
	require.NoError(t, os.WriteFile(file, []byte("warehous: /w\n"), 0o600))
	_, stderr := call(t, cli.ExitUsage, "compact_database", "--config", file)
	require.Contains(t, stderr, "--warehous")
}

func TestADamagedTableIsCorrupt(t *testing.T) {
	w := t.TempDir()
	fill(t, w, "d", "t", 2, nil)
	files, err := filepath.Glob(filepath.Join(w, "d.db", "t", "manifest", "manifest-*"))
	require.NoError(t, err)
	for _, f := range files {
		require.NoError(t, os.Remove(f))
	}
	_, stderr := call(t, cli.ExitCorrupt, append([]string{"compact", "--once"}, place(w, "d", "t")...)...)
	require.Contains(t, stderr, "\nexit 4: ")
}

func TestExpireSnapshots(t *testing.T) {
	w := t.TempDir()
	tab := fill(t, w, "d", "t", 6, nil)
	call(t, 0, append([]string{"compact", "--once"}, place(w, "d", "t")...)...)
	before, _ := state(t, tab)
	out, _ := call(t, 0, append([]string{"expire_snapshots", "--retain_max", "2", "--retain_min", "1", "--older_than", "2999-01-01 00:00:00", "--dry_run"}, place(w, "d", "t")...)...)
	require.Contains(t, out, "would remove 6 snapshots")
	first, err := tab.Earliest(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1), first.ID)
	out, _ = call(t, 0, append([]string{"expire_snapshots", "--retain_max", "2", "--retain_min", "1", "--older_than", "2999-01-01", "--json"}, place(w, "d", "t")...)...)
	var l reportLine
	require.NoError(t, json.Unmarshal([]byte(out), &l))
	require.Equal(t, 6, l.Snapshots)
	require.Positive(t, l.Files)
	rows, _ := state(t, tab)
	require.ElementsMatch(t, before, rows)
	require.NoError(t, tab.RecordConsumer(t.Context(), "dwh", 7))
	least := append([]string{"expire_snapshots", "--retain_max", "1", "--retain_min", "1"}, place(w, "d", "t")...)
	out, _ = call(t, 0, least...)
	require.Contains(t, out, "removed nothing\n")
	require.NotContains(t, out, "dwh", "there is one only")
	_, err = tab.NewCommit("another", nil).Commit(t.Context(), table.Committable{ID: 1})
	require.NoError(t, err)
	out, _ = call(t, 0, least...)
	require.Contains(t, out, "removed nothing\nsnapshots from 7 on are kept for consumer dwh")
}

// A service tells, once, of consumers that keep snapshots which would expire, and of their progress.
func TestServiceTellsWhoHoldsExpiryBack(t *testing.T) {
	log := new(bytes.Buffer)
	m := newMetrics()
	l := m.listener(slog.New(slog.NewTextHandler(log, nil)))
	info := compactor.MaintainInfo{Table: "d.t", Maintained: compactor.Maintained{HeldBy: []string{"dwh", "old"}, Held: 12}}
	for range 3 {
		l.MaintainEnd(info)
	}
	require.Equal(t, 1, strings.Count(log.String(), "consumers=\"dwh, old\" snapshots=12"), log)
	info.HeldBy = nil
	info.Err = errors.New("no look at them")
	l.MaintainEnd(info)
	require.NotContains(t, log.String(), "no more")
	info.Err = nil
	l.MaintainEnd(info)
	require.Contains(t, log.String(), "consumers hold expiry back no more")
}

// A service compacts what is due, tells of itself over HTTP, and ends well.
func TestServiceEndsWellOnSignal(t *testing.T) {
	w := t.TempDir()
	first := fill(t, w, "d", "first", 6, nil)
	port, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := port.Addr().String()
	require.NoError(t, port.Close())
	code := make(chan int, 1)
	var out, errs bytes.Buffer
	go func() {
		code <- run([]string{"compact_database", "--warehouse", w, "--listen", address, "--workers", "2"}, &out, &errs)
	}()
	page := func(path string) string {
		r, err := http.Get("http://" + address + path)
		if err != nil {
			return err.Error()
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return string(b)
	}
	defer http.DefaultClient.CloseIdleConnections()
	compacted := func(tab *table.Table) func() bool {
		return func() bool { _, files := state(t, tab); return files["dt=2024-01-01 level 0"] < 6 }
	}
	require.Eventually(t, compacted(first), 20*time.Second, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		return strings.Contains(page("/metrics"), `paimon_compact_jobs_total{outcome="done",table="d.first"} 4`)
	}, 20*time.Second, 20*time.Millisecond)
	metrics := page("/metrics")
	for _, name := range []string{"paimon_compact_backlog_bytes", "paimon_compact_sorted_runs", "paimon_compact_write_amplification", "paimon_compact_conflicts_total",
		"paimon_compact_read_bytes_total", "paimon_compact_written_bytes_total", "paimon_compact_snapshot_id", "paimon_compact_job_duration_seconds_count"} {
		require.Contains(t, metrics, name+`{table="d.first"}`)
	}
	require.Equal(t, "ok\n", page("/healthz"))
	require.Equal(t, "ok\n", page("/readyz"))
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	require.Equal(t, 0, <-code, errs.String())
}

func TestExpirePartitions(t *testing.T) {
	w := t.TempDir()
	tab := fill(t, w, "d", "t", 1, nil)
	age := fmt.Sprintf("%d d", int(time.Since(time.Date(2024, 1, 2, 0, 0, 0, 0, time.Local)).Hours()/24)+1) // only the first day is older
	args := append([]string{"expire_partitions", "--expiration_time", age, "--timestamp_formatter", "yyyy-MM-dd"}, place(w, "d", "t")...)
	out, _ := call(t, 0, append(args, "--dry_run")...)
	require.Contains(t, out, "dt=2024-01-01\n")
	require.NotContains(t, out, "dt=2024-01-02")
	_, files := state(t, tab)
	require.Len(t, files, 2)
	out, _ = call(t, 0, args...)
	require.Contains(t, out, "removed 1 partition")
	_, files = state(t, tab)
	require.Equal(t, map[string]int{"dt=2024-01-02 level 0": 2}, files)
}

func TestRemoveOrphanFiles(t *testing.T) {
	w := t.TempDir()
	fill(t, w, "d", "t", 1, nil)
	fill(t, w, "d", "u", 1, nil)
	fill(t, w, "e", "t", 1, nil)
	var orphans []string
	for _, p := range []string{"d.db/t", "d.db/u", "e.db/t"} {
		o := filepath.Join(w, p, "dt=2024-01-01", "bucket-0", "data-orphan-0.parquet")
		require.NoError(t, os.WriteFile(o, []byte("x"), 0o600))
		old := time.Now().Add(-48 * time.Hour)
		require.NoError(t, os.Chtimes(o, old, old))
		orphans = append(orphans, o)
	}
	out, _ := call(t, 0, "remove_orphan_files", "--warehouse", w, "--database", "d", "--table", "t", "--dry_run", "true", "--parallelism", "5")
	require.Contains(t, out, "dt=2024-01-01/bucket-0/data-orphan-0.parquet\n")
	require.FileExists(t, orphans[0])
	call(t, 0, "remove_orphan_files", "--warehouse", w, "--database", "d", "--table", "t", "--older_than", "2024-01-01 00:00:00")
	require.FileExists(t, orphans[0])
	call(t, 0, "remove_orphan_files", "--warehouse", w, "--database", "d", "--table", "*")
	require.NoFileExists(t, orphans[0])
	require.NoFileExists(t, orphans[1])
	require.FileExists(t, orphans[2])

	require.NoError(t, os.WriteFile(orphans[1], []byte("x"), 0o600))
	old := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(orphans[1], old, old))
	require.NoError(t, os.WriteFile(filepath.Join(w, "d.db", "t", "snapshot", "snapshot-1"), []byte("damaged"), 0o600))
	require.NoError(t, os.WriteFile(orphans[0], []byte("x"), 0o600))
	require.NoError(t, os.Chtimes(orphans[0], old, old))
	_, errs := call(t, cli.ExitCorrupt, "remove_orphan_files", "--warehouse", w, "--database", "d")
	require.Contains(t, errs, "d.db/t")
	require.FileExists(t, orphans[0])
	require.NoFileExists(t, orphans[1], "the other tables are cleaned all the same")
	call(t, 0, "expire_tags", "--warehouse", w, "--database", "d", "--table", "u", "--dry_run")
	call(t, 0, "expire_changelogs", "--warehouse", w, "--database", "d", "--table", "u", "--delete_all", "true")
}

func TestOnceThatASignalStopsIsNotDone(t *testing.T) {
	w := t.TempDir()
	tab := fill(t, w, "d", "t", 6, nil)
	code := make(chan int, 1)
	started := make(chan struct{})
	var out bytes.Buffer
	errs := &onWrite{begun: started}
	go func() {
		code <- run(append([]string{"compact", "--once", "--bytes_per_second", "100"}, place(w, "d", "t")...), &out, errs)
	}()
	<-started
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	require.Equal(t, cli.ExitInternal, <-code)
	require.Contains(t, errs.String(), "exit 1: stopped")
	_, files := state(t, tab)
	require.Equal(t, 12, files["dt=2024-01-01 level 0"])
	left, err := filepath.Glob(filepath.Join(w, "d.db", "t", "dt=*", "bucket-*", "*"))
	require.NoError(t, err)
	require.Len(t, left, 24, "no file is left behind")
}

// TestASecondSignalEndsTheProgramAtOnce: after the first one it ends by itself. Where it does so before the second one comes
// to it, it is tried again.
func TestASecondSignalEndsTheProgramAtOnce(t *testing.T) {
	w := t.TempDir()
	tab := fill(t, w, "d", "t", 6, nil)
	args := append([]string{"compact", "--once", "--bytes_per_second", "100"}, place(w, "d", "t")...)
	killed := false
	for try := 0; try < 20 && !killed; try++ {
		killed = signalUntilItEnds(t, args).Signaled()
	}
	require.True(t, killed)
	_, files := state(t, tab)
	require.Equal(t, 12, files["dt=2024-01-01 level 0"])
}

// signalUntilItEnds runs the program and sends it SIGTERM from its first output on.
func signalUntilItEnds(t *testing.T, args []string) syscall.WaitStatus {
	errs := &onWrite{begun: make(chan struct{})}
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), asProgram+"="+strings.Join(args, " "))
	program.Stderr = struct{ io.Writer }{errs} // without ReadFrom, which is not seen
	require.NoError(t, program.Start())
	ended := make(chan struct{})
	go func() {
		_ = program.Wait() // the state tells
		close(ended)
	}()
	<-errs.begun
	for {
		select {
		case <-ended:
			return program.ProcessState.Sys().(syscall.WaitStatus)
		default:
			_ = program.Process.Signal(syscall.SIGTERM) // it may just have ended
		}
	}
}

// onWrite tells of the first write.
type onWrite struct {
	bytes.Buffer
	once  sync.Once
	begun chan struct{}
}

func (w *onWrite) Write(b []byte) (int, error) {
	w.once.Do(func() { close(w.begun) })
	return w.Buffer.Write(b)
}
