package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// Plan returns what Once would begin with, the most urgent first, without doing it: one job for each bucket that wants a
// compaction now. Tables that can't be compacted are left out, or are the error with StrictTables.
func (s *Service) Plan(ctx context.Context) ([]Job, error) {
	var found []*candidate
	err := s.eachTable(ctx, func(l *tableLoop) error {
		found = append(found, l.candidates(time.Now())...)
		return nil
	})
	slices.SortFunc(found, func(a, b *candidate) int {
		switch {
		case a.urgency() != b.urgency():
			return cmp.Compare(b.urgency(), a.urgency())
		case before(a, b):
			return -1
		}
		return 1
	})
	jobs := make([]Job, len(found))
	for i, c := range found {
		jobs[i] = c.job
	}
	return jobs, err
}

// candidates returns what the table wants now.
func (l *tableLoop) candidates(now time.Time) (all []*candidate) {
	for _, b := range l.st.buckets {
		l.pickInto(b, false, now)
		if b.picked != nil && l.allowed(b, now) {
			all = append(all, b.picked)
		}
	}
	if c := l.moveCandidate(now); c != nil {
		all = append(all, c)
	}
	return all
}

// eachTable opens and lists one table after the other.
func (s *Service) eachTable(ctx context.Context, f func(*tableLoop) error) error {
	names, err := s.tables.List(ctx)
	if err != nil {
		return fmt.Errorf("listing the tables: %w", err)
	}
	slices.Sort(names)
	x := &session{Service: s, jobs: ctx, hard: ctx, io: make(chan struct{}, looksAtOnce)}
	for _, name := range names {
		l := newTableLoop(x, name)
		l.once = &onceState{full: s.cfg.Strategy == Full}
		_, err := l.read(ctx)
		if err == nil {
			err = errors.Join(f(l), errors.Join(l.once.errs...))
		}
		l.cancelJobs()
		switch {
		case errors.Is(err, table.ErrNoTable), errors.Is(err, errRefused) && !s.cfg.StrictTables:
		case err != nil:
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	return nil
}

// BucketFiles says what files a bucket has, and why.
type BucketFiles struct {
	Table     string
	Partition string
	Bucket    int32
	Bytes     int64
	Runs      int
	Groups    []FileGroup // by level
	// Job is what would be done about it now; nil: nothing.
	Job *Job
	// AppendedPerHour is how many level-0 files came per hour lately, and Predicted how many files the bucket would have in
	// an hour at this rate if nobody compacted it.
	AppendedPerHour float64
	Predicted       int
}

// FileGroup is the files of one level that one cause made.
type FileGroup struct {
	Level          int
	Source         table.FileSource // APPEND: a writer made them; COMPACT: a compaction
	Files, Small   int              // small: below the size from which a compaction leaves files as they are
	Bytes          int64
	Oldest, Newest time.Time
}

// Explain returns what files the buckets have and where they come from, in the order of tables, partitions and buckets.
func (s *Service) Explain(ctx context.Context) ([]BucketFiles, error) {
	var all []BucketFiles
	err := s.eachTable(ctx, func(l *tableLoop) error {
		rates, err := l.rates(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		var of []BucketFiles
		for k, b := range l.st.buckets {
			if !b.part.excluded {
				of = append(of, l.explain(b, rates[k], now))
			}
		}
		of = append(of, l.explainWaiting(rates, now)...)
		slices.SortFunc(of, func(a, b BucketFiles) int {
			return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Bucket, b.Bucket))
		})
		all = append(all, of...)
		return nil
	})
	return all, err
}

func (l *tableLoop) explain(b *bucket, perHour float64, now time.Time) BucketFiles {
	l.pickInto(b, false, now)
	x := l.describe(b, perHour)
	if b.picked != nil && l.allowed(b, now) {
		x.Job = &b.picked.job
	}
	return x
}

// describe says what files a bucket has.
func (l *tableLoop) describe(b *bucket, perHour float64) BucketFiles {
	runs, _ := lsm.CountRuns(b.files)
	x := BucketFiles{
		Table: l.name, Partition: b.part.path, Bucket: b.id, Bytes: b.size(), Runs: runs,
		AppendedPerHour: perHour, Predicted: len(b.files) + int(perHour),
	}
	type group struct {
		level  int
		source table.FileSource
	}
	small := table.TargetFileSize(l.t.Options()) / 10 * 7
	if o := l.t.Options(); o.Has(table.KeyCompactionSmallFileRatio) {
		small = int64(float64(table.TargetFileSize(o)) * o.Float(table.KeyCompactionSmallFileRatio))
	}
	groups := map[group]*FileGroup{}
	for i := range b.files {
		f := &b.files[i]
		g := groups[group{f.Level, f.Source}]
		made := lsm.FromWallClock(f.CreationMillis, time.Local)
		if g == nil {
			g = &FileGroup{Level: f.Level, Source: f.Source, Oldest: made, Newest: made}
			groups[group{f.Level, f.Source}] = g
		}
		g.Files++
		g.Bytes += f.Size
		if f.Size < small {
			g.Small++
		}
		if made.Before(g.Oldest) {
			g.Oldest = made
		}
		if made.After(g.Newest) {
			g.Newest = made
		}
	}
	for _, g := range groups {
		x.Groups = append(x.Groups, *g)
	}
	slices.SortFunc(x.Groups, func(a, b FileGroup) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Source, b.Source))
	})
	return x
}

// rateSnapshots is how many snapshots back the rate of new files is taken from.
const rateSnapshots = 50

// rates returns how many level-0 files came to each bucket per hour.
func (l *tableLoop) rates(ctx context.Context) (map[bucketKey]float64, error) {
	counts := map[bucketKey]float64{}
	newest := l.st.snapshot
	if newest == nil {
		return nil, nil
	}
	oldest := newest
	for s, n := newest, 0; n < rateSnapshots && s.ID > 1; n++ {
		for e, err := range l.t.ScanDelta(ctx, s) {
			if errors.Is(err, fs.ErrNotExist) {
				break // it has expired
			}
			if err != nil {
				return nil, err
			}
			if e.Kind == table.Add && e.File.Level == 0 {
				counts[bucketKey{string(e.Partition), e.Bucket}]++
			}
		}
		previous, err := l.t.Snapshot(ctx, s.ID-1)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		s, oldest = previous, previous
	}
	hours := time.Duration(newest.TimeMillis-oldest.TimeMillis) * time.Millisecond
	for k := range counts {
		if hours <= 0 {
			counts[k] = 0
		} else {
			counts[k] /= hours.Hours()
		}
	}
	return counts, nil
}
