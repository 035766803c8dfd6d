package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// tablePath is the i-th table of a workload that has more than one.
func tablePath(path string, i int) string {
	if i == 0 {
		return path
	}
	return path + strconv.Itoa(i)
}

// gatherRows is how many rows wait in all tables' batches at most: what a reader of a log has at hand does not grow with the tables.
const gatherRows = 32 * batchRows

// writeTables writes the rows into several tables in turn, by the id, with one pool and one budget, as a sink of many tables has.
// It calls begin when the rows that don't count are committed.
func writeTables(ctx context.Context, w workload, path string, begin func()) error {
	fsys, err := fs.For(ctx, path, nil)
	if err != nil {
		return err
	}
	var (
		budget  = lsm.NewBudget(512 << 20)
		pool    = writer.NewPool(max(w.Parallel, 1))
		writers = make([]*writer.Writer, w.Tables)
		batches = make([]*row.Batch, w.Tables)
		schema  *table.Schema

		gathered = 0 // rows in batches, at most
	)
	defer pool.Close()
	for i := range writers {
		t, err := table.Create(ctx, fsys, tablePath(path, i), w.spec())
		if err != nil {
			return err
		}
		schema, batches[i] = t.Schema(), row.NewBatch(t.Schema().RowType())
		if writers[i], err = writer.Open(ctx, t, writer.Config{CommitUser: "bench", Shards: w.Parallel, Memory: budget, Pool: pool}); err != nil {
			return err
		}
	}
	flush := func(i, least int) error {
		if b := batches[i]; b.N >= least {
			defer b.Reset()
			return writers[i].Write(ctx, b)
		}
		return nil
	}
	flushAll := func() error {
		gathered = 0
		for i := range writers {
			if err := flush(i, 1); err != nil {
				return err
			}
		}
		return nil
	}
	waitAll := func() error {
		for _, wr := range writers {
			if err := wr.Wait(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	id := int64(0)
	out := func(b *row.Batch) error {
		for k := range b.N {
			i := int(b.Cols[0].I64[k] % int64(w.Tables))
			batches[i].AppendRow(b, k)
			if err := flush(i, batchRows); err != nil {
				return err
			}
		}
		if gathered += b.N; gathered >= gatherRows {
			return flushAll()
		}
		return nil
	}
	commit := func() error {
		id++
		if err := flushAll(); err != nil {
			return err
		}
		for _, wr := range writers {
			if err := wr.Checkpoint(ctx, id, nil); err != nil {
				return err
			}
		}
		if id > 1 || w.Uncounted == 0 {
			return nil
		}
		defer begin()
		return waitAll()
	}
	if err := w.generate(schema, 0, w.Rows, out, commit); err != nil {
		return err
	}
	if err := waitAll(); err != nil {
		return err
	}
	for _, wr := range writers {
		if err := wr.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// writeExisting writes the rows into a table that has rows.
func writeExisting(ctx context.Context, w workload, path string) error {
	t, err := open(ctx, path)
	if err != nil {
		return err
	}
	return writeRows(ctx, w, t, "bench", 0, w.Rows, nil)
}

// existingCommit is how many rows a commit of the rows before has.
const existingCommit = 5_000_000

// makeExisting makes a table with rows in one bucket, whose keys are others than those that come later.
func makeExisting(ctx context.Context, w workload, warehouse string) (*state, error) {
	path := table.TablePath(warehouse, "bench", "t")
	fsys, err := fs.For(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	t, err := table.Create(ctx, fsys, path, w.spec())
	if err != nil {
		return nil, err
	}
	wr, err := writer.Open(ctx, t, writer.Config{CommitUser: "base"})
	if err != nil {
		return nil, err
	}
	g, b := newGenerator(w), row.NewBatch(t.Schema().RowType())
	id := int64(0)
	for i := range w.Existing {
		b.Cols[0].AppendI64(1<<40 + int64(i))
		b.Cols[1].AppendBytes(g.text(g.hash(i), w.DataLen, false))
		b.Cols[2].AppendBytes(g.dts[0])
		b.EndRow(row.Insert)
		last := i == w.Existing-1
		if b.N == 4096 || last {
			if err := wr.Write(ctx, b); err != nil {
				return nil, err
			}
			b.Reset()
		}
		if last || (i+1)%existingCommit == 0 {
			id++
			if err := wr.Checkpoint(ctx, id, nil); err != nil {
				return nil, err
			}
		}
	}
	if err := wr.Wait(ctx); err != nil {
		return nil, err
	}
	if err := wr.Close(ctx); err != nil {
		return nil, err
	}
	st := &state{warehouse: warehouse, files: map[string]bool{}}
	s, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	for e, err := range t.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			return nil, err
		}
		st.files[e.File.Name] = true
	}
	return st, nil
}

// grown is what a growth workload left: the content of all tables, or of what was added to rows that were there.
func grown(ctx context.Context, w workload, path string) (content, error) {
	if w.Existing > 0 {
		return added(ctx, path, int64(w.Existing))
	}
	var sum content
	for i := range max(w.Tables, 1) {
		c, err := actual(ctx, tablePath(path, i))
		if errors.Is(err, errNoSnapshot) && w.Tables > 1 { // no row came to it
			continue
		} else if err != nil {
			return sum, err
		}
		sum.rows += c.rows
		sum.checksum += c.checksum
	}
	return sum, nil
}

// added is the content of the last commit's files.
func added(ctx context.Context, path string, before int64) (content, error) {
	var c content
	t, err := open(ctx, path)
	if err != nil {
		return c, err
	}
	s, err := t.Latest(ctx)
	if err != nil || s == nil {
		return c, fmt.Errorf("finding the snapshot of %s: %w", path, cmp.Or(err, errNoSnapshot))
	}
	var buf []byte
	for e, err := range t.ScanDelta(ctx, s) {
		if err != nil {
			return c, err
		}
		r, err := lsm.OpenFile(ctx, t, e.Partition, e.Bucket, &e.File, t.Schema())
		if err != nil {
			return c, err
		}
		if buf, err = c.addFile(r, t, buf); err != nil {
			return c, err
		}
	}
	if got := s.TotalRecordCount; got != before+c.rows {
		return c, fmt.Errorf("the table has %d rows, not %d and %d that came", got, before, c.rows)
	}
	return c, nil
}

// existing makes the table of a point the first time; that of the point before is gone then.
func (r *runner) existing(ctx context.Context, w workload, warehouse string) (*state, error) {
	name := fmt.Sprint(growthPrefix, "existing-", w.Format, "-", w.Existing)
	if r.state == nil || r.stateName != name {
		if r.state != nil {
			if err := os.RemoveAll(r.state.warehouse); err != nil {
				return nil, err
			}
		}
		st, err := makeExisting(ctx, w, filepath.Join(r.scratch, "existing-state"))
		if err != nil {
			return nil, fmt.Errorf("making %d rows: %w", w.Existing, err)
		}
		r.state, r.stateName = st, name
	}
	return r.state, r.state.copyTo(warehouse)
}
