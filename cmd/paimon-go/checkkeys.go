package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer/hashindex"
)

// namedKeys bounds how many keys in two places are named.
const namedKeys = 100

// keyPlaces looks, in a table whose keys may move between partitions, for keys that are in two of them, or in two buckets. It reads the
// keys of all rows that there are for a reader, or will be when the table is compacted, and notes where they are in a file of the system's
// directory for temporary files, of 24 to 48 bytes a key, mapped into memory.
func keyPlaces(ctx context.Context, t *table.Table, s *table.Snapshot) iter.Seq[table.Problem] {
	return func(yield func(table.Problem) bool) {
		c := &keyCheck{t: t, yield: yield}
		if err := c.run(ctx, s); err != nil {
			c.report(t.Path(), err.Error())
		}
	}
}

type keyCheck struct {
	t      *table.Table
	yield  func(table.Problem) bool
	keys   *hashindex.Keys
	places []string // of partitions, by number
	here   hashindex.Place
	found  int
}

func (c *keyCheck) report(at, msg string) bool {
	return c.yield(table.Problem{Severity: table.SeverityError, Check: "key-places", At: at, Msg: msg})
}

func (c *keyCheck) run(ctx context.Context, s *table.Snapshot) error {
	store, err := hashindex.NewStore(nil, nil)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // scratch
	if c.keys, err = hashindex.NewKeys(store, 0); err != nil {
		return err
	}
	defer c.keys.Close()
	last := ""
	var failed error
	o := lsm.ScanOptions{Columns: c.t.Schema().PrimaryKeys, AllLevels: true, Begin: func(partition []byte, bucket int32) {
		if len(c.places) == 0 || string(partition) != last {
			last = string(partition)
			var name string
			name, failed = c.t.PartitionPath(partition)
			c.places = append(c.places, name)
		}
		c.here = hashindex.Place{Partition: int32(len(c.places) - 1), Bucket: bucket}
	}}
	for b, err := range lsm.Scan(ctx, c.t, s, o) {
		if err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
		if more, err := c.batch(b); err != nil || !more {
			return err
		}
	}
	if n := c.found - namedKeys; n > 0 {
		c.report(c.t.Path(), fmt.Sprintf("%d more keys are in two places", n))
	}
	return nil
}

// batch notes the keys of a batch. It returns false when the caller wants no more problems.
func (c *keyCheck) batch(b *row.Batch) (bool, error) {
	cols := make([]*row.Column, len(b.Cols))
	for i := range b.Cols {
		cols[i] = &b.Cols[i]
	}
	var key []byte
	for i := range b.N {
		key = row.AppendBinaryRow(key[:0], cols, i)
		before, known, err := c.keys.Put(key, c.here)
		if err != nil {
			return false, err
		}
		if !known {
			continue
		}
		if c.found++; c.found > namedKeys {
			continue
		}
		if !c.report(c.name(c.here), fmt.Sprintf("the key %s is here and in %s; readers see two rows of it", row.AppendJSONRow(nil, b, i, false), c.name(before))) {
			return false, nil
		}
	}
	return true, nil
}

func (c *keyCheck) name(p hashindex.Place) string {
	return fmt.Sprintf("%s/bucket-%d", c.places[p.Partition], p.Bucket)
}
