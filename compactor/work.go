package compactor

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// rewriter is what is needed of lsm.Rewriter.
type rewriter interface {
	Rewrite(ctx context.Context, partition []byte, bucket int32, levels *lsm.Levels, u lsm.Unit) (table.CompactIncrement, lsm.RewriteStats, error)
	Remove(ctx context.Context, partition []byte, bucket int32, inc table.CompactIncrement)
	Expired(f *table.DataFile, now time.Time) bool
}

// finished is a job whose files are written, or are not.
type finished struct {
	c        *candidate
	inc      table.CompactIncrement
	moved    []table.CommitMessage // in its place, of a job that gives rows their buckets
	info     JobInfo
	snapshot int64 // that has it, once it is committed
}

func (f *finished) messages() []table.CommitMessage {
	if f.c.move != nil {
		return f.moved
	}
	m := table.CommitMessage{Partition: f.c.part.bytes, Bucket: f.c.key.bucket, TotalBuckets: f.c.total, Compact: f.inc}
	if f.c.vectors != nil {
		m.Vectors = &f.c.vectors.Name
	}
	return []table.CommitMessage{m}
}

// nothing tells whether there was nothing to do.
func (f *finished) nothing() bool { return len(f.inc.Before)+len(f.inc.After)+len(f.moved) == 0 }

// remove deletes the files of a job that no snapshot refers to.
func (f *finished) remove(ctx context.Context) {
	if f.c.move != nil {
		f.c.move.removeAll(ctx, f.moved)
		return
	}
	f.c.rw.Remove(ctx, f.c.part.bytes, f.c.key.bucket, f.inc)
}

// activeJob is a job that a worker is at.
type activeJob struct {
	cancel context.CancelFunc
	start  time.Time
	total  int64        // bytes to read and to write, about
	done   atomic.Int64 // of them
}

type activeKey struct{}

// throttle is called by rewriters for the bytes that they read and write.
func (s *Service) throttle(ctx context.Context, bytes int64) error {
	if a, ok := ctx.Value(activeKey{}).(*activeJob); ok {
		a.done.Add(bytes)
	}
	return s.bytes.wait(ctx, bytes)
}

// work does jobs until there are no more to be had.
func (x *session) work(ctx context.Context) {
	for {
		c := x.dispatch.take(ctx)
		if c == nil {
			return
		}
		c.loop.deliver(x.rewrite(c))
		x.dispatch.ended(c)
		c.loop.notify()
	}
}

// rewrite does one job.
func (x *session) rewrite(c *candidate) *finished {
	ctx, cancel := context.WithCancel(c.loop.jobs)
	defer cancel()
	a := &activeJob{cancel: cancel, start: time.Now(), total: 2 * c.job.Bytes}
	ctx = context.WithValue(ctx, activeKey{}, a)
	x.activeMu.Lock()
	x.active[a] = struct{}{}
	x.activeMu.Unlock()
	defer func() {
		x.activeMu.Lock()
		delete(x.active, a)
		x.activeMu.Unlock()
	}()
	if f := x.cfg.Listener.JobStart; f != nil {
		f(c.job)
	}
	var inc table.CompactIncrement
	var stats lsm.RewriteStats
	var moved []table.CommitMessage
	levels, err := c.withVectors(ctx)
	switch {
	case err != nil:
	case c.move != nil:
		moved, stats, err = c.runMove(ctx)
	default:
		inc, stats, err = c.rw.Rewrite(ctx, c.part.bytes, c.key.bucket, levels, c.unit)
	}
	out := &finished{c: c, inc: inc, moved: moved, info: JobInfo{
		Job: c.job, BytesRead: stats.BytesRead, BytesWritten: stats.BytesWritten, RowsRead: stats.RowsRead, RowsWritten: stats.RowsWritten,
		ChangelogRows: stats.ChangelogRows, FilesWritten: stats.FilesWritten, Upgraded: stats.Upgraded, Duration: time.Since(a.start), Err: err,
	}}
	if f := x.cfg.Listener.JobEnd; f != nil {
		f(out.info)
	}
	return out
}

// withVectors reads the deletion vectors of the bucket, which are in memory for the time of a job.
func (c *candidate) withVectors(ctx context.Context) (*lsm.Levels, error) {
	if c.vectors == nil || c.vectors.Name == "" {
		return c.levels, nil
	}
	v, err := lsm.ReadVectors(ctx, c.t, c.part.bytes, c.key.bucket, []table.IndexFile{*c.vectors})
	if err != nil {
		return nil, fmt.Errorf("deletion vectors of bucket %d: %w", c.key.bucket, err)
	}
	return c.levels.WithVectors(v), nil
}

// cancelHopeless cancels the jobs that will hardly end within d, as far as they have come.
func (x *session) cancelHopeless(d time.Duration) {
	x.activeMu.Lock()
	defer x.activeMu.Unlock()
	for a := range x.active {
		if a.left() > d {
			a.cancel()
		}
	}
}

// left guesses how long a job still takes; one that has only begun may be quick.
func (a *activeJob) left() time.Duration {
	spent, done := time.Since(a.start), a.done.Load()
	if spent < time.Second || done >= a.total {
		return 0
	}
	return time.Duration(float64(spent) * float64(a.total-done) / float64(max(done, 1)))
}
