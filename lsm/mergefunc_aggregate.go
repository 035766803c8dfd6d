package lsm

import (
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm/aggregate"
	"github.com/paimon-go/paimon-go/table"
)

// aggregation merges each column by its function. The result is an Insert with the sequence number of the last record, or a
// Delete when that record is a -D and aggregation.remove-record-on-delete is set. The values of a row that was so deleted
// are what later records of the same merge are added to, as in Java 1.4.
type aggregation struct {
	row            mergedRow
	cols           []*aggregate.Column
	removeOnDelete bool

	kind row.Kind
	seq  int64
}

func newAggregation(s *table.Schema, o table.Options) (*aggregation, error) {
	a := &aggregation{row: newMergedRow(s.RowType()), removeOnDelete: o.Bool(table.KeyAggregationRemoveRecordOnDelete)}
	if err := checkFunctions(s, o); err != nil {
		return nil, err
	}
	sequence := o.List(table.KeySequenceField)
	for i := range s.Fields {
		f := &s.Fields[i]
		name := aggregate.LastNonNull
		if slices.Contains(sequence, f.Name) {
			name = aggregate.LastValue
		} else if slices.Contains(s.PrimaryKeys, f.Name) {
			name = aggregate.PrimaryKey
		} else if n, _ := aggregate.Name(f.Name, o); n != "" {
			name = n
		}
		c, err := aggregate.New(f, name, o)
		if err != nil {
			return nil, err
		}
		a.cols = append(a.cols, c)
	}
	return a, nil
}

// checkFunctions checks that the functions exist that options name for columns, those without effect too, as in Java.
func checkFunctions(s *table.Schema, o table.Options) error {
	for i := range s.Fields {
		if name, key := aggregate.Name(s.Fields[i].Name, o); key != "" {
			if err := aggregate.CheckName(name, key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *aggregation) Reset() {
	a.row.clear()
	for _, c := range a.cols {
		c.Reset()
	}
}

func (a *aggregation) Add(kv *KeyValues, i int) error {
	kind := kv.Rows.Kinds[i]
	a.kind, a.seq = row.Insert, kv.Seq[i]
	switch {
	case kind == row.Delete && a.removeOnDelete:
		a.kind = row.Delete
		return a.row.set(kv, i)
	case kind.IsRetract():
		for c, col := range a.cols {
			if err := col.Retract(&a.row.cells[c], &kv.Rows.Cols[c], i); err != nil {
				return err
			}
		}
		return nil
	}
	for c, col := range a.cols {
		if err := col.Add(&a.row.cells[c], &kv.Rows.Cols[c], i); err != nil {
			return err
		}
	}
	return nil
}

func (a *aggregation) Result(out *KeyValues) error {
	a.row.appendTo(out, a.kind, a.seq)
	return nil
}
