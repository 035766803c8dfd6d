package writer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// compactions is the compacting half of a writer, of a table with write-only=false. What flushes bring is compacted beside them, by
// workers of its own, and goes into the table with the next checkpoint. Nothing here keeps a checkpoint from being made but
// what the options ask for (lookup-wait, full-compaction.delta-commits, commit.force-compact, num-sorted-run.stop-trigger).
//
//	committer ── new files ──▶ keeper ── what the strategy picks ──▶ workers
//	    ▲                      reads buckets                             │
//	    └────────────────── outcomes of buckets ◀────────────────────────┘
//
// The keeper is a goroutine that does what needs storage: it reads the files of buckets when they get their first rows, and again
// when somebody else's snapshot has changed them or a commit met a conflict. What it reads from is a snapshot of which it is known
// which of our commits are in it: one that the committing goroutine has seen while none of ours was under way.
type compactions struct {
	table *table.Table
	ctx   context.Context // of all that runs
	pool  *CompactionPool
	rows  *lsm.Budget // what the pool leaves of the table's
	spill *lsm.SpillStore
	tell  *Listener
	stats compactCounters

	vectors bool // of deletion: the table has them
	waitAll bool // commits wait for the compaction of their files
	stop    int  // num-sorted-run.stop-trigger
	every   int64
	own     bool // pool

	ending  chan struct{}
	wake    chan struct{} // holds one
	keeping sync.WaitGroup
	jobs    sync.WaitGroup
	tools   atomic.Pointer[tools] // replaced by Alter and the keeper

	mu      sync.Mutex
	changed sync.Cond // what a commit may wait for
	buckets map[bucketKey]*compacted
	queue   []*compacted
	unknown map[*compacted]bool // to be read
	anchor  anchor              // the newest
	ours    map[int64]bool      // snapshots of our commits, above the keeper's
	commits int64               // so far, the one under way too
	made    []int64             // snapshots of ours since the last call of news

	at      anchor    // of the keeper: what it reads from
	retryAt time.Time // of the keeper: after reading went wrong
}

// anchor is a snapshot with the number of our commits that are in it.
type anchor struct {
	snapshot *table.Snapshot // nil: the empty table
	commit   int64
}

// compactCounters are the sources of Stats.
type compactCounters struct {
	done, failed, lost, running, queued atomic.Int64
	read, written, rows                 atomic.Int64
	waits, waitNanos                    atomic.Int64
	maxRuns, maxLevel0, buckets         atomic.Int64
}

// bucketRewriter is what is needed of lsm.Rewriter.
type bucketRewriter interface {
	Rewrite(ctx context.Context, partition []byte, bucket int32, levels *lsm.Levels, u lsm.Unit) (table.CompactIncrement, lsm.RewriteStats, error)
	Remove(ctx context.Context, partition []byte, bucket int32, inc table.CompactIncrement)
	Expired(f *table.DataFile, now time.Time) bool
}

// newCompactions returns what compacts the table of a writer, nil if its options leave that to others.
func newCompactions(t *table.Table, s *table.Schema, cfg *Config) (*compactions, error) {
	o := t.Options()
	if !Compacts(o) {
		return nil, nil
	}
	if err := CheckCompaction(s, o); err != nil {
		return nil, err
	}
	c := &compactions{
		table: t, tell: &cfg.Listener, pool: cfg.Compactions, stop: table.StopTrigger(o),
		vectors: o.Bool(table.KeyDeletionVectorsEnabled),
		waitAll: o.Bool(table.KeyCommitForceCompact) || lsm.NeedLookup(o) && o.Bool(table.KeyLookupWait),
		buckets: map[bucketKey]*compacted{}, unknown: map[*compacted]bool{}, ours: map[int64]bool{},
		wake: make(chan struct{}, 1), ending: make(chan struct{}),
	}
	c.changed.L = &c.mu
	if o.Enum(table.KeyChangelogProducer) == "full-compaction" || o.Has(table.KeyFullCompactionDeltaCommits) && o.Int(table.KeyFullCompactionDeltaCommits) >= 0 {
		c.every = max(1, int64(o.Int(table.KeyFullCompactionDeltaCommits)))
	}
	c.rows = cfg.tableBudget(o)
	var err error
	if c.pool == nil {
		if c.pool, err = cfg.compactionPool(c.rows); err != nil {
			return nil, err
		}
		c.own = true
		c.rows = c.rows.Child(c.rows.Limit() - c.pool.held)
	}
	if c.spill, err = newSpillStore(o, cfg, true); err == nil {
		err = c.use(s)
	}
	if err != nil {
		c.free()
		return nil, err
	}
	return c, nil
}

// Compacts tells whether a writer of a table with these options compacts and expires, too: with write-only=false, unless bucket is -2.
// Then its rows are in no bucket that could be compacted, and Paimon's writers leave it all to others.
func Compacts(o table.Options) bool {
	return !o.Bool(table.KeyWriteOnly) && o.Int(table.KeyBucket) != postponed
}

// CheckCompaction refuses, as table.ErrOption, tables with write-only=false that can't be compacted inside a writer. Open does too.
func CheckCompaction(s *table.Schema, o table.Options) error {
	if !Compacts(o) {
		return nil
	}
	if err := s.CheckCompactable(o); err != nil {
		return fmt.Errorf("write-only is false, so the writer would compact: %w", err)
	}
	return nil
}

// use makes what is compacted from now on be written with a schema of the table, unless that is older than the one in use.
func (c *compactions) use(s *table.Schema) error {
	if have := c.tools.Load(); have != nil && have.schema.ID >= s.ID {
		return nil
	}
	o := c.table.Options()
	strategy, err := lsm.NewStrategy(o)
	if err != nil {
		return err
	}
	rw, err := lsm.NewRewriter(c.table, s, lsm.RewriterConfig{Memory: c.pool.share(), Spill: c.spill})
	if err != nil {
		return fmt.Errorf("write-only is false, so the writer would compact: %w", err)
	}
	c.tools.Store(&tools{s, strategy, rw})
	return nil
}

// start begins with what the table has. left are buckets that wait for a compaction since an earlier run.
func (c *compactions) start(ctx context.Context, left map[bucketKey]int32) {
	c.ctx = ctx
	c.anchor = anchor{c.table.Seen(), 0}
	c.at = c.anchor
	for k, total := range left {
		b := c.bucket(k, total)
		b.fresh = c.every > 0
		c.enqueue(b)
	}
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	c.keeping.Go(c.keep)
	c.poke()
}

func (c *compactions) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// bucket returns a bucket. mu is held.
func (c *compactions) bucket(k bucketKey, total int32) *compacted {
	b := c.buckets[k]
	if b == nil {
		b = &compacted{key: k}
		c.buckets[k] = b
		c.unknown[b] = true
	}
	b.total = total
	return b
}

// enqueue has the keeper look at a bucket. mu is held.
func (c *compactions) enqueue(b *compacted) {
	if !b.queued {
		b.queued = true
		c.queue = append(c.queue, b)
	}
}

// mistrust has a bucket read again. mu is held.
func (c *compactions) mistrust(b *compacted) {
	b.known = false
	c.unknown[b] = true
	c.enqueue(b)
}

// due tells whether a checkpoint is worth while though no rows came.
func (c *compactions) due(id int64) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.buckets {
		if b.known && b.next() != nil || c.fullAt(id) && b.fresh {
			return true
		}
	}
	return false
}

// fullAt tells whether the checkpoint with this identifier has a full compaction.
func (c *compactions) fullAt(id int64) bool { return c.every > 0 && id%c.every == 0 }

// ride is what a commit does first: it makes the files of its flushes known, waits for compactions if it has to, and returns
// what goes with it.
func (c *compactions) ride(id int64, messages []table.CommitMessage) (out []table.CommitMessage, waited time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	start := time.Now()
	c.flushed(messages)
	c.await(id, messages)
	for _, b := range c.buckets {
		if o := b.next(); b.known && o != nil {
			o.commit = c.commits
			m := table.CommitMessage{Partition: []byte(b.key.partition), Bucket: b.key.bucket, TotalBuckets: b.total, Compact: o.inc}
			if c.vectors {
				m.Vectors = &o.base
			}
			out = append(out, m)
		}
	}
	slices.SortFunc(out, compareMessages)
	return out, time.Since(start)
}

// flushed begins a commit. mu is held.
func (c *compactions) flushed(messages []table.CommitMessage) {
	if s := c.table.Seen(); s != nil && (c.anchor.snapshot == nil || s.ID > c.anchor.snapshot.ID) {
		c.anchor.snapshot = s // none of our commits is under way
	}
	c.commits++
	for i := range messages {
		m := &messages[i]
		if len(m.Data.New) == 0 || m.Bucket < 0 { // those of no bucket wait for another's work
			continue
		}
		b := c.bucket(bucketKey{string(m.Partition), m.Bucket}, m.TotalBuckets)
		b.flushed = append(b.flushed, flushedFiles{c.commits, m.Data.New})
		if b.known {
			b.files = append(b.files, m.Data.New...)
		}
		b.seq, b.fresh = c.commits, b.fresh || c.every > 0
		c.enqueue(b)
	}
	c.poke()
}

// await waits for what the options want to be done before the commit. mu is held.
func (c *compactions) await(id int64, messages []table.CommitMessage) {
	if c.fullAt(id) {
		var all []*compacted
		for _, b := range c.buckets {
			if b.fresh {
				b.full = true
				c.enqueue(b)
				all = append(all, b)
			}
		}
		c.poke()
		for _, b := range all {
			c.waitFor(func() bool { return !b.full && b.settled(b.seq) })
		}
	}
	for i := range messages {
		m := &messages[i]
		b := c.buckets[bucketKey{string(m.Partition), m.Bucket}]
		if b == nil || b.seq != c.commits {
			continue
		}
		if c.waitAll {
			c.waitFor(func() bool { return b.settled(c.commits) })
		} else if c.crowded(b) {
			c.waitForRoom(b)
		}
	}
}

// crowded tells whether the writer of a bucket has to wait (Java's MergeTreeWriter: before a flush beyond the stop trigger). One
// whose compaction goes wrong doesn't: it would wait for ever.
func (c *compactions) crowded(b *compacted) bool {
	if !b.known || b.failed > 0 || b.broken || b.settled(b.seq) && !b.running {
		return false
	}
	runs, _ := lsm.CountRuns(b.files)
	return runs-1 > c.stop
}

func (c *compactions) waitForRoom(b *compacted) {
	start := time.Now()
	runs, _ := lsm.CountRuns(b.files)
	if f := c.tell.CompactionWait; f != nil {
		f(CompactionWaitInfo{Partition: []byte(b.key.partition), Bucket: b.key.bucket, Runs: runs, StopTrigger: c.stop})
	}
	c.waitFor(func() bool { return !c.crowded(b) })
	d := time.Since(start)
	c.stats.waits.Add(1)
	c.stats.waitNanos.Add(int64(d))
	if f := c.tell.Stall; f != nil {
		f(StallInfo{Waiter: "compaction", Duration: d})
	}
}

func (c *compactions) waitFor(ready func() bool) {
	for !ready() && c.ctx.Err() == nil {
		c.changed.Wait()
	}
}

// committed ends a commit whose compactions, if there were any, are in the table. s is nil when there was nothing to commit.
func (c *compactions) committed(s *table.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.buckets {
		for _, o := range b.outcomes {
			if o.commit == c.commits && o.full && b.seq <= c.commits {
				b.fresh = false
			}
		}
	}
	c.ended(s)
}

// conflicted ends a commit that was made without its compactions, because somebody else has compacted too.
func (c *compactions) conflicted(s *table.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.lost.Add(1)
	for _, b := range c.buckets {
		if c.takeBack(b) {
			c.mistrust(b)
		}
	}
	c.ended(s)
}

// takeBack takes back what goes with the commit under way, true when there is something. mu is held.
func (c *compactions) takeBack(b *compacted) bool {
	if !slices.ContainsFunc(b.outcomes, func(o *outcome) bool { return o.commit == c.commits }) {
		return false
	}
	obsolete := b.lost(c.commits)
	c.jobs.Go(func() { c.remove(b, &obsolete) })
	return true
}

func (c *compactions) ended(s *table.Snapshot) {
	if s != nil {
		c.anchor.snapshot = s
	}
	c.anchor.commit = c.commits
	c.poke()
}

// abandoned ends a commit that was not made, and that is proved: its compactions are in no snapshot.
func (c *compactions) abandoned() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.buckets {
		c.takeBack(b)
	}
}

// remove deletes files that an increment has made.
func (c *compactions) remove(b *compacted, inc *table.CompactIncrement) {
	if len(inc.After)+len(inc.Changelog)+len(inc.NewIndex) > 0 {
		c.tools.Load().rewriter.Remove(c.ctx, []byte(b.key.partition), b.key.bucket, *inc)
	}
}

// close ends everything, once the context is, and removes what was compacted in vain.
func (c *compactions) close() {
	if c == nil {
		return
	}
	close(c.ending)
	c.keeping.Wait()
	c.pool.withdraw(c)
	c.jobs.Wait()
	for _, b := range c.buckets {
		if o := b.next(); o != nil {
			c.remove(b, &o.inc)
		}
	}
	c.free()
}

func (c *compactions) free() {
	if c == nil {
		return
	}
	if c.own {
		c.pool.Close()
	}
	if c.spill != nil {
		_ = c.spill.Close() // scratch
	}
}

// errVoid is what has become of a compaction whose files somebody else has replaced.
var errVoid = fmt.Errorf("%w: somebody else has compacted the bucket meanwhile", table.ErrConflict)

// listener also learns which snapshots are ours.
func (c *compactions) listener(l table.Listener) table.Listener {
	tell := l.CommitEnd
	l.CommitEnd = func(i table.CommitInfo) {
		if i.Err == nil && i.Snapshot != nil {
			c.mu.Lock()
			c.ours[i.Snapshot.ID] = true
			c.made = append(c.made, i.Snapshot.ID)
			c.mu.Unlock()
		}
		if tell != nil {
			tell(i)
		}
	}
	return l
}

// news returns the snapshots that were made since the last call.
func (c *compactions) news() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := c.made
	c.made = nil
	return made
}

// leftovers finds, among the files that the writer looks at when it is opened, the buckets that an earlier run has not come to
// compact: in tables whose level 0 is not to be seen, or is in no changelog, before that.
func (c *compactions) leftovers(p *partitions) (found func() map[bucketKey]int32) {
	left := map[bucketKey]int32{}
	if c == nil {
		return nil
	}
	o := p.table.Options()
	top := 0
	if c.every > 0 {
		top = table.NumLevels(o) - 2
	}
	if c.every > 0 || lsm.NeedLookup(o) {
		p.visit = func(e *table.Entry) {
			if e.File.Level <= top && e.Bucket >= 0 && e.TotalBuckets == p.numBuckets {
				left[bucketKey{string(e.Partition), e.Bucket}] = e.TotalBuckets
			}
		}
	}
	return func() map[bucketKey]int32 {
		p.visit = nil
		return left
	}
}

func (c *compactCounters) publish(s *Stats) {
	s.Compactions, s.CompactionsRunning, s.CompactionsQueued = c.done.Load(), c.running.Load(), c.queued.Load()
	s.CompactionFailures, s.CompactionConflicts = c.failed.Load(), c.lost.Load()
	s.CompactionRead, s.CompactionWritten, s.CompactionRows = c.read.Load(), c.written.Load(), c.rows.Load()
	s.CompactionWaits, s.CompactionWaitTime = c.waits.Load(), time.Duration(c.waitNanos.Load())
	s.MaxRuns, s.MaxLevel0, s.CompactedBuckets = c.maxRuns.Load(), c.maxLevel0.Load(), c.buckets.Load()
}
