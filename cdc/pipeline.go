package cdc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// PropertyPosition is the key of a snapshot's properties under which the source's resume point is stored.
const PropertyPosition = "paimon-go.source.position"

// TableWriter is what the pipeline needs of a table's writer; *writer.Writer is one.
type TableWriter interface {
	// Write takes a copy of the rows. It waits only for memory.
	Write(ctx context.Context, b *row.Batch) error
	// Checkpoint commits what was written since the last one, in the background and in order.
	Checkpoint(ctx context.Context, id int64, props map[string]string) error
	// Alter writes what came before under the old schema and then changes the table.
	Alter(ctx context.Context, changes ...table.SchemaChange) error
	// CatchUp says that the rows until the next Checkpoint may be in the table already (Event.CatchUp).
	CatchUp(ctx context.Context) error
	// Wait returns when every checkpoint taken so far is committed.
	Wait(ctx context.Context) error
	// Err returns the error that ended the writer, a commit in the background that failed say, and nil while it works.
	Err() error
}

// Config is what a Pipeline works with. Source, Writer, Interval, NextID and TargetType are required.
type Config struct {
	Source Source
	Writer TableWriter
	// Interval is the time between checkpoints (the commit tick).
	Interval time.Duration
	// NextID is the identifier of the first checkpoint.
	NextID int64
	// Always takes a checkpoint at every tick, also when no rows came (commit.force-create-snapshot).
	Always bool
	// TargetType returns the table's current row type, also after a schema change.
	TargetType func() *row.Type
	// SavePosition stores the position of a source that gave no rows for a while. All before it is committed, the last
	// time under the identifier id. Optional.
	SavePosition func(ctx context.Context, id int64, position string) error
	Log          *slog.Logger
	Metrics      *Metrics
}

// Metrics are counters of a pipeline, updated while it runs. Safe for concurrent reads.
type Metrics struct {
	Rows, SnapshotRows, Checkpoints, SchemaChanges atomic.Int64
	// SourceMillis is the commit time at the source of the newest row taken, in milliseconds since the epoch, 0 at first.
	SourceMillis atomic.Int64
	// LateMillis is how long after its tick the last checkpoint was taken: the tick waits for the end of a transaction.
	LateMillis atomic.Int64
	// SourceWaitNanos is the time spent waiting for the source, because nothing changed or because it is slow.
	SourceWaitNanos atomic.Int64
	Snapshotting    atomic.Bool
}

// Pipeline moves the events of one source into one table. It runs once, on one goroutine.
type Pipeline struct {
	Config
	id       int64    // of the next checkpoint
	pos      Position // newest resume point that was read
	saved    Position // newest resume point that a checkpoint or SavePosition has
	open     bool     // something came after pos
	dirty    bool     // rows came since the last checkpoint
	quiet    int      // ticks since then
	ticks    int64    // ticks since the last checkpoint
	catching bool     // rows since the last checkpoint are a catch-up, since began
	behind   bool     // and more of it is to come
	began    time.Time
	tick     time.Time
	stopping context.Context // ends when a stop is asked for
	grace    context.Context // ends a while later
}

// quietTicks is the number of ticks without rows after which a moved position is saved beside the table.
const quietTicks = 4

// firstCommit is when the first rows of a run are committed, if their tick is later: that the job works is seen at once, and a
// small table is there. One set of small files a run is no burden.
const firstCommit = 200 * time.Millisecond

// stopGrace bounds how long a stop waits for the end of the transaction under way. Leaving that out is safe: it is read
// again at the next start.
const stopGrace = 10 * time.Second

// catchUpTime bounds how long checkpoints are put off while the source catches up with its initial read. Each of them makes the
// writer read what the table has, so one is best; but what is not committed is read again after a crash.
const catchUpTime = 5 * time.Minute

// NewPipeline returns a pipeline that is ready to run.
func NewPipeline(c Config) *Pipeline {
	if c.Metrics == nil {
		c.Metrics = &Metrics{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Pipeline{Config: c, id: c.NextID}
}

// Run moves events until the source ends or stop is closed (nil after a last checkpoint), ctx ends, or something fails. When
// it returns nil, everything up to the last resume point is committed. It closes neither the source nor the writer.
func (p *Pipeline) Run(ctx context.Context, stop <-chan struct{}) error {
	release := p.watch(ctx, stop)
	defer release()
	if err := p.Source.Retarget(p.TargetType()); err != nil {
		return err
	}
	for ended := false; !ended; {
		var err error
		if ended, err = p.untilTick(ctx); err != nil {
			return p.afterError(ctx, err)
		}
		if p.open {
			break // stopped inside a transaction that didn't end: without a checkpoint
		}
		if err := p.Writer.Err(); err != nil {
			return err // a failed commit must not stay unnoticed until the next row comes
		}
		if p.catching && p.behind && !ended && time.Since(p.began) < catchUpTime {
			continue
		}
		if err := p.checkpoint(ctx, ended); err != nil {
			return err
		}
	}
	return p.Writer.Wait(ctx)
}

// errWriter marks errors of the writer: nothing can be committed after one.
type errWriter struct{ error }

func (e errWriter) Unwrap() error { return e.error }

// afterError commits what came before the source failed, so that the error is met again soon after the next start and the
// table is as near to it as can be. It returns err.
func (p *Pipeline) afterError(ctx context.Context, err error) error {
	var w errWriter
	if errors.As(err, &w) {
		return w.error
	}
	if p.open || ctx.Err() != nil {
		return err
	}
	if cerr := p.checkpoint(ctx, true); cerr != nil {
		return errors.Join(err, cerr)
	}
	return errors.Join(err, p.Writer.Wait(ctx))
}

// watch makes the contexts that end when a stop is asked for and a grace period later. The returned function frees them.
func (p *Pipeline) watch(ctx context.Context, stop <-chan struct{}) func() {
	var endStopping, endGrace context.CancelFunc
	p.stopping, endStopping = context.WithCancel(ctx)
	p.grace, endGrace = context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-stop:
		case <-p.grace.Done():
			return
		}
		endStopping()
		t := time.NewTimer(stopGrace)
		defer t.Stop()
		select {
		case <-t.C:
			endGrace()
		case <-p.grace.Done():
		}
	})
	return func() { endStopping(); endGrace(); wg.Wait() }
}

// untilTick handles events until the tick is due at a resume point. It returns true when the source ended or a stop was
// asked for; then p.open tells whether a transaction had to be left.
func (p *Pipeline) untilTick(ctx context.Context) (bool, error) {
	p.tick = time.Now().Add(p.Interval)
	due, cancel := context.WithCancel(p.stopping)
	defer cancel()
	timer := time.AfterFunc(p.Interval, cancel)
	defer timer.Stop()
	for {
		if p.dirty && p.id == p.NextID {
			if first := time.Now().Add(firstCommit); first.Before(p.tick) {
				p.tick = first
				timer.Reset(firstCommit)
			}
		}
		wait := due
		if p.open {
			wait = p.grace
		}
		asked := time.Now()
		ev, err := p.Source.Next(wait)
		p.Metrics.SourceWaitNanos.Add(int64(time.Since(asked)))
		switch {
		case err == nil:
			if err := p.handle(ctx, ev); err != nil {
				return false, err
			}
		case errors.Is(err, io.EOF):
			if p.open {
				return false, fmt.Errorf("the source ended inside a transaction, after %v", p.pos)
			}
			return true, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case wait.Err() == nil:
			return false, err
		case p.open:
			return true, nil
		}
		if !p.open && due.Err() != nil {
			p.Metrics.LateMillis.Store(max(0, time.Since(p.tick).Milliseconds()))
			return p.stopping.Err() != nil, nil
		}
	}
}

// handle takes one event to the writer.
func (p *Pipeline) handle(ctx context.Context, ev *Event) error {
	p.behind = ev.CatchUp && !ev.CaughtUp
	if ev.Rows != nil && ev.Rows.N > 0 {
		if ev.CatchUp && !p.catching {
			if err := p.catchUp(ctx); err != nil {
				return errWriter{err}
			}
		}
		if err := p.Writer.Write(ctx, ev.Rows); err != nil {
			return errWriter{err}
		}
		p.dirty, p.open = true, true
		p.Metrics.Rows.Add(int64(ev.Rows.N))
		if ev.Snapshot {
			p.Metrics.SnapshotRows.Add(int64(ev.Rows.N))
		}
	}
	p.Metrics.Snapshotting.Store(ev.Snapshot)
	if !ev.At.IsZero() {
		p.Metrics.SourceMillis.Store(ev.At.UnixMilli())
	}
	if len(ev.Changes) > 0 {
		if p.catching && !p.open { // rows of both schemas are not held against the same state of the table
			if err := p.checkpoint(ctx, false); err != nil {
				return errWriter{err}
			}
		}
		p.open = true
		p.Log.Info("schema change", "statement", ev.Statement, "changes", len(ev.Changes))
		if err := p.Writer.Alter(ctx, ev.Changes...); err != nil {
			return errWriter{fmt.Errorf("applying %q: %w", ev.Statement, err)}
		}
		p.Metrics.SchemaChanges.Add(1)
		if err := p.Source.Retarget(p.TargetType()); err != nil {
			return fmt.Errorf("after %q: %w", ev.Statement, err)
		}
	}
	if ev.Pos != nil {
		p.pos, p.open = ev.Pos, false
	}
	return nil
}

// catchUp commits what came before and begins a catch-up.
func (p *Pipeline) catchUp(ctx context.Context) error {
	if p.dirty {
		if err := p.checkpoint(ctx, false); err != nil {
			return err
		}
	}
	if err := p.Writer.CatchUp(ctx); err != nil {
		return err
	}
	p.catching, p.began = true, time.Now()
	p.Log.Info("catching up with what changed during the initial read")
	return nil
}

// worker is a writer that has work of its own to be committed, such as compactions.
type worker interface {
	// Due tells whether a checkpoint with this identifier has something to do though no rows came.
	Due(id int64) bool
}

// due tells whether a tick without rows is worth a checkpoint. Such ticks count in the identifier, as in Java, where each makes
// a commit: every n-th one may have a meaning (full-compaction.delta-commits).
func (p *Pipeline) due() bool {
	w, ok := p.Writer.(worker)
	if !ok || p.dirty || p.Always {
		return false
	}
	for _, id := range []int64{p.id, p.id + p.ticks} {
		if w.Due(id) {
			p.id = id
			return true
		}
	}
	p.ticks++
	return false
}

// checkpoint commits what was written, or saves the position when nothing was for a while. last forces the saving.
func (p *Pipeline) checkpoint(ctx context.Context, last bool) error {
	if p.pos == nil {
		return nil
	}
	due := p.due()
	if p.pos == p.saved && !p.Always && !due {
		return nil
	}
	text, err := p.pos.Encode()
	if err != nil {
		return err
	}
	if p.dirty || p.Always || due {
		if err := p.Writer.Checkpoint(ctx, p.id, map[string]string{PropertyPosition: text}); err != nil {
			return err
		}
		p.Metrics.Checkpoints.Add(1)
		p.id++
		p.dirty, p.saved, p.quiet, p.ticks, p.catching = false, p.pos, 0, 0, false
		return nil
	}
	if p.quiet++; p.SavePosition == nil || (p.quiet < quietTicks && !last) {
		return nil
	}
	if err := p.Writer.Wait(ctx); err != nil {
		return err
	}
	if err := p.SavePosition(ctx, p.id-1, text); err != nil {
		p.Log.Warn("saving the position of a quiet source; a restart may read more of the log", "error", err)
		return nil
	}
	p.saved, p.quiet = p.pos, 0
	return nil
}
