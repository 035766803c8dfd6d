package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// arguments are all commands. Names are written with dashes here; underscores are taken as well.
type arguments struct {
	SyncTable   syncArgs   `cmd:"" name:"mysql-sync-table" help:"Stream one MySQL table into one Paimon table (mysql_sync_table)."`
	CheckSource sourceArgs `cmd:"" name:"check-source" help:"Connect, and list what the server lacks and the statement that mends each. Changes nothing."`
	Demo        demoArgs   `cmd:"" name:"demo" help:"Replay a recorded MySQL binlog into a fresh local table, then show snapshots, files and rows."`

	LogLevel  string           `name:"log-level" default:"info" enum:"debug,info,warn,error" help:"debug, info, warn or error."`
	LogFormat string           `name:"log-format" default:"text" enum:"text,json" help:"text or json."`
	Version   kong.VersionFlag `name:"version" help:"Print the version."`
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

	CommitInterval time.Duration `name:"commit-interval" default:"15s" help:"Time between commits."`
	StopAtLatest   bool          `name:"stop-at-latest" help:"Sync up to where the source is now, commit, and exit."`
	Listen         string        `name:"listen" placeholder:"ADDR" help:"Serve /metrics, /healthz and /debug/pprof on this address."`
	DryRun         bool          `name:"dry-run" help:"Print the effective settings and where each comes from, connect and check, write nothing."`
	SpillDir       []string      `name:"spill-dir" type:"path" help:"Local directory for spilled rows. Repeat it. Default: the system's temporary directory."`
}

type demoArgs struct {
	Dir string `name:"dir" type:"path" help:"Directory for the table; default: a fresh temporary one."`
}

// parse returns the arguments and the command's name, "" when there is nothing more to do.
func parse(args []string, stdout io.Writer) (*arguments, string, error) {
	cli := &arguments{}
	exited := false
	p, err := kong.New(cli, kong.Name("paimon-go-sink"), kong.UsageOnError(), kong.Writers(stdout, stdout), kong.Exit(func(int) { exited = true }),
		kong.Description("Streams a MySQL table into an Apache Paimon table, exactly once. Arguments are those of Paimon's Flink actions; names may be written with _ or -."),
		kong.Vars{"version": version}, kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		return nil, "", err
	}
	args = dashes(args)
	file, err := fromConfig(args)
	if err != nil {
		return nil, "", err
	}
	if slices.Contains(args, "check-source") {
		file = withoutJobFlags(p.Model, file)
	}
	if len(args) > 0 && len(file) > 0 { // behind the command, before what the command line says
		at := slices.IndexFunc(args, func(a string) bool { return slices.Contains(commands, a) }) + 1
		args = slices.Concat(args[:at], file, args[at:])
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := p.Parse(args)
	if exited {
		return cli, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", err, errUsage)
	}
	return cli, k.Command(), nil
}

// withoutJobFlags leaves out what only mysql-sync-table has, so that check-source takes the file of a job.
func withoutJobFlags(model *kong.Application, file []string) []string {
	has := map[string]map[string]bool{}
	for _, n := range model.Children {
		has[n.Name] = map[string]bool{}
		for _, f := range n.Flags {
			has[n.Name]["--"+f.Name] = true
		}
	}
	return slices.DeleteFunc(file, func(arg string) bool {
		flag, _, _ := strings.Cut(arg, "=")
		return has["mysql-sync-table"][flag] && !has["check-source"][flag]
	})
}

// commands are the names of all commands.
var commands = []string{"mysql-sync-table", "check-source", "demo"}

// dashes turns the underscores of commands and of argument names into dashes.
func dashes(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		name, value, has := strings.Cut(a, "=")
		dashed := strings.ReplaceAll(name, "_", "-")
		if !strings.HasPrefix(a, "--") && !slices.Contains(commands, dashed) {
			continue
		}
		if has {
			dashed += "=" + value
		}
		out[i] = dashed
	}
	return out
}

// fromConfig turns the file of --config into arguments.
func fromConfig(args []string) ([]string, error) {
	path := ""
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--config="); ok {
			path = v
		} else if a == "--config" && i+1 < len(args) {
			path = args[i+1]
		}
	}
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w: %w", err, errUsage)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("--config %s: %w: %w", path, err, errUsage)
	}
	names := make([]string, 0, len(doc))
	for k := range doc {
		names = append(names, k)
	}
	slices.Sort(names)
	var out []string
	for _, name := range names {
		flag := "--" + strings.ReplaceAll(name, "_", "-")
		switch v := doc[name].(type) {
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				out = append(out, fmt.Sprintf("%s=%s=%v", flag, k, v[k]))
			}
		case []any:
			for _, x := range v {
				out = append(out, fmt.Sprintf("%s=%v", flag, x))
			}
		case nil:
		default:
			out = append(out, fmt.Sprintf("%s=%v", flag, v))
		}
	}
	return out, nil
}

// pairs reads repeated key=value arguments; the last of a key wins.
func pairs(flag string, list []string) (map[string]string, error) {
	m := map[string]string{}
	for _, kv := range list {
		k, v, ok := strings.Cut(kv, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			return nil, fmt.Errorf("--%s %q is not key=value: %w", flag, kv, errUsage)
		}
		m[k] = v
	}
	return m, nil
}

// names reads a comma list.
func names(list string) []string {
	var out []string
	for n := range strings.SplitSeq(list, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// unsupported refuses, by name, arguments of the action that are not built.
func (a *syncArgs) unsupported() error {
	for _, f := range []struct {
		name string
		set  bool
	}{{"computed_column", len(a.ComputedColumn) > 0}, {"metadata_column", len(a.MetadataColumn) > 0}, {"metadata_column_prefix", a.MetadataColumnPrefix != ""}} {
		if f.set {
			return fmt.Errorf("--%s is not supported yet: %w", f.name, errUsage)
		}
	}
	var missing []error
	for _, f := range []struct{ name, value string }{{"warehouse", a.Warehouse}, {"database", a.Database}, {"table", a.Table}} {
		if f.value == "" {
			missing = append(missing, fmt.Errorf("--%s is required: %w", f.name, errUsage))
		}
	}
	for _, f := range []struct{ name, value string }{{"database", a.Database}, {"table", a.Table}} {
		if why := badName(f.value); why != "" {
			missing = append(missing, fmt.Errorf("--%s %q %s: %w", f.name, f.value, why, errUsage))
		}
	}
	if a.CommitInterval < 100*time.Millisecond {
		missing = append(missing, fmt.Errorf("--commit_interval %s is below 100ms: %w", a.CommitInterval, errUsage))
	}
	return errors.Join(missing...)
}

// badName says why a name can't be that of a database or table: it becomes a directory of the warehouse, and Paimon's engines
// take $ for system tables and branches.
func badName(name string) string {
	switch {
	case strings.ContainsAny(name, "/\\$\x00"):
		return "has one of / \\ $ in it"
	case name == "." || name == "..":
		return "is no name"
	case len(name) > 250:
		return "is longer than 250 bytes"
	}
	return ""
}
