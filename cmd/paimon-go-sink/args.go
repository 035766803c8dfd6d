package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kong"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
)

// arguments are all commands. Names are written with dashes here; underscores are taken as well.
type arguments struct {
	SyncTable   syncArgs   `cmd:"" name:"mysql-sync-table" help:"Stream one MySQL table into one Paimon table (mysql_sync_table)."`
	CheckSource sourceArgs `cmd:"" name:"check-source" help:"Connect, and list what the server lacks and the statement that mends each. Changes nothing."`
	Demo        demoArgs   `cmd:"" name:"demo" help:"Replay a recorded MySQL binlog into a fresh local table with a compactor beside it, then show snapshots, buckets and rows."`

	cli.LogArgs
	Version kong.VersionFlag `name:"version" help:"Print the version."`
}

// sourceArgs say where the rows come from.
type sourceArgs struct {
	MySQLConf   []string `name:"mysql-conf" sep:"none" placeholder:"K=V" help:"Setting of the source, as in Flink CDC: hostname, port, username, password (or password-file, password-env), database-name, table-name, server-time-zone, scan.startup.mode... Repeat it."`
	TypeMapping string   `name:"type-mapping" help:"Comma list: to-nullable, tinyint1-not-bool, to-string, char-to-string, longtext-to-bytes, bigint-unsigned-to-bigint."`
	Config      string   `name:"config" type:"path" help:"YAML file with the same names (a map where K=V is repeated, a list for other repeated ones); the command line wins."`
}

// syncArgs are those of Paimon's mysql_sync_table action, and a few of our own.
type syncArgs struct {
	sourceArgs
	Warehouse      string   `name:"warehouse" help:"Root of the warehouse, a path or URI."`
	Database       string   `name:"database" help:"Paimon database; made if missing."`
	Table          string   `name:"table" help:"Paimon table; made if missing."`
	PartitionKeys  string   `name:"partition-keys" help:"Comma list of partition columns."`
	PrimaryKeys    string   `name:"primary-keys" help:"Comma list of primary key columns; default: the source's."`
	ComputedColumn []string `name:"computed-column" sep:"none" help:"Not supported yet."`
	MetadataColumn []string `name:"metadata-column" sep:"none" help:"Not supported yet."`
	CatalogConf    []string `name:"catalog-conf" sep:"none" placeholder:"K=V" help:"Setting of the catalog. Repeat it."`
	TableConf      []string `name:"table-conf" sep:"none" placeholder:"K=V" help:"Table option, Paimon's keys (docs/table-options.md). Repeat it."`

	MetadataColumnPrefix string `name:"metadata-column-prefix" help:"Not supported yet."`
	SyncPKFromSource     string `name:"sync-primary-keys-from-source-schema" default:"true" enum:"true,false" help:"Take the primary key of the source when --primary_keys is not given."`

	CommitInterval    time.Duration `name:"commit-interval" default:"15s" help:"Time between commits. The first of a run comes 0.2 s after its first rows."`
	StoragePatience   time.Duration `name:"storage-patience" default:"24h" help:"How long the storage may fail, or be full, before the job gives up with exit 7. Until then it starts again from its last commit, by itself. 0s: at the first failure."`
	StopAtLatest      bool          `name:"stop-at-latest" help:"Sync up to where the source is now, commit, and exit."`
	Listen            string        `name:"listen" placeholder:"ADDR" help:"Serve /metrics, /healthz and /debug/pprof on this address."`
	DryRun            bool          `name:"dry-run" help:"Print the effective settings and where each comes from, connect and check, write nothing."`
	CompactionWorkers int           `name:"compaction-workers" default:"0" placeholder:"N" help:"Most compactions at once, of a table with write-only=false. 0: half of the CPUs."`
	CompactionMemory  string        `name:"compaction-memory" placeholder:"SIZE" help:"Memory of all compactions together, a part of write-buffer-size, half of it at most. Default: a quarter of it, at most 128mb each."`
	SpillDir          []string      `name:"spill-dir" type:"path" help:"Local directory for spilled rows. Repeat it. Default: the system's temporary directory."`
}

type demoArgs struct {
	Dir           string `name:"dir" help:"Directory for the table; default: a fresh temporary one."`
	RowsPerSecond int64  `name:"rows-per-second" default:"1200" help:"Pace of the replay."`
}

// parse returns the arguments and the command's name, "" when there is nothing more to do.
func parse(args []string, stdout io.Writer) (*arguments, string, error) {
	a := &arguments{}
	k, err := cli.Program{
		Name: "paimon-go-sink", Version: version, UsageOnError: true,
		Description: "Streams a MySQL table into an Apache Paimon table, exactly once. Arguments are those of Paimon's Flink actions; names may be written with _ or -.",
	}.Parse(a, args, stdout)
	if k == nil || err != nil {
		return a, "", err
	}
	return a, k.Command(), nil
}

// unsupported refuses, by name, arguments of the action that are not built.
func (a *syncArgs) unsupported() error {
	for _, f := range []struct {
		name string
		set  bool
	}{{"computed_column", len(a.ComputedColumn) > 0}, {"metadata_column", len(a.MetadataColumn) > 0}, {"metadata_column_prefix", a.MetadataColumnPrefix != ""}} {
		if f.set {
			return fmt.Errorf("--%s is not supported yet: %w", f.name, cli.ErrUsage)
		}
	}
	wrong := cli.Required(a.Warehouse, cli.Name{Flag: "database", Value: a.Database}, cli.Name{Flag: "table", Value: a.Table})
	if a.CommitInterval < 100*time.Millisecond {
		wrong = errors.Join(wrong, fmt.Errorf("--commit_interval %s is below 100ms: %w", a.CommitInterval, cli.ErrUsage))
	}
	return wrong
}
