package writer

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// sharedBatch is a copy of a batch that shards read. The last one to release it gives it back.
type sharedBatch struct {
	w      *Writer
	batch  row.Batch
	gen    *generation
	rows   []int32 // the rows in the order of groups
	groups []group // in the order of shards
	first  []int32 // where each shard's groups begin, and their number at the end
	refs   atomic.Int32
	bytes  int64
}

func (b *sharedBatch) release() {
	if b.refs.Add(-1) > 0 {
		return
	}
	w := b.w
	w.inFlight.Add(-1)
	w.budget.Free(b.bytes)
	if b.bytes > keepBatch {
		return
	}
	clear(b.groups)
	select {
	case w.spare <- b:
	default: // enough are kept
	}
}

// keepBatch is the size of a batch, in bytes, above which its memory is not kept for the next one.
const keepBatch = 4 << 20

// router finds the buckets of rows. It belongs to the goroutine that calls Write; all of it is scratch.
type router struct {
	cols    []*row.Column
	kinds   []row.Kind
	keep    []bool // row isn't dropped; nil: none is
	same    []bool // row has the partition of the one before
	buckets []int32
	slots   []int32 // number of the row's bucket in found
	found   []*bucket
	counts  []int32
	at      []int32
	key     []byte
	mark    uint64
}

// checkRows refuses a batch that is not one of the table, and finds the kinds of its rows, without changing anything.
func (w *Writer) checkRows(b *row.Batch) error {
	g := w.gen
	if b.Type != w.okType {
		if err := sameColumns(b.Type, g.typ); err != nil {
			return err
		}
		w.okType = b.Type
	}
	if len(b.Kinds) != b.N {
		return fmt.Errorf("a batch of %d rows has %d kinds", b.N, len(b.Kinds))
	}
	for i := range b.Cols {
		if b.Cols[i].N != b.N {
			return fmt.Errorf("column %s of a batch of %d rows has %d", g.typ.Fields[i].Name, b.N, b.Cols[i].N)
		}
	}
	for _, c := range g.notNull {
		col := &b.Cols[c]
		if !col.HasNulls() {
			continue
		}
		for i := range b.N {
			if col.IsNull(i) {
				return fmt.Errorf("row %d of the batch has a null in column %s, which is NOT NULL", i, g.typ.Fields[c].Name)
			}
		}
	}
	return w.findKinds(b)
}

// sameColumns tells how a batch's type differs from the table's, nullability and names aside.
func sameColumns(t, want *row.Type) error {
	if t == want {
		return nil
	}
	if t == nil || len(t.Fields) != len(want.Fields) {
		return fmt.Errorf("a batch of type %v was written to a table of %v", t, want)
	}
	for i := range t.Fields {
		if a, b := &t.Fields[i].Type, &want.Fields[i].Type; !a.Equal(b, true) {
			return fmt.Errorf("column %d of the batch is %v, but column %s of the table is %v", i, a, want.Fields[i].Name, b)
		}
	}
	return nil
}

// findKinds finds what each row does: by rowkind.field or its own kind, and whether the options drop it.
func (w *Writer) findKinds(b *row.Batch) error {
	g, r := w.gen, &w.router
	r.kinds, r.keep = b.Kinds, nil
	if g.rowkind >= 0 {
		r.kinds = make([]row.Kind, 0, b.N)
		col := &b.Cols[g.rowkind]
		for i := range b.N {
			k, err := row.ParseKind(string(col.Value(i)))
			if col.IsNull(i) || err != nil {
				return fmt.Errorf("row %d of the batch has %q in column %s (rowkind.field), which is none of +I, -U, +U, -D", i, col.Value(i), g.typ.Fields[g.rowkind].Name)
			}
			r.kinds = append(r.kinds, k)
		}
	}
	for i, k := range r.kinds {
		if k > row.Delete {
			return fmt.Errorf("row %d of the batch has the kind %d", i, k)
		}
		if k.IsRetract() && (g.dropDelete || g.dropBefore && k == row.UpdateBefore) {
			if r.keep == nil {
				r.keep = make([]bool, b.N)
				for j := range i {
					r.keep[j] = true
				}
			}
		} else if r.keep != nil {
			r.keep[i] = true
		}
	}
	return nil
}

// find finds the bucket of each row that is kept. Sequence numbers stay as they are.
func (w *Writer) find(ctx context.Context, b *row.Batch) error {
	g, r := w.gen, &w.router
	r.mark++
	r.found, r.counts, r.slots = r.found[:0], r.counts[:0], r.slots[:0]
	r.cols = columns(r.cols, b, g.buckets)
	switch {
	case w.cross != nil:
		r.buckets = append(r.buckets[:0], w.cross.placed...)
	case w.dynamic != nil:
		r.buckets = row.AppendHashes(r.buckets[:0], r.cols, 0, b.N)
	case g.postponed(): // rows get no bucket yet
		r.buckets = append(r.buckets[:0], make([]int32, b.N)...)
	default:
		r.buckets = g.bucketOf.Buckets(r.buckets[:0], r.cols, 0, b.N)
	}
	r.cols = columns(r.cols, b, g.partitions)
	r.findSame(b.N)
	var part *partition
	for i := range b.N {
		if r.keep != nil && !r.keep[i] {
			r.slots = append(r.slots, -1)
			if !r.same[i] {
				part = nil // same tells of the row before, dropped or not
			}
			continue
		}
		if part == nil || !r.same[i] {
			r.key = row.AppendSerializedRow(r.key[:0], r.cols, i)
			part = w.parts.get(r.key)
		}
		id := r.buckets[i]
		if w.dynamic != nil {
			if part.keyed == nil {
				w.dynamic.prefetch(ctx, w, i, b.N)
			}
			var err error
			if id, err = w.dynamic.assign(ctx, w, part, id); err != nil {
				return err
			}
		}
		var bk *bucket
		if int(id) < len(part.buckets) {
			bk = part.buckets[id]
		}
		if bk == nil {
			var err error
			if bk, err = w.parts.open(ctx, part, id); err != nil {
				return err
			}
			w.counters.buckets.Add(1)
		}
		if bk.mark != r.mark {
			bk.mark, bk.local = r.mark, int32(len(r.found))
			r.found, r.counts = append(r.found, bk), append(r.counts, 0)
			if bk.epoch != w.epoch {
				bk.epoch = w.epoch
				w.touched = append(w.touched, bk)
			}
		}
		r.slots = append(r.slots, bk.local)
		r.counts[bk.local]++
	}
	return nil
}

// findSame marks the rows whose partition is that of the row before, column by column.
func (r *router) findSame(n int) {
	if cap(r.same) < n {
		r.same = make([]bool, n)
	}
	r.same = r.same[:n]
	for i := range r.same {
		r.same[i] = i > 0
	}
	for _, c := range r.cols {
		switch c.Type.Store() {
		case row.StoreI32:
			for i := 1; i < n; i++ {
				r.same[i] = r.same[i] && c.I32[i] == c.I32[i-1]
			}
		case row.StoreI64:
			for i := 1; i < n; i++ {
				r.same[i] = r.same[i] && c.I64[i] == c.I64[i-1]
			}
		case row.StoreBytes:
			for i := 1; i < n; i++ {
				r.same[i] = r.same[i] && string(c.Value(i)) == string(c.Value(i-1))
			}
		default:
			for i := 1; i < n; i++ {
				r.same[i] = r.same[i] && row.CompareValues(c, i, c, i-1) == 0
			}
		}
		if len(c.Nulls) > 0 {
			for i := 1; i < n; i++ {
				r.same[i] = r.same[i] && c.IsNull(i) == c.IsNull(i-1)
			}
		}
	}
}

func columns(dst []*row.Column, b *row.Batch, idx []int) []*row.Column {
	dst = dst[:0]
	for _, c := range idx {
		dst = append(dst, &b.Cols[c])
	}
	return dst
}

// route orders the rows by shard and bucket into sb and gives out their sequence numbers.
func (w *Writer) route(sb *sharedBatch) {
	r := &w.router
	n := int32(len(w.shards))
	sb.groups, sb.first = sb.groups[:0], sb.first[:0]
	if cap(r.at) < len(r.found) {
		r.at = make([]int32, 2*len(r.found))
	}
	r.at = r.at[:len(r.found)]
	total := 0
	for _, c := range r.counts {
		total += int(c)
	}
	if cap(sb.rows) < total {
		sb.rows = make([]int32, total)
	}
	sb.rows = sb.rows[:total]
	pos := int32(0)
	for s := range n {
		sb.first = append(sb.first, int32(len(sb.groups)))
		for i, b := range r.found {
			if b.shard != s {
				continue
			}
			count := r.counts[i]
			sb.groups = append(sb.groups, group{b: b, rows: sb.rows[pos : pos+count], seq: b.part.next[b.slot]})
			b.part.next[b.slot] += int64(count)
			r.at[i] = pos
			pos += count
		}
	}
	sb.first = append(sb.first, int32(len(sb.groups)))
	for i, slot := range r.slots {
		if slot >= 0 {
			sb.rows[r.at[slot]] = int32(i)
			r.at[slot]++
		}
	}
}

// dropIdle forgets the buckets that had their last rows two epochs ago or earlier.
func (w *Writer) dropIdle() {
	for _, b := range w.idle {
		if b.epoch < w.epoch-1 {
			b.part.drop(b)
			w.counters.buckets.Add(-1)
		}
	}
	clear(w.idle)
	w.idle, w.touched = w.touched, w.idle[:0]
}

var errClosed = fmt.Errorf("the writer is closed")

// remove removes the files of messages that are certainly not committed.
func (w *Writer) remove(messages []table.CommitMessage) {
	for i := range messages {
		m := &messages[i]
		w.removeFiles(m.Partition, m.Bucket, m.Data)
	}
}

func (w *Writer) removeFiles(partition []byte, bucket int32, inc table.DataIncrement) {
	ctx, cancel := fs.CleanUp(w.ctx)
	defer cancel()
	remove := func(s lsm.FileStore, files []table.DataFile) {
		for i := range files {
			if path, err := w.table.DataFilePath(partition, bucket, &files[i]); err == nil {
				_ = s.Remove(ctx, path) // an orphan at worst
			}
		}
	}
	remove(w.table.FS(), inc.New)
	remove(w.changelogs(), inc.Changelog)
	for i := range inc.NewIndex {
		_ = w.table.RemoveIndex(ctx, partition, bucket, &inc.NewIndex[i])
	}
}
