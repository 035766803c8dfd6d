package lsm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// RowDeduplicateSink leaves out of a changelog the updates that change nothing (changelog-producer.row-deduplicate). It is a
// FileSink of one bucket's records in order, where a -U comes right before its +U. A pair that an early flush cut, because
// rows are not spilled, stays.
type RowDeduplicateSink struct {
	sink FileSink
	cols []int      // that count
	held *KeyValues // a -U at the end of the last batch, or nothing
	out  *KeyValues
	idx  []int32
}

// DeduplicatedColumns returns the columns of s in which an update must change something to be in the changelog; nil when
// every update is (changelog-producer.row-deduplicate is not set).
func DeduplicatedColumns(s *table.Schema, o table.Options) ([]int, error) {
	if !o.Bool(table.KeyChangelogProducerRowDeduplicate) {
		return nil, nil
	}
	ignored := map[int]bool{}
	for name := range strings.SplitSeq(o.Get(table.KeyChangelogProducerRowDeduplicateIgnoreFields), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		i := s.FieldIndex(name)
		if i < 0 {
			return nil, fmt.Errorf("%w: %s names %q, which is no column", table.ErrOption, table.KeyChangelogProducerRowDeduplicateIgnoreFields.Name, name)
		}
		ignored[i] = true
	}
	keys := s.KeyIndexes() // rows of two keys are no pair, whatever is ignored
	cols := make([]int, 0, len(s.Fields))
	for i := range s.Fields {
		if !ignored[i] || slices.Contains(keys, i) {
			cols = append(cols, i)
		}
	}
	return cols, nil
}

// NewRowDeduplicateSink puts the filter before sink; cols are DeduplicatedColumns of schema s.
func NewRowDeduplicateSink(sink FileSink, s *table.Schema, cols []int) *RowDeduplicateSink {
	t := s.RowType()
	return &RowDeduplicateSink{sink: sink, cols: cols, held: NewKeyValues(t), out: NewKeyValues(t)}
}

// Write takes records in order.
func (d *RowDeduplicateSink) Write(kv *KeyValues) error {
	n, kinds := kv.Len(), kv.Rows.Kinds
	if n == 0 {
		return nil
	}
	from := 0
	if d.held.Len() > 0 {
		if kinds[0] == row.UpdateAfter && d.same(d.held.Rows, 0, kv.Rows, 0) {
			from = 1
		} else if err := d.sink.Write(d.held); err != nil {
			return err
		}
		d.held.Reset()
	}
	d.idx = d.idx[:0]
	for i := from; i < n; i++ {
		if kinds[i] != row.UpdateBefore {
			d.idx = append(d.idx, int32(i))
			continue
		}
		if i+1 == n {
			d.held.AppendRange(kv, i, n)
		} else if kinds[i+1] == row.UpdateAfter && d.same(kv.Rows, i, kv.Rows, i+1) {
			i++
		} else {
			d.idx = append(d.idx, int32(i))
		}
	}
	if len(d.idx) == n {
		return d.sink.Write(kv)
	}
	if len(d.idx) == 0 {
		return nil
	}
	d.out.gather(kv, d.idx)
	return d.sink.Write(d.out)
}

func (d *RowDeduplicateSink) same(a *row.Batch, i int, b *row.Batch, j int) bool {
	for _, c := range d.cols {
		if row.CompareValues(&a.Cols[c], i, &b.Cols[c], j) != 0 {
			return false
		}
	}
	return true
}

// Close ends the sink behind.
func (d *RowDeduplicateSink) Close() ([]table.DataFile, error) {
	if d.held.Len() > 0 {
		if err := d.sink.Write(d.held); err != nil {
			d.sink.Abort()
			return nil, err
		}
	}
	return d.sink.Close()
}

// Abort removes what was written.
func (d *RowDeduplicateSink) Abort() { d.sink.Abort() }
