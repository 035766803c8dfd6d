package writer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// Pending is an epoch: the rows between two barriers, on their way to files.
type Pending struct {
	w       *Writer
	id      int64
	number  int64 // of the barrier
	start   time.Time
	before  []*Pending    // epochs that Flush and Alter ended, which are part of this one's commit
	pending atomic.Int64  // shards that have not met the barrier, and flushes under way
	done    chan struct{} // closed when pending is 0
	prev    *Pending      // the epoch before, of a table with bucket=-2; nil when it is dated
	dating  sync.Once

	mu       sync.Mutex
	messages []table.CommitMessage // guarded by mu until done
	err      error                 // guarded by mu until done: the first one
}

// ID returns the identifier that Barrier was called with.
func (p *Pending) ID() int64 { return p.id }

// Wait waits until all rows of the epoch are in files and returns what is to be committed, nothing if there were no rows.
// On an error of a flush the files are removed. The messages are the caller's then, and so are the files they name.
func (p *Pending) Wait(ctx context.Context) ([]table.CommitMessage, error) {
	for _, e := range slices.Concat(p.before, []*Pending{p}) {
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	messages, err := p.finish()
	if err != nil {
		p.w.remove(messages)
		return nil, err
	}
	return messages, nil
}

// finish is collect, and puts what waited for the other files into storage.
func (p *Pending) finish() ([]table.CommitMessage, error) {
	messages, err := p.collect()
	if err == nil && p.w.merged != nil {
		err = p.w.merged.write(p.w.ctx, messages)
	}
	return messages, err
}

// collect waits for the epoch and those before it, and returns all their files even if some could not be written.
func (p *Pending) collect() (messages []table.CommitMessage, err error) {
	for _, e := range slices.Concat(p.before, []*Pending{p}) {
		<-e.done // every flush ends: they are bound to the writer's context
		e.date()
		messages = append(messages, e.messages...)
		err = cmp.Or(err, e.err)
	}
	if len(p.before) > 0 {
		slices.SortStableFunc(messages, compareMessages)
	}
	return messages, err
}

// release ends the part of one shard or flush.
func (p *Pending) release() {
	if p.pending.Add(-1) > 0 {
		return
	}
	slices.SortFunc(p.messages, compareMessages)
	close(p.done)
}

// flushJob writes what a bucket has of an epoch.
type flushJob struct {
	w      *Writer
	gen    *generation
	epoch  *Pending
	bucket *bucket
	sealed *lsm.Sealed
	catch  *catchUp // nil: the changes are known to be new
}

func (j *flushJob) run(f *lsm.Flusher) {
	w, start := j.w, time.Now()
	defer w.jobs.Done()
	out := w.output(j.gen, j.bucket, j.catch)
	inc, err := j.sealed.Flush(w.ctx, f, out)
	err = w.flushed(j.gen, j.bucket, out, err)
	info := FlushInfo{Partition: j.bucket.part.bytes, Bucket: j.bucket.id, Files: len(inc.New), Changelogs: len(inc.Changelog), Err: err}
	for i := range inc.New {
		info.Rows += inc.New[i].RowCount
		info.Bytes += inc.New[i].Size
	}
	for i := range inc.Changelog {
		info.Bytes += inc.Changelog[i].Size
	}
	c := &w.counters
	c.flushes.Add(1)
	c.flushedRows.Add(info.Rows)
	c.files.Add(int64(info.Files + info.Changelogs))
	c.fileByte.Add(info.Bytes)
	j.epoch.mu.Lock()
	j.epoch.err = cmp.Or(j.epoch.err, err)
	if len(inc.New)+len(inc.Changelog) > 0 {
		j.epoch.messages = append(j.epoch.messages, table.CommitMessage{
			Partition: j.bucket.part.bytes, Bucket: j.bucket.id, TotalBuckets: j.gen.numBuckets, Data: inc,
		})
	}
	j.epoch.mu.Unlock()
	if fn := w.cfg.Listener.FlushEnd; fn != nil {
		info.Duration = time.Since(start)
		fn(info)
	}
	j.epoch.release()
}

// flushed takes back what output gave, and says in an error of the merge function where that was.
func (w *Writer) flushed(g *generation, b *bucket, out lsm.Output, err error) error {
	if out.Merge != nil {
		g.merges.Put(out.Merge)
	}
	if !errors.Is(err, lsm.ErrRefusedRecord) {
		return err
	}
	where := fmt.Sprintf("bucket %d", b.id)
	if p := w.parts.describe(b.part); p != "" {
		where = p + " " + where
	}
	return fmt.Errorf("table %s, %s: %w", w.table.Path(), where, err)
}

// spillJob takes a part of a bucket's rows out of memory.
type spillJob struct {
	w      *Writer
	gen    *generation
	bucket *bucket
	part   *lsm.Part
	catch  *catchUp
}

func (j *spillJob) run(f *lsm.Flusher) {
	w, start := j.w, time.Now()
	defer w.jobs.Done()
	out := w.output(j.gen, j.bucket, j.catch)
	s, err := j.part.Spill(w.ctx, f, out)
	err = w.flushed(j.gen, j.bucket, out, err)
	if s.Rows == 0 && err == nil {
		return // the flush of the bucket was first
	}
	c := &w.counters
	if s.Disk > 0 {
		c.spills.Add(1)
		c.spillBytes.Add(s.Disk)
	} else if s.Files > 0 {
		c.earlyFlushes.Add(1)
	}
	if fn := w.cfg.Listener.SpillEnd; fn != nil {
		fn(SpillInfo{
			Partition: j.bucket.part.bytes, Bucket: j.bucket.id, Rows: s.Rows, Memory: s.Memory, Disk: s.Disk,
			Files: s.Files, Duration: time.Since(start), Err: err,
		})
	}
}
