package lsm

import (
	"fmt"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm/aggregate"
	"github.com/paimon-go/paimon-go/table"
)

// MergeFunc folds the records of one key into at most one. They come from the oldest to the newest: in the order of the
// user-defined sequence and then of the sequence number. It is asked only when a key has more than one record: a single
// one stays as it is, as in Java (ReducerMergeFunctionWrapper), so that a lone -D is written as -D under every engine.
// Not safe for concurrent use.
type MergeFunc interface {
	// Reset begins a key.
	Reset()
	// Add takes record i of kv, which may change once Add has returned.
	Add(kv *KeyValues, i int) error
	// Result appends the outcome, if there is one, to out.
	Result(out *KeyValues) error
}

// NewMergeFunc returns the merge function of a table's rows: of all of schema's columns, under the effective options o. An
// error wraps table.ErrOption and names the option or the column that is not valid or not supported.
func NewMergeFunc(schema *table.Schema, o table.Options) (MergeFunc, error) {
	switch e := strings.ToLower(o.Get(table.KeyMergeEngine)); e {
	case "deduplicate":
		return NewDeduplicate(schema.RowType(), o.Bool(table.KeyIgnoreDelete)), nil
	case "first-row":
		return newFirstRow(schema.RowType(), o.Bool(table.KeyIgnoreDelete)), nil
	case "partial-update":
		return newPartialUpdate(schema, o)
	case "aggregation":
		return newAggregation(schema, o)
	default:
		return nil, fmt.Errorf("merge-engine=%s is not supported: %w", e, table.ErrOption)
	}
}

// Deduplicate keeps the last record with its own kind and sequence number.
type Deduplicate struct {
	last         mergedRow
	kind         row.Kind
	seq          int64
	some         bool // there is one
	ignoreDelete bool
}

// NewDeduplicate returns the function for rows of type t. With ignoreDelete retracts (-U and -D) are skipped.
func NewDeduplicate(t *row.Type, ignoreDelete bool) *Deduplicate {
	return &Deduplicate{last: newMergedRow(t), ignoreDelete: ignoreDelete}
}

// Reset begins a key.
func (d *Deduplicate) Reset() { d.some = false }

// Add takes a record.
func (d *Deduplicate) Add(kv *KeyValues, i int) error {
	kind := kv.Rows.Kinds[i]
	if d.ignoreDelete && kind.IsRetract() {
		return nil
	}
	for c := range d.last.cells {
		aggregate.Set(&d.last.cells[c], &kv.Rows.Cols[c], i)
	}
	d.some, d.kind, d.seq = true, kind, kv.Seq[i]
	return nil
}

// Result appends the last record, if any was kept.
func (d *Deduplicate) Result(out *KeyValues) error {
	if d.some {
		d.last.appendTo(out, d.kind, d.seq)
	}
	return nil
}

// firstRow keeps the first record.
type firstRow struct {
	first        *KeyValues
	ignoreDelete bool
}

func newFirstRow(t *row.Type, ignoreDelete bool) *firstRow {
	return &firstRow{first: NewKeyValues(t), ignoreDelete: ignoreDelete}
}

func (f *firstRow) Reset() { f.first.Reset() }

func (f *firstRow) Add(kv *KeyValues, i int) error {
	if kind := kv.Rows.Kinds[i]; kind.IsRetract() {
		if f.ignoreDelete {
			return nil
		}
		return firstRowRetract(kind)
	}
	if f.first.Len() == 0 {
		f.first.AppendRange(kv, i, i+1)
	}
	return nil
}

func firstRowRetract(kind row.Kind) error {
	return fmt.Errorf("merge-engine first-row takes no %s; set ignore-delete=true to skip such records", kind)
}

func (f *firstRow) Result(out *KeyValues) error {
	out.AppendRange(f.first, 0, f.first.Len())
	return nil
}

// reducer feeds a merge function with a stream of records in order, key by key. Unlike Java's it asks the function of a lone
// retract, too, though the record stays as it is: one that the function doesn't take would be an error of every reader and
// compaction to come, once the key has another record.
type reducer struct {
	merge      MergeFunc
	keys       []int      // columns of the key
	dropBefore bool       // -U records don't count
	first      *KeyValues // the key's first record
	n          int        // records of the key so far
	newKey     bool       // a record that was dropped was the first of its key
}

// add takes record i of kv; newKey tells that its key is not that of the record before.
func (r *reducer) add(kv *KeyValues, i int, newKey bool, out *KeyValues) error {
	if newKey = newKey || r.newKey; r.dropBefore && kv.Rows.Kinds[i] == row.UpdateBefore {
		r.newKey = newKey
		return nil
	}
	if r.newKey = false; newKey {
		if err := r.finish(out); err != nil {
			return err
		}
		r.first.AppendRange(kv, i, i+1)
		r.n = 1
		return nil
	}
	if r.n == 1 {
		if err := r.begin(); err != nil {
			return err
		}
	}
	r.n++
	return r.merged(kv, i)
}

// begin gives the function the key's first record.
func (r *reducer) begin() error {
	r.merge.Reset()
	return r.merged(r.first, 0)
}

func (r *reducer) merged(kv *KeyValues, i int) error {
	if err := r.merge.Add(kv, i); err != nil {
		return refused(err, kv, i, r.keys)
	}
	return nil
}

// finish appends the outcome of the key under way.
func (r *reducer) finish(out *KeyValues) error {
	n := r.n
	if r.n = 0; n == 1 {
		if r.first.Rows.Kinds[0].IsRetract() {
			if err := r.begin(); err != nil {
				return err
			}
		}
		out.AppendRange(r.first, 0, 1)
	}
	r.first.Reset()
	if n > 1 {
		return r.merge.Result(out)
	}
	return nil
}

// reset forgets the key under way.
func (r *reducer) reset() {
	r.merge, r.n, r.newKey = nil, 0, false
	r.first.Reset()
}
