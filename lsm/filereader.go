package lsm

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// FileReader reads the records of one data or changelog file as the target schema sees them. Not safe for concurrent use.
type FileReader struct {
	at   extent
	meta *table.DataFile
	plan *filePlan
	in   fs.Reader
	dec  format.Reader

	physical  *row.Batch
	partition *row.Batch // its one row has the partition's values
	constant  []int      // of each wanted column: position in partition, or -1
	rows      int64

	deleted roaring.IntPeekable // positions of rows that are not given; nil: there are none
	kept    *KeyValues
	base    int64   // position of the first row of the last block
	idx     []int32 // of the rows of the last block that were given, from base on; empty: all
}

// OpenFile opens a file of a bucket, written with any schema version of t, to be read as target. Damage is reported with
// table.ErrCorrupt, here or by Next. Batches have at most 4096 rows.
func OpenFile(ctx context.Context, t *table.Table, partition []byte, bucket int32, f *table.DataFile, target *table.Schema) (*FileReader, error) {
	return allColumns(t, target).open(ctx, partition, bucket, f, readSize{}, nil)
}

// readSize is how many rows, and about how many bytes, a reader gives at once; 0 is the format's default.
type readSize struct{ rows, bytes int }

// open opens a file to give the projection's columns. The meter may be nil.
func (p *projection) open(ctx context.Context, partition []byte, bucket int32, f *table.DataFile, batch readSize, m *meter) (*FileReader, error) {
	at, err := locate(p.table, partition, bucket, f)
	if err != nil {
		return nil, err
	}
	r := &FileReader{at: at, meta: f}
	if err := r.open(ctx, p, batch, m); err != nil {
		return nil, fmt.Errorf("reading %s: %w", at, corrupt(err))
	}
	if err := r.setPartition(p, partition); err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("reading %s: %w", at, err)
	}
	return r, nil
}

func (r *FileReader) open(ctx context.Context, p *projection, batch readSize, m *meter) (err error) {
	if r.plan, err = p.plan(ctx, r.meta.SchemaID); err != nil {
		return err
	}
	spec := format.ReadSpec{Type: r.plan.physical, BatchRows: batch.rows, BatchBytes: batch.bytes}
	r.in, r.dec, err = openPhysical(ctx, p.table.FS(), r.at, spec, m)
	r.physical = row.NewBatch(r.plan.physical)
	return err
}

// openPhysical opens a file as it is, if it has the size that the manifest says.
func openPhysical(ctx context.Context, fsys fs.FileSystem, at extent, spec format.ReadSpec, m *meter) (fs.Reader, format.Reader, error) {
	fm, err := format.Get(at.format)
	if err != nil {
		return nil, nil, err
	}
	file, err := fsys.Open(ctx, at.path)
	if err != nil {
		return nil, nil, err
	}
	in, err := at.reader(file)
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	in = m.reader(ctx, in)
	dec, err := fm.NewReader(in, at.size, spec)
	if err != nil {
		_ = in.Close()
		return nil, nil, err
	}
	return in, dec, nil
}

// corrupt makes the formats' damage the table's.
func corrupt(err error) error {
	if errors.Is(err, format.ErrCorrupt) && !errors.Is(err, table.ErrCorrupt) {
		return fmt.Errorf("%w: %w", table.ErrCorrupt, err)
	}
	return err
}

// setPartition decodes the values that partition columns have in every row.
func (r *FileReader) setPartition(p *projection, partition []byte) (err error) {
	if r.partition, err = p.schema.DecodePartition(partition); err != nil {
		return err
	}
	r.constant = make([]int, len(p.cols))
	for i, k := range p.schema.PartitionIndexes() {
		for c, col := range p.cols {
			if col == k {
				r.constant[c] = i
			}
		}
	}
	return nil
}

// Next resets dst, a run of the target's row type (of the projection's), and fills it with the next records; io.EOF after
// the last. It fails when the file has other than the number of rows that the manifest says: a cut Avro file looks whole.
func (r *FileReader) Next(dst *KeyValues) error {
	for {
		err := r.dec.Next(r.physical)
		if err == nil {
			r.base = r.rows
			r.rows += int64(r.physical.N)
			err = r.fill(dst)
		} else if errors.Is(err, io.EOF) {
			dst.Reset()
			if r.rows == r.meta.RowCount {
				return io.EOF
			}
			err = fmt.Errorf("%w: %d rows instead of %d", table.ErrCorrupt, r.rows, r.meta.RowCount)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", r.at, corrupt(err))
		}
		if r.deleted == nil || r.drop(dst) {
			return nil
		}
	}
}

// without makes the reader leave out the rows of a deletion vector, which may be nil.
func (r *FileReader) without(v *roaring.Bitmap) {
	if v != nil && !v.IsEmpty() {
		r.deleted = v.Iterator()
	}
}

// drop takes the deleted rows out of the block just read; false when no row is left.
func (r *FileReader) drop(dst *KeyValues) bool {
	n := dst.Len()
	r.idx = r.idx[:0]
	for i := range n {
		if r.deleted.HasNext() && int64(r.deleted.PeekNext()) == r.base+int64(i) {
			r.deleted.Next()
		} else {
			r.idx = append(r.idx, int32(i))
		}
	}
	if len(r.idx) == n {
		r.idx = r.idx[:0]
		return n > 0
	}
	if r.kept == nil {
		r.kept = NewKeyValues(dst.Rows.Type)
	}
	r.kept.gather(dst, r.idx)
	*dst, *r.kept = *r.kept, *dst
	return len(r.idx) > 0
}

// position returns where in the file row i of the last block is, deleted rows counted.
func (r *FileReader) position(i int) int64 {
	if len(r.idx) > 0 {
		i = int(r.idx[i])
	}
	return r.base + int64(i)
}

// fill makes dst of the physical batch. Columns that need no cast change places with dst's, so nothing is copied.
func (r *FileReader) fill(dst *KeyValues) error {
	b := r.physical
	dst.Reset()
	dst.Seq, b.Cols[0].I64 = b.Cols[0].I64, dst.Seq
	for _, k := range b.Cols[1].I32 {
		if k < 0 || k > int32(row.Delete) {
			return fmt.Errorf("%w: row kind %d", table.ErrCorrupt, k)
		}
		dst.Rows.Kinds = append(dst.Rows.Kinds, row.Kind(k))
	}
	for i := range dst.Rows.Cols {
		col := &dst.Rows.Cols[i]
		switch at := r.plan.source[i]; {
		case at == fromNowhere:
			col.AppendNulls(b.N)
		case at == fromPartition:
			appendConstant(col, &r.partition.Cols[r.constant[i]], b.N)
		case r.plan.casts[i] != nil:
			if err := r.plan.casts[i](col, &b.Cols[at]); err != nil {
				return fmt.Errorf("column %s: %w", dst.Rows.Type.Fields[i].Name, err)
			}
		default:
			*col, b.Cols[at] = b.Cols[at], *col
			col.Type, b.Cols[at].Type = b.Cols[at].Type, col.Type
		}
	}
	dst.Rows.N = b.N
	if len(dst.Seq) != b.N || len(dst.Rows.Kinds) != b.N {
		return fmt.Errorf("%w: a sequence number or row kind is null", table.ErrCorrupt)
	}
	return nil
}

// appendConstant appends n copies of the one value of src.
func appendConstant(dst, src *row.Column, n int) {
	for range n {
		dst.AppendFrom(src, 0)
	}
}

// Close ends the reading.
func (r *FileReader) Close() error {
	return errors.Join(r.dec.Close(), r.in.Close())
}
