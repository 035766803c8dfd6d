package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/table"
)

// environment is what commands work with besides their arguments.
type environment struct {
	stdout, stderr io.Writer
	log            *slog.Logger
}

// warehouseArgs say where tables lie.
type warehouseArgs struct {
	Warehouse   string   `name:"warehouse" placeholder:"URI" help:"Root of the warehouse, a path or URI."`
	CatalogConf []string `name:"catalog-conf" sep:"none" placeholder:"K=V" help:"Setting of catalog and storage. Repeat it."`
	TableConf   []string `name:"table-conf" sep:"none" placeholder:"K=V" help:"Table option over those of the tables, not stored (docs/table-options.md). Repeat it."`
	Config      string   `name:"config" type:"path" help:"YAML file with the same names (a map where K=V is repeated, a list for other repeated ones); the command line wins."`
}

// open returns the warehouse. options lie over --table_conf.
func (a *warehouseArgs) open(ctx context.Context, log *slog.Logger, options ...string) (*warehouse, error) {
	o, warnings, err := cli.TableOptions("table_conf", append(a.TableConf[:len(a.TableConf):len(a.TableConf)], options...))
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		log.Warn(w)
	}
	fsys, root, catalog, err := cli.Storage(ctx, "--warehouse", a.Warehouse, a.CatalogConf)
	if err != nil {
		return nil, err
	}
	cli.AboutStorage(fsys, root, catalog, log)
	return &warehouse{fsys: fsys, catalog: catalog, log: log, root: root, options: o, paths: map[string]string{}}, nil
}

// tableArgs name one table.
type tableArgs struct {
	warehouseArgs
	Database string `name:"database" help:"Database of the table."`
	Table    string `name:"table" help:"Name of the table."`
}

func (a *tableArgs) open(ctx context.Context, log *slog.Logger, options ...string) (*warehouse, error) {
	if err := cli.Required(a.Warehouse, cli.Name{Flag: "database", Value: a.Database}, cli.Name{Flag: "table", Value: a.Table}); err != nil {
		return nil, err
	}
	w, err := a.warehouseArgs.open(ctx, log, options...)
	if err != nil {
		return nil, err
	}
	w.only = a.Database + "." + a.Table
	w.paths[w.only] = table.TablePath(w.root, a.Database, a.Table)
	return w, nil
}

// table opens the table.
func (a *tableArgs) table(ctx context.Context, env *environment, options ...string) (*table.Table, error) {
	w, err := a.open(ctx, env.log, options...)
	if err != nil {
		return nil, err
	}
	return w.Open(ctx, w.only)
}

// serviceArgs say how to compact.
type serviceArgs struct {
	CompactStrategy     string   `name:"compact-strategy" placeholder:"minor|full" help:"minor: what the tables' options ask for; full: everything into one run, only with --once and its default there."`
	PartitionIdleTime   string   `name:"partition-idle-time" placeholder:"TIME" help:"Only partitions that had no new file for so long, such as '1 d'."`
	Once                bool     `name:"once" help:"Compact until nothing is left to do, then end; default: go on as a service."`
	Memory              string   `name:"memory" placeholder:"SIZE" help:"What the process may use, such as 2GiB; default: three quarters of the control group's or machine's, at most 512 MiB a worker."`
	Workers             int      `name:"workers" placeholder:"N" help:"Compactions at once; default: the number of CPUs."`
	BytesPerSecond      string   `name:"bytes-per-second" placeholder:"SIZE" help:"Bound on what is read and written together, such as 200MiB."`
	OperationsPerSecond int64    `name:"operations-per-second" placeholder:"N" help:"Bound on calls that cost the storage's name service something."`
	Shard               string   `name:"shard" placeholder:"I/N" help:"Look after the i-th of n shares of all buckets (from 0), so that n processes share the work."`
	SpillDir            []string `name:"spill-dir" type:"path" help:"Local directory for what does not fit into memory. Repeat it. Default: the system's temporary directory."`
	DryRun              bool     `name:"dry-run" help:"Say what would be done and why, and do nothing."`
	Explain             bool     `name:"explain" help:"With --dry-run (implied): why the tables have the files that they have, and how many there will be at this rate."`
	JSON                bool     `name:"json" help:"Print JSON, one object a line (--once, --dry-run, --explain)."`
	Listen              string   `name:"listen" placeholder:"ADDR" help:"Serve /metrics, /healthz, /readyz and /debug/pprof on this address."`
}

type compactArgs struct {
	tableArgs
	serviceArgs
	Partition     []string `name:"partition" sep:"none" placeholder:"K=V,..." help:"Only this partition. Repeat it for more."`
	Where         string   `name:"where" placeholder:"CONDITION" help:"Only partitions for which it is true: comparisons of partition columns, IN, BETWEEN, IS NULL, AND, OR, NOT, brackets."`
	OrderStrategy string   `name:"order-strategy" help:"Not supported: tables with a primary key are sorted by it."`
	OrderBy       string   `name:"order-by" help:"Not supported."`
}

type compactDatabaseArgs struct {
	warehouseArgs
	serviceArgs
	IncludingDatabases string `name:"including-databases" placeholder:"RE" help:"Databases, a regular expression for the whole name; default: all."`
	IncludingTables    string `name:"including-tables" placeholder:"RE" help:"Tables, a regular expression for database.table; default: all."`
	ExcludingTables    string `name:"excluding-tables" placeholder:"RE" help:"Tables to leave out; it wins over --including-tables."`
	Mode               string `name:"mode" default:"combined" enum:"divided,combined" help:"Taken for the sake of Paimon's action; both work the same here."`
}

// config makes the service's configuration of the arguments, without what depends on the command.
func (a *serviceArgs) config(log *slog.Logger) (compactor.Config, error) {
	c := compactor.Config{Workers: a.Workers, OpsPerSecond: a.OperationsPerSecond, Log: log, Strategy: strings.ToLower(strings.TrimSpace(a.CompactStrategy))}
	var wrong []error
	bad := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf(format+": %w", append(args, cli.ErrUsage)...))
	}
	switch {
	case c.Strategy != "" && c.Strategy != compactor.Minor && c.Strategy != compactor.Full:
		bad("--compact_strategy %s is not minor or full", a.CompactStrategy)
	case c.Strategy == compactor.Full && !a.Once:
		bad("--compact_strategy full rewrites everything each time and goes only with --once")
	}
	if a.Once && c.Strategy == "" {
		c.Strategy = compactor.Full
	}
	if a.Workers < 0 {
		bad("--workers %d is below 0", a.Workers)
	}
	if a.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if a.OperationsPerSecond < 0 {
		bad("--operations_per_second %d is below 0", a.OperationsPerSecond)
	}
	if a.PartitionIdleTime != "" {
		var err error
		if c.PartitionIdle, err = table.ParseDuration(a.PartitionIdleTime); err != nil {
			bad("--partition_idle_time: %w", err)
		}
	}
	var err error
	if c.BytesPerSecond, err = sizeArg("bytes_per_second", a.BytesPerSecond); err != nil {
		wrong = append(wrong, err)
	}
	if c.Shard, c.Shards, err = shardArg(a.Shard); err != nil {
		wrong = append(wrong, err)
	}
	if c.Memory, err = a.memory(c.Workers); err != nil {
		wrong = append(wrong, err)
	}
	return c, errors.Join(wrong...)
}

// sizeArg reads a size such as 200MiB, 0 when it is not given.
func sizeArg(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := table.ParseSize(strings.NewReplacer("iB", "b", "ib", "b", "IB", "b").Replace(text))
	switch {
	case err != nil:
		return 0, fmt.Errorf("--%s: %w: %w", flag, err, cli.ErrUsage)
	case n == 0:
		return 0, fmt.Errorf("--%s is 0: %w", flag, cli.ErrUsage)
	}
	return n, nil
}

// shardArg reads i/n.
func shardArg(text string) (int, int, error) {
	if text == "" {
		return 0, 1, nil
	}
	first, of, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(strings.TrimSpace(first))
	n, err2 := strconv.Atoi(strings.TrimSpace(of))
	if !ok || err1 != nil || err2 != nil || n < 1 || n > math.MaxInt32 || i < 0 || i >= n {
		return 0, 0, fmt.Errorf("--shard %s is not i/n with i from 0 to n-1: %w", text, cli.ErrUsage)
	}
	return i, n, nil
}

// timeFormats are those of --older_than.
var timeFormats = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02"}

// timeArg reads a local time as Paimon's actions take it, nil when it is not given.
func timeArg(flag, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	for _, f := range timeFormats {
		if t, err := time.ParseInLocation(f, strings.TrimSpace(text), time.Local); err == nil {
			return &t, nil
		}
	}
	return nil, fmt.Errorf("--%s %q is not a local time such as '2024-12-31 23:59:59': %w", flag, text, cli.ErrUsage)
}
