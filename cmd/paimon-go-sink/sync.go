package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/cdc/mysql"
	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// environment is what the commands share.
type environment struct {
	stdout, stderr io.Writer
	stop           <-chan struct{} // closed to ask for a last commit and the end
	args           *arguments
}

// job is one run of mysql_sync_table.
type job struct {
	args      *syncArgs
	log       *slog.Logger
	mysqlConf map[string]string
	source    mysql.Config
	options   table.Options // of --table_conf
	lower     bool          // names are lower case (catalog_conf case-sensitive=false)

	compactionMemory int64 // of --compaction_memory; 0: the default
	user             string

	fsys    fs.FileSystem
	catalog map[string]string // settings of fsys
	path    string
	opened  bool // a session got to streaming

	table  *table.Table // what follows is the session's
	src    *mysql.Source
	state  *table.SinkState // where to go on, nil at a first start
	resume writer.Resume
	newest atomic.Int64 // our newest snapshot
	// saved is what the state file says without a pending commit. The committing goroutine has it, except while the writer
	// has nothing to commit.
	saved table.SinkState
	// unsaved: the file is behind saved, but has what tells that.
	unsaved bool
}

// syncTable runs mysql_sync_table.
func (e *environment) syncTable(ctx context.Context, args *syncArgs) error {
	log := e.args.Logger(e.stderr)
	var j *job
	err := e.whileWaiting(ctx, log, func(ctx context.Context) (err error) {
		j, err = newJob(ctx, args, log)
		return err
	})
	if err != nil || j == nil {
		return err
	}
	if args.DryRun {
		return j.dryRun(ctx, e.stdout)
	}
	return j.run(ctx, e)
}

// whileWaiting runs what begins a job and may wait for the storage. An asked stop ends that at once, and well: nothing is open yet that
// a last commit could be made of.
func (e *environment) whileWaiting(ctx context.Context, log *slog.Logger, f func(context.Context) error) error {
	waiting, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-e.stop:
			cancel()
		case <-waiting.Done():
		}
	})
	err := f(waiting)
	stopped := err != nil && waiting.Err() != nil && ctx.Err() == nil
	cancel()
	watch.Wait()
	if stopped {
		log.Info("stopped while the storage was waited for", "error", err)
		return nil
	}
	return err
}

// mostGathering bounds how long changes wait for others before they are read, or go into the write buffer: a wake-up costs as much as fifty rows.
const mostGathering = 500 * time.Millisecond

// newJob checks all arguments that can be checked without the source, and opens the storage.
func newJob(ctx context.Context, args *syncArgs, log *slog.Logger) (*job, error) {
	j := &job{args: args, log: log}
	if err := args.unsupported(); err != nil {
		return nil, err
	}
	var err error
	if j.mysqlConf, err = cli.Pairs("mysql_conf", args.MySQLConf); err != nil {
		return nil, err
	}
	if err := j.parseSource(&args.sourceArgs); err != nil {
		return nil, err
	}
	if s := args.CompactionMemory; s != "" {
		if j.compactionMemory, err = table.ParseSize(s); err != nil || j.compactionMemory < leastCompaction {
			return nil, fmt.Errorf("--compaction_memory %s is no size of 16 MiB or more: %w", s, cli.ErrUsage)
		}
	}
	if args.CompactionWorkers < 0 {
		return nil, fmt.Errorf("--compaction_workers %d is below 0: %w", args.CompactionWorkers, cli.ErrUsage)
	}
	var warnings []string
	if j.options, warnings, err = cli.TableOptions("table_conf", args.TableConf); err != nil {
		return nil, err
	}
	for _, w := range warnings {
		log.Warn(w)
	}
	fsys, warehouse, catalog, err := cli.Storage(ctx, "--warehouse", args.Warehouse, args.CatalogConf, args.SpillDir...)
	if err != nil {
		return nil, err
	}
	cli.AboutStorage(fsys, warehouse, catalog, log)
	j.fsys, j.catalog, j.path = fsys, catalog, table.TablePath(warehouse, args.Database, args.Table)
	j.lower = strings.EqualFold(catalog["case-sensitive"], "false")
	j.source.LowerNames = j.lower
	j.source.Gather = min(args.CommitInterval/10, mostGathering)
	if args.StopAtLatest {
		j.source.StopAtLatest = true
	}
	j.user = commitUser(j.options, &j.source)
	return j, nil
}

// parseSource reads --mysql_conf and --type_mapping.
func (j *job) parseSource(args *sourceArgs) error {
	cfg, notes, err := mysql.ParseConf(j.mysqlConf)
	if err != nil {
		return err
	}
	for _, n := range notes {
		j.log.Info(n)
	}
	types, err := mysql.ParseTypeOptions(args.TypeMapping)
	if err != nil {
		return fmt.Errorf("--type_mapping: %w: %w", err, cli.ErrUsage)
	}
	types.TimeAsString = types.TimeAsString || cfg.Types.TimeAsString
	types.TinyInt1NotBool = types.TinyInt1NotBool || cfg.Types.TinyInt1NotBool
	cfg.Types = types
	j.source = cfg
	return nil
}

// commitUser is the identity of the job: the same for the same source table, wherever it runs and whichever replica it
// reads.
func commitUser(o table.Options, cfg *mysql.Config) string {
	sum := sha256.Sum256([]byte("mysql\x00" + cfg.Database + "\x00" + cfg.Table))
	user := "paimon-go-sink-" + hex.EncodeToString(sum[:6])
	if p := o.Get(table.KeyCommitUserPrefix); p != "" {
		user = p + "_" + user
	}
	return user
}

// run serves the endpoint and runs sessions, over outages of the storage.
func (j *job) run(ctx context.Context, e *environment) error {
	started := time.Now()
	port, err := cli.Listen(j.args.Listen)
	if err != nil {
		return err
	}
	if port != nil {
		defer port.Close() // also closed by the endpoint, once that is started
	}
	m := newMetrics(j)
	var endpoint *cli.Endpoint
	var show *cli.Progress
	err = j.overOutages(ctx, e.stop, m, func(ctx context.Context) error {
		return j.session(ctx, e, m, func() {
			if !j.opened {
				endpoint, show = cli.Serve(port, m, m.ready, j.log), cli.StartProgress(e.stderr, m.line())
				j.opened = true
			}
			j.log.Info("started", "table", j.path, "source", j.source.Database+"."+j.source.Table, "commit_interval", j.args.CommitInterval, "ms", time.Since(started).Milliseconds())
		})
	})
	err = errors.Join(err, show.Close(), endpoint.Close())
	if err == nil {
		j.log.Info("ended", "rows", m.pipeline.Rows.Load(), "checkpoints", m.pipeline.Checkpoints.Load(), "seconds", int(time.Since(started).Seconds()))
	}
	return err
}

// checkStorage proves that commits are safe. checked is false without an error when a stop was asked for before the job has begun.
func (j *job) checkStorage(ctx context.Context, e *environment) (checked bool, err error) {
	check := func(ctx context.Context) error {
		err := cli.CheckStorage(ctx, j.fsys, j.path, j.catalog)
		checked = err == nil
		return err
	}
	if j.opened {
		err = check(ctx)
	} else {
		err = e.whileWaiting(ctx, j.log, check)
	}
	return checked, err
}

// session opens everything, streams until the source ends or a stop is asked for, and closes everything. opened is called when it
// is about to stream.
func (j *job) session(ctx context.Context, e *environment, metrics *metrics, opened func()) (err error) {
	j.table, j.state, j.resume, j.saved, j.unsaved = nil, nil, writer.Resume{}, table.SinkState{}, false
	if checked, err := j.checkStorage(ctx, e); err != nil || !checked {
		return err
	}
	if err := j.openTable(ctx); err != nil {
		return err
	}
	if err := j.openSource(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.src.Close()) }()
	if err := j.prepareTable(ctx); err != nil {
		return err
	}
	j.newest.Store(j.resume.SnapshotID)
	if j.state != nil {
		j.saved = *j.state
	}
	if j.state == nil && j.source.Startup == mysql.StartLatest {
		// The next start must not take a later "latest" for it, should this one end before its first commit.
		text, err := j.src.Start().Encode()
		if err != nil {
			return err
		}
		if err := j.savePosition(ctx, j.resume.Identifier, text); err != nil {
			return err
		}
	}
	metrics.lastSnapshot.Store(j.resume.SnapshotID)
	t, err := table.Open(ctx, j.fsys, j.path, nil)
	if err != nil {
		return err
	}
	j.table = t
	if err := j.warnOfOldRows(ctx); err != nil {
		return err
	}
	c := j.writerConfig(t.Options())
	c.Resume, c.Listener, c.BeforeCommit = &j.resume, j.listener(ctx, metrics), j.beforeCommit
	w, err := writer.Open(ctx, t, c)
	if err != nil {
		return err
	}
	if w.NeedsCatchUp() {
		j.src.MarkCatchUp()
	}
	j.readExactly(w)
	j.warnOfEngine(w)
	metrics.writer.Store(w)
	metrics.source.Store(j.src)
	metrics.backlog.trigger = t.Options().Int(table.KeyNumSortedRunCompactionTrigger)
	defer j.background(ctx, func(ctx context.Context) { j.watch(ctx, t, metrics) })()
	p := cdc.NewPipeline(cdc.Config{Source: j.src, Writer: w, Interval: j.args.CommitInterval, NextID: j.resume.Identifier + 1,
		Always:     t.Options().Bool(table.KeyCommitForceCreateSnapshot),
		TargetType: func() *row.Type { return t.Schema().RowType() }, SavePosition: func(ctx context.Context, id int64, position string) error {
			err := j.savePosition(ctx, id, position)
			if err == nil {
				metrics.positions.Add(1)
				metrics.worksAgain()
			}
			return err
		}, Log: j.log, Metrics: &metrics.pipeline})
	opened()
	if metrics.outage.Load() != nil && j.state != nil && j.writeState(ctx, j.saved) { // there may be no commit for long
		metrics.worksAgain()
	}
	if err := p.Run(ctx, e.stop); err != nil {
		// What is not committed is read again at the next start: the writer need not wait for it.
		cctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		_ = w.Close(cctx)
		return err
	}
	if err := w.Close(ctx); err != nil {
		return err
	}
	if j.unsaved {
		j.writeState(ctx, j.saved)
	}
	return nil
}

// writerConfig is what arguments and options ask of the writer.
func (j *job) writerConfig(o table.Options) writer.Config {
	return writer.Config{CommitUser: j.user, Memory: processBudget(o), SpillDirs: j.args.SpillDir, PairedUpdates: true,
		CompactionWorkers: j.args.CompactionWorkers, CompactionMemory: j.compactionMemory}
}

// background runs f until the function that it returns is called, which waits for its end.
func (j *job) background(ctx context.Context, f func(context.Context)) func() {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { f(ctx) })
	return func() { cancel(); wg.Wait() }
}

// openTable opens the table if there is one, and finds where the job goes on.
func (j *job) openTable(ctx context.Context) error {
	t, err := table.Open(ctx, j.fsys, j.path, nil)
	if errors.Is(err, table.ErrNoTable) {
		return nil
	}
	if err != nil {
		return err
	}
	j.table = t
	j.user = commitUser(t.Options().With(j.options), &j.source)
	if j.state, err = t.FindSinkState(ctx, j.user, cdc.PropertyPosition); err != nil {
		return err
	}
	if j.state != nil {
		j.resume = writer.Resume{SnapshotID: j.state.SnapshotID, Identifier: j.state.Identifier}
	}
	return nil
}

// warnOfOldRows says so when a first start finds rows: an initial read adds to them and removes none.
func (j *job) warnOfOldRows(ctx context.Context) error {
	if j.state != nil {
		return nil
	}
	s, err := j.table.Latest(ctx)
	if err != nil || s == nil || s.TotalRecordCount == 0 {
		return err
	}
	j.log.Warn("the table has rows and no position of this job; those that the source no longer has stay. To have exactly the source's rows, read into an empty table",
		"table", j.path, "snapshot", s.ID, "records", s.TotalRecordCount)
	return nil
}

// warnOfEngine says which changes of the source will end the program, as the table's merge engine can't take them.
func (j *job) warnOfEngine(w *writer.Writer) {
	t := w.Traits()
	if t.Refuses != nil {
		j.log.Warn("the first DELETE of a row will end this program with exit code 5, and so may an UPDATE", "table", j.path, "reason", t.Refuses)
	}
}

// readExactly sees to it that no change comes twice where the merge engine or the changelog can't take that.
func (j *job) readExactly(w *writer.Writer) {
	if !w.NeedsExactRead() {
		return
	}
	if why := j.src.ReadExactly(); why != "" {
		j.log.Warn("the source can't be read as it is at one moment: when rows of it change during the initial read, this program ends after that with exit code 2", "table", j.path, "reason", why)
	}
}

func (j *job) openSource(ctx context.Context) error {
	saved := ""
	if j.state != nil {
		saved = j.state.Position
	}
	var err error
	j.src, err = mysql.Open(ctx, j.source, saved, j.log)
	return err
}

// savePosition keeps the position beside the table while the source gives no rows.
func (j *job) savePosition(ctx context.Context, id int64, position string) error {
	j.saved, j.unsaved = table.SinkState{User: j.user, Identifier: id, SnapshotID: j.newest.Load(), Position: position}, false
	return j.table.WriteSinkState(ctx, j.saved)
}

// beforeCommit notes beside the table what is about to be committed, so that a restart knows whether it was, even when the
// snapshot has expired by then. As a rule that is all that is written for a commit: the next one's note, or the end of the job,
// says that it was made. It runs on the committing goroutine, as does what happens after a commit.
func (j *job) beforeCommit(ctx context.Context, c *table.Committable) {
	state := j.saved
	state.User = j.user
	var lasting bool
	state.Pending, lasting = j.table.NewPendingCommit(c, cdc.PropertyPosition)
	j.unsaved = j.writeState(ctx, state) && lasting
}

func (j *job) writeState(ctx context.Context, state table.SinkState) bool {
	err := j.table.WriteSinkState(ctx, state)
	if err != nil && ctx.Err() == nil {
		j.log.Warn("the position is in the snapshots, but not in the state file beside the table", "error", err)
	}
	return err == nil
}

// listener keeps the state file with each commit, and the metrics.
func (j *job) listener(ctx context.Context, m *metrics) writer.Listener {
	l := m.listener()
	count := l.CommitEnd
	l.CommitEnd = func(c writer.CommitInfo) {
		count(c)
		if c.Snapshot == nil {
			return
		}
		j.log.Debug("committed", "snapshot", c.Snapshot.ID, "epoch", c.ID, "files", c.Files, "ms", c.Duration.Milliseconds())
		j.newest.Store(c.Snapshot.ID)
		j.saved = table.SinkState{User: j.user, Identifier: c.ID, SnapshotID: c.Snapshot.ID, Position: c.Snapshot.Properties[cdc.PropertyPosition]}
		if !j.unsaved {
			j.writeState(ctx, j.saved)
		}
	}
	return l
}
