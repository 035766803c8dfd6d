package writer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer/hashindex"
)

// crossPartition finds the partitions and buckets of rows of tables with bucket=-1 whose primary key lacks partition keys, so that a key
// may move (Java's GlobalIndexAssigner). It knows where every key of the table is: from the table at the start (bootstrap), then from
// what it gave out. A commit that fails ends the writer, and what is known here ends with it; nothing of it is stored.
//
// A row whose key is in another partition: with deduplicate, it is deleted there and goes to its own; with partial-update and
// aggregation it goes to where the key is, and takes on the partition's values; with first-row it is dropped.
//
// It belongs to the goroutine that calls Write.
type crossPartition struct {
	table   *table.Table
	store   *hashindex.Store
	keys    *hashindex.Keys
	lease   *lease
	engine  string
	buckets crossBuckets
	parts   []*partition // by number
	numbers map[*partition]int32
	values  *row.Batch // of the partition keys, by number

	counted struct{ keys, partitions, buckets atomic.Int64 } // at the last barrier

	base atomic.Int64 // snapshot up to which the keys are known, 0: none; of Open, then of the committer

	gen     *generation
	key     []int // columns of the primary key
	hashes  []int32
	out     *row.Batch // rows that were not written as they came
	rows    []crossRow
	bytes   []byte // scratch
	last    []byte // key of the row before
	idx     []int32
	placed  []int32 // buckets of the rows that resolve gave
	dropped int     // rows that resolve dropped of the last batch
}

// crossRow is one row that is to be written.
type crossRow struct {
	row   int32 // of the batch
	place hashindex.Place
	kind  row.Kind
	moved bool // it takes the values of the partition in place
	none  bool // nothing is written
}

// newCrossPartition returns nil for a table whose keys stay where they are, or that has a number of buckets: there Paimon doesn't look
// for a key in other partitions.
func newCrossPartition(ctx context.Context, t *table.Table, cfg *Config, g *generation, shards int, parts *partitions, b *lsm.Budget) (*crossPartition, error) {
	if !g.crossPartition() {
		return nil, nil
	}
	o := t.Options()
	x := &crossPartition{
		table: t, engine: g.engine, numbers: map[*partition]int32{},
		buckets: newCrossBuckets(o, shards),
	}
	var err error
	x.store, err = hashindex.NewStore(cfg.SpillDirs, counted(b))
	if err != nil {
		return nil, err
	}
	if x.lease, err = takeLease(ctx, t, cfg.CommitUser, leaseTimes); err == nil {
		err = x.bootstrap(ctx, g.schema, parts, cfg.Listener.Bootstrap)
	}
	if err != nil {
		x.close()
		return nil, err
	}
	x.count()
	return x, nil
}

func (g *generation) crossPartition() bool {
	return g.numBuckets == dynamicBucket && g.schema.CrossPartition()
}

// checkCrossPartition refuses what can't be right.
func checkCrossPartition(s *table.Schema, o table.Options) error {
	if !s.CrossPartition() || o.Int(table.KeyBucket) != dynamicBucket {
		return nil
	}
	switch {
	case o.Has(table.KeyBucketKey):
		return fmt.Errorf("%w: bucket-key can't be set where bucket is -1", table.ErrOption)
	case o.Bool(table.KeyIgnoreDelete) && o.Enum(table.KeyMergeEngine) == "deduplicate":
		return fmt.Errorf("%w: ignore-delete can't be set where bucket is -1 and the primary key %q lacks partition keys %q: a row that moves is deleted in the partition that it leaves",
			table.ErrOption, s.PrimaryKeys, s.PartitionKeys)
	}
	return nil
}

func (x *crossPartition) use(g *generation) {
	if x.gen == g {
		return
	}
	x.gen, x.key, x.out = g, x.key[:0], row.NewBatch(g.typ)
	for _, k := range g.schema.PrimaryKeys {
		x.key = append(x.key, g.schema.FieldIndex(k))
	}
}

// number returns the number of a partition.
func (x *crossPartition) number(part *partition) (int32, error) {
	if n, ok := x.numbers[part]; ok {
		return n, nil
	}
	v, err := x.table.Schema().DecodePartition(part.bytes)
	if err != nil {
		return 0, err
	}
	if x.values == nil {
		x.values = row.NewBatch(v.Type)
	}
	for c := range v.Cols {
		x.values.Cols[c].AppendFrom(&v.Cols[c], 0)
	}
	n := int32(len(x.parts))
	x.parts, x.numbers[part] = append(x.parts, part), n
	x.buckets.counts = append(x.buckets.counts, nil)
	return n, nil
}

// resolve returns the rows to write instead of those of b, whose kinds then are in the router; their buckets are in placed.
// After an error the index is ahead of the table.
func (x *crossPartition) resolve(w *Writer, b *row.Batch) (*row.Batch, error) {
	g, r := w.gen, &w.router
	x.use(g)
	x.rows, x.dropped, x.last = x.rows[:0], 0, x.last[:0]
	keys := columns(nil, b, x.key)
	x.hashes = row.AppendHashes(x.hashes[:0], keys, 0, b.N)
	r.cols = columns(r.cols, b, g.partitions)
	r.findSame(b.N)
	number, known := int32(0), false
	same := true // rows are those of b
	for i := range b.N {
		if r.keep != nil && !r.keep[i] {
			x.rows = append(x.rows, crossRow{row: int32(i), none: true})
			known = known && r.same[i]
			x.last = x.last[:0]
			continue
		}
		if !known || !r.same[i] {
			r.key = row.AppendSerializedRow(r.key[:0], r.cols, i)
			var err error
			if number, err = x.number(w.parts.get(r.key)); err != nil {
				return nil, err
			}
			known = true
		}
		x.bytes = row.AppendBinaryRow(x.bytes[:0], keys, i)
		plain, err := x.add(int32(i), number, r.kinds[i])
		if err != nil {
			return nil, err
		}
		same = same && plain
		x.last = append(x.last[:0], x.bytes...)
	}
	return x.give(r, b, same), nil
}

// add decides about a row whose key is in bytes. It returns whether the row is written as it came, and nothing else is.
func (x *crossPartition) add(i, number int32, kind row.Kind) (plain bool, err error) {
	at, known := x.keys.Get(x.bytes)
	switch {
	case known && at.Partition == number:
		x.rows = append(x.rows, crossRow{row: i, place: at, kind: kind})
		return true, nil
	case !known:
		return true, x.addNew(i, number, kind)
	}
	switch x.engine {
	case "first-row":
		x.rows = append(x.rows, crossRow{row: i, none: true})
		return false, nil
	case "partial-update", "aggregation":
		// Java makes a +I of every such row, a delete too; that is not copied.
		x.rows = append(x.rows, crossRow{row: i, place: at, kind: kind, moved: true})
		return false, nil
	}
	x.leave(i, at)
	x.buckets.decrement(at)
	return false, x.addNew(i, number, kind)
}

// leave deletes a row in the partition that its key was in. The row before this one may have done it, as a log has -U with the old
// values before +U: then one delete, of these values, is what a changelog should have.
func (x *crossPartition) leave(i int32, at hashindex.Place) {
	if n := len(x.rows); n > 0 && bytes.Equal(x.last, x.bytes) {
		if before := &x.rows[n-1]; !before.none && !before.moved && before.place == at && before.kind.IsRetract() {
			before.kind = row.Delete
			return
		}
	}
	x.rows = append(x.rows, crossRow{row: i, place: at, kind: row.Delete, moved: true})
}

func (x *crossPartition) addNew(i, number int32, kind row.Kind) error {
	bucket, err := x.buckets.assign(number, x.hashes[i])
	if err != nil {
		return err
	}
	at := hashindex.Place{Partition: number, Bucket: bucket}
	x.rows = append(x.rows, crossRow{row: i, place: at, kind: kind})
	_, _, err = x.keys.Put(x.bytes, at)
	return err
}

// give makes a batch of rows.
func (x *crossPartition) give(r *router, b *row.Batch, same bool) *row.Batch {
	if !same {
		n := len(x.rows)
		x.rows = slices.DeleteFunc(x.rows, func(c crossRow) bool { return c.none })
		x.dropped = n - len(x.rows)
	}
	x.placed = x.placed[:0]
	for i := range x.rows {
		x.placed = append(x.placed, x.rows[i].place.Bucket)
	}
	if same {
		return b
	}
	return x.rebuild(r, b)
}

// rebuild makes a batch of rows in the partitions that they go to.
func (x *crossPartition) rebuild(r *router, b *row.Batch) *row.Batch {
	x.out.Reset()
	x.idx = x.idx[:0]
	for i := range x.rows {
		x.idx = append(x.idx, x.rows[i].row)
	}
	x.out.AppendGather(b, x.idx)
	x.out.Kinds = x.out.Kinds[:0]
	for i := range x.rows {
		x.out.Kinds = append(x.out.Kinds, x.rows[i].kind)
	}
	for k, col := range x.gen.partitions {
		dst := &x.out.Cols[col]
		dst.Reset()
		for i := range x.rows {
			if c := &x.rows[i]; c.moved {
				dst.AppendFrom(&x.values.Cols[k], int(c.place.Partition))
			} else {
				dst.AppendFrom(&b.Cols[col], int(c.row))
			}
		}
	}
	r.kinds, r.keep = x.out.Kinds, nil
	return x.out
}

// count notes for Stats what there is.
func (x *crossPartition) count() {
	if x != nil {
		x.counted.keys.Store(x.keys.Len())
		x.counted.partitions.Store(int64(len(x.parts)))
		x.counted.buckets.Store(x.buckets.n)
	}
}

// since is the snapshot that a commit goes on from; nil: any.
func (x *crossPartition) since() *int64 {
	if x == nil {
		return nil
	}
	id := x.base.Load()
	return &id
}

// committed notes a snapshot of ours.
func (x *crossPartition) committed(id int64) {
	if x != nil {
		x.base.Store(id)
	}
}

// close gives all up.
func (x *crossPartition) close() {
	if x == nil {
		return
	}
	if x.keys != nil {
		x.keys.Close()
	}
	_ = x.store.Close() // scratch
	x.lease.release()
}

var errTooManyBuckets = errors.New("no bucket is free")

// crossBuckets counts keys by partition and bucket (Java's crosspartition.BucketAssigner). Each of the assigners, among which keys are
// spread by their hashes, has buckets of its own.
type crossBuckets struct {
	target    int64
	assigners int32
	counts    [][]int64 // by partition and bucket; -1: the bucket isn't there
	n         int64     // buckets that are there
}

func newCrossBuckets(o table.Options, shards int) crossBuckets {
	n := shards
	if o.Has(table.KeyDynamicBucketAssignerParallelism) || o.Has(table.KeyDynamicBucketInitialBuckets) {
		n = 1
		for _, k := range []*table.Key{table.KeyDynamicBucketAssignerParallelism, table.KeyDynamicBucketInitialBuckets} {
			if o.Has(k) {
				n = max(n, o.Int(k))
			}
		}
	}
	return crossBuckets{target: o.Int64(table.KeyDynamicBucketTargetRowNum), assigners: int32(n)}
}

// bootstrap counts a key that is there.
func (c *crossBuckets) bootstrap(at hashindex.Place) {
	n := c.grow(at.Partition, at.Bucket)
	if *n < 0 {
		*n, c.n = 0, c.n+1
	}
	*n++
}

func (c *crossBuckets) grow(partition, bucket int32) *int64 {
	for int(bucket) >= len(c.counts[partition]) {
		c.counts[partition] = append(c.counts[partition], -1)
	}
	return &c.counts[partition][bucket]
}

// assign returns the lowest bucket of the key's assigner that isn't full, and else the lowest that isn't there.
func (c *crossBuckets) assign(partition, hash int32) (int32, error) {
	own := hash % c.assigners
	if own < 0 {
		own = -own
	}
	free := int32(-1)
	for b := own; ; b += c.assigners {
		if b > maxCrossBucket {
			break
		}
		if int(b) >= len(c.counts[partition]) {
			if free < 0 {
				free = b
			}
			break
		}
		switch n := &c.counts[partition][b]; {
		case *n < 0:
			if free < 0 {
				free = b
			}
		case *n < c.target:
			*n++
			return b, nil
		}
	}
	if free < 0 {
		return 0, fmt.Errorf("%w: %w: raise dynamic-bucket.target-row-num above %d", table.ErrOption, errTooManyBuckets, c.target)
	}
	*c.grow(partition, free) = 1
	c.n++
	return free, nil
}

// maxCrossBucket bounds what a small target can do to memory and storage.
const maxCrossBucket = 1<<20 - 1

func (c *crossBuckets) decrement(at hashindex.Place) { c.counts[at.Partition][at.Bucket]-- }
