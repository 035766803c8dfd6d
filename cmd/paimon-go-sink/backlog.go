package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// backlog watches how deep level 0 of the table's buckets is. It grows with each commit and only a compaction, which is somebody
// else's work, makes it smaller. Looking is done beside the commits and never makes them wait.
type backlog struct {
	trigger int // num-sorted-run.compaction-trigger

	deepest atomic.Int64 // level-0 files of the worst bucket when it was last looked at
	files   atomic.Int64 // of all buckets

	last   int // what follows belongs to the goroutine that looks
	grown  int // looks in a row that found more
	warned time.Time
}

const (
	lookEvery = 30 * time.Second
	// lookShare bounds the time spent looking at tables with very many files to this part of all.
	lookShare = 50
	// A warning needs a bucket that is so many times deeper than what a compaction leaves, and looks that found it ever deeper.
	warnDepth = 3
	warnGrown = 4
	warnEvery = 10 * time.Minute
)

// seen takes what a look found and tells whether to warn.
func (b *backlog) seen(deepest int, now time.Time) bool {
	b.deepest.Store(int64(deepest))
	switch {
	case deepest > b.last:
		b.grown++
	case deepest < b.last:
		b.grown = 0
	}
	b.last = deepest
	if deepest < warnDepth*b.trigger || b.grown < warnGrown || now.Sub(b.warned) < warnEvery {
		return false
	}
	b.warned = now
	return true
}

// watch looks at the table until ctx ends.
func (j *job) watch(ctx context.Context, t *table.Table, m *metrics) {
	b := &m.backlog
	last := int64(0) // our newest snapshot at the last look
	for pause := time.Duration(0); ; {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		began := time.Now()
		s := t.Seen()
		if own := j.newest.Load(); s == nil || s.ID < own || own == last { // else a commit since then has looked
			var err error
			if s, err = t.Latest(ctx); err != nil {
				j.notLooked(ctx, err)
				pause = lookEvery
				continue
			}
		}
		last = j.newest.Load()
		deepest, files, err := deepestLevel0(ctx, t, s)
		if err == nil && m.buckets.due(time.Now(), m.pipeline.Snapshotting.Load()) {
			err = j.adviseBuckets(ctx, t, s, &m.buckets)
		}
		pause = max(lookEvery, lookShare*time.Since(began))
		if err != nil {
			j.notLooked(ctx, err)
			continue
		}
		b.files.Store(int64(files))
		if b.seen(deepest, time.Now()) {
			if writer.Compacts(t.Options()) {
				j.log.Warn("compaction inside the writer is behind: readers have to merge ever more files. Give it more --compaction_workers, or a dedicated one with write-only=true",
					"level0_files_of_worst_bucket", deepest, "compaction_trigger", b.trigger)
				continue
			}
			suffer := "readers have to merge ever more files"
			if t.Options().Int(table.KeyBucket) == table.PostponeBucket {
				suffer = "readers don't see rows before that"
			}
			j.log.Warn("nobody compacts the table, or too slowly: "+suffer+". Run a dedicated compaction beside this job: paimon-go-compact compact --warehouse "+
				j.args.Warehouse+" --database "+j.args.Database+" --table "+j.args.Table, "level0_files_of_worst_bucket", deepest, "compaction_trigger", b.trigger)
		}
	}
}

func (j *job) notLooked(ctx context.Context, err error) {
	if ctx.Err() == nil {
		j.log.Debug("looking at the files of the table", "error", err)
	}
}

// deepestLevel0 counts the level-0 files of the worst bucket at a snapshot, and those of all.
func deepestLevel0(ctx context.Context, t *table.Table, s *table.Snapshot) (deepest, files int, err error) {
	type place struct {
		partition string
		bucket    int32
	}
	count := map[place]int{}
	level := 0
	for e, err := range t.Scan(ctx, s, table.Filter{Level: &level}) {
		if err != nil {
			return 0, 0, err
		}
		p := place{string(e.Partition), e.Bucket}
		count[p]++
		deepest = max(deepest, count[p])
		files++
	}
	return deepest, files, nil
}
