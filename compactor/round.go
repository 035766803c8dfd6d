package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// round is the jobs of a table that are committed together. Once it was offered to storage under its identifier it stays as
// it is until it is known that nothing came of it.
type round struct {
	id   int64
	jobs []*finished
	// unknown: the last try, or one before it, may have succeeded. table.Commit tells so until it has found out.
	unknown bool
}

func (r *round) committable() table.Committable {
	x := table.Committable{ID: r.id}
	for _, f := range r.jobs {
		x.Messages = append(x.Messages, f.messages()...)
	}
	return x
}

// roundAt is when what is pending is to be committed: when no job of the table runs any more, but not long after the first
// one has ended, and not right after another commit. A full compaction of all written buckets is one commit.
func (l *tableLoop) roundAt() time.Time {
	taken, waiting := l.x.dispatch.given(l)
	out := len(taken) - len(l.pending) - len(l.committed) // jobs that have not been collected
	at := l.lastCommit.Add(l.x.cfg.Round)
	switch {
	case l.inFull && out+waiting > 0, out > 0 && l.beforeFull():
		return time.Now().Add(time.Hour) // the end of a job wakes the loop
	case out > 0:
		if late := l.pendingAt.Add(l.x.cfg.Round); late.After(at) {
			at = late
		}
	}
	return at
}

func (l *tableLoop) commitDue(now time.Time) bool {
	if l.unresolved != nil {
		return !now.Before(l.commitAt)
	}
	return len(l.pending) > 0 && !now.Before(l.roundAt())
}

// commitRound commits what is pending, or tries again what could not be committed.
func (l *tableLoop) commitRound(ctx context.Context) {
	r := l.unresolved
	if r == nil {
		r = &round{id: l.nextID, jobs: l.pending}
		l.pending = nil
	}
	l.unresolved = nil
	err := l.try(ctx, r)
	if l.unresolved == nil {
		l.commitFails = 0
		return
	}
	l.stats.failed(err)
	if permanent(err) && !l.unresolved.unknown {
		l.giveUpRound(err)
		return
	}
	now := time.Now()
	l.commitAt = now.Add(l.backoff(l.x.cfg.MinInterval/4, l.commitFails))
	if l.commitFails++; ctx.Err() == nil && (l.commitFails == 1 || now.Sub(l.commitWarnedAt) >= warnAgain) {
		l.commitWarnedAt = now
		l.log.Warn("a commit goes wrong, trying on", "jobs", len(l.unresolved.jobs), "tries", l.commitFails, "error", err)
	}
	if l.once != nil {
		l.once.commitFailed(l, err)
	}
}

// giveUpRound drops the jobs of a commit that can't be made, and whose files are in no snapshot.
func (l *tableLoop) giveUpRound(err error) {
	r := l.unresolved
	l.unresolved, l.commitFails = nil, 0
	for _, f := range r.jobs {
		f.remove(l.x.hard)
		l.settle(f, false)
		l.breaks(f, err)
	}
	if l.once != nil {
		l.once.fail(fmt.Errorf("table %s: %w", l.name, err))
		l.once.abort = true
	}
}

// try commits a round. After a conflict it goes on without the jobs that lost. What storage prevents is left in
// l.unresolved.
func (l *tableLoop) try(ctx context.Context, r *round) error {
	for len(r.jobs) > 0 {
		start := time.Now()
		l.x.useID(l.name, r.id)
		s, err := l.commit.Commit(ctx, r.committable())
		l.told(r, s, err, start)
		if err == nil && s.CommitIdentifier != r.id { // of an older commit, for which it would pass
			l.log.Error("a commit identifier was used before", "identifier", r.id, "snapshot", s.ID)
			r.id = s.CommitIdentifier + 1
			continue
		}
		switch {
		case err == nil:
			l.succeeded(r, s)
			return nil
		case errors.Is(err, table.ErrUnknownOutcome) || !errors.Is(err, table.ErrConflict):
			r.unknown = !provablyUncommitted(err)
			l.unresolved = r
			return err
		}
		r.unknown = false // nothing was published, or it would not be a conflict
		if len(r.jobs) == 1 {
			if b := l.bucketAt(r.jobs[0].c.key); b != nil && b.failed > 0 {
				l.st.distrust()
			}
			l.lost(r.jobs[0], err)
			return nil
		}
		lost, err := l.losers(ctx, r)
		if err != nil {
			l.unresolved = r
			return err
		}
		if len(lost) == 0 {
			l.st.distrust()
			return l.oneByOne(ctx, r)
		}
		r.jobs = slices.DeleteFunc(r.jobs, func(f *finished) bool {
			why, ok := lost[f]
			if ok {
				l.lost(f, why)
			}
			return ok
		})
	}
	return nil
}

func (l *tableLoop) told(r *round, s *table.Snapshot, err error, start time.Time) {
	if errors.Is(err, table.ErrConflict) {
		l.stats.update(func(v *TableStats) { v.Conflicts++ })
	}
	if f := l.x.cfg.Listener.CommitEnd; f != nil {
		f(CommitInfo{Table: l.name, Jobs: len(r.jobs), Snapshot: s, Duration: time.Since(start), Err: err})
	}
}

// oneByOne commits each job alone, when nothing tells which of them the conflict is about.
func (l *tableLoop) oneByOne(ctx context.Context, r *round) error {
	for i, f := range r.jobs {
		err := l.try(ctx, &round{id: l.nextID, jobs: []*finished{f}})
		if l.unresolved != nil {
			l.pending = append(l.pending, r.jobs[i+1:]...)
			return err
		}
	}
	return nil
}

// losers finds the jobs that the files of the newest snapshot contradict, with what they lost to.
func (l *tableLoop) losers(ctx context.Context, r *round) (map[*finished]error, error) {
	err := l.x.reading(ctx, func() error {
		if l.once != nil { // its state is that of an older snapshot
			_, err := l.st.list(ctx, l.t)
			return err
		}
		f, err := l.st.follow(ctx, l.t, true)
		if err == nil {
			l.absorb(f)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	l.replan = true
	lost := map[*finished]error{}
	for _, f := range r.jobs {
		if err := l.contradicts(f); err != nil {
			lost[f] = err
		}
	}
	return lost, nil
}

// contradicts returns why a job can't be committed any more.
func (l *tableLoop) contradicts(f *finished) error {
	gone := func(name string) error {
		return fmt.Errorf("%w: %s is not in the table any more", table.ErrConflict, name)
	}
	if f.c.move != nil {
		return l.contradictsMove(f)
	}
	b := l.st.buckets[f.c.key]
	if b == nil {
		return gone(f.inc.Before[0].Name)
	}
	if v := f.c.vectors; v != nil && v.Name != l.st.vectors[f.c.key].Name {
		return fmt.Errorf("%w: the bucket has other deletion vectors now", table.ErrConflict)
	}
	there := make(map[fileKey]int, len(b.files))
	for i := range b.files {
		there[keyOf(&b.files[i])] = i
	}
	for i := range f.inc.Before {
		if _, ok := there[keyOf(&f.inc.Before[i])]; !ok {
			return gone(f.inc.Before[i].Name)
		}
		delete(there, keyOf(&f.inc.Before[i]))
	}
	files := slices.Clone(f.inc.After)
	for _, i := range there {
		files = append(files, b.files[i])
	}
	for i := range f.inc.NewIndex {
		for _, v := range f.inc.NewIndex[i].Vectors {
			if !slices.ContainsFunc(files, func(d table.DataFile) bool { return d.Name == v.File }) {
				return gone(v.File)
			}
		}
	}
	if _, err := lsm.NewLevels(files, l.schema, l.t.Options()); err != nil {
		return fmt.Errorf("%w: %w", table.ErrConflict, err)
	}
	return nil
}

// lost drops a job that somebody else's commit made void. Its files are in no snapshot.
func (l *tableLoop) lost(f *finished, why error) {
	f.remove(l.x.hard)
	l.settle(f, false)
	l.rest(f.c.key, l.x.cfg.MinInterval/4)
	l.pollAt = time.Time{}
	l.stats.update(func(v *TableStats) { v.Lost++ })
	l.log.Debug("a compaction was in vain", "partition", f.c.part.path, "bucket", f.c.key.bucket, "error", why)
	if l.once != nil {
		l.once.lost(l, f, why)
	}
}

// succeeded goes on after a commit. The buckets are free once the state has come to the snapshot.
func (l *tableLoop) succeeded(r *round, s *table.Snapshot) {
	l.nextID = r.id + 1
	l.lastCommit = time.Now()
	l.stats.update(func(v *TableStats) {
		v.Commits++
		v.LastCommit = l.lastCommit
	})
	for _, f := range r.jobs {
		f.snapshot = s.ID
		if f.c.move != nil {
			l.movedAt = l.lastCommit
			delete(l.wanted, moveKey)
		}
	}
	l.log.Debug("compactions are committed", "snapshot", s.ID, "jobs", len(r.jobs))
	l.committed = append(l.committed, r.jobs...)
	if l.once != nil {
		l.once.committed(l)
		return
	}
	l.pollAt = time.Time{}
}

// settleCommitted frees the buckets of jobs that the state knows of.
func (l *tableLoop) settleCommitted(listed bool) {
	l.committed = slices.DeleteFunc(l.committed, func(f *finished) bool {
		s := l.st.snapshot
		if s != nil && s.ID < f.snapshot && !listed {
			return false
		}
		l.settleOne(f)
		return true
	})
}

func (l *tableLoop) settleOne(f *finished) {
	l.settle(f, true)
	if b := l.st.buckets[f.c.key]; b != nil && f.info.Full {
		_, b.appended = lsm.CountRuns(b.files)
		b.full = true
	}
}
