package lsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// ScanOptions narrow a scan. The zero value reads every row and column of the table as it is now.
type ScanOptions struct {
	// Schema is what rows are read as; nil is the table's current one.
	Schema *table.Schema
	// Columns are the wanted columns in order; nil is all.
	Columns []string
	// Partition is a serialized partition row; nil is any.
	Partition []byte
	// Match keeps buckets; nil is all. Partition is pruned in the manifests, Match after them.
	Match func(partition []byte, bucket int32) bool
	// Bucket is the one bucket to read; nil is any.
	Bucket *int32
	// BatchRows is about how many rows a batch has; 0 is 4096.
	BatchRows int
}

// Scan reads a snapshot, merging on read: of all records of a key the newest counts, and a key whose newest record is a
// retract is absent. Within a bucket rows come in key order, buckets in order of partition and number. A batch is valid
// until the next step; its kinds are +I or +U, as Java's readers give them. Memory is bounded by the number of files that overlap at
// one point of the key axis, not by their sizes.
//
// Tables with deletion vectors, and those of merge engines other than deduplicate and first-row, are refused with
// ErrUnsupported. As in Java, level 0 of first-row tables isn't visible, nor are rows that have no bucket yet (bucket=-2).
func Scan(ctx context.Context, t *table.Table, s *table.Snapshot, o ScanOptions) iter.Seq2[*row.Batch, error] {
	return func(yield func(*row.Batch, error) bool) {
		sc, err := newScanner(t, &o)
		if err != nil {
			yield(nil, err)
			return
		}
		if s == nil {
			return
		}
		buckets, err := sc.buckets(ctx, s)
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range buckets {
			if ok, err := sc.bucket(ctx, &buckets[i], yield); err != nil {
				yield(nil, err)
				return
			} else if !ok {
				return
			}
			buckets[i].files = nil
		}
	}
}

// ErrUnsupported is wrapped by errors about tables that are sound but of a kind that is not read here.
var ErrUnsupported = errors.New("not supported")

// scanner reads buckets.
type scanner struct {
	table *table.Table
	opts  *ScanOptions
	proj  *projection // wanted columns, then those that merging needs besides
	order *order
	keep  keep
	batch int

	wanted *row.Type  // the type of what is given out
	out    *row.Batch // a view of the first columns of what was read
	kept   *KeyValues // rows that are left when retracts are dropped
	idx    []int32
}

func newScanner(t *table.Table, o *ScanOptions) (*scanner, error) {
	s := &scanner{table: t, opts: o, batch: o.BatchRows}
	if s.batch <= 0 {
		s.batch = 4096
	}
	if o.Schema == nil {
		o.Schema = t.Schema()
	}
	engine := t.Options().Get(table.KeyMergeEngine)
	switch engine {
	case "deduplicate":
	case "first-row":
		s.keep = keepOldest
	default:
		return nil, fmt.Errorf("%w: reading a table with merge-engine %s", ErrUnsupported, engine)
	}
	if t.Options().Bool(table.KeyDeletionVectorsEnabled) {
		return nil, fmt.Errorf("%w: reading a table with %s", ErrUnsupported, table.KeyDeletionVectorsEnabled.Name)
	}
	if len(o.Schema.PrimaryKeys) == 0 {
		return nil, fmt.Errorf("%w: reading a table without a primary key", ErrUnsupported)
	}
	return s, s.project()
}

// project finds the columns to read: the wanted ones first, then what merging needs.
func (s *scanner) project() error {
	schema := s.opts.Schema
	cols, err := columnIndexes(schema, s.opts.Columns)
	if err != nil {
		return err
	}
	n := len(cols)
	need := func(idx []int) []int {
		at := make([]int, len(idx))
		for k, i := range idx {
			if at[k] = slices.Index(cols, i); at[k] < 0 {
				at[k] = len(cols)
				cols = append(cols, i)
			}
		}
		return at
	}
	s.order = &order{
		keys: need(schema.KeyIndexes()),
		seqs: need(schema.SequenceIndexes()),
		desc: s.table.Options().Get(table.KeySequenceFieldSortOrder) == "descending",
	}
	s.proj = newProjection(s.table, schema, cols)
	s.kept = NewKeyValues(s.proj.rows)
	if n == len(cols) {
		s.wanted = s.proj.rows
	} else {
		t := row.NewRow(s.proj.rows.Fields[:n]...)
		s.wanted = &t
	}
	s.out = &row.Batch{Type: s.wanted, Cols: make([]row.Column, n)}
	return nil
}

// columnIndexes finds columns by name; nil is all of them.
func columnIndexes(schema *table.Schema, names []string) ([]int, error) {
	var cols []int
	if names == nil {
		for i := range schema.Fields {
			cols = append(cols, i)
		}
	}
	for _, name := range names {
		i := schema.FieldIndex(name)
		if i < 0 {
			return nil, fmt.Errorf("%w: the table has no column %q", table.ErrOption, name)
		}
		if slices.Contains(cols, i) {
			return nil, fmt.Errorf("%w: column %q is asked for twice", table.ErrOption, name)
		}
		cols = append(cols, i)
	}
	return cols, nil
}

// bucketFiles are the live files of one bucket.
type bucketFiles struct {
	partition []byte
	bucket    int32
	files     []table.DataFile
}

// buckets lists the files of a snapshot by bucket.
func (s *scanner) buckets(ctx context.Context, snap *table.Snapshot) ([]bucketFiles, error) {
	f := table.Filter{Partition: s.opts.Partition, Bucket: s.opts.Bucket}
	return groupBuckets(s.table.Scan(ctx, snap, f), func(e *table.Entry) bool {
		if e.Bucket < 0 || s.keep == keepOldest && e.File.Level == 0 {
			return false
		}
		return s.opts.Match == nil || s.opts.Match(e.Partition, e.Bucket)
	})
}

// groupBuckets collects files by bucket, in order of partition and bucket; within a bucket they stay in order.
func groupBuckets(entries iter.Seq2[table.Entry, error], keep func(*table.Entry) bool) ([]bucketFiles, error) {
	type key struct {
		partition string
		bucket    int32
	}
	at := map[key]int{}
	var out []bucketFiles
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if !keep(&e) {
			continue
		}
		k := key{string(e.Partition), e.Bucket}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, bucketFiles{partition: e.Partition, bucket: e.Bucket})
		}
		out[i].files = append(out[i].files, e.File)
	}
	slices.SortFunc(out, func(a, b bucketFiles) int {
		if c := bytes.Compare(a.partition, b.partition); c != 0 {
			return c
		}
		return int(a.bucket) - int(b.bucket)
	})
	return out, nil
}

// bucket reads the sections of one bucket; false when the caller has enough.
func (s *scanner) bucket(ctx context.Context, b *bucketFiles, yield func(*row.Batch, error) bool) (bool, error) {
	keys := make([]*row.Type, len(s.order.keys))
	for i, k := range s.order.keys {
		keys[i] = &s.proj.rows.Fields[k].Type
	}
	ranges, err := spans(b.files, keys)
	if err != nil {
		return false, err
	}
	secs := sections(ranges)
	raw := rawSections(b.files, secs)
	for i, sec := range secs {
		if ok, err := s.section(ctx, b, sec, raw[i], yield); !ok || err != nil {
			return ok, err
		}
	}
	return true, nil
}

// section merges the runs of one section. A section of one run, the most of a compacted table, is only read.
func (s *scanner) section(ctx context.Context, b *bucketFiles, sec section, raw bool, yield func(*row.Batch, error) bool) (bool, error) {
	batch := sec.batchRows(s.batch)
	readers := make([]*runReader, len(sec))
	for i := range sec {
		readers[i] = &runReader{ctx: ctx, proj: s.proj, partition: b.partition, bucket: b.bucket, files: sec[i], batch: batch}
		defer readers[i].close()
	}
	next := readers[0].next
	kv := NewKeyValues(s.proj.rows)
	if len(readers) > 1 {
		sources := make([]*source, len(readers))
		for i, r := range readers {
			sources[i] = &source{next: r.next, kv: NewKeyValues(s.proj.rows)}
		}
		m := &merger{order: s.order, sources: sources, keep: s.keep, ignore: s.table.Options().Bool(table.KeyIgnoreDelete)}
		next = func(kv *KeyValues) error { return m.next(kv, batch) }
	}
	for {
		if err := next(kv); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return false, err
		}
		if b := s.visible(kv, raw); b.N > 0 && !yield(b, nil) {
			return false, nil
		}
	}
}

// batchBytes is about how much memory the batches of all runs of a section may take.
const batchBytes = 128 << 20

// batchRows returns how many rows a batch may have: fewer than most when rows are large or runs are many.
func (s section) batchRows(most int) int {
	var largest int64 // bytes of a row in storage
	for _, r := range s {
		for _, f := range r {
			largest = max(largest, f.file.Size/max(f.file.RowCount, 1))
		}
	}
	const unpacked = 8 // times as large in memory, about
	return int(min(int64(most), max(16, batchBytes/(largest*unpacked+1)/int64(len(s)+1))))
}

// visible returns the wanted columns of the rows that are not retracts, as +I when raw is set.
func (s *scanner) visible(kv *KeyValues, raw bool) *row.Batch {
	s.idx = s.idx[:0]
	for i, k := range kv.Rows.Kinds {
		if !k.IsRetract() {
			s.idx = append(s.idx, int32(i))
		}
	}
	b := kv.Rows
	if len(s.idx) < b.N {
		s.kept.Rows.Reset()
		s.kept.Rows.AppendGather(b, s.idx)
		b = s.kept.Rows
	}
	if raw {
		clear(b.Kinds) // row.Insert
	}
	s.out.N, s.out.Kinds = b.N, b.Kinds
	copy(s.out.Cols, b.Cols)
	return s.out
}

// runReader reads the files of a sorted run one after the other.
type runReader struct {
	ctx       context.Context // of the scan that the reader is a part of
	proj      *projection
	partition []byte
	bucket    int32
	files     run
	batch     int
	meter     *meter // may be nil
	file      *FileReader
}

func (r *runReader) next(dst *KeyValues) error {
	for {
		if r.file == nil {
			if len(r.files) == 0 {
				return io.EOF
			}
			if r.ctx.Err() != nil {
				return context.Cause(r.ctx)
			}
			f, err := r.proj.open(r.ctx, r.partition, r.bucket, r.files[0].file, r.batch, r.meter)
			if err != nil {
				return err
			}
			r.file, r.files = f, r.files[1:]
		}
		err := r.file.Next(dst)
		if !errors.Is(err, io.EOF) {
			return err
		}
		f := r.file
		r.file = nil
		if err := f.Close(); err != nil {
			return err
		}
	}
}

func (r *runReader) close() {
	if r.file != nil {
		_ = r.file.Close() // nothing was written; an earlier error counts
		r.file = nil
	}
}
