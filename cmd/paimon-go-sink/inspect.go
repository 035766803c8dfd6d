package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/cdc/mysql"
	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/table"
)

// dryRun prints the effective settings, connects, checks, and writes nothing.
func (j *job) dryRun(ctx context.Context, w io.Writer) error {
	if err := j.openTable(ctx); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "setting\tvalue\tfrom")
	show := func(name, value, from string) { fmt.Fprintf(t, "%s\t%s\t%s\n", name, value, from) }
	given := func(v string) string {
		if v == "" {
			return "default"
		}
		return "arguments"
	}
	show("warehouse", j.args.Warehouse, "arguments")
	show("table path", j.path, "arguments")
	show("primary_keys", j.args.PrimaryKeys, given(j.args.PrimaryKeys))
	show("partition_keys", j.args.PartitionKeys, given(j.args.PartitionKeys))
	show("commit_interval", j.args.CommitInterval.String(), "arguments or default")
	show("commit user", j.user, "source table")
	for _, kv := range cli.Printable(j.catalog) {
		from := "arguments"
		if kv[0] == "hdfs.spool-dir" {
			from = "arguments or spill_dir"
		}
		show("catalog_conf "+kv[0], kv[1], from)
	}
	keys := make([]string, 0, len(j.mysqlConf))
	for k := range j.mysqlConf {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		v := j.mysqlConf[k]
		if strings.Contains(strings.ToLower(k), "password") && k != "password-env" && k != "password-file" {
			v = "***"
		}
		show("mysql_conf "+k, v, "arguments")
	}
	stored := table.Options{}
	if j.table != nil {
		stored = j.table.Schema().Options
	}
	for _, k := range table.Keys() {
		switch {
		case j.options.Has(k):
			show("table_conf "+k.Name, j.options.Get(k), "arguments")
		case stored.Has(k):
			show("table_conf "+k.Name, stored.Get(k), "table schema")
		case k.Status == table.Honoured && (table.Options{}).Get(k) != "":
			show("table_conf "+k.Name, (table.Options{}).Get(k), "default")
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := j.openSource(ctx); err != nil {
		return err
	}
	defer j.src.Close()
	spec, err := j.spec()
	if err != nil {
		return err
	}
	var schema *table.Schema
	if j.table == nil {
		if schema, err = table.NewSchema(*spec); err != nil {
			return err
		}
		fmt.Fprintf(w, "the table would be made, with the primary key %v\n", spec.PrimaryKeys)
	} else if err := j.checkExisting(spec); err != nil {
		return err
	} else {
		schema = j.table.Schema()
	}
	if err := checkWritable(schema, stored.With(j.options)); err != nil {
		return err
	}
	if j.state != nil {
		fmt.Fprintf(w, "the job would go on after commit %d\n", j.state.Identifier)
	}
	fmt.Fprintln(w, "nothing was written")
	return nil
}

// checkSource lists what the server lacks.
func (e *environment) checkSource(ctx context.Context, args *sourceArgs) error {
	j := &job{log: e.args.Logger(e.stderr)}
	var err error
	if j.mysqlConf, err = cli.Pairs("mysql_conf", args.MySQLConf); err != nil {
		return err
	}
	if err := j.parseSource(args); err != nil {
		return err
	}
	info, findings, err := mysql.CheckSource(ctx, j.source, j.log)
	if err != nil {
		return err
	}
	fatal := 0
	for _, f := range findings {
		what := "warning"
		if f.Fatal {
			what = "missing"
			fatal++
		}
		fmt.Fprintf(e.stdout, "%s: %s\n  remedy: %s\n", what, f.What, f.Remedy)
	}
	fmt.Fprintln(e.stdout, info)
	if fatal > 0 {
		return fmt.Errorf("%d things are missing: %w", fatal, cdc.ErrSource)
	}
	fmt.Fprintln(e.stdout, "the source can be followed")
	return nil
}
