package writer

import (
	"context"
	"fmt"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
)

// copy returns a copy of b whose memory counts.
func (w *Writer) copy(ctx context.Context, b *row.Batch) (*sharedBatch, error) {
	n := int64(b.Bytes())
	if err := w.take(ctx, n); err != nil {
		return nil, err
	}
	w.inFlight.Add(1)
	var sb *sharedBatch
	select {
	case sb = <-w.spare:
	default:
	}
	if sb == nil || sb.gen != w.gen {
		sb = &sharedBatch{w: w, gen: w.gen, batch: *row.NewBatch(w.gen.typ)}
	}
	sb.bytes = n
	sb.batch.Reset()
	sb.batch.Kinds = append(sb.batch.Kinds, w.router.kinds...)
	defaults := w.gen.defaults
	for c := range sb.batch.Cols {
		dst, src := &sb.batch.Cols[c], &b.Cols[c]
		if len(defaults) > 0 && defaults[0].column == c {
			if src.HasNulls() {
				defaults[0].appendColumn(dst, src)
			}
			defaults = defaults[1:]
		}
		if dst.N == 0 {
			dst.AppendRange(src, 0, b.N)
		}
	}
	sb.batch.N = b.N
	return sb, nil
}

// take takes memory for a batch. One batch is taken in any case: the caller has it in memory already.
func (w *Writer) take(ctx context.Context, n int64) error {
	if w.budget.TryTake(n) {
		return nil
	}
	start := time.Now()
	defer func() { w.stalled("write", start) }()
	for {
		freed := w.budget.Freed()
		if w.budget.TryTake(n) {
			return nil
		}
		if w.inFlight.Load() == 0 {
			w.budget.Take(n)
			return nil
		}
		w.budget.Press(n)
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.ctx.Done():
			return context.Cause(w.ctx)
		}
	}
}

// send hands the batch to the shards that have rows of it.
func (w *Writer) send(ctx context.Context, sb *sharedBatch) error {
	refs := int32(1) // ours
	for i := range w.shards {
		if sb.first[i] < sb.first[i+1] {
			refs++
		}
	}
	sb.refs.Store(refs)
	defer sb.release()
	for i, s := range w.shards {
		groups := sb.groups[sb.first[i]:sb.first[i+1]]
		if len(groups) == 0 {
			continue
		}
		if err := w.post(ctx, s, message{batch: sb, groups: groups}); err != nil {
			sb.refs.Add(-(refs - 1)) // the shards that were not sent it
			return err
		}
		refs--
	}
	return nil
}

// post queues a message. An error leaves the shards at different rows, so it ends the writer.
func (w *Writer) post(ctx context.Context, s *shard, m message) error {
	select {
	case s.queue <- m:
		return nil
	default:
	}
	select {
	case s.queue <- m:
		return nil
	case <-ctx.Done():
		err := fmt.Errorf("interrupted while waiting for memory, rows were taken in part: %w", context.Cause(ctx))
		w.fail(err)
		return err
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	}
}

// activeBytes returns the memory of rows that could be sealed.
func (w *Writer) activeBytes() int64 {
	var n int64
	for _, s := range w.shards {
		n += s.active.Load()
	}
	return n
}

// submit hands a job to the pool. The job ends with jobs.Done.
func (w *Writer) submit(j job) {
	w.jobs.Add(1)
	w.pool.submit(j)
}

// pressLargest asks the shard with the most rows to seal some.
func (w *Writer) pressLargest() {
	var (
		best *shard
		most int64
	)
	for _, s := range w.shards {
		if a := s.active.Load(); a > most {
			best, most = s, a
		}
	}
	if best == nil {
		return
	}
	select {
	case best.poke <- struct{}{}:
	default: // it is asked already
	}
}
