package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// keep is the keeper.
func (c *compactions) keep() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-c.ending:
			return
		case <-c.wake:
		case <-timer.C:
		}
		if c.ctx.Err() != nil {
			continue // until the end
		}
		c.adopt()
		c.read()
		if at := c.look(); at.IsZero() {
			timer.Reset(time.Hour)
		} else {
			timer.Reset(time.Until(at))
		}
	}
}

// maxFollow is how many snapshots of others are looked at one by one; after more, all buckets are read again.
const maxFollow = 100

// adopt goes over to the newest anchor, and finds the buckets that others have changed up to it.
func (c *compactions) adopt() {
	c.mu.Lock()
	was, now := c.at, c.anchor
	if was == now {
		c.mu.Unlock()
		return
	}
	c.at = now
	for k, b := range c.buckets {
		b.forget(now.commit)
		if b.idle(now.commit) {
			delete(c.buckets, k)
		}
	}
	var others []int64
	all := now.snapshot == nil && was.snapshot != nil
	if now.snapshot != nil {
		from := int64(0)
		if was.snapshot != nil {
			from = was.snapshot.ID
		}
		all = all || from > now.snapshot.ID
		for id := from + 1; id <= now.snapshot.ID && !all; id++ {
			if !c.ours[id] {
				others = append(others, id)
			}
			all = len(others) > maxFollow
		}
		for id := range c.ours {
			if id <= now.snapshot.ID {
				delete(c.ours, id)
			}
		}
	}
	c.mu.Unlock()
	touched := map[bucketKey]bool{}
	for _, id := range others {
		if all {
			break
		}
		all = c.follow(id, now.snapshot, touched) != nil
	}
	if !all && len(touched) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, b := range c.buckets {
		if all || touched[k] {
			c.mistrust(b)
		}
	}
}

// follow finds the buckets that a snapshot of somebody else has changed.
func (c *compactions) follow(id int64, newest *table.Snapshot, touched map[bucketKey]bool) error {
	s := newest
	if id != newest.ID {
		var err error
		if s, err = c.table.Snapshot(c.ctx, id); err != nil {
			return err
		}
	}
	for e, err := range c.table.ScanDelta(c.ctx, s) {
		if err != nil {
			return err
		}
		touched[bucketKey{string(e.Partition), e.Bucket}] = true
	}
	return nil
}

// read reads the buckets that are not known. When it goes wrong it is tried again after a while, or with the next anchor.
func (c *compactions) read() {
	c.mu.Lock()
	want, buckets := map[string][]int32{}, len(c.unknown)
	for b := range c.unknown {
		want[b.key.partition] = append(want[b.key.partition], b.key.bucket)
	}
	c.mu.Unlock()
	if len(want) == 0 || time.Now().Before(c.retryAt) {
		return
	}
	c.retryAt = time.Time{}
	files, err := c.scan(want)
	if err != nil {
		c.retryAt = time.Now().Add(firstRetry)
		c.complain(nil, fmt.Errorf("reading the files of %d buckets for their compaction: %w", buckets, err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed.Broadcast()
	for b := range c.unknown {
		if !slices.Contains(want[b.key.partition], b.key.bucket) {
			continue
		}
		if err != nil {
			c.giveUp(b)
			continue
		}
		c.found(b, files[b.key])
	}
}

// found goes on from the files of a bucket in the keeper's snapshot. mu is held.
func (c *compactions) found(b *compacted, base bucketFiles) {
	t := c.tools.Load()
	void := b.rebuild(base, func(files []table.DataFile) bool {
		_, err := lsm.NewLevels(files, t.schema, c.table.Options())
		return err == nil
	})
	if void != nil {
		c.jobs.Go(func() { c.remove(b, &void.inc) })
	}
	if b.known {
		delete(c.unknown, b)
	}
	c.enqueue(b)
}

// giveUp lets nobody wait for a bucket. mu is held.
func (c *compactions) giveUp(b *compacted) { b.done, b.full = b.seq, false }

// scan reads the files of buckets in the keeper's snapshot.
func (c *compactions) scan(want map[string][]int32) (map[bucketKey]bucketFiles, error) {
	files := map[bucketKey]bucketFiles{}
	if c.at.snapshot == nil {
		return files, nil
	}
	newest := int64(-1)
	for e, err := range c.table.Scan(c.ctx, c.at.snapshot, table.OfBuckets(want)) {
		if err != nil {
			return nil, err
		}
		k := bucketKey{string(e.Partition), e.Bucket}
		f := files[k]
		f.data = append(f.data, e.File.Packed())
		files[k] = f
		newest = max(newest, e.File.SchemaID)
	}
	if c.vectors {
		for e, err := range c.table.IndexEntries(c.ctx, c.at.snapshot, table.OfBuckets(want)) {
			if err != nil {
				return nil, err
			}
			if e.File.Type == table.IndexDeletionVectors {
				k := bucketKey{string(e.Partition), e.Bucket}
				f := files[k]
				f.vectors = e.File
				files[k] = f
			}
		}
	}
	if newest > c.tools.Load().schema.ID { // somebody else has altered the table
		s, err := c.table.SchemaByID(c.ctx, newest)
		if err != nil {
			return nil, err
		}
		return files, c.use(s)
	}
	return files, nil
}

// look asks the strategy about the buckets in the queue, and returns when to look again, zero for when something happens.
func (c *compactions) look() (again time.Time) {
	c.mu.Lock()
	queue, waiting := c.queue, len(c.unknown) > 0
	c.queue = nil
	for _, b := range queue {
		b.queued = false
	}
	c.mu.Unlock()
	now := time.Now()
	later := func(at time.Time) {
		if again.IsZero() || at.Before(again) {
			again = at
		}
	}
	if waiting && !c.retryAt.IsZero() {
		later(c.retryAt)
	}
	for _, b := range queue {
		c.mu.Lock()
		switch {
		case b.running, !b.known: // it is queued again when it has ended, when it has been read
		case b.retryAt.After(now) && !b.full:
			c.giveUp(b)
			later(b.retryAt)
			c.enqueue(b)
		default:
			c.pick(b, now)
		}
		c.mu.Unlock()
	}
	c.changed.Broadcast()
	c.measure()
	return again
}

// pick begins a compaction if there is one to be done. mu is held.
func (c *compactions) pick(b *compacted, now time.Time) {
	t := c.tools.Load()
	levels, err := lsm.NewLevels(b.files, t.schema, c.table.Options())
	if err == nil && lsm.NewestSchema(b.files) > t.schema.ID {
		err = fmt.Errorf("%w: a file has a schema that is newer than %d", table.ErrSchema, t.schema.ID)
	}
	if err != nil {
		if !b.broken {
			b.broken = true
			c.complain(b, err)
		}
		c.giveUp(b)
		return
	}
	vectors := make(map[string]*roaring.Bitmap, len(b.vectors.Vectors))
	for i := range b.vectors.Vectors {
		vectors[b.vectors.Vectors[i].File] = nil // only a job reads it
	}
	levels = levels.WithVectors(vectors)
	state := lsm.PickState{Levels: levels, Now: now}
	if every := t.strategy.LookupInterval(); every > 0 {
		state.ForceUp = b.gentle >= every
	}
	var u lsm.Unit
	var ok bool
	if b.full {
		u, ok = t.strategy.PickFull(state, func(f *table.DataFile) bool { return t.rewriter.Expired(f, now) })
		b.fresh = b.fresh && ok
	} else if u, ok = t.strategy.Pick(state); !ok && b.done < b.seq {
		b.gentle++
	}
	if !ok {
		c.giveUp(b)
		return
	}
	b.running = true
	c.jobs.Add(1)
	c.stats.queued.Add(1)
	c.pool.submit(&compactJob{c: c, b: b, tools: t, levels: levels, vectors: b.vectors, unit: u, runs: levels.NumSortedRuns(), seq: b.seq, full: b.full})
}

// measure publishes figures about all buckets.
func (c *compactions) measure() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var runs, level0 int
	for _, b := range c.buckets {
		r, l := lsm.CountRuns(b.files)
		runs, level0 = max(runs, r), max(level0, l)
	}
	c.stats.maxRuns.Store(int64(runs))
	c.stats.maxLevel0.Store(int64(level0))
	c.stats.buckets.Store(int64(len(c.buckets)))
}

// complain reports what keeps a bucket, or several, from being compacted.
func (c *compactions) complain(b *compacted, err error) {
	if c.ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, fs.ErrNotExist) && b == nil {
		return // the snapshot has expired: there is a newer one soon
	}
	c.stats.failed.Add(1)
	if f := c.tell.CompactionEnd; f != nil {
		info := CompactionInfo{Err: err}
		if b != nil {
			info.Partition, info.Bucket = []byte(b.key.partition), b.key.bucket
		}
		f(info)
	}
}
