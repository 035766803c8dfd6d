package compactor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// Rows of a table with bucket=-2 are written to files that have no bucket yet, which batch readers don't see. They get theirs here,
// in two steps that are each a COMPACT snapshot:
//
//	written    bucket-postpone: a b c    bucket-0: x@5            bucket-1: y@5
//	moved                                bucket-0: d@0 x@5        bucket-1: e@0 y@5
//	compacted                            bucket-0: f@5            bucket-1: e@0 y@5    as for any other table
//
// The first is one job a table, in which the rows of a, b and c are put in the order of their writing and hashed to the buckets that
// their partition has. Java's job (CompactAction.buildForPostponeBucketCompaction) makes one snapshot of both.

// reasonMove is the reason of that job.
const reasonMove = "rows without a bucket"

var moveKey = bucketKey{bucket: table.PostponeBucket}

// postpones tells whether the table has files without a bucket, or may get some.
func (l *tableLoop) postpones() bool {
	return l.t.Options().Int(table.KeyBucket) == table.PostponeBucket
}

// bucketAt returns what is known of the bucket of a job, nil when it is gone.
func (l *tableLoop) bucketAt(k bucketKey) *bucket {
	if k == moveKey {
		return l.mover
	}
	return l.st.buckets[k]
}

// moves tells whether this process moves rows: one of several shards does.
func (l *tableLoop) moves() bool {
	c := &l.x.cfg
	return c.Shards <= 1 || shardOf(l.name, nil, 0, c.Shards) == c.Shard
}

// wantsMove tells whether there are rows to be moved, and nothing speaks against doing it at some time.
func (l *tableLoop) wantsMove() bool {
	if !l.moves() || l.mover.givenUp {
		return false
	}
	for _, b := range l.st.waiting {
		if !b.givenUp {
			return true
		}
	}
	return false
}

// postponedNow counts the files that have no bucket.
func (l *tableLoop) postponedNow() (files int, bytes int64) {
	for _, b := range l.st.waiting {
		files += len(b.files)
		bytes += b.size()
	}
	return files, bytes
}

// moveAt is when the next move may begin. A service lets rows gather: each move adds a file to each bucket.
func (l *tableLoop) moveAt() time.Time {
	at := l.mover.retryAt
	if next := l.movedAt.Add(l.x.cfg.Interval); l.once == nil && next.After(at) {
		at = next
	}
	return at
}

// moveCandidate returns the move that the table would like to have done now, if any.
func (l *tableLoop) moveCandidate(now time.Time) *candidate {
	if !l.wantsMove() || now.Before(l.moveAt()) {
		return nil
	}
	m := &move{
		t: l.t, schema: l.schema, memory: l.x.cfg.Memory / int64(l.x.cfg.Workers), spill: l.x.cfg.Spill, throttle: l.x.throttle, remove: l.rw.Remove,
		bad: map[bucketKey]error{},
	}
	job := Job{Table: l.name, Bucket: table.PostponeBucket, Reason: reasonMove}
	for _, b := range l.st.waiting {
		if b.givenUp || b.retryAt.After(now) {
			continue
		}
		m.parts = append(m.parts, postponed{b.part, inOrder(b.files)})
		job.Files += len(b.files)
		job.Bytes += b.size()
	}
	if len(m.parts) == 0 {
		return nil
	}
	slices.SortFunc(m.parts, func(a, b postponed) int { return strings.Compare(a.part.path, b.part.path) })
	job.Level0, job.Runs = job.Files, job.Files
	since, ok := l.wanted[moveKey]
	if !ok {
		since = now
		l.wanted[moveKey] = now
	}
	return &candidate{loop: l, key: moveKey, part: l.mover.part, move: m, t: l.t, rw: l.rw, job: job, since: since, need: 1, hot: true}
}

// inOrder returns files in the order in which their rows were written: by the time of their making, and of equal times in the order
// in which they were committed, or one writer numbered them.
func inOrder(files []table.DataFile) []table.DataFile {
	type place struct{ writer, number int }
	writers := map[string]int{}
	places := make(map[string]place, len(files))
	for i := range files {
		writer, number := numbered(files[i].Name)
		if _, known := writers[writer]; !known {
			writers[writer] = i
		}
		places[files[i].Name] = place{writers[writer], number}
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b table.DataFile) int {
		if a.CreationMillis != b.CreationMillis {
			return cmp.Compare(a.CreationMillis, b.CreationMillis)
		}
		x, y := places[a.Name], places[b.Name]
		if x.writer != y.writer {
			return x.writer - y.writer
		}
		return x.number - y.number
	})
	return files
}

// badPartitions lets partitions rest that a move had to leave.
func (l *tableLoop) badPartitions(m *move) {
	for k, err := range m.bad {
		b := l.st.waiting[k]
		if b == nil {
			continue
		}
		l.stats.failed(err)
		if l.once != nil {
			l.once.fail(fmt.Errorf("table %s: %w", l.name, err))
			b.givenUp = true
		}
		l.breaksBucket(b, err)
	}
}

// checkPostpone refuses what doesn't go with bucket=-2, as Java does.
func (l *tableLoop) checkPostpone(o table.Options) error {
	if o.Int(table.KeyBucket) == table.PostponeBucket && l.x.cfg.PartitionFilter != nil {
		return fmt.Errorf("%w: bucket is -2; such a table is compacted in all partitions, not in some that are chosen (partition, where)", table.ErrOption)
	}
	return nil
}

// contradictsMove returns why a move can't be committed any more: its files are not all there.
func (l *tableLoop) contradictsMove(f *finished) error {
	for i := range f.moved {
		m := &f.moved[i]
		if m.Bucket != table.PostponeBucket {
			continue
		}
		b := l.st.waiting[bucketKey{string(m.Partition), m.Bucket}]
		for j := range m.Compact.Before {
			name := m.Compact.Before[j].Name
			if b == nil || !slices.ContainsFunc(b.files, func(d table.DataFile) bool { return d.Name == name }) {
				return fmt.Errorf("%w: %s is not in the table any more", table.ErrConflict, name)
			}
		}
	}
	return nil
}

// runMove does the job of a candidate that moves rows.
func (c *candidate) runMove(ctx context.Context) (moved []table.CommitMessage, stats lsm.RewriteStats, err error) {
	if moved, err = c.move.run(ctx); err != nil {
		err = fmt.Errorf("giving rows their buckets: %w", err)
	}
	return moved, c.move.stats, err
}

// explainWaiting says what files there are without a bucket.
func (l *tableLoop) explainWaiting(rates map[bucketKey]float64, now time.Time) []BucketFiles {
	var all []BucketFiles
	c := l.moveCandidate(now)
	for _, k := range slices.SortedFunc(maps.Keys(l.st.waiting), func(a, b bucketKey) int { return strings.Compare(a.partition, b.partition) }) {
		x := l.describe(l.st.waiting[k], rates[k])
		if c != nil {
			x.Job = &c.job
		}
		all = append(all, x)
	}
	return all
}
