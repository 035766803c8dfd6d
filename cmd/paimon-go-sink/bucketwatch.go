package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/buckets"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// bucketWatch tells, before it hurts, when the table's buckets are not of a healthy size or its commits make many files. What commits
// have is what the writer knows of them; how large buckets are is read from the manifests, beside the commits and seldom.
type bucketWatch struct {
	lastPartitions, lastBuckets, lastFiles atomic.Int64 // of the last commit with files

	ticks, partitions, buckets, files atomic.Int64 // of the commits since the last look

	verdict, rows, bytes atomic.Int64 // of a bucket of the largest partition, on average

	since  time.Time // what follows belongs to the goroutine that looks: the initial read has ended by then
	looked time.Time
	logged time.Time
	said   string
	tick   buckets.Tick
}

const (
	judgeEvery = time.Hour
	sayEvery   = 6 * time.Hour
	// The first look waits for so many commits after the initial read, which are like those to come, or for so long.
	firstTicks = 2
	firstWait  = 5 * time.Minute
)

// committed takes a commit into account.
func (b *bucketWatch) committed(c *writer.CommitInfo, reading bool) {
	if c.Files == 0 || c.Snapshot == nil {
		return
	}
	b.lastPartitions.Store(int64(c.Partitions))
	b.lastBuckets.Store(int64(c.Buckets))
	b.lastFiles.Store(int64(c.Files))
	if !reading {
		b.partitions.Add(int64(c.Partitions))
		b.buckets.Add(int64(c.Buckets))
		b.files.Add(int64(c.Files))
		b.ticks.Add(1)
	}
}

// due tells whether to look now.
func (b *bucketWatch) due(now time.Time, reading bool) bool {
	switch {
	case reading:
		b.since = time.Time{}
		return false
	case !b.looked.IsZero():
		return now.Sub(b.looked) >= judgeEvery
	case b.since.IsZero():
		b.since = now
	}
	return b.ticks.Load() >= firstTicks || now.Sub(b.since) >= firstWait
}

// measured returns what the commits since the last look had on average; if there were none, what the ones before had.
func (b *bucketWatch) measured() buckets.Tick {
	if n := float64(b.ticks.Swap(0)); n > 0 {
		b.tick = buckets.Tick{Partitions: float64(b.partitions.Swap(0)) / n, Buckets: float64(b.buckets.Swap(0)) / n, Files: float64(b.files.Swap(0)) / n}
	}
	return b.tick
}

// judged takes what a look found and tells whether to say it: at first, and when it is something else than was said.
func (b *bucketWatch) judged(a *buckets.Advice, now time.Time) bool {
	b.looked = now
	b.verdict.Store(int64(a.Verdict))
	b.rows.Store(a.RowsEach)
	b.bytes.Store(a.Each)
	kind := fmt.Sprint(a.Verdict, a.ManyFiles, a.Idle)
	if a.LargestBytes == 0 || kind == b.said || !b.logged.IsZero() && now.Sub(b.logged) < sayEvery {
		return false
	}
	b.logged, b.said = now, kind
	return true
}

// adviseBuckets looks at the buckets of a snapshot and logs what is to be said.
func (j *job) adviseBuckets(ctx context.Context, t *table.Table, s *table.Snapshot, b *bucketWatch) error {
	var sizes buckets.Sizes
	for e, err := range t.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			return err
		}
		sizes.Add(&e)
	}
	tick := b.measured()
	a, err := sizes.Advise(t, tick)
	if err != nil || !b.judged(&a, time.Now()) {
		return err
	}
	level, msg := slog.LevelInfo, "the buckets of the table are as they should be"
	if len(a.Says) > 0 {
		msg = "about the buckets of the table: " + strings.Join(a.Says, "; ")
	}
	if a.Verdict == buckets.Large || a.ManyFiles {
		level = slog.LevelWarn
	}
	round := func(v float64) float64 { return float64(int64(v*10+0.5)) / 10 }
	j.log.Log(ctx, level, msg, "partitions", a.Partitions, "buckets", a.Buckets, "rows_per_bucket", a.RowsEach, "bytes_per_bucket", a.Each,
		"partitions_per_commit", round(tick.Partitions), "buckets_per_commit", round(tick.Buckets), "files_per_commit", round(tick.Files))
	return nil
}
