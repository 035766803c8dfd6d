package lsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// CheckBuckets looks for keys of a dynamic-bucket table at a snapshot that are not where its index says: each key of each file
// must have its hash in the HASH file of its bucket, and in no other bucket's. It reads the key columns of all live files. It takes
// about 2 bytes a key of a partition, and 512 MiB at most, as hashes have 32 bits. A table whose keys may move between partitions
// has no such index.
func CheckBuckets(ctx context.Context, t *table.Table, s *table.Snapshot) iter.Seq[table.Problem] {
	return func(yield func(table.Problem) bool) {
		if s == nil || t.Schema().CrossPartition() {
			return
		}
		checkBuckets(&bucketCheck{ctx: ctx, t: t, s: s, yield: yield, limit: hashChunk})
	}
}

func checkBuckets(c *bucketCheck) {
	if err := c.run(); err != nil && !errors.Is(err, errEnough) {
		c.yield(table.Problem{Severity: table.SeverityError, Check: "index-keys", At: c.t.Path(), Msg: err.Error()})
	}
}

var errEnough = errors.New("no more problems are wanted")

// hashChunk is how many hashes are sorted at a time.
const hashChunk = 1 << 20

type bucketCheck struct {
	ctx     context.Context // of the one call that this check lives for
	t       *table.Table
	s       *table.Snapshot
	yield   func(table.Problem) bool
	limit   int // of chunk
	chunk   []uint32
	scratch []int32
}

// keyedBucket is the index and the files of a bucket.
type keyedBucket struct {
	bucket int32
	index  []table.IndexEntry // of type HASH; one if all is well
	files  []table.Entry
}

func (c *bucketCheck) errorf(at, format string, args ...any) error {
	if !c.yield(table.Problem{Severity: table.SeverityError, Check: "index-keys", At: at, Msg: fmt.Sprintf(format, args...)}) {
		return errEnough
	}
	return nil
}

func (c *bucketCheck) run() error {
	partitions := map[string]map[int32]*keyedBucket{}
	at := func(partition []byte, bucket int32) *keyedBucket {
		p := partitions[string(partition)]
		if p == nil {
			p = map[int32]*keyedBucket{}
			partitions[string(partition)] = p
		}
		if p[bucket] == nil {
			p[bucket] = &keyedBucket{bucket: bucket}
		}
		return p[bucket]
	}
	for e, err := range c.t.IndexEntries(c.ctx, c.s, table.Filter{}) {
		if err != nil {
			return err
		}
		if e.File.Type == table.IndexHash {
			b := at(e.Partition, e.Bucket)
			b.index = append(b.index, e)
		}
	}
	for e, err := range c.t.Scan(c.ctx, c.s, table.Filter{}) {
		if err != nil {
			return err
		}
		b := at(e.Partition, e.Bucket)
		b.files = append(b.files, e)
	}
	for _, p := range slices.Sorted(maps.Keys(partitions)) {
		buckets := slices.SortedFunc(maps.Values(partitions[p]), func(a, b *keyedBucket) int { return cmp.Compare(a.bucket, b.bucket) })
		if err := c.partition(buckets); err != nil {
			return err
		}
		delete(partitions, p)
	}
	return nil
}

// partition checks the buckets of a partition one after the other.
func (c *bucketCheck) partition(buckets []*keyedBucket) error {
	others := roaring.New() // the hashes of the buckets before
	for _, b := range buckets {
		own := roaring.New()
		for i := range b.index {
			if err := c.load(&b.index[i], own, others, buckets); err != nil {
				return err
			}
		}
		others.Or(own)
		for i := range b.files {
			if err := c.file(&b.files[i], own, buckets); err != nil {
				return err
			}
		}
	}
	return nil
}

// load adds the hashes of an index file to own and tells which are there twice, or in another bucket: one of them, and how many.
func (c *bucketCheck) load(e *table.IndexEntry, own, others *roaring.Bitmap, buckets []*keyedBucket) error {
	var twice, elsewhere doubles
	add := func() {
		slices.Sort(c.chunk)
		for i := 1; i < len(c.chunk); i++ {
			if c.chunk[i] == c.chunk[i-1] {
				twice.add(c.chunk[i], 1)
			}
		}
		b := roaring.BitmapOf(c.chunk...)
		if n := b.AndCardinality(own); n > 0 {
			twice.add(roaring.And(b, own).Minimum(), n)
		}
		if n := b.AndCardinality(others); n > 0 {
			elsewhere.add(roaring.And(b, others).Minimum(), n)
		}
		own.Or(b)
		c.chunk = c.chunk[:0]
	}
	c.chunk = c.chunk[:0]
	for h, err := range c.t.Hashes(c.ctx, e.Partition, e.Bucket, &e.File) {
		if err != nil {
			return err
		}
		if c.chunk = append(c.chunk, uint32(h)); len(c.chunk) == c.limit {
			add()
		}
	}
	add()
	if twice.n > 0 {
		if err := c.errorf(c.place(e), "the hash %d is in the index of bucket %d twice%s", twice.first, e.Bucket, twice.more()); err != nil {
			return err
		}
	}
	if elsewhere.n > 0 {
		other, _, err := c.find(elsewhere.first, buckets)
		if err != nil {
			return err
		}
		return c.errorf(c.place(e), "the hash %d is in the index of bucket %d and of bucket %d%s", elsewhere.first, other, e.Bucket, elsewhere.more())
	}
	return nil
}

// doubles is hashes that should not be where they are.
type doubles struct {
	first int32
	n     uint64
}

func (d *doubles) add(hash uint32, n uint64) {
	if d.n == 0 {
		d.first = int32(hash)
	}
	d.n += n
}

func (d *doubles) more() string {
	if d.n == 1 {
		return ""
	}
	return fmt.Sprintf(", as are %d more of this bucket", d.n-1)
}

// find returns the first bucket whose index has a hash.
func (c *bucketCheck) find(hash int32, buckets []*keyedBucket) (bucket int32, found bool, err error) {
	for _, b := range buckets {
		for i := range b.index {
			for h, err := range c.t.Hashes(c.ctx, b.index[i].Partition, b.bucket, &b.index[i].File) {
				if err != nil || h == hash {
					return b.bucket, err == nil, err
				}
			}
		}
	}
	return 0, false, nil
}

func (c *bucketCheck) place(e *table.IndexEntry) string {
	if dir, err := c.t.PartitionPath(e.Partition); err == nil && dir != "" {
		return dir
	}
	return c.t.Path()
}

// file looks each key of a file up in the index of its bucket; of a file it tells one key.
func (c *bucketCheck) file(e *table.Entry, own *roaring.Bitmap, buckets []*keyedBucket) error {
	schema := c.t.Schema()
	idx := schema.KeyIndexes()
	p := newProjection(c.t, schema, idx)
	kv := NewKeyValues(p.rows)
	r, err := p.open(c.ctx, e.Partition, e.Bucket, &e.File, readSize{}, nil)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // read only
	cols := make([]*row.Column, len(idx))
	for {
		err := r.Next(kv)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range idx {
			cols[i] = &kv.Rows.Cols[i]
		}
		c.scratch = row.AppendHashes(c.scratch[:0], cols, 0, kv.Rows.N)
		for i, h := range c.scratch {
			if own.Contains(uint32(h)) {
				continue
			}
			where := "in no index"
			if other, found, err := c.find(h, buckets); err != nil {
				return err
			} else if found {
				where = fmt.Sprintf("in the index of bucket %d", other)
			}
			return c.errorf(e.File.Name, "the key %s, with the hash %d, is in bucket %d, but %s",
				row.AppendJSONRow(nil, kv.Rows, i, false), h, e.Bucket, where)
		}
	}
}
