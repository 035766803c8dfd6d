package writer

import (
	"context"
	"errors"
	"iter"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// catchUp is what the rows of an epoch are held against: the table as it was when the epoch began.
type catchUp struct {
	table    *table.Table
	snapshot *table.Snapshot // nil: the table was empty
	spill    *lsm.SpillStore
}

// rows are the rows that the table had in a bucket.
func (c *catchUp) rows(ctx context.Context, g *generation, b *bucket) iter.Seq2[*row.Batch, error] {
	return lsm.Scan(ctx, c.table, c.snapshot, lsm.ScanOptions{Schema: g.schema, Partition: b.part.bytes, Bucket: &b.id})
}

// CatchUp says that the rows until the next Checkpoint that has any are changes that the table may contain already, whole or in part,
// because it was read from a source that changed meanwhile. The changelog gets what is new of them, each after what it
// changes (lsm.CatchUpSink); the table gets all of them, which makes no difference to it. Rows must be paired
// (Config.PairedUpdates), and the table's content must come from that source.
//
// Everything before must have been checkpointed. CatchUp waits until it is committed. A flush then reads each bucket that
// has such rows, so few and large epochs are best; to have one flush a bucket, rows are spilled to local disk even where
// options say otherwise. Without changelog-producer=input nothing is to be done.
func (w *Writer) CatchUp(ctx context.Context) error {
	if !w.keepsChangelog() {
		return nil
	}
	if err := w.Wait(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if w.rows > 0 {
		return errors.New("a catch-up begins after rows that no checkpoint has")
	}
	s, err := w.table.Latest(ctx)
	if err != nil {
		return err
	}
	if w.catchSpill == nil {
		if w.catchSpill, err = newSpillStore(w.table.Options(), &w.cfg, true); err != nil {
			return err
		}
	}
	c := &catchUp{table: w.table, snapshot: s, spill: w.catchSpill}
	for _, sh := range w.shards {
		if err := w.post(ctx, sh, message{catch: c}); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) keepsChangelog() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gen.changelog
}
