package main

import (
	"context"
	_ "embed" // the recording
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// recording is the binlog of a small shop's two days, made by integration/demo/record.sh on a real MySQL.
//
//go:embed demodata/binlog.000001
var recording []byte

// demo replays the recording at an even pace through the same pipeline as mysql_sync_table, with the compactor beside it, then shows
// what came of it.
func (e *environment) demo(ctx context.Context, args *demoArgs) error {
	dir := args.Dir
	if s := fs.Scheme(dir); s != "" {
		return fmt.Errorf("--dir %s: the demo writes into a local directory, not %s: %w", fs.Masked(dir), s, cli.ErrUsage)
	}
	if dir == "" {
		d, err := os.MkdirTemp("", "paimon-go-demo-")
		if err != nil {
			return err
		}
		dir = d
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	logs := filepath.Join(dir, "binlog")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(logs, "binlog.000001"), recording, 0o644); err != nil {
		return err
	}
	sync := &syncArgs{
		sourceArgs:       sourceArgs{MySQLConf: []string{"binlog-dir=" + logs, fmt.Sprintf("binlog-dir.rows-per-second=%d", args.RowsPerSecond), "database-name=shop", "table-name=orders"}},
		Warehouse:        filepath.Join(dir, "warehouse"),
		Database:         "demo",
		Table:            "orders",
		PartitionKeys:    "day",
		PrimaryKeys:      "day,id",
		TableConf:        []string{"bucket=2", "write-only=true", "num-sorted-run.compaction-trigger=3", "file.format=parquet", "file.compression=zstd", "file.compression.zstd-level=3"},
		CommitInterval:   time.Second,
		SyncPKFromSource: "true",
	}
	fmt.Fprintf(e.stdout, "Replaying a recorded MySQL binlog (%d KB, shop.orders: inserts, updates and deletes of two days) at %d changes a second into %s, with a commit each second and a compactor beside it\n\n", len(recording)>>10, args.RowsPerSecond, sync.Warehouse)
	start := time.Now()
	if err := e.syncBesideCompactor(ctx, sync); err != nil {
		return err
	}
	took := time.Since(start)
	t, err := e.openDemo(ctx, sync)
	if err != nil {
		return err
	}
	rows, err := e.showDemo(ctx, t)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "\n%d rows are in the table after %.1f s. Any Paimon engine reads it at\n  %s\n\nLook around:\n", rows, took.Seconds(), t.Path())
	for _, verb := range []string{"snapshots", "files", "buckets", "scan --limit 5", "check"} {
		fmt.Fprintf(e.stdout, "  %s %s %s\n", inspector(), verb, t.Path())
	}
	return nil
}

// inspector is how a user calls paimon-go: make build puts it beside this program.
func inspector() string {
	const name = "paimon-go"
	if _, err := exec.LookPath(name); err == nil {
		return name
	}
	self, err := os.Executable()
	if err != nil {
		return name
	}
	beside := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(beside); err != nil {
		return name
	}
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, beside); err == nil && filepath.IsLocal(rel) {
			if !strings.ContainsRune(rel, filepath.Separator) {
				return "./" + rel
			}
			return rel
		}
	}
	return beside
}

func (e *environment) openDemo(ctx context.Context, args *syncArgs) (*table.Table, error) {
	j, err := newJob(ctx, args, e.args.Logger(e.stderr))
	if err != nil {
		return nil, err
	}
	return table.Open(ctx, j.fsys, j.path, nil)
}

// showDemo prints the snapshots, the files and some rows, and returns the number of rows.
func (e *environment) showDemo(ctx context.Context, t *table.Table) (int, error) {
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "snapshot\tkind\trecords added\ttotal records\tcommitted at")
	var last *table.Snapshot
	for s, err := range t.Snapshots(ctx) {
		if err != nil {
			return 0, err
		}
		last = s
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%s\n", s.ID, s.CommitKind, s.DeltaRecordCount, s.TotalRecordCount, time.UnixMilli(s.TimeMillis).Format("15:04:05.000"))
	}
	fmt.Fprintln(w)
	if err := w.Flush(); err != nil {
		return 0, err
	}
	if err := e.showBuckets(ctx, t, last); err != nil {
		return 0, err
	}
	fmt.Fprintln(e.stdout)
	rows := 0
	for b, err := range lsm.Scan(ctx, t, last, lsm.ScanOptions{}) {
		if err != nil {
			return rows, err
		}
		for i := 0; i < b.N && rows+i < 5; i++ {
			fmt.Fprintf(e.stdout, "%s\n", row.AppendJSONRow(nil, b, i, false))
		}
		rows += b.N
	}
	return rows, nil
}
