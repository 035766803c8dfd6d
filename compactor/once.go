package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// Report is what Once did.
type Report struct {
	Tables []TableStats // by name
}

// tablesAtOnce bounds how many tables Once has in memory.
const tablesAtOnce = 16

// Once compacts each table until its strategy finds nothing more to do in the files that were there at the start (Minor), or
// each bucket in full (Full, the default). It goes on after the trouble of a table or a bucket, and tells of all at the end.
// When ctx ends it returns within 10 seconds, as Run does.
func (s *Service) Once(ctx context.Context) (Report, error) {
	var report Report
	err := s.start(ctx, func(ctx context.Context, x *session) error {
		names, err := x.tables.List(ctx)
		if err != nil {
			return fmt.Errorf("listing the tables: %w", err)
		}
		report, err = x.onceAll(ctx, names)
		return err
	})
	return report, err
}

func (x *session) onceAll(ctx context.Context, names []string) (Report, error) {
	var mu sync.Mutex
	var errs []error
	var report Report
	slots := make(chan struct{}, tablesAtOnce)
	for _, name := range names {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		l := newTableLoop(x, name)
		l.once = &onceState{full: x.cfg.Strategy != Minor}
		x.mu.Lock()
		x.loops[name] = l
		x.shareCacheLocked()
		x.mu.Unlock()
		x.wg.Go(func() {
			err := l.runOnce(ctx)
			x.dispatch.remove(l)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			}
			report.Tables = append(report.Tables, l.stats.get())
			<-slots
		})
	}
	x.wg.Wait()
	slices.SortFunc(report.Tables, func(a, b TableStats) int { return strings.Compare(a.Name, b.Name) })
	if ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return report, errors.Join(errs...)
}

// onceTries is how often anything is tried that storage or another compactor gets into the way of.
const onceTries = 5

// onceState is what a tableLoop keeps for Once. Its state of the table is that of the snapshot it began with, and changes by
// its own commits only: what others write meanwhile is for the next time, or it might never end.
type onceState struct {
	full  bool
	errs  []error
	abort bool // nothing more can be committed
}

func (o *onceState) fail(err error) { o.errs = append(o.errs, err) }

// giveUp takes a bucket out.
func (o *onceState) giveUp(l *tableLoop, k bucketKey, err error) {
	o.fail(fmt.Errorf("table %s: %w", l.name, err))
	if b := l.bucketAt(k); b != nil {
		b.givenUp = true
	}
}

func (o *onceState) jobFailed(l *tableLoop, f *finished) {
	if b := l.bucketAt(f.c.key); b != nil && b.failed+1 >= onceTries {
		o.giveUp(l, f.c.key, f.info.Err)
	}
}

func (o *onceState) lost(l *tableLoop, f *finished, why error) {
	if b := l.bucketAt(f.c.key); b != nil && b.failed >= onceTries {
		o.giveUp(l, f.c.key, why)
	}
}

func (o *onceState) lookFailed(l *tableLoop, err error) error {
	if l.troubles < onceTries && !errors.Is(err, table.ErrCorrupt) {
		return nil
	}
	return fmt.Errorf("table %s: %w", l.name, err)
}

func (o *onceState) commitFailed(l *tableLoop, err error) {
	if l.commitFails >= onceTries {
		o.fail(fmt.Errorf("table %s: %w", l.name, err))
		o.abort = true
	}
}

// committed applies what was committed to the state.
func (o *onceState) committed(l *tableLoop) {
	d := deltas{}
	for _, f := range l.committed {
		for _, m := range f.messages() {
			for i := range m.Compact.Before {
				d.add(&table.Entry{Kind: table.Delete, Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: m.TotalBuckets, File: m.Compact.Before[i]})
			}
			for i := range m.Compact.After {
				d.add(&table.Entry{Kind: table.Add, Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: m.TotalBuckets, File: m.Compact.After[i]})
			}
		}
	}
	if _, err := l.st.apply(nil, d); err != nil {
		o.fail(fmt.Errorf("table %s: %w", l.name, err)) // it was listed again after a conflict, with the commit in it
		o.abort = true
	}
	l.st.prune()
	l.settleCommitted(true)
}

// runOnce compacts the table until there is nothing left to do.
func (l *tableLoop) runOnce(ctx context.Context) error {
	defer l.cancelJobs()
	for ctx.Err() == nil && !l.once.abort {
		if err := l.step(ctx); err != nil {
			err = l.end(ctx, err)
			return errors.Join(append(l.once.errs, err)...)
		}
		if l.t != nil && l.troubles == 0 && l.idle() {
			break
		}
		timer := time.NewTimer(max(0, time.Until(l.next())))
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	if l.once.abort {
		l.x.dispatch.forget(l)
		l.cancelJobs()
		l.awaitJobs()
		l.abandon()
	}
	l.drain()
	l.maintainOnce(ctx)
	return errors.Join(l.once.errs...)
}

// idle tells whether nothing is under way and nothing wanted.
func (l *tableLoop) idle() bool {
	taken, waiting := l.x.dispatch.given(l)
	if len(taken)+waiting+len(l.pending) > 0 || l.unresolved != nil || l.replan {
		return false
	}
	now := time.Now()
	if l.wantsMove() {
		return false // it rests
	}
	for _, b := range l.st.buckets {
		if b.picked != nil && !b.givenUp && !b.part.excluded && b.retryAt.After(now) {
			return false // it rests
		}
	}
	return true
}
