package lsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// maxProblems is how many problems CheckFile tells of one file.
const maxProblems = 20

// CheckFile reads a whole file as it is, in the schema it was written with, and compares it with its manifest entry: rows,
// order and uniqueness of keys, key range, sequence numbers, retracts, statistics, bucket, partition columns, nulls. It is
// a table.FileChecker.
func CheckFile(ctx context.Context, t *table.Table, e *table.Entry, changelog bool) iter.Seq[table.Problem] {
	return func(yield func(table.Problem) bool) {
		c := &fileCheck{meta: &e.File, entry: e, changelog: changelog}
		if err := c.run(ctx, t); err != nil {
			c.addf("file-unreadable", "%v", corrupt(err).Error())
		}
		for _, p := range c.problems {
			if !yield(p) {
				return
			}
		}
	}
}

func (c *fileCheck) run(ctx context.Context, t *table.Table) (err error) {
	if c.path, err = t.DataFilePath(c.entry.Partition, c.entry.Bucket, c.meta); err != nil {
		return err
	}
	at, err := locate(t, c.entry.Partition, c.entry.Bucket, c.meta)
	if err != nil {
		return err
	}
	if c.schema, err = t.SchemaByID(ctx, c.meta.SchemaID); err != nil {
		return err
	}
	c.layout = newLayout(c.schema.RowType(), c.schema.KeyIndexes(), false)
	in, dec, err := openPhysical(ctx, t.FS(), at, format.ReadSpec{Type: c.layout.physical}, nil)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	defer func() { _ = dec.Close() }()
	if err := c.prepare(t); err != nil {
		return err
	}
	b := row.NewBatch(c.layout.physical)
	for {
		if err := dec.Next(b); errors.Is(err, io.EOF) {
			c.finish()
			return nil
		} else if err != nil {
			return err
		}
		c.batch(b)
	}
}

// fileCheck is what is known of a file while it is being read.
type fileCheck struct {
	schema *table.Schema
	layout *layout
	meta   *table.DataFile
	entry  *table.Entry
	path   string

	changelog bool

	partition *row.Batch // one row: the partition's values
	buckets   row.BucketFunc
	hashed    bool // buckets can be checked
	stats     []*columnCheck
	scratch   []int32

	rows, retracts int64
	minSeq, maxSeq int64
	firstKey, last []byte // serialized key rows
	lastOrder      []byte // order-preserving key
	low, high      keyBound
	problems       []table.Problem
}

func (c *fileCheck) addf(check, f string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, table.Problem{Severity: table.SeverityError, Check: check, At: c.path, Msg: fmt.Sprintf(f, args...)})
	}
}

func (c *fileCheck) prepare(t *table.Table) error {
	var err error
	if c.partition, err = c.schema.DecodePartition(c.entry.Partition); err != nil {
		return err
	}
	if n := c.entry.TotalBuckets; n > 0 && c.entry.Bucket >= 0 && t.Options().Int(table.KeyBucket) > 0 {
		keys := c.schema.BucketKeyIndexes()
		types := make([]*row.Type, len(keys))
		for i, k := range keys {
			types[i] = &c.schema.Fields[k].Type
		}
		if c.buckets, err = row.NewBucketFunc(t.Options().Get(table.KeyBucketFunctionType), types, int(n)); err != nil {
			return err
		}
		c.hashed = true
	}
	c.prepareStats()
	return nil
}

// batch checks the next rows, with their columns as in the file.
func (c *fileCheck) batch(b *row.Batch) {
	l := c.layout
	seq, kinds, values := &b.Cols[l.first-2], &b.Cols[l.first-1], b.Cols[l.first:]
	keys := make([]*row.Column, len(l.keys))
	for i, k := range l.keys {
		keys[i] = &values[k]
		c.sameKey(&b.Cols[i], keys[i], b.N)
	}
	for i := range b.N {
		c.row(keys, i)
		if k := kinds.I32[i]; kinds.IsNull(i) || k < 0 || k > int32(row.Delete) {
			c.addf("file-kinds", "row %d: kind %d", c.rows+int64(i), k)
		} else if row.Kind(k).IsRetract() {
			c.retracts++
		}
		if s := seq.I64[i]; c.rows == 0 && i == 0 {
			c.minSeq, c.maxSeq = s, s
		} else {
			c.minSeq, c.maxSeq = min(c.minSeq, s), max(c.maxSeq, s)
		}
	}
	for i := range values {
		c.column(&values[i], &c.schema.Fields[i])
	}
	c.checkPartition(values)
	c.checkBuckets(values, b.N)
	for _, s := range c.stats {
		s.collect(c, &values[s.col])
	}
	c.rows += int64(b.N)
}

// row checks that a key comes after the one before. A changelog file may repeat it. Rows that have no bucket yet (bucket=-2) lie
// in the order of their arrival.
func (c *fileCheck) row(keys []*row.Column, i int) {
	key := row.AppendKey(nil, keys, i)
	if c.lastOrder == nil {
		c.firstKey = row.AppendSerializedRow(nil, keys, i)
	} else if c.postponed() {
		// any key may follow
	} else if cmp := bytes.Compare(c.lastOrder, key); cmp > 0 {
		c.addf("file-keys", "row %d: its key is below that of the row before", c.rows+int64(i))
	} else if cmp == 0 && !c.changelog {
		c.addf("file-keys", "row %d: its key is that of the row before", c.rows+int64(i))
	}
	c.lastOrder = key
	c.last = row.AppendSerializedRow(c.last[:0], keys, i)
	if c.postponed() {
		c.low.take(key, c.last, -1)
		c.high.take(key, c.last, 1)
	}
}

func (c *fileCheck) postponed() bool { return c.entry.Bucket == table.PostponeBucket }

// keyBound is the least or the greatest key so far.
type keyBound struct{ order, key []byte }

func (b *keyBound) take(order, key []byte, sign int) {
	if b.order == nil || bytes.Compare(order, b.order) == sign {
		b.order, b.key = order, bytes.Clone(key)
	}
}

// checkRange compares the keys of the entry with those of the file. Of rows that are in the order of their arrival we tell the range,
// Java the first and the last.
func (c *fileCheck) checkRange() {
	m := c.meta
	if c.postponed() && bytes.Equal(c.low.key, m.MinKey) && bytes.Equal(c.high.key, m.MaxKey) {
		return
	}
	if !bytes.Equal(c.firstKey, m.MinKey) {
		c.addf("file-range", "the first key is %x, the manifest says %x", c.firstKey, m.MinKey)
	}
	if !bytes.Equal(c.last, m.MaxKey) {
		c.addf("file-range", "the last key is %x, the manifest says %x", c.last, m.MaxKey)
	}
}

// sameKey compares a _KEY_ column with the value column that it repeats. In a thin file it is absent: all null.
func (c *fileCheck) sameKey(key, value *row.Column, n int) {
	for i := range n {
		if !key.IsNull(i) && row.CompareValues(key, i, value, i) != 0 {
			c.addf("file-keys", "row %d: a _KEY_ column and its value column differ", c.rows+int64(i))
			return
		}
	}
}

// column looks for nulls where there must not be any. A retract need not have more than its key.
func (c *fileCheck) column(col *row.Column, f *row.Field) {
	if f.Type.Nullable || !col.HasNulls() {
		return
	}
	for i := range col.N {
		if col.IsNull(i) {
			c.addf("file-nulls", "row %d: column %s is null", c.rows+int64(i), f.Name)
			return
		}
	}
}

func (c *fileCheck) checkPartition(values []row.Column) {
	for p, k := range c.schema.PartitionIndexes() {
		for i := range values[k].N {
			if row.CompareValues(&values[k], i, &c.partition.Cols[p], 0) != 0 {
				c.addf("file-partition", "row %d: partition column %s has another value than the file's partition", c.rows+int64(i), c.schema.Fields[k].Name)
				return
			}
		}
	}
}

func (c *fileCheck) checkBuckets(values []row.Column, n int) {
	if !c.hashed {
		return
	}
	idx := c.schema.BucketKeyIndexes()
	cols := make([]*row.Column, len(idx))
	for i, k := range idx {
		cols[i] = &values[k]
	}
	c.scratch = c.buckets.Buckets(c.scratch[:0], cols, 0, n)
	if i := slices.IndexFunc(c.scratch, func(b int32) bool { return b != c.entry.Bucket }); i >= 0 {
		c.addf("file-bucket", "row %d: belongs to bucket %d of %d", c.rows+int64(i), c.scratch[i], c.entry.TotalBuckets)
	}
}

// finish compares what was read with the entry.
func (c *fileCheck) finish() {
	m := c.meta
	if c.rows != m.RowCount {
		c.addf("file-rows", "%d rows, the manifest says %d", c.rows, m.RowCount)
	}
	if m.DeleteRows >= 0 && c.retracts != m.DeleteRows {
		c.addf("file-deletes", "%d retracts, the manifest says %d", c.retracts, m.DeleteRows)
	}
	if c.rows == 0 {
		c.addf("file-rows", "no rows")
		return
	}
	if c.minSeq != m.MinSeq || c.maxSeq != m.MaxSeq {
		c.addf("file-sequence", "sequence numbers %d to %d, the manifest says %d to %d", c.minSeq, c.maxSeq, m.MinSeq, m.MaxSeq)
	}
	c.checkRange()
	for _, s := range c.stats {
		s.finish(c)
	}
}
