package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/table/maintenance"
)

// removeArgs are those of all commands that remove something.
type removeArgs struct {
	DryRun              bool  `name:"dry-run" help:"Print what would be removed, and remove nothing."`
	OperationsPerSecond int64 `name:"operations-per-second" placeholder:"N" help:"Bound on removals in a second."`
	JSON                bool  `name:"json" help:"Print JSON."`
}

func (a *removeArgs) limit() (*maintenance.Limiter, error) {
	if a.OperationsPerSecond < 0 {
		return nil, fmt.Errorf("--operations_per_second %d is below 0: %w", a.OperationsPerSecond, cli.ErrUsage)
	}
	return maintenance.NewLimiter(a.OperationsPerSecond), nil
}

// retainArgs say which snapshots or changelogs go.
type retainArgs struct {
	RetainMax  *int   `name:"retain-max" placeholder:"N" help:"Keep at most so many; default: the table's option."`
	RetainMin  *int   `name:"retain-min" placeholder:"N" help:"Keep at least so many; default: the table's option."`
	OlderThan  string `name:"older-than" placeholder:"TIME" help:"Remove what is older than this local time, 'yyyy-MM-dd HH:mm:ss'; default: by the table's option."`
	MaxDeletes *int   `name:"max-deletes" placeholder:"N" help:"Remove at most so many; default: the table's option."`
}

func (a *retainArgs) options(r *removeArgs) (maintenance.ExpireOptions, error) {
	o := maintenance.ExpireOptions{RetainMax: a.RetainMax, RetainMin: a.RetainMin, DryRun: r.DryRun}
	var err error
	if _, err = countArg("retain_max", a.RetainMax); err != nil {
		return o, err
	}
	if _, err = countArg("retain_min", a.RetainMin); err != nil {
		return o, err
	}
	if o.MaxDeletes, err = countArg("max_deletes", a.MaxDeletes); err != nil {
		return o, err
	}
	if o.OlderThan, err = timeArg("older_than", a.OlderThan); err != nil {
		return o, err
	}
	o.Limit, err = r.limit()
	return o, err
}

// countArg returns a number of things, 0 when it is not given. A 0 that is given would be taken for no bound at all.
func countArg(flag string, n *int) (int, error) {
	switch {
	case n == nil:
		return 0, nil
	case *n < 1:
		return 0, fmt.Errorf("--%s %d is below 1: %w", flag, *n, cli.ErrUsage)
	}
	return *n, nil
}

type expireSnapshotsArgs struct {
	tableArgs
	retainArgs
	removeArgs
	Options string `name:"options" placeholder:"K=V,..." help:"Table options for this call."`
}

// Run removes snapshots.
func (a *expireSnapshotsArgs) Run(ctx context.Context, env *environment) error {
	o, err := a.options(&a.removeArgs)
	if err != nil {
		return err
	}
	t, err := a.table(ctx, env, cli.Names(a.Options)...)
	if err != nil {
		return err
	}
	r, err := maintenance.ExpireSnapshots(ctx, t, o)
	if err = a.report(env.stdout, t.Path(), &r, err); err != nil || a.JSON {
		return err
	}
	return printHolders(env.stdout, "snapshots", &r)
}

// printHolders names the consumers without which more would go.
func printHolders(w io.Writer, what string, r *maintenance.Report) error {
	for _, c := range r.HeldBy {
		if _, err := fmt.Fprintf(w, "%s from %d on are kept for consumer %s, which reads that next (paimon-go consumers)\n", what, c.Next, c.ID); err != nil {
			return err
		}
	}
	return nil
}

type expireChangelogsArgs struct {
	tableArgs
	retainArgs
	removeArgs
	DeleteAll bool `name:"delete-all" help:"Remove all changelogs that outlived their snapshots."`
}

// Run removes changelogs.
func (a *expireChangelogsArgs) Run(ctx context.Context, env *environment) error {
	o, err := a.options(&a.removeArgs)
	if err != nil {
		return err
	}
	t, err := a.table(ctx, env)
	if err != nil {
		return err
	}
	r, err := maintenance.ExpireChangelogs(ctx, t, o, a.DeleteAll)
	if err = a.report(env.stdout, t.Path(), &r, err); err != nil || a.JSON {
		return err
	}
	return printHolders(env.stdout, "changelogs", &r)
}

type expirePartitionsArgs struct {
	tableArgs
	removeArgs
	ExpirationTime     string `name:"expiration-time" placeholder:"TIME" help:"Age of a partition that goes, such as '7 d'; default: partition.expiration-time."`
	TimestampFormatter string `name:"timestamp-formatter" placeholder:"PATTERN" help:"How a partition's time is written, such as yyyy-MM-dd; default: partition.timestamp-formatter."`
	TimestampPattern   string `name:"timestamp-pattern" placeholder:"PATTERN" help:"Which partition columns make the time, such as '$dt $hour'; default: partition.timestamp-pattern."`
	ExpireStrategy     string `name:"expire-strategy" placeholder:"values-time|update-time" help:"Whether a partition's values or its newest file tell the age; default: partition.expiration-strategy."`
	MaxExpires         *int   `name:"max-expires" placeholder:"N" help:"Drop at most so many partitions."`
}

// Run drops partitions.
func (a *expirePartitionsArgs) Run(ctx context.Context, env *environment) error {
	var options []string
	for _, o := range []struct{ key, value string }{
		{table.KeyPartitionExpirationTime.Name, a.ExpirationTime}, {table.KeyPartitionTimestampFormatter.Name, a.TimestampFormatter},
		{table.KeyPartitionTimestampPattern.Name, a.TimestampPattern}, {table.KeyPartitionExpirationStrategy.Name, a.ExpireStrategy},
	} {
		if o.value != "" {
			options = append(options, o.key+"="+o.value)
		}
	}
	most, err := countArg("max_expires", a.MaxExpires)
	if err != nil {
		return err
	}
	if _, err := a.limit(); err != nil {
		return err
	}
	t, err := a.table(ctx, env, options...)
	if err != nil {
		return err
	}
	switch {
	case len(t.Schema().PartitionKeys) == 0:
		return fmt.Errorf("the table %s has no partitions: %w", t.Path(), cli.ErrUsage)
	case !t.Options().Has(table.KeyPartitionExpirationTime):
		return fmt.Errorf("--expiration_time is required, the table %s doesn't set %s: %w", t.Path(), table.KeyPartitionExpirationTime.Name, cli.ErrUsage)
	}
	r, err := maintenance.ExpirePartitions(ctx, t, "paimon-go-compact_"+uuid.NewString(), maintenance.PartitionOptions{MaxNum: most, DryRun: a.DryRun})
	return a.report(env.stdout, t.Path(), &r, err)
}

type expireTagsArgs struct {
	tableArgs
	removeArgs
}

// Run removes tags whose time is over.
func (a *expireTagsArgs) Run(ctx context.Context, env *environment) error {
	limit, err := a.limit()
	if err != nil {
		return err
	}
	t, err := a.table(ctx, env)
	if err != nil {
		return err
	}
	r, err := maintenance.ExpireTags(ctx, t, a.DryRun, limit)
	return a.report(env.stdout, t.Path(), &r, err)
}

type removeOrphanFilesArgs struct {
	warehouseArgs
	removeArgs
	Database    string `name:"database" help:"Database of the table."`
	Table       string `name:"table" help:"Name of the table; * or none: all tables of the database."`
	OlderThan   string `name:"older-than" placeholder:"TIME" help:"Remove only files older than this local time, 'yyyy-MM-dd HH:mm:ss', as younger ones may belong to a commit under way; default: a day ago."`
	Parallelism string `name:"parallelism" help:"Taken for the sake of Paimon's action; there is one process here."`
	Mode        string `name:"mode" default:"local" help:"Taken for the sake of Paimon's procedure; there is one process here."`
}

// Run removes orphaned files.
func (a *removeOrphanFilesArgs) Run(ctx context.Context, env *environment) error {
	required := []cli.Name{{Flag: "database", Value: a.Database}}
	all := a.Table == "" || a.Table == "*"
	if !all {
		required = append(required, cli.Name{Flag: "table", Value: a.Table})
	}
	if err := cli.Required(a.Warehouse, required...); err != nil {
		return err
	}
	o := maintenance.OrphanOptions{DryRun: a.DryRun}
	older, err := timeArg("older_than", a.OlderThan)
	switch {
	case err != nil:
		return err
	case older != nil && !older.Before(time.Now()):
		return fmt.Errorf("--older_than %s is not in the past: files that are being written would be taken for orphans: %w", a.OlderThan, cli.ErrUsage)
	case older != nil:
		o.OlderThan = *older
	}
	if o.Limit, err = a.limit(); err != nil {
		return err
	}
	w, err := a.open(ctx, env.log)
	if err != nil {
		return err
	}
	names := []string{a.Database + "." + a.Table}
	w.paths[names[0]] = table.TablePath(w.root, a.Database, a.Table)
	if all {
		if err := w.exists(ctx, "--database", fs.Dir(table.TablePath(w.root, a.Database, "t"))); err != nil {
			return err
		}
		if w.databases, err = pattern("database", regexp.QuoteMeta(a.Database)); err != nil {
			return err
		}
		if names, err = w.List(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range names { // what is wrong with one table keeps no other from being cleaned
		t, err := w.Open(ctx, name)
		if all && errors.Is(err, table.ErrNoTable) {
			continue // dropped meanwhile
		} else if err != nil {
			errs = append(errs, err)
			continue
		}
		r, err := maintenance.RemoveOrphanFiles(ctx, t, o)
		errs = append(errs, a.report(env.stdout, t.Path(), &r, err))
	}
	return errors.Join(errs...)
}

// reportLine is a report as JSON.
type reportLine struct {
	Table      string   `json:"table"`
	DryRun     bool     `json:"dryRun"`
	Snapshots  int      `json:"snapshots"`
	Changelogs int      `json:"changelogs"`
	Partitions int      `json:"partitions"`
	Tags       int      `json:"tags"`
	Files      int      `json:"files"`
	Bytes      int64    `json:"bytes"`
	Names      []string `json:"names,omitempty"`
	Kept       []string `json:"kept,omitempty"`
}

// report prints what was removed, also of what went wrong half-way, and returns err.
func (a *removeArgs) report(w io.Writer, path string, r *maintenance.Report, err error) error {
	if err != nil && r.Files+r.Snapshots+r.Changelogs+r.Partitions+r.Tags == 0 {
		return err
	}
	if a.JSON {
		l := reportLine{Table: path, DryRun: a.DryRun, Snapshots: r.Snapshots, Changelogs: r.Changelogs, Partitions: r.Partitions, Tags: r.Tags,
			Files: r.Files, Bytes: r.Bytes, Kept: r.Kept}
		if a.DryRun {
			l.Names = r.Names
		}
		return errors.Join(err, cli.PrintJSON(w, l))
	}
	if a.DryRun {
		for _, n := range r.Names {
			fmt.Fprintln(w, n)
		}
	}
	for _, k := range r.Kept {
		fmt.Fprintln(w, "kept:", k)
	}
	_, perr := fmt.Fprintf(w, "%s: %s\n", path, summary(r, a.DryRun))
	return errors.Join(err, perr)
}

// summary says in words what was removed.
func summary(r *maintenance.Report, dryRun bool) string {
	var parts []string
	for _, p := range []struct {
		n         int
		one, more string
	}{
		{r.Snapshots, "snapshot", "snapshots"}, {r.Changelogs, "changelog", "changelogs"}, {r.Partitions, "partition", "partitions"},
		{r.Tags, "tag", "tags"}, {r.Consumers, "consumer", "consumers"}, {r.Files, "file", "files"},
	} {
		switch p.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+p.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.more))
		}
	}
	verb := "removed "
	if dryRun {
		verb = "would remove "
	}
	if len(parts) == 0 {
		return verb + "nothing"
	}
	if r.Bytes > 0 {
		parts[len(parts)-1] += fmt.Sprintf(" (%s)", cli.Size(r.Bytes))
	}
	return verb + strings.Join(parts, ", ")
}
