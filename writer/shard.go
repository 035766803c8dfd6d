package writer

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/lsm"
)

// shard is a goroutine that owns the rows in memory of some buckets.
type shard struct {
	w       *Writer
	queue   chan message
	poke    chan struct{} // asks for sealing; holds one
	gen     *generation
	catch   *catchUp // of the epoch; nil: none
	buffers *lsm.Buffers
	dirty   []*bucket // with rows since the last barrier
	largest []*bucket // scratch
	active  atomic.Int64
}

// message is one of: rows, a barrier, a new schema, the begin of a catch-up.
type message struct {
	batch  *sharedBatch
	groups []group
	epoch  *Pending
	gen    *generation
	catch  *catchUp
}

// group is the rows of a batch that go to one bucket.
type group struct {
	b    *bucket
	rows []int32
	seq  int64 // of the first
}

// queueLength is how many batches a shard may be behind.
const queueLength = 4

func newShard(w *Writer, gen *generation) *shard {
	s := &shard{w: w, queue: make(chan message, queueLength), poke: make(chan struct{}, 1)}
	s.use(gen)
	return s
}

func (s *shard) use(gen *generation) {
	s.gen = gen
	s.buffers = lsm.NewBuffers(gen.records, s.w.budget)
}

// run ends when the queue is closed.
func (s *shard) run() {
	defer s.discard()
	for {
		select {
		case m, ok := <-s.queue:
			if !ok {
				return
			}
			switch {
			case m.epoch != nil:
				s.barrier(m.epoch)
			case m.gen != nil:
				s.use(m.gen)
			case m.catch != nil:
				s.catch = m.catch
			default:
				s.append(m.batch, m.groups)
				m.batch.release()
			}
		case <-s.poke:
			s.sealLargest()
		}
	}
}

// append copies rows into the buckets' memory.
func (s *shard) append(sb *sharedBatch, groups []group) {
	for i := range groups {
		g := &groups[i]
		if g.b.tree == nil {
			g.b.tree = s.buffers.NewMergeTree()
			s.dirty = append(s.dirty, g.b)
		}
		rows, seq := g.rows, g.seq
		for len(rows) > 0 {
			n, err := g.b.tree.Append(&sb.batch, rows, seq)
			rows, seq = rows[n:], seq+int64(n)
			if err == nil && len(rows) > 0 {
				n, err = s.wait(g.b, sb, rows, seq)
				rows, seq = rows[n:], seq+int64(n)
			}
			if err != nil {
				s.w.fail(err)
				return
			}
		}
	}
	s.publish()
	s.w.budget.Relieve()
}

// publish tells the others what this shard could seal. Who waits for memory acts on that figure, and may have seen the old
// one: it must look again, or it waits for a seal that will never come.
func (s *shard) publish() {
	if now := s.buffers.ActiveBytes(); s.active.Swap(now) != now {
		s.w.budget.Wake()
	}
}

// wait waits until memory is free, while it seals what it is asked to, and takes some of the rows.
func (s *shard) wait(b *bucket, sb *sharedBatch, rows []int32, seq int64) (int, error) {
	start := time.Now()
	for waited := false; ; waited = true {
		freed := s.w.budget.Freed()
		if b.tree == nil {
			b.tree = s.buffers.NewMergeTree()
			s.dirty = append(s.dirty, b)
		}
		n, err := b.tree.Append(&sb.batch, rows, seq)
		s.publish()
		if err == nil && n == 0 && s.w.activeBytes() == 0 && s.w.budget.Sealed() == 0 {
			n, err = 1, b.tree.AppendOne(&sb.batch, rows[0], seq) // nothing to wait for: it is larger than the budget
			s.publish()
		}
		if n > 0 || err != nil {
			if waited {
				s.w.stalled("shard", start)
			}
			return n, err
		}
		s.w.budget.Press(1)
		select {
		case <-freed:
		case <-s.poke:
			s.sealLargest()
		case <-s.w.ctx.Done():
			return 0, context.Cause(s.w.ctx)
		}
	}
}

// sealLargest hands the largest buckets' rows to the pool, an eighth of the budget or what there is.
func (s *shard) sealLargest() {
	target := max(s.w.budget.Limit()/8, 1)
	s.largest = append(s.largest[:0], s.dirty...)
	slices.SortFunc(s.largest, func(a, b *bucket) int { return cmp.Compare(b.tree.Bytes(), a.tree.Bytes()) })
	for _, b := range s.largest {
		if target <= 0 {
			break
		}
		p := b.tree.SealPart()
		if p == nil {
			break // the others are empty too
		}
		p.Queue()
		target -= p.Bytes()
		s.w.submit(&spillJob{s.w, s.gen, b, p, s.catch})
	}
	clear(s.largest)
	s.publish()
}

// barrier seals all buckets and hands them to the pool.
func (s *shard) barrier(e *Pending) {
	for i, b := range s.dirty {
		sealed := b.tree.Seal()
		b.tree, s.dirty[i] = nil, nil
		if sealed == nil {
			continue // the writer was closed while the first row waited for memory
		}
		e.pending.Add(1)
		s.w.submit(&flushJob{s.w, s.gen, e, b, sealed, s.catch})
	}
	s.dirty, s.catch = s.dirty[:0], nil
	s.publish()
	e.release()
}

// discard drops the rows that no barrier has sealed.
func (s *shard) discard() {
	for _, b := range s.dirty {
		if sealed := b.tree.Seal(); sealed != nil {
			s.w.removeFiles(b.part.bytes, b.id, sealed.Discard())
		}
		b.tree = nil
	}
	s.dirty = nil
	s.publish()
}
