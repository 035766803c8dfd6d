package lsm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// Changes are rows of one snapshot of a changelog, with their kinds.
type Changes struct {
	Snapshot *table.Snapshot
	Rows     *row.Batch // valid until the next step
}

// ReadChangelog reads what snapshots from to to, both included, changed, as a streaming reader sees it (Java's
// DataTableStreamScan): the changelog files where the table has a changelog-producer, else the files that APPEND snapshots
// added. Rows come as they are stored, unmerged, in key order within a file. OVERWRITE snapshots are skipped. A snapshot
// that has expired, and whose changelog is not kept longer, is an error that wraps fs.ErrNotExist.
func ReadChangelog(ctx context.Context, t *table.Table, from, to int64, o ScanOptions) iter.Seq2[Changes, error] {
	return func(yield func(Changes, error) bool) {
		c, err := NewChangelogReader(t, o)
		if err != nil {
			yield(Changes{}, err)
			return
		}
		for id := from; id <= to; id++ {
			s, err := t.SnapshotOrChangelog(ctx, id)
			if err != nil {
				yield(Changes{}, fmt.Errorf("reading the changelog of snapshot %d: %w", id, err))
				return
			}
			for b, err := range c.Read(ctx, s) {
				if !yield(Changes{Snapshot: s, Rows: b}, err) || err != nil {
					return
				}
			}
		}
	}
}

// ChangelogReader is ReadChangelog for callers that choose the snapshots themselves, one after the other. It reads on with the
// schema that it began with, as Java's does.
type ChangelogReader struct {
	table    *table.Table
	opts     ScanOptions
	proj     *projection
	produced bool // the table has a changelog-producer
}

// NewChangelogReader returns a reader of a table's changes.
func NewChangelogReader(t *table.Table, o ScanOptions) (*ChangelogReader, error) {
	if o.Schema == nil {
		o.Schema = t.Schema()
	}
	cols, err := columnIndexes(o.Schema, o.Columns)
	if err != nil {
		return nil, err
	}
	return &ChangelogReader{
		table: t, opts: o, proj: newProjection(t, o.Schema, cols),
		produced: t.Options().Get(table.KeyChangelogProducer) != "none",
	}, nil
}

// Read gives the changes of a snapshot, or of a changelog that outlived its snapshot (table.SnapshotOrChangelog).
func (c *ChangelogReader) Read(ctx context.Context, s *table.Snapshot) iter.Seq2[*row.Batch, error] {
	return func(yield func(*row.Batch, error) bool) {
		var entries iter.Seq2[table.Entry, error]
		switch {
		case s.CommitKind == table.CommitOverwrite:
			return
		case c.produced:
			entries = c.table.ScanChangelog(ctx, s)
		case s.CommitKind == table.CommitAppend:
			entries = c.table.ScanDelta(ctx, s)
		default:
			return
		}
		buckets, err := groupBuckets(entries, func(e *table.Entry) bool {
			o := &c.opts
			return e.Kind == table.Add && (o.Partition == nil || string(o.Partition) == string(e.Partition)) &&
				(o.Bucket == nil || *o.Bucket == e.Bucket) && (o.Match == nil || o.Match(e.Partition, e.Bucket))
		})
		if err != nil {
			yield(nil, err)
			return
		}
		kv := NewKeyValues(c.proj.rows)
		for i := range buckets {
			if ok, err := c.bucket(ctx, &buckets[i], kv, yield); err != nil {
				yield(nil, err)
				return
			} else if !ok {
				return
			}
		}
	}
}

// bucket reads the files of a bucket one after the other; false when the caller has enough.
func (c *ChangelogReader) bucket(ctx context.Context, b *bucketFiles, kv *KeyValues, yield func(*row.Batch, error) bool) (bool, error) {
	files := make(run, len(b.files))
	for i := range b.files {
		files[i].file = &b.files[i]
	}
	r := &runReader{ctx: ctx, proj: c.proj, partition: b.partition, bucket: b.bucket, files: files, batch: readSize{rows: c.opts.BatchRows}}
	defer r.close()
	for {
		if err := r.next(kv); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return false, err
		}
		if !yield(kv.Rows, nil) {
			return false, nil
		}
	}
}
