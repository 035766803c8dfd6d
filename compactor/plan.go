package compactor

import (
	"fmt"
	"maps"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/table/maintenance"
)

// hotFor is how long a bucket counts as hot after a level-0 file came.
const hotFor = 10 * time.Minute

// plan asks the strategy about the buckets that have changed and offers what it wants to the workers.
func (l *tableLoop) plan(now time.Time) {
	taken, waiting := l.x.dispatch.given(l)
	timed := !now.Before(l.replanAt)
	l.replan = false
	if l.inFull {
		if len(taken)+waiting > 0 {
			l.replanAt = now.Add(idleMaintain)
			return // what comes now is for the next round
		}
		l.inFull = false
	}
	if l.beforeFull() && len(l.pending) > 0 {
		l.x.dispatch.forget(l) // the commit after this one is to have all buckets
		l.replanAt = now.Add(idleMaintain)
		return
	}
	l.askTime()
	full := l.fullDue()
	maps.DeleteFunc(l.wanted, func(k bucketKey, _ time.Time) bool { return k != moveKey && l.st.buckets[k] == nil })
	mover := l.moveCandidate(now)
	if l.once != nil && l.wantsMove() { // what it makes is compacted too
		l.replanAt = now.Add(max(l.mover.retryAt.Sub(now), l.x.cfg.MinInterval))
		if mover != nil && !taken[moveKey] {
			l.x.dispatch.offer(l, []*candidate{mover})
		}
		l.publish(nil, taken)
		return
	}
	var wanted []*candidate
	for k, b := range l.st.buckets {
		if taken[k] {
			continue
		}
		if b.changed || timed || full || l.inOnceFull() {
			l.pickInto(b, full, now)
		}
		if b.picked == nil || !l.allowed(b, now) {
			delete(l.wanted, k)
			continue
		}
		wanted = append(wanted, b.picked)
	}
	if full {
		l.inFull = len(wanted) > 0
		l.appends = 0
		if n := int64(l.deltaCommits()); l.inFull && l.nextID%n != 0 {
			l.nextID += n - l.nextID%n
		}
	}
	if mover != nil && !taken[moveKey] {
		wanted = append(wanted, mover)
	}
	l.replanAt = now.Add(l.replanPause(now))
	l.x.dispatch.offer(l, wanted)
	l.publish(wanted, taken)
}

// replanPause is how long a strategy's answer is good when nothing changes: its rules on time are coarse.
func (l *tableLoop) replanPause(now time.Time) time.Duration {
	pause := idleMaintain
	if o := l.t.Options(); o.Has(table.KeyCompactionOptimizationInterval) {
		pause = min(pause, max(o.Duration(table.KeyCompactionOptimizationInterval)/10, l.x.cfg.Interval))
	}
	for _, b := range l.st.buckets {
		if b.picked != nil && b.retryAt.After(now) {
			pause = min(pause, b.retryAt.Sub(now))
		}
	}
	if l.wantsMove() && l.moveAt().After(now) {
		pause = min(pause, l.moveAt().Sub(now))
	}
	if l.x.cfg.PartitionIdle > 0 {
		pause = min(pause, max(l.x.cfg.PartitionIdle/4, l.x.cfg.Interval))
	}
	return pause
}

// allowed tells whether a bucket that wants a compaction may have it now.
func (l *tableLoop) allowed(b *bucket, now time.Time) bool {
	if b.part.excluded || b.givenUp || b.retryAt.After(now) {
		return false
	}
	if idle := l.x.cfg.PartitionIdle; idle > 0 && !l.postpones() && now.Sub(lsm.FromWallClock(b.part.newest, time.Local)) < idle {
		return false
	}
	return !l.skipsExpired() || !l.expired(b.part)
}

// skipsExpired tells whether partitions that are about to be dropped are left alone.
func (l *tableLoop) skipsExpired() bool {
	o := l.t.Options()
	return o.Bool(table.KeyCompactionSkipExpiredPartitions) && o.Has(table.KeyPartitionExpirationTime)
}

// askTime makes the time known by which partitions are expired. Rows are dropped by a worker, which asks by itself.
func (l *tableLoop) askTime() {
	if len(l.st.buckets) == 0 || !l.skipsExpired() {
		return
	}
	if _, err := l.x.clock.Now(l.jobs, l.t); err != nil {
		l.stats.failed(err) // by our clock then: what is left alone by mistake is compacted later
	}
}

// expired tells whether a partition is about to be dropped. What can't be told is not.
func (l *tableLoop) expired(p *partition) bool {
	expired, err := maintenance.PartitionExpired(l.t, p.bytes, p.newest, l.x.clock.Guess())
	if err != nil {
		l.stats.failed(err)
	}
	return expired
}

// deltaCommits is how many commits of ours there are from one full compaction to the next; 0: there are none. Readers of a
// table whose changelog comes from full compactions wait for them, so that each commit has one unless the table says else.
func (l *tableLoop) deltaCommits() int {
	o := l.t.Options()
	switch {
	case o.Has(table.KeyFullCompactionDeltaCommits) && o.Int(table.KeyFullCompactionDeltaCommits) >= 0:
		return max(1, o.Int(table.KeyFullCompactionDeltaCommits))
	case o.Enum(table.KeyChangelogProducer) == "full-compaction":
		return 1
	}
	return 0
}

// fullDue tells whether buckets with new files are to be compacted in full, as full-compaction.delta-commits has it: each N
// commits of ours. A table that is written so little that nothing else is picked counts its writers' commits.
func (l *tableLoop) fullDue() bool {
	n := l.deltaCommits()
	if n == 0 || l.once != nil || l.unresolved != nil || len(l.pending) > 0 {
		return false
	}
	return l.nextID%int64(n) == 0 || l.appends >= n*l.t.Options().Int(table.KeyNumSortedRunCompactionTrigger)
}

// beforeFull tells whether the next commit is the last before a full compaction of what was written. It waits for all jobs,
// so that none is under way when that begins.
func (l *tableLoop) beforeFull() bool {
	n := int64(l.deltaCommits())
	return n > 1 && l.once == nil && (l.nextID+1)%n == 0
}

func (l *tableLoop) inOnceFull() bool { return l.once != nil && l.once.full }

// pickInto asks the strategy about a bucket.
func (l *tableLoop) pickInto(b *bucket, full bool, now time.Time) {
	b.picked, b.changed = nil, false
	was := b.broken
	if b.retryAt.IsZero() {
		b.broken = "" // unless it is so still
	}
	if len(b.files) == 0 || b.part.excluded || b.givenUp {
		return
	}
	levels, err := lsm.NewLevels(b.files, l.schema, l.t.Options())
	if err != nil {
		l.broken(b, err, was)
		return
	}
	levels = levels.WithVectors(namesOf(l.st.vectors[b.key()].Vectors))
	if id := lsm.NewestSchema(b.files); id > l.schema.ID {
		l.broken(b, fmt.Errorf("%w: a file has schema %d, the newest is %d", table.ErrCorrupt, id, l.schema.ID), was)
		return
	}
	state := lsm.PickState{Levels: levels, Now: now}
	if every := l.strategy.LookupInterval(); every > 0 {
		state.ForceUp = b.gentle >= every
	}
	var u lsm.Unit
	var ok bool
	switch {
	case l.inOnceFull():
		if !b.full {
			u, ok = l.strategy.PickFull(state, func(f *table.DataFile) bool { return l.rw.Expired(f, l.x.clock.Guess()) })
		}
	case full && b.appended > 0:
		u, ok = l.strategy.PickFull(state, func(f *table.DataFile) bool { return l.rw.Expired(f, l.x.clock.Guess()) })
	default:
		u, ok = l.strategy.Pick(state)
	}
	if ok {
		b.picked = l.candidate(b, levels, u, now)
	}
}

// broken reports a bucket whose files can't be compacted, and lets it rest until they change. was is what was wrong with it before.
func (l *tableLoop) broken(b *bucket, err error, was string) {
	err = fmt.Errorf("table %s, partition %q, bucket %d: %w", l.name, b.part.path, b.id, err)
	l.stats.failed(err)
	if l.once != nil {
		l.once.fail(err)
		b.givenUp = true
	}
	b.broken = err.Error()
	if b.broken != was {
		l.log.Error("a bucket can't be compacted", "error", err, "remedy", remedy(err))
	}
}

func (l *tableLoop) candidate(b *bucket, levels *lsm.Levels, u lsm.Unit, now time.Time) *candidate {
	k := b.key()
	since, ok := l.wanted[k]
	if !ok {
		since = now
		l.wanted[k] = now
	}
	job := Job{
		Table: l.name, Partition: b.part.path, Bucket: b.id, Files: len(u.Files), Runs: levels.NumSortedRuns(), Level0: levels.DeepestLevel0(),
		Reason: u.Reason, OutputLevel: u.OutputLevel, Full: u.Reason == lsm.ReasonFull,
	}
	for i := range u.Files {
		job.Bytes += u.Files[i].Size
	}
	trigger := max(l.t.Options().Int(table.KeyNumSortedRunCompactionTrigger), 1)
	return &candidate{
		loop: l, key: k, part: b.part, total: b.total, levels: levels, unit: u, rw: l.rw, job: job, since: since,
		vectors: l.vectorsOf(k), t: l.t,
		need: float64(job.Level0) / float64(trigger),
		hot:  now.UnixMilli()-b.written < hotFor.Milliseconds(),
	}
}

// namesOf are the files that have deletion vectors, which only a job reads.
func namesOf(ranges []table.VectorRange) map[string]*roaring.Bitmap {
	names := make(map[string]*roaring.Bitmap, len(ranges))
	for i := range ranges {
		names[ranges[i].File] = nil
	}
	return names
}

// vectorsOf returns the index file with a bucket's deletion vectors, nameless when there is none; nil when the table has none at
// all.
func (l *tableLoop) vectorsOf(k bucketKey) *table.IndexFile {
	if !l.vectors {
		return nil
	}
	f := l.st.vectors[k]
	return &f
}

// publish makes the figures of the table known.
func (l *tableLoop) publish(wanted []*candidate, taken map[bucketKey]bool) {
	var files, maxRuns, maxLevel0, broken int
	var bytes, backlog int64
	for _, b := range l.st.buckets {
		files += len(b.files)
		bytes += b.size()
		if b.broken != "" {
			broken++
		}
		runs, level0 := lsm.CountRuns(b.files)
		maxRuns, maxLevel0 = max(maxRuns, runs), max(maxLevel0, level0)
	}
	for _, b := range l.st.waiting {
		if b.broken != "" {
			broken++
		}
	}
	if l.mover.broken != "" {
		broken++
	}
	for _, c := range wanted {
		backlog += c.job.Bytes
	}
	for k := range taken {
		if b := l.st.buckets[k]; b != nil && b.picked != nil {
			backlog += b.picked.job.Bytes
		}
	}
	l.stats.update(func(v *TableStats) {
		v.Snapshot = 0
		if l.st.snapshot != nil {
			v.Snapshot = l.st.snapshot.ID
		}
		v.Buckets, v.Files, v.Bytes, v.MaxRuns, v.MaxLevel0 = len(l.st.buckets), files, bytes, maxRuns, maxLevel0
		v.Broken = broken
		v.PostponedFiles, v.PostponedBytes = l.postponedNow()
		v.BacklogJobs, v.BacklogBytes = len(wanted)+len(taken), backlog
	})
}
