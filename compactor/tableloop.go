package compactor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/internal/backoff"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// tableLoop looks after one table: it follows its snapshots, offers what is to be compacted to the workers and commits what
// they bring back. All of it belongs to its goroutine, but for what says otherwise.
type tableLoop struct {
	x    *session
	name string
	log  *slog.Logger
	once *onceState // nil: it goes on until ctx ends

	t        *table.Table // nil: not open
	st       *tableState
	commit   *table.Commit
	strategy *lsm.Strategy
	rw       rewriter
	schema   *table.Schema // of strategy and rw
	vectors  bool          // the table has deletion vectors

	pollAt    time.Time // of the next look
	pollEvery time.Duration
	polls     int
	troubles  int    // looks in a row that failed
	refused   string // why the table is left alone
	opened    bool   // ever
	replan    bool   // something changed that plans depend on
	replanAt  time.Time

	nextID         int64
	inFull         bool // a round of full-compaction.delta-commits is under way
	appends        int  // snapshots of writers since the last one
	wanted         map[bucketKey]time.Time
	mover          *bucket     // stands for all files without a bucket, with what came of their jobs
	movedAt        time.Time   // of the last commit of one
	pending        []*finished // written, not committed
	pendingAt      time.Time   // of the first
	unresolved     *round      // a commit that didn't come to an end
	committed      []*finished // committed by a snapshot that st has not come to
	lastCommit     time.Time
	commitAt       time.Time // before which unresolved is not tried again
	commitFails    int       // in a row
	commitWarnedAt time.Time // of those

	maintainer Maintainer // of the maintenance's goroutine, but for its making
	maintained int64      // snapshot of the last request
	maintainAt time.Time  // of the next
	// maintainAgain: it went wrong. Anybody's.
	maintainAgain atomic.Bool
	jobs          context.Context
	cancelJobs    context.CancelFunc
	wake          chan struct{} // holds one: results have something
	gone          atomic.Bool   // the table is not listed any more; anybody's
	cacheShare    atomic.Int64  // bytes of metadata that it may keep; anybody's
	stats         tableStats    // anybody's
	resultsLock   sync.Mutex
	results       []*finished // guarded by resultsLock
}

func newTableLoop(x *session, name string) *tableLoop {
	l := &tableLoop{
		x: x, name: name, log: x.cfg.Log.With("table", name), nextID: x.nextID(name), wanted: map[bucketKey]time.Time{},
		mover: &bucket{part: &partition{}, id: table.PostponeBucket},
		wake:  make(chan struct{}, 1), pollEvery: x.cfg.MinInterval,
	}
	l.jobs, l.cancelJobs = context.WithCancel(x.jobs)
	l.stats.v.Name = name
	return l
}

// deliver brings back a job.
func (l *tableLoop) deliver(f *finished) {
	l.resultsLock.Lock()
	defer l.resultsLock.Unlock()
	l.results = append(l.results, f)
}

func (l *tableLoop) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// unlisted says that the table stands in no list any more.
func (l *tableLoop) unlisted() {
	if !l.gone.Swap(true) {
		l.notify()
	}
}

// errGone ends a loop whose table does not exist.
var errGone = errors.New("the table is gone")

// run looks after the table until ctx ends or the table is gone. Its errors are those of StrictTables.
func (l *tableLoop) run(ctx context.Context) error {
	defer l.cancelJobs()
	if f := l.x.cfg.Listener.TableFound; f != nil {
		f(l.name)
	}
	defer func() {
		if f := l.x.cfg.Listener.TableGone; f != nil {
			f(l.name)
		}
	}()
	for ctx.Err() == nil {
		if err := l.step(ctx); err != nil {
			return l.end(ctx, err)
		}
		timer := time.NewTimer(max(0, time.Until(l.next())))
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	l.drain()
	return nil
}

// end leaves a table that is gone or refused.
func (l *tableLoop) end(ctx context.Context, err error) error {
	l.x.dispatch.forget(l)
	l.cancelJobs()
	l.awaitJobs()
	for _, f := range l.pending {
		f.remove(l.x.hard)
	}
	if errors.Is(err, errGone) {
		if l.opened {
			l.log.Info("the table is gone")
		}
		return nil
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// step does what is due.
func (l *tableLoop) step(ctx context.Context) error {
	l.collect()
	if l.commitDue(time.Now()) {
		l.commitRound(l.x.hard)
	}
	if now := time.Now(); !now.Before(l.pollAt) || l.gone.Load() {
		if err := l.look(ctx); err != nil {
			return err
		}
	}
	if l.t == nil {
		return nil
	}
	if now := time.Now(); l.replan || !now.Before(l.replanAt) {
		l.plan(now)
	}
	return nil
}

// next returns when something will be due, if no job ends before.
func (l *tableLoop) next() time.Time {
	at := l.pollAt
	earlier := func(t time.Time) {
		if t.Before(at) {
			at = t
		}
	}
	if l.t != nil {
		earlier(l.replanAt)
	}
	if l.unresolved != nil {
		earlier(l.commitAt)
	} else if len(l.pending) > 0 {
		earlier(l.roundAt())
	}
	return at
}

// collect takes the jobs that workers have brought back.
func (l *tableLoop) collect() {
	l.resultsLock.Lock()
	results := l.results
	l.results = nil
	l.resultsLock.Unlock()
	for _, f := range results {
		l.count(f)
		l.replan = true
		if f.c.move != nil && l.t != nil {
			l.badPartitions(f.c.move)
		}
		switch {
		case f.info.Err != nil:
			l.jobFailed(f)
		case f.nothing():
			l.settle(f, true) // there was nothing to do
			if b := l.st.buckets[f.c.key]; b != nil {
				b.picked, b.changed, b.full = nil, false, true
			}
		case l.t == nil, f.c.move == nil && (f.c.vectors != nil) != l.vectors: // refused, or changed, meanwhile
			f.remove(l.x.hard)
			l.settle(f, false)
		default:
			if len(l.pending) == 0 {
				l.pendingAt = time.Now()
			}
			l.pending = append(l.pending, f)
		}
	}
}

func (l *tableLoop) count(f *finished) {
	i := &f.info
	l.stats.update(func(v *TableStats) {
		if i.Err == nil {
			v.Done++
		} else if !errors.Is(i.Err, context.Canceled) {
			v.Failed++
		}
		v.BytesRead += i.BytesRead
		v.BytesWritten += i.BytesWritten
		v.RowsRead += i.RowsRead
		v.RowsWritten += i.RowsWritten
		v.ChangelogRows += i.ChangelogRows
		v.JobTime += i.Duration
		v.LongestJob = max(v.LongestJob, i.Duration)
	})
}

// jobFailed lets a bucket rest for a while.
func (l *tableLoop) jobFailed(f *finished) {
	l.settle(f, false)
	if errors.Is(f.info.Err, context.Canceled) {
		return
	}
	l.stats.failed(f.info.Err)
	if b := l.bucketAt(f.c.key); permanent(f.info.Err) && !(errors.Is(f.info.Err, table.ErrSchema) && b != nil && b.failed == 0) {
		if l.once != nil {
			l.once.giveUp(l, f.c.key, f.info.Err)
		}
		l.breaks(f, f.info.Err)
		return
	} // a schema may be one that has only just come
	l.log.Warn("a compaction went wrong", "partition", f.c.part.path, "bucket", f.c.key.bucket, "error", f.info.Err)
	if l.once != nil {
		l.once.jobFailed(l, f)
	}
	l.rest(f.c.key, f.c.loop.x.cfg.MinInterval)
	if errors.Is(f.info.Err, fs.ErrNotExist) {
		l.st.distrust()
	}
	l.pollAt = time.Time{} // somebody else may have compacted it
}

// rest keeps jobs of a bucket back: for a while, and longer after each failure in a row.
func (l *tableLoop) rest(k bucketKey, first time.Duration) {
	if b := l.bucketAt(k); b != nil {
		b.retryAt = time.Now().Add(l.backoff(first, b.failed))
		b.failed++
	}
}

// backoff is the pause before try number n+1 after failures.
func (l *tableLoop) backoff(first time.Duration, n int) time.Duration {
	longest := maxRetryWait
	if l.once != nil {
		longest = l.x.cfg.Interval
	}
	return backoff.Delay(first, longest, n)
}

// settle gives the bucket of a job free.
func (l *tableLoop) settle(f *finished, well bool) {
	l.x.dispatch.settle(f.c)
	l.replan = true
	if b := l.bucketAt(f.c.key); b != nil {
		b.changed = true
		if well {
			b.failed, b.retryAt, b.gentle, b.broken = 0, time.Time{}, 0, ""
		}
	}
}

// awaitJobs waits until workers have brought back all jobs, and collects them.
func (l *tableLoop) awaitJobs() {
	for {
		running, _ := l.x.dispatch.load(l)
		l.collect()
		if running == 0 {
			return
		}
		<-l.wake
	}
}

// drain ends a loop whose session stops: what jobs still bring is committed, as long as there is time.
func (l *tableLoop) drain() {
	l.x.dispatch.forget(l) // or a worker takes a job yet, whose files nobody would look after
	l.awaitJobs()
	for (l.unresolved != nil || len(l.pending) > 0) && l.x.hard.Err() == nil {
		l.commitRound(l.x.hard)
		if l.unresolved != nil && backoff.Sleep(l.x.hard, time.Until(l.commitAt)) != nil {
			break
		}
	}
	l.abandon()
}

// abandon deletes the files of jobs that will not be committed, if it is proved that they are not.
func (l *tableLoop) abandon() {
	ctx := context.WithoutCancel(l.x.hard)
	for _, f := range l.pending {
		f.remove(ctx)
	}
	if r := l.unresolved; r != nil && !r.unknown {
		for _, f := range r.jobs {
			f.remove(ctx)
		}
	}
	l.pending, l.unresolved = nil, nil
}

// dropWork forgets what is known of the table and what jobs have brought back.
func (l *tableLoop) dropWork() {
	jobs := slices.Concat(l.pending, l.committed)
	if l.unresolved != nil {
		jobs = append(jobs, l.unresolved.jobs...)
	}
	l.abandon()
	l.committed, l.st = nil, newTableState()
	for _, f := range jobs {
		l.settle(f, false)
	}
}
