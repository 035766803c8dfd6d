package lsm

import (
	"iter"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// CatchUpSink makes a true changelog of changes that the table may contain already. After a table of a database was read
// while it changed, its log is read from a point before that: what it says of a row that was read later has happened
// before, and would come twice in the changelog.
//
//	read:   k=2                               the table has k=2
//	log:    +I k=1   -U k=1   +U k=2   -U k=2   +U k=3
//	given:                             -U k=2   +U k=3
//
// A change is given if its before image is what a reader of the changelog has: the row of the table at first, then what
// was given last. An insert has none. Where the last change of a key would leave the reader with another row than the
// table (the row was read in a state that the log doesn't show), the difference is given behind it.
//
// It is a FileSink of one bucket's records in the order of keys and then of their arrival, and has the bucket's rows in the
// same order beside them, so its memory is that of one batch.
type CatchUpSink struct {
	sink FileSink
	keys []int
	next func() (*row.Batch, error, bool)
	stop func()

	rows *row.Batch // of the table, from at on
	at   int
	end  bool

	has   bool       // the reader has a row of the key under way:
	shown *row.Batch // this one
	last  *KeyValues // the last record of the key, none before the first
	pair  bool       // the -U before was given, so its +U is too
	out   *KeyValues
}

// NewCatchUpSink puts the filter before sink. rows are those of the bucket in key order, as Scan gives them with the columns
// of schema s.
func NewCatchUpSink(sink FileSink, s *table.Schema, rows iter.Seq2[*row.Batch, error]) *CatchUpSink {
	t := s.RowType()
	c := &CatchUpSink{sink: sink, keys: s.KeyIndexes(), shown: row.NewBatch(t), last: NewKeyValues(t), out: NewKeyValues(t)}
	c.next, c.stop = iter.Pull2(rows)
	return c
}

// Write takes records in order.
func (c *CatchUpSink) Write(kv *KeyValues) error {
	for i := range kv.Len() {
		if c.last.Len() == 0 || c.compareKeys(c.last.Rows, 0, kv.Rows, i) != 0 {
			c.settle()
			c.last.Reset()
			if err := c.find(kv.Rows, i); err != nil {
				return err
			}
		}
		c.take(kv, i)
		c.last.Reset()
		c.last.AppendRange(kv, i, i+1)
	}
	return c.flush()
}

func (c *CatchUpSink) flush() error {
	if c.out.Len() == 0 {
		return nil
	}
	err := c.sink.Write(c.out)
	c.out.Reset()
	return err
}

func (c *CatchUpSink) compareKeys(a *row.Batch, i int, b *row.Batch, j int) int {
	for _, k := range c.keys {
		if r := row.CompareValues(&a.Cols[k], i, &b.Cols[k], j); r != 0 {
			return r
		}
	}
	return 0
}

// find finds the table's row of a key.
func (c *CatchUpSink) find(b *row.Batch, i int) error {
	c.has, c.pair = false, false
	for !c.end {
		if c.rows == nil || c.at == c.rows.N {
			rows, err, ok := c.next()
			if err != nil {
				return err
			}
			c.rows, c.at, c.end = rows, 0, !ok
			continue
		}
		switch r := c.compareKeys(c.rows, c.at, b, i); {
		case r > 0:
			return nil
		case r == 0:
			c.show(c.rows, c.at)
			c.at++
			return nil
		}
		c.at++
	}
	return nil
}

func (c *CatchUpSink) show(b *row.Batch, i int) {
	c.shown.Reset()
	c.shown.AppendRange(b, i, i+1)
	c.has = true
}

// isShown tells whether the reader has this row.
func (c *CatchUpSink) isShown(b *row.Batch, i int) bool {
	if !c.has {
		return false
	}
	for k := range b.Cols {
		if row.CompareValues(&b.Cols[k], i, &c.shown.Cols[k], 0) != 0 {
			return false
		}
	}
	return true
}

// take gives a change or not.
func (c *CatchUpSink) take(kv *KeyValues, i int) {
	kind := kv.Rows.Kinds[i]
	given := false
	switch kind {
	case row.Insert:
		given = !c.has
	case row.UpdateBefore, row.Delete:
		given = c.isShown(kv.Rows, i)
		c.pair = given && kind == row.UpdateBefore
	case row.UpdateAfter:
		// One without a before image (ignore-update-before) tells nothing of what it comes after.
		lone := c.last.Len() == 0 || c.last.Rows.Kinds[0] != row.UpdateBefore
		given = c.pair || lone && !c.isShown(kv.Rows, i)
		c.pair = false
	}
	switch {
	case !given:
		return
	case kind == row.Delete:
		c.has = false
	case kind != row.UpdateBefore:
		c.show(kv.Rows, i)
	}
	c.out.AppendRange(kv, i, i+1)
}

// settle ends a key: the reader gets what it lacks.
func (c *CatchUpSink) settle() {
	if c.last.Len() == 0 {
		return
	}
	exists := !c.last.Rows.Kinds[0].IsRetract()
	if exists == c.has && (!exists || c.isShown(c.last.Rows, 0)) {
		return
	}
	give := func(b *row.Batch, kind row.Kind) {
		c.out.Rows.AppendRange(b, 0, 1)
		c.out.Rows.Kinds[c.out.Rows.N-1] = kind
		c.out.Seq = append(c.out.Seq, c.last.Seq[0])
	}
	switch {
	case !exists:
		give(c.shown, row.Delete)
	case c.has:
		give(c.shown, row.UpdateBefore)
		give(c.last.Rows, row.UpdateAfter)
	default:
		give(c.last.Rows, row.Insert)
	}
}

// Close ends the last key and the sink behind.
func (c *CatchUpSink) Close() ([]table.DataFile, error) {
	c.stop()
	c.settle()
	c.last.Reset()
	if err := c.flush(); err != nil {
		c.sink.Abort()
		return nil, err
	}
	return c.sink.Close()
}

// Abort removes what was written.
func (c *CatchUpSink) Abort() {
	c.stop()
	c.sink.Abort()
}
