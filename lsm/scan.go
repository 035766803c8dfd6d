package lsm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

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
	// AllLevels reads what is not visible yet too: level 0 of tables with deletion vectors and of first-row tables.
	AllLevels bool
	// Begin is told the bucket of the batches that come next; may be nil.
	Begin func(partition []byte, bucket int32)
}

// Scan reads a snapshot, merging on read: of all records of a key the newest counts, and a key whose newest record is a
// retract is absent. Within a bucket rows come in key order, buckets in order of partition and number. A batch is valid
// until the next step; its kinds are +I or +U, as Java's readers give them. Memory is bounded by the number of files that overlap at
// one point of the key axis, not by their sizes.
//
// As in Java, level 0 of tables with deletion vectors and of first-row tables isn't visible, nor are rows that have no bucket
// yet (bucket=-2).
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
			if o.Begin != nil {
				o.Begin(buckets[i].partition, buckets[i].bucket)
			}
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
	keep  keep
	dv    bool // rows may be deleted beside the files, and no key is in two of them
	read  view // of sections that are only read
	merge view // of those that are merged
	batch int

	wanted *row.Type  // the type of what is given out
	out    *row.Batch // some columns of what was read
	idx    []int32
}

// view is columns as they are read, and where in them to find what.
type view struct {
	proj  *projection
	order *order
	out   []int      // the wanted columns
	kept  *KeyValues // rows that are left when retracts are dropped
}

func newScanner(t *table.Table, o *ScanOptions) (*scanner, error) {
	s := &scanner{table: t, opts: o, batch: o.BatchRows}
	if s.batch <= 0 {
		s.batch = 4096
	}
	if o.Schema == nil {
		o.Schema = t.Schema()
	}
	s.dv = t.Options().Bool(table.KeyDeletionVectorsEnabled)
	if len(o.Schema.PrimaryKeys) == 0 {
		return nil, fmt.Errorf("%w: reading a table without a primary key", ErrUnsupported)
	}
	s.keep = keepOf(t.Options())
	if s.keep == keepFolded {
		if _, err := NewMergeFunc(o.Schema, t.Options()); err != nil {
			return nil, fmt.Errorf("reading: %w", err)
		}
	}
	return s, s.project()
}

// project finds the columns to read: the wanted ones first, then what merging needs. A merge function may need any column to
// make another one, and is given all of them, in the schema's order.
func (s *scanner) project() error {
	schema := s.opts.Schema
	cols, err := columnIndexes(schema, s.opts.Columns)
	if err != nil {
		return err
	}
	wanted := slices.Clone(cols)
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
	s.read.out = need(wanted)
	s.read.order = orderOf(schema, s.table.Options())
	s.read.order.keys, s.read.order.seqs = need(s.read.order.keys), need(s.read.order.seqs)
	s.read.proj = newProjection(s.table, schema, cols)
	s.read.kept = NewKeyValues(s.read.proj.rows)
	s.merge = s.read
	if s.keep == keepFolded {
		p := allColumns(s.table, schema)
		s.merge = view{p, orderOf(schema, s.table.Options()), wanted, NewKeyValues(p.rows)}
	}
	s.wanted = s.read.proj.rows
	if len(wanted) < len(cols) {
		t := row.NewRow(s.read.proj.rows.Fields[:len(wanted)]...)
		s.wanted = &t
	}
	s.out = &row.Batch{Type: s.wanted, Cols: make([]row.Column, len(wanted))}
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

	indexes []table.IndexFile
	vectors map[string]*roaring.Bitmap // of the files, once they have been read
	raw     bool                       // no key is in two files
}

// buckets lists the files of a snapshot by bucket.
func (s *scanner) buckets(ctx context.Context, snap *table.Snapshot) ([]bucketFiles, error) {
	f := table.Filter{Partition: s.opts.Partition, Bucket: s.opts.Bucket}
	buckets, err := groupBuckets(s.table.Scan(ctx, snap, f), func(e *table.Entry) bool {
		if e.Bucket < 0 || (s.dv || s.keep == keepOldest) && e.File.Level == 0 && !s.opts.AllLevels {
			return false
		}
		return s.opts.Match == nil || s.opts.Match(e.Partition, e.Bucket)
	})
	if err != nil || !s.dv || len(buckets) == 0 {
		return buckets, err
	}
	for e, err := range s.table.IndexEntries(ctx, snap, f) {
		if err != nil {
			return nil, err
		}
		if i, ok := findBucket(buckets, e.Partition, e.Bucket); ok {
			buckets[i].indexes = append(buckets[i].indexes, e.File)
		}
	}
	return buckets, nil
}

// findBucket finds a bucket in the order that groupBuckets gives.
func findBucket(buckets []bucketFiles, partition []byte, bucket int32) (int, bool) {
	return slices.BinarySearchFunc(buckets, bucket, func(b bucketFiles, bucket int32) int {
		return cmp.Or(bytes.Compare(b.partition, partition), cmp.Compare(b.bucket, bucket))
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
	ranges, err := spans(b.files, keyTypes(s.opts.Schema))
	if err != nil {
		return false, err
	}
	secs := sections(ranges)
	if s.dv {
		b.raw = rawBucket(b.files, true)
		if b.vectors, err = ReadVectors(ctx, s.table, b.partition, b.bucket, b.indexes); err != nil {
			return false, err
		}
		defer func() { b.vectors = nil }()
	}
	raw := rawSections(b.files, secs, s.dv)
	for i, sec := range secs {
		if ok, err := s.section(ctx, b, sec, raw[i], yield); !ok || err != nil {
			return ok, err
		}
	}
	return true, nil
}

// section merges the runs of one section. A section of one run, the most of a compacted table, is only read.
func (s *scanner) section(ctx context.Context, b *bucketFiles, sec section, raw bool, yield func(*row.Batch, error) bool) (bool, error) {
	batch, v := sec.batchRows(s.batch), &s.read
	keep := s.keep
	switch {
	case b.raw:
		keep = keepAll // only to be given in key order
	case len(sec) > 1:
		v = &s.merge
	}
	readers := make([]*runReader, len(sec))
	for i := range sec {
		readers[i] = &runReader{ctx: ctx, proj: v.proj, partition: b.partition, bucket: b.bucket, files: sec[i], batch: readSize{rows: batch}, vectors: b.vectors}
		defer readers[i].close()
	}
	next := readers[0].next
	kv := NewKeyValues(v.proj.rows)
	if len(readers) > 1 {
		sources := make([]*source, len(readers))
		for i, r := range readers {
			sources[i] = r.source(r.next)
		}
		m := &merger{order: v.order, sources: sources, keep: keep, ignore: s.table.Options().Bool(table.KeyIgnoreDelete)}
		if keep == keepFolded {
			var err error
			if m.merge, err = NewMergeFunc(s.opts.Schema, s.table.Options()); err != nil {
				return false, err
			}
			if NeedLookup(s.table.Options()) {
				m.lookup = &lookupFold{kv: NewKeyValues(v.proj.rows)}
			}
		}
		next = func(kv *KeyValues) error { return m.next(kv, batch) }
	}
	for {
		if err := next(kv); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return false, err
		}
		if b := s.visible(v, kv, raw); b.N > 0 && !yield(b, nil) {
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
func (s *scanner) visible(v *view, kv *KeyValues, raw bool) *row.Batch {
	s.idx = s.idx[:0]
	for i, k := range kv.Rows.Kinds {
		if !k.IsRetract() {
			s.idx = append(s.idx, int32(i))
		}
	}
	b := kv.Rows
	if len(s.idx) < b.N {
		v.kept.Rows.Reset()
		v.kept.Rows.AppendGather(b, s.idx)
		b = v.kept.Rows
	}
	if raw {
		clear(b.Kinds) // row.Insert
	}
	s.out.N, s.out.Kinds = b.N, b.Kinds
	for i, c := range v.out {
		s.out.Cols[i] = b.Cols[c]
	}
	return s.out
}

// runReader reads the files of a sorted run one after the other.
type runReader struct {
	ctx       context.Context // of the scan that the reader is a part of
	proj      *projection
	partition []byte
	bucket    int32
	files     run
	batch     readSize
	meter     *meter // may be nil
	vectors   map[string]*roaring.Bitmap
	number    func(file string) uint32 // of shadows whose rows may be deleted
	file      *FileReader
	fileNo    uint32 // of file
	level     int    // of the file that the last block is from
}

// source makes the reader a source of a merge; next gives the reader's blocks.
func (r *runReader) source(next func(*KeyValues) error) *source {
	s := &source{kv: NewKeyValues(r.proj.rows)}
	s.next = func(kv *KeyValues) error {
		err := next(kv)
		s.level = r.level
		return err
	}
	return s
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
			f.without(r.vectors[r.files[0].file.Name])
			if r.number != nil {
				r.fileNo = r.number(r.files[0].file.Name)
			}
			r.file, r.level, r.files = f, r.files[0].file.Level, r.files[1:]
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

// place tells where row i of the last block is.
func (r *runReader) place(i int) place { return newPlace(r.fileNo, uint32(r.file.position(i))) }

func (r *runReader) close() {
	if r.file != nil {
		_ = r.file.Close() // nothing was written; an earlier error counts
		r.file = nil
	}
}
