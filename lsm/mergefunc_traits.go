package lsm

import (
	"errors"
	"fmt"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// ErrRefusedRecord is wrapped when the merge engine of a table doesn't take a record, such as a -D in a table of
// merge-engine=first-row. The error says which record and which option helps.
var ErrRefusedRecord = errors.New("the merge engine of the table doesn't take a record")

// MergeTraits is what a writer must know of a table's merge engine.
type MergeTraits struct {
	// Folds: records of a key are folded one by one, so that all of them are needed. Otherwise the last one stays.
	Folds bool
	// UsesBefore: a -U changes the outcome, though the +U of the row follows it.
	UsesBefore bool
	// NotRepeatable says why records must not be merged a second time, "" when that makes no difference.
	NotRepeatable string
	// Refuses is an error about a kind of record that the engine doesn't take, nil if there is none.
	Refuses error
}

// TraitsOf returns the traits of a merge function, under the effective options o.
func TraitsOf(f MergeFunc, o table.Options) MergeTraits {
	t := MergeTraits{Folds: true}
	switch f := f.(type) {
	case *Deduplicate:
		t.Folds = false
	case *firstRow:
		t.Refuses = firstRowRetract(row.Delete)
	case *partialUpdate:
		t.UsesBefore = len(f.groups) > 0
		if !t.UsesBefore && !f.removeOnDelete {
			t.Refuses = errPartialDelete
		}
		for c := range f.cols {
			if fn := f.cols[c].fn; fn != nil && f.cols[c].group >= 0 && !f.cols[c].key {
				t.add(fn)
			}
		}
	case *aggregation:
		t.UsesBefore = true
		for _, fn := range f.cols {
			t.add(fn)
		}
	}
	if o.Bool(table.KeyIgnoreDelete) {
		t.Refuses = nil // they never get there
	}
	return t
}

// columnFunction is what add asks of a column's aggregate.
type columnFunction interface {
	String() string
	Repeatable() bool
	Retractable() error
}

func (t *MergeTraits) add(fn columnFunction) {
	if t.NotRepeatable == "" && !fn.Repeatable() {
		t.NotRepeatable = fn.String()
	}
	if t.Refuses == nil {
		t.Refuses = fn.Retractable()
	}
}

// refused makes an error of a merge function one about record i of kv, whose key columns are given.
func refused(err error, kv *KeyValues, i int, keys []int) error {
	fields := make([]row.Field, len(keys))
	b := &row.Batch{N: kv.Len(), Kinds: kv.Rows.Kinds, Cols: make([]row.Column, len(keys))}
	for k, c := range keys {
		fields[k], b.Cols[k] = kv.Rows.Type.Fields[c], kv.Rows.Cols[c]
	}
	typ := row.NewRow(fields...)
	b.Type = &typ
	return fmt.Errorf("%w: key %s: %w", ErrRefusedRecord, row.AppendJSONRow(nil, b, i, true), err)
}
