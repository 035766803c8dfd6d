package writer

import (
	"fmt"
	"sync"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// A table with bucket=-2 gets its rows as they come, in files that belong to no bucket yet: each partition has one sink for them. A
// compaction of Paimon or of paimon-go-compact deals them out to buckets, merges them, and makes the changelog. It replays the files
// of one writer in the order of their creation times, so that order is what the writer has to keep:
//
//   - one shard has all rows of a partition, and its memory and spilled runs keep their order (lsm.BufferSpec.Arrival);
//   - creation times grow from file to file of a partition (creations).
const (
	// postponed is the number of buckets of such a table.
	postponed = table.PostponeBucket
	// postponeWriter is the number of the writer within its job, in the names of files.
	postponeWriter = 0
)

func (g *generation) postponed() bool { return g.numBuckets == postponed }

// makeFiles opens what makes the generation's files. user is the commit user.
func (g *generation) makeFiles(t *table.Table, user string) error {
	if !g.postponed() {
		return nil // they are known already
	}
	files, err := lsm.NewPostponeFiles(t, g.schema, user, postponeWriter)
	if err == nil {
		g.files = realFiles{files}
	}
	return err
}

// checkRetracts has the merge engine look at the first retract that a sink gets, as Paimon's writer does: nobody merges rows before
// the compaction, which would find out too late. The rows of the batch have been found (find).
func (g *generation) checkRetracts(w *Writer, b *row.Batch) error {
	if !g.postponed() || !g.traits.Folds {
		return nil
	}
	r := &w.router
	for i, slot := range r.slots {
		if slot < 0 || !r.kinds[i].IsRetract() || r.found[slot].checked {
			continue
		}
		f := g.merges.Get().(lsm.MergeFunc)
		err := lsm.CheckRetract(f, b, i, r.kinds[i], g.schema.KeyIndexes())
		g.merges.Put(f)
		if err != nil {
			where := w.parts.describe(r.found[slot].part)
			if where != "" {
				where = ", " + where
			}
			return fmt.Errorf("table %s%s: %w", w.table.Path(), where, err)
		}
		r.found[slot].checked = true
	}
	return nil
}

// creations are the creation times of the newest files in postpone buckets, by partition. Files made within one millisecond, by clocks
// that step back, and by runs of the job one after the other all get times that grow.
type creations struct {
	mu   sync.Mutex
	last map[string]int64 // guarded by mu
}

// newCreations returns nil for tables whose rows have buckets.
func newCreations(numBuckets int32) *creations {
	if numBuckets != postponed {
		return nil
	}
	return &creations{last: map[string]int64{}}
}

// saw takes a live file into account.
func (c *creations) saw(e *table.Entry) {
	if e.Bucket != postponed {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.last[string(e.Partition)]
	if !ok || e.File.CreationMillis > last {
		c.last[string(e.Partition)] = e.File.CreationMillis
	}
}

// date sets the creation times of the files of an epoch, which are in order.
func (c *creations) date(messages []table.CommitMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range messages {
		m := &messages[i]
		last, ok := c.last[string(m.Partition)]
		for k := range m.Data.New {
			f := &m.Data.New[k]
			if ok && f.CreationMillis <= last {
				f.CreationMillis = last + 1
			}
			last, ok = f.CreationMillis, true
		}
		if ok {
			c.last[string(m.Partition)] = last
		}
	}
}

// date gives the epoch's files their creation times, after those of the epoch before. The epoch is done.
func (p *Pending) date() {
	c := p.w.parts.creations
	if c == nil {
		return
	}
	p.dating.Do(func() {
		if before := p.prev; before != nil {
			<-before.done // ends as every flush does
			before.date()
			p.prev = nil
		}
		c.date(p.messages)
	})
}

// postponeFilter is what of a table's files concerns a writer with so many buckets.
func postponeFilter(numBuckets int32) table.Filter {
	if numBuckets != postponed {
		return table.Filter{}
	}
	b := int32(postponed)
	return table.Filter{Bucket: &b}
}

// newGenerationOf is newGeneration for a writer.
func newGenerationOf(t *table.Table, s *table.Schema, cfg *Config) (*generation, error) {
	g, err := newGeneration(t, s, cfg.PairedUpdates)
	if err == nil {
		err = g.makeFiles(t, cfg.CommitUser)
	}
	return g, err
}
