package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/cmd/internal/partition"
	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/table/maintenance"
)

// Run compacts one table.
func (a *compactArgs) Run(ctx context.Context, env *environment) error {
	if a.OrderStrategy != "" || a.OrderBy != "" {
		return fmt.Errorf("--order_strategy and --order_by sort tables without a primary key, which are not compacted by this program: %w", cli.ErrUsage)
	}
	cfg, err := a.config(env.log)
	if err != nil {
		return err
	}
	w, err := a.open(ctx, env.log)
	if err != nil {
		return err
	}
	t, err := w.Open(ctx, w.only)
	if err != nil {
		return err
	}
	chosen, err := partition.New(t, a.Partition, a.Where)
	if err != nil {
		return err
	}
	if chosen != nil && t.Options().Int(table.KeyBucket) == table.PostponeBucket {
		return fmt.Errorf("--partition and --where can't go with bucket=-2, whose partitions are compacted together (%s): %w", w.only, cli.ErrUsage)
	}
	if chosen != nil {
		cfg.PartitionFilter = func(_ string, values map[string]string) bool { return chosen.MatchTexts(values) }
	}
	cfg.StrictTables = true
	return a.run(ctx, env, cfg, w)
}

// Run compacts the tables of databases.
func (a *compactDatabaseArgs) Run(ctx context.Context, env *environment) error {
	cfg, err := a.config(env.log)
	if err != nil {
		return err
	}
	if err := cli.Required(a.Warehouse); err != nil {
		return err
	}
	w, err := a.open(ctx, env.log)
	if err != nil {
		return err
	}
	var errs [3]error
	w.databases, errs[0] = pattern("including_databases", a.IncludingDatabases)
	w.including, errs[1] = pattern("including_tables", a.IncludingTables)
	w.excluding, errs[2] = pattern("excluding_tables", a.ExcludingTables)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if a.Once || a.DryRun || a.Explain { // a service waits for what is made later
		if err := w.exists(ctx, "--warehouse", w.root); err != nil {
			return err
		}
	}
	return a.run(ctx, env, cfg, w)
}

// run says what there is to do, does it once, or goes on until ctx ends.
func (a *serviceArgs) run(ctx context.Context, env *environment, cfg compactor.Config, w *warehouse) error {
	port, err := cli.Listen(a.Listen)
	if err != nil {
		return err
	}
	if port != nil {
		defer port.Close() // also closed by the endpoint, once that is started
	}
	spill, err := lsm.NewSpillStore(a.SpillDir, "", 0, 0)
	if err != nil {
		return fmt.Errorf("--spill_dir: %w", err)
	}
	m := newMetrics()
	cfg.Spill = spill
	cfg.Listener = m.listener(env.log)
	if !a.DryRun && !a.Explain {
		cfg.Maintainer = newMaintainer
	}
	service, err := compactor.New(cfg, w)
	if err != nil {
		return err
	}
	m.service = service
	if a.DryRun || a.Explain {
		return a.plan(ctx, env, service, w)
	}
	if err := cli.CheckStorage(ctx, w.fsys, w.root, w.catalog); err != nil && (a.Once || !cli.StorageFailed(err)) {
		return err // the service waits for storage, which is checked again before the first commit
	}
	endpoint := cli.Serve(port, m, w.ready, env.log)
	defer func() { err = errors.Join(err, endpoint.Close()) }()
	show := cli.StartProgress(env.stderr, m.line())
	started := time.Now()
	log := env.log.With("warehouse", w.root)
	if w.only != "" {
		log = log.With("table", w.only)
	}
	log.Info("started", "once", a.Once, "workers", cfg.Workers, "memory", cli.Size(cfg.Memory),
		"shard", fmt.Sprintf("%d/%d", cfg.Shard, cfg.Shards), "commit_user", service.User())
	if a.Once {
		err = a.once(ctx, env, service)
	} else {
		err = service.Run(ctx)
	}
	err = errors.Join(err, show.Close())
	if err == nil {
		env.log.Info("ended", "seconds", int(time.Since(started).Seconds()))
	}
	return err
}

// newMaintainer makes the maintainer of a table. It commits under a name of its own, since its identifiers are none of the
// service's. The bound on calls is that of the table's file system.
func newMaintainer(t *table.Table, user string) compactor.Maintainer {
	return maintainer{maintenance.NewMaintainer(t, user+"-expiry", nil)}
}

// maintainer makes a compactor.Maintainer of one of table/maintenance.
type maintainer struct{ m *maintenance.Maintainer }

// Maintain implements compactor.Maintainer.
func (m maintainer) Maintain(ctx context.Context, s *table.Snapshot) (compactor.Maintained, error) {
	r, err := m.m.Run(ctx, s)
	did := compactor.Maintained{Snapshots: r.Snapshots, Changelogs: r.Changelogs, Tags: r.Tags, Consumers: r.Consumers,
		Partitions: r.Partitions, Files: r.Files, Bytes: r.Bytes, Held: r.Held}
	for _, c := range r.HeldBy {
		did.HeldBy = append(did.HeldBy, c.ID)
	}
	return did, err
}

// plan prints what would be done.
func (a *serviceArgs) plan(ctx context.Context, env *environment, service *compactor.Service, w *warehouse) error {
	if a.Explain {
		buckets, err := service.Explain(ctx)
		if err != nil {
			return err
		}
		if err := a.printExplained(env.stdout, buckets, time.Now()); err != nil || a.JSON {
			return err
		}
	}
	jobs, err := service.Plan(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		for i := range jobs {
			if err := cli.PrintJSON(env.stdout, lineOf(&jobs[i])); err != nil {
				return err
			}
		}
		return nil
	}
	g := cli.NewGrid(env.stdout, "table", "partition", "bucket", "sorted runs", "level 0", "files", "size", "into level", "because of")
	for i := range jobs {
		j := &jobs[i]
		if err := g.Row(j.Table, j.Partition, j.Bucket, j.Runs, j.Level0, j.Files, cli.Size(j.Bytes), j.OutputLevel, j.Reason); err != nil {
			return err
		}
	}
	if err := g.End(); err != nil {
		return err
	}
	if err := printBeside(ctx, env.stdout, w); err != nil {
		return err
	}
	tables := map[string]bool{}
	var bytes int64
	for i := range jobs {
		tables[jobs[i].Table] = true
		bytes += jobs[i].Bytes
	}
	what := "no compaction is due"
	if len(jobs) > 0 {
		what = fmt.Sprintf("compactions due: %d, of tables: %d, to read: %s", len(jobs), len(tables), cli.Size(bytes))
	}
	_, err = fmt.Fprintln(env.stdout, what+"; nothing was done")
	return err
}

// jobLine is a job as JSON.
type jobLine struct {
	Table       string `json:"table"`
	Partition   string `json:"partition"`
	Bucket      int32  `json:"bucket"`
	Runs        int    `json:"sortedRuns"`
	Level0      int    `json:"level0Files"`
	Files       int    `json:"files"`
	Bytes       int64  `json:"bytes"`
	OutputLevel int    `json:"outputLevel"`
	Reason      string `json:"reason"`
}

func lineOf(j *compactor.Job) jobLine {
	return jobLine{j.Table, j.Partition, j.Bucket, j.Runs, j.Level0, j.Files, j.Bytes, j.OutputLevel, j.Reason}
}

// printBeside prints which tables would be left as they are, and why, and what would expire of the others.
func printBeside(ctx context.Context, out io.Writer, w *warehouse) error {
	names, err := w.List(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return noTables(out)
	}
	for _, name := range names {
		t, err := w.Open(ctx, name)
		if errors.Is(err, table.ErrNoTable) {
			continue // dropped meanwhile
		} else if err != nil {
			return err
		}
		why := t.Schema().CheckDedicated(t.Options())
		if why == nil {
			_, why = lsm.NewRewriter(t, t.Schema(), lsm.RewriterConfig{Memory: leastMemory})
		}
		if why != nil {
			fmt.Fprintf(out, "%s is left as it is: %v\n", name, why)
			continue
		}
		r, err := maintenance.ExpireSnapshots(ctx, t, maintenance.ExpireOptions{DryRun: true})
		if err != nil {
			return err
		}
		if r.Snapshots > 0 {
			fmt.Fprintf(out, "%s: expiry %s\n", name, summary(&r, true))
		}
	}
	return nil
}
