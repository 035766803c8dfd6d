package writer

import (
	"context"
	"errors"
	"fmt"
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
//
// Tables whose content is not the source's last rows have no such changelog, and where values add up changes must not come
// twice: then CatchUp is an error that wraps table.ErrOption.
func (w *Writer) CatchUp(ctx context.Context) error {
	g := w.generation()
	if err := g.catchesUp(); err != nil {
		return fmt.Errorf("table %s: %w", w.table.Path(), err)
	}
	if !g.changelog {
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

// NeedsCatchUp tells whether CatchUp is to be called for such rows at all.
func (w *Writer) NeedsCatchUp() bool {
	g := w.generation()
	return g.changelog || g.catchesUp() != nil
}

// NeedsExactRead tells whether CatchUp is an error: then what is written of a source that changes while it is read must be of one
// moment, and be followed by what came after that.
func (w *Writer) NeedsExactRead() bool { return w.generation().catchesUp() != nil }

// Traits returns what is special about the table's merge engine.
func (w *Writer) Traits() lsm.MergeTraits { return w.generation().traits }

func (w *Writer) generation() *generation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gen
}

// catchesUp tells what is in the way of a catch-up.
func (g *generation) catchesUp() error {
	switch t := &g.traits; {
	case g.postponed() && g.input:
		return fmt.Errorf("%w: rows changed in the source while it was read, and with bucket=-2 and changelog-producer=input the changelog would have them twice, as all that is written; set changelog-producer=lookup, or read the source into an empty table while nothing changes",
			table.ErrOption)
	case g.crossPartition() && g.changelog:
		return fmt.Errorf("%w: rows changed in the source while it was read, and where they move between partitions there is no changelog without what was read already; set changelog-producer=lookup, or read the source into an empty table while nothing changes",
			table.ErrOption)
	case t.NotRepeatable != "":
		return fmt.Errorf("%w: rows changed in the source while it was read, and with %s their changes would count twice; read it into an empty table while nothing changes",
			table.ErrOption, t.NotRepeatable)
	case t.Folds && g.changelog:
		return fmt.Errorf("%w: rows changed in the source while it was read, and of merge-engine %s there is no changelog without what was read already; set changelog-producer=lookup, or read the source into an empty table while nothing changes",
			table.ErrOption, g.engine)
	}
	return nil
}
