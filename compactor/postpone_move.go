package compactor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// postponed is the files of a partition that have no bucket yet, in the order in which they were written.
type postponed struct {
	part  *partition
	files []table.DataFile
}

// move gives rows their buckets. It is used once, by one goroutine.
type move struct {
	t        *table.Table
	schema   *table.Schema
	parts    []postponed
	memory   int64
	spill    *lsm.SpillStore // nil: there is none
	throttle func(ctx context.Context, bytes int64) error
	remove   func(ctx context.Context, partition []byte, bucket int32, inc table.CompactIncrement)
	stats    lsm.RewriteStats
	bad      map[bucketKey]error // partitions that stay as they are, since trying again is in vain until somebody mends them
}

// numbered takes the name of a file apart: what all files of one writer have in common, and the number that counts them.
func numbered(name string) (writer string, number int) {
	i := strings.LastIndexByte(name, '-')
	count, _, _ := strings.Cut(name[i+1:], ".") // one before may be of the commit user
	n, err := strconv.Atoi(count)
	if i < 0 || err != nil {
		return name, 0
	}
	return name[:i], n
}

// known is what a partition has in real buckets.
type known struct {
	total int32           // buckets; 0: there are no files
	seq   map[int32]int64 // by bucket, the next sequence number
	err   error           // that nobody can go on from them
}

// run returns what is to be committed: a message for each bucket that gets rows, and one for the files of each partition that are done
// with. A partition that can't be moved doesn't keep the others (bad). After an error no file is left.
func (m *move) run(ctx context.Context) (out []table.CommitMessage, err error) {
	defer func() {
		if err != nil {
			m.removeAll(ctx, out)
			out = nil
		}
	}()
	for i := range m.parts {
		for j := range m.parts[i].files {
			if f := &m.parts[i].files[j]; f.SchemaID > m.schema.ID {
				return nil, fmt.Errorf("%w: %s has schema %d, the newest is %d", table.ErrSchema, f.Name, f.SchemaID, m.schema.ID)
			}
		}
	}
	there, err := m.base(ctx)
	if err != nil {
		return nil, err
	}
	w, err := m.newWriter()
	if err != nil {
		return nil, err
	}
	for i := range m.parts {
		p := &m.parts[i]
		made, err := w.partition(ctx, p, there[string(p.part.bytes)])
		if err != nil {
			m.removeAll(ctx, made)
			err = fmt.Errorf("partition %q: %w", p.part.path, err)
			if ctx.Err() != nil || !permanent(err) && !errors.Is(err, lsm.ErrRefusedRecord) {
				return out, err
			}
			m.bad[bucketKey{string(p.part.bytes), table.PostponeBucket}] = err
			continue
		}
		out = append(out, made...)
		out = append(out, table.CommitMessage{
			Partition: p.part.bytes, Bucket: table.PostponeBucket, TotalBuckets: table.PostponeBucket, Compact: table.CompactIncrement{Before: p.files},
		})
	}
	return out, nil
}

func (m *move) removeAll(ctx context.Context, out []table.CommitMessage) {
	for i := range out {
		if out[i].Bucket >= 0 {
			m.remove(ctx, out[i].Partition, out[i].Bucket, out[i].Compact)
		}
	}
}

// base looks at the real buckets of the newest snapshot, which may have got rows since the job was planned.
func (m *move) base(ctx context.Context) (map[string]*known, error) {
	wanted, there := map[string]bool{}, map[string]*known{}
	for i := range m.parts {
		p := string(m.parts[i].part.bytes)
		wanted[p], there[p] = true, &known{seq: map[int32]int64{}}
	}
	s, err := m.t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	for e, err := range m.t.Scan(ctx, s, table.OfPartitions(wanted)) {
		if err != nil {
			return nil, err
		}
		if e.Bucket < 0 {
			continue
		}
		k := there[string(e.Partition)]
		if k.total == 0 {
			k.total = e.TotalBuckets
		}
		if k.total != e.TotalBuckets || k.total < 1 {
			k.err = fmt.Errorf("%w: there are files of %d and of %d buckets", table.ErrCorrupt, k.total, e.TotalBuckets)
		}
		k.seq[e.Bucket] = max(k.seq[e.Bucket], e.File.MaxSeq+1)
	}
	return there, nil
}

// moveWriter writes the rows of a move, one partition after the other.
type moveWriter struct {
	*move
	types     []*row.Type // of the bucket key
	cols      []int       // its columns
	function  string
	defaultN  int
	rowkind   int // column of rowkind.field, -1: there is none
	dropAll   bool
	dropSome  bool
	records   *lsm.Records
	budget    *lsm.Budget
	files     *lsm.Files
	merge     lsm.MergeFunc // nil: the last row of a key stays
	changelog bool
	compared  []int
	fanIn     int
	flusher   lsm.Flusher

	// of the partition
	part     *partition
	bucketOf row.BucketFunc
	buffers  *lsm.Buffers
	trees    map[int32]*moveTree
	keyCols  []*row.Column
	buckets  []int32
}

// moveTree is a bucket that gets rows.
type moveTree struct {
	id   int32
	tree *lsm.MergeTree
	seq  int64 // of the next row
	rows []int32
}

// A move divides its memory like this: half of it is for rows, an eighth each for the file of data and that of the changelog, of which
// there is one at a time, and the rest for what a reader holds and the batches on their way.
func (m *move) newWriter() (*moveWriter, error) {
	o, s := m.t.Options(), m.schema
	w := &moveWriter{
		move: m, cols: s.BucketKeyIndexes(), function: o.Get(table.KeyBucketFunctionType), defaultN: o.Int(table.KeyPostponeDefaultBucketNum), rowkind: -1,
		dropAll: o.Bool(table.KeyIgnoreDelete), dropSome: o.Bool(table.KeyIgnoreUpdateBefore),
		changelog: o.Enum(table.KeyChangelogProducer) == "input", fanIn: o.Int(table.KeyLocalSortMaxNumFileHandles),
		budget: lsm.NewBudget(m.memory / 2),
	}
	typ := s.RowType()
	for _, c := range w.cols {
		w.types = append(w.types, &typ.Fields[c].Type)
	}
	if name := o.Get(table.KeyRowkindField); name != "" {
		if w.rowkind = s.FieldIndex(name); w.rowkind < 0 || typ.Fields[w.rowkind].Type.Store() != row.StoreBytes {
			return nil, fmt.Errorf("%w: rowkind.field names %s, which is no string column", table.ErrOption, name)
		}
	}
	merge, err := lsm.NewMergeFunc(s, o)
	if err != nil {
		return nil, err
	}
	traits := lsm.TraitsOf(merge, o)
	if traits.Folds {
		w.merge = merge
	}
	w.records = lsm.NewRecords(lsm.BufferSpec{
		Type: typ, Keys: s.KeyIndexes(), Sequence: s.SequenceIndexes(), Descending: o.Get(table.KeySequenceFieldSortOrder) == "descending",
		PageSize: int(min(o.Size(table.KeyPageSize), 16<<20, max(m.memory/64, 1))), KeepAll: w.changelog || traits.Folds,
	})
	if w.compared, err = lsm.DeduplicatedColumns(s, o); err != nil {
		return nil, err
	}
	w.files, err = lsm.NewFilesWithin(m.t, s, m.memory/8)
	return w, err
}

// partition writes the rows of a partition. What it returns beside an error is to be removed.
func (w *moveWriter) partition(ctx context.Context, p *postponed, there *known) (out []table.CommitMessage, err error) {
	if there.err != nil {
		return nil, there.err
	}
	total := int(there.total)
	if total == 0 {
		total = w.defaultN
	}
	if w.bucketOf, err = row.NewBucketFunc(w.function, w.types, total); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", table.ErrOption, table.KeyBucketFunctionType.Name, err)
	}
	w.part, w.buffers, w.trees = p.part, lsm.NewBuffers(w.records, w.budget), map[int32]*moveTree{}
	for i := range p.files {
		if err = w.file(ctx, &p.files[i], there); err != nil {
			break
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.trees)) {
		sealed := w.trees[id].tree.Seal()
		if sealed == nil {
			continue
		}
		var inc table.DataIncrement
		if err != nil {
			inc = sealed.Discard()
		} else if inc, err = sealed.Flush(ctx, &w.flusher, w.output(ctx, id)); err != nil {
			err = fmt.Errorf("bucket %d: %w", id, err)
		}
		if len(inc.New)+len(inc.Changelog) > 0 {
			out = append(out, table.CommitMessage{
				Partition: p.part.bytes, Bucket: id, TotalBuckets: int32(total), Compact: table.CompactIncrement{After: inc.New, Changelog: inc.Changelog},
			})
		}
		if err == nil {
			err = w.wrote(ctx, inc)
		}
	}
	return out, err
}

// wrote counts files that were written.
func (w *moveWriter) wrote(ctx context.Context, inc table.DataIncrement) error {
	var bytes int64
	for i := range inc.New {
		bytes += inc.New[i].Size
		w.stats.RowsWritten += inc.New[i].RowCount
	}
	for i := range inc.Changelog {
		bytes += inc.Changelog[i].Size
		w.stats.ChangelogRows += inc.Changelog[i].RowCount
	}
	w.stats.FilesWritten += len(inc.New) + len(inc.Changelog)
	w.stats.BytesWritten += bytes
	return w.throttle(ctx, bytes)
}

// output says where the rows of a bucket go.
func (w *moveWriter) output(ctx context.Context, bucket int32) lsm.Output {
	open := func(kind lsm.FileKind, twin *format.TwinSide) lsm.FileSink {
		files := w.files.NewWriter(ctx, w.part.bytes, bucket, 0, kind, table.SourceAppend)
		files.Beside(twin)
		return files
	}
	data := func(twin *format.TwinSide) lsm.FileSink { return open(lsm.Data, twin) }
	out := lsm.Output{Data: data, Merge: w.merge, Spill: w.spill, FanIn: w.fanIn}
	if w.changelog {
		out.Changelog = func(twin *format.TwinSide) lsm.FileSink {
			sink := open(lsm.Changelog, twin)
			if w.compared != nil {
				sink = lsm.NewRowDeduplicateSink(sink, w.schema, w.compared)
			}
			return sink
		}
	}
	return out
}

// file reads a file into the buffers.
func (w *moveWriter) file(ctx context.Context, f *table.DataFile, there *known) error {
	r, err := lsm.OpenFile(ctx, w.t, w.part.bytes, table.PostponeBucket, f, w.schema)
	if err != nil {
		return err
	}
	defer r.Close()
	w.stats.FilesRead++
	w.stats.BytesRead += f.Size
	perRow := f.Size / max(f.RowCount, 1)
	kv := lsm.NewKeyValues(w.schema.RowType())
	for {
		if err := r.Next(kv); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		w.stats.RowsRead += int64(kv.Len())
		if err := w.take(ctx, kv.Rows, f.Name, there); err != nil {
			return err
		}
		if err := w.throttle(ctx, perRow*int64(kv.Len())); err != nil {
			return err
		}
	}
}

// take gives the rows of a batch to their buckets.
func (w *moveWriter) take(ctx context.Context, b *row.Batch, file string, there *known) error {
	if err := w.findKinds(b); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	w.keyCols = w.keyCols[:0]
	for _, c := range w.cols {
		w.keyCols = append(w.keyCols, &b.Cols[c])
	}
	w.buckets = w.bucketOf.Buckets(w.buckets[:0], w.keyCols, 0, b.N)
	for i, id := range w.buckets {
		if k := b.Kinds[i]; k.IsRetract() && (w.dropAll || w.dropSome && k == row.UpdateBefore) {
			continue
		}
		t := w.trees[id]
		if t == nil {
			t = &moveTree{id: id, tree: w.buffers.NewMergeTree(), seq: there.seq[id]}
			w.trees[id] = t
		}
		t.rows = append(t.rows, int32(i))
	}
	for _, t := range w.trees {
		if err := w.append(ctx, t, b); err != nil {
			return err
		}
	}
	return nil
}

// findKinds takes the kinds of rows from the column that has them, if one does.
func (w *moveWriter) findKinds(b *row.Batch) error {
	if w.rowkind < 0 {
		return nil
	}
	col := &b.Cols[w.rowkind]
	for i := range b.N {
		k, err := row.ParseKind(string(col.Value(i)))
		if col.IsNull(i) || err != nil {
			return fmt.Errorf("%w: %q in column %s (rowkind.field) is none of +I, -U, +U, -D", table.ErrCorrupt, col.Value(i), w.schema.Fields[w.rowkind].Name)
		}
		b.Kinds[i] = k
	}
	return nil
}

// append buffers the rows of a bucket, and makes room for them.
func (w *moveWriter) append(ctx context.Context, t *moveTree, b *row.Batch) error {
	defer func() { t.rows = t.rows[:0] }()
	for rows := t.rows; len(rows) > 0; {
		n, err := t.tree.Append(b, rows, t.seq)
		if err != nil {
			return err
		}
		t.seq += int64(n)
		if rows = rows[n:]; len(rows) == 0 {
			return nil
		}
		spilled, err := w.makeRoom(ctx)
		if err != nil {
			return err
		}
		if !spilled { // one row is larger than what there is
			if err := t.tree.AppendOne(b, rows[0], t.seq); err != nil {
				return err
			}
			t.seq++
			rows = rows[1:]
		}
	}
	return nil
}

// makeRoom spills the largest buckets until half of the memory is free. It reports whether there was anything to spill.
func (w *moveWriter) makeRoom(ctx context.Context) (spilled bool, err error) {
	for w.budget.Used() > w.budget.Limit()/2 {
		var largest *moveTree
		for _, t := range w.trees {
			if largest == nil || t.tree.Bytes() > largest.tree.Bytes() {
				largest = t
			}
		}
		part := largest.tree.SealPart()
		if part == nil {
			break
		}
		part.Queue()
		_, err := part.Spill(ctx, &w.flusher, w.output(ctx, largest.id))
		if err != nil {
			return false, fmt.Errorf("bucket %d: %w", largest.id, err)
		}
		spilled = true
	}
	return spilled, nil
}
