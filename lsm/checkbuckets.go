package lsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// CheckBuckets looks for keys of a dynamic-bucket table at a snapshot that are not where its index says: each key of each file
// must have its hash in the HASH file of its bucket, and in no other bucket's. It reads the key columns of all live files, and
// takes 8 bytes a key of a partition.
func CheckBuckets(ctx context.Context, t *table.Table, s *table.Snapshot) iter.Seq[table.Problem] {
	return func(yield func(table.Problem) bool) {
		c := &bucketCheck{ctx: ctx, t: t, s: s, yield: yield}
		if err := c.run(); err != nil && !errors.Is(err, errEnough) {
			yield(table.Problem{Severity: table.SeverityError, Check: "index-keys", At: t.Path(), Msg: err.Error()})
		}
	}
}

var errEnough = errors.New("no more problems are wanted")

type bucketCheck struct {
	ctx     context.Context // of the one call that this check lives for
	t       *table.Table
	s       *table.Snapshot
	yield   func(table.Problem) bool
	entries []hashIn // of a partition, sorted
	scratch []int32
}

// hashIn is a hash and a bucket whose index has it.
type hashIn struct{ hash, bucket int32 }

func compareHashIn(a, b hashIn) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.bucket, b.bucket))
}

func (c *bucketCheck) errorf(at, format string, args ...any) error {
	if !c.yield(table.Problem{Severity: table.SeverityError, Check: "index-keys", At: at, Msg: fmt.Sprintf(format, args...)}) {
		return errEnough
	}
	return nil
}

func (c *bucketCheck) run() error {
	if c.s == nil {
		return nil
	}
	indexes := map[string][]table.IndexEntry{}
	for e, err := range c.t.IndexEntries(c.ctx, c.s, table.Filter{}) {
		if err != nil {
			return err
		}
		if e.File.Type == table.IndexHash {
			indexes[string(e.Partition)] = append(indexes[string(e.Partition)], e)
		}
	}
	files := map[string][]table.Entry{}
	for e, err := range c.t.Scan(c.ctx, c.s, table.Filter{}) {
		if err != nil {
			return err
		}
		files[string(e.Partition)] = append(files[string(e.Partition)], e)
	}
	for p, entries := range files {
		if err := c.load(indexes[p]); err != nil {
			return err
		}
		for i := range entries {
			if err := c.file(&entries[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// load reads the index of a partition and tells which hashes are in two buckets.
func (c *bucketCheck) load(indexes []table.IndexEntry) error {
	c.entries = c.entries[:0]
	for i := range indexes {
		e := &indexes[i]
		for h, err := range c.t.Hashes(c.ctx, e.Partition, e.Bucket, &e.File) {
			if err != nil {
				return err
			}
			c.entries = append(c.entries, hashIn{h, e.Bucket})
		}
	}
	slices.SortFunc(c.entries, compareHashIn)
	for i := 1; i < len(c.entries); i++ {
		switch a, b := c.entries[i-1], c.entries[i]; {
		case a.hash == b.hash && a.bucket != b.bucket:
			if err := c.errorf(c.place(indexes), "the hash %d is in the index of bucket %d and of bucket %d", a.hash, a.bucket, b.bucket); err != nil {
				return err
			}
		case a == b:
			if err := c.errorf(c.place(indexes), "the hash %d is in the index of bucket %d twice", a.hash, a.bucket); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *bucketCheck) place(indexes []table.IndexEntry) string {
	if dir, err := c.t.PartitionPath(indexes[0].Partition); err == nil && dir != "" {
		return dir
	}
	return c.t.Path()
}

// file looks each key of a file up; of a file it tells one key.
func (c *bucketCheck) file(e *table.Entry) error {
	schema := c.t.Schema()
	idx := schema.KeyIndexes()
	p := newProjection(c.t, schema, idx)
	kv := NewKeyValues(p.rows)
	r, err := p.open(c.ctx, e.Partition, e.Bucket, &e.File, readSize{}, nil)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // read only
	for {
		err := r.Next(kv)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		cols := make([]*row.Column, len(idx))
		for i := range idx {
			cols[i] = &kv.Rows.Cols[i]
		}
		c.scratch = row.AppendHashes(c.scratch[:0], cols, 0, kv.Rows.N)
		for i, h := range c.scratch {
			if _, ok := slices.BinarySearchFunc(c.entries, hashIn{h, e.Bucket}, compareHashIn); ok {
				continue
			}
			at := slices.IndexFunc(c.entries, func(x hashIn) bool { return x.hash == h })
			where := "in no index"
			if at >= 0 {
				where = fmt.Sprintf("in the index of bucket %d", c.entries[at].bucket)
			}
			return c.errorf(e.File.Name, "the key %s, with the hash %d, is in bucket %d, but %s",
				row.AppendJSONRow(nil, kv.Rows, i, false), h, e.Bucket, where)
		}
	}
}
