package lsm

import (
	"errors"
	"fmt"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm/aggregate"
	"github.com/paimon-go/paimon-go/table"
)

// partialUpdate takes for each column the newest value that is not NULL. With sequence groups a column of a group follows
// the group's own sequence columns instead of the order of the records: newer and equal records replace it, NULL included,
// older ones don't touch it; where it has a function, both are merged into it.
//
// The row of a key whose first record is a retract begins with that record's values, and what a -D leaves where it removes
// the row are its values, too: a later partial record is laid over them, as in Java 1.4. The result is a Delete when the
// last record removed the row or when no record but retracts was seen, otherwise an Insert.
type partialUpdate struct {
	row            mergedRow
	cols           []partialColumn
	groups         []sequenceGroup
	ignoreDelete   bool
	removeOnDelete bool

	begun   bool // the row has values of a record
	added   bool // a record that is no retract was seen
	deleted bool // the last record removed the row
	seq     int64
}

// partialColumn is how a column of partialUpdate behaves.
type partialColumn struct {
	group    int  // -1: none
	sequence bool // it is a sequence column of its group
	key      bool
	fn       *aggregate.Column // nil: none
}

// sequenceGroup is some columns and those that order their values.
type sequenceGroup struct {
	option   string // its key
	sequence []int
	removes  bool // a -D that is not older removes the row

	order groupOrder // of the record at hand
}

// groupOrder is how a record stands to the row in the eyes of a sequence group.
type groupOrder uint8

const (
	groupNone  groupOrder = iota // all sequence columns of the record are NULL: it has nothing for the group
	groupOlder                   // it comes before the row
	groupNewer                   // it comes after, or with it
)

func (p *partialUpdate) Reset() {
	p.begun, p.added, p.deleted, p.seq = false, false, false, 0
	p.row.clear()
	for c := range p.cols {
		if fn := p.cols[c].fn; fn != nil {
			fn.Reset()
		}
	}
}

func (p *partialUpdate) Add(kv *KeyValues, i int) error {
	p.deleted = false
	if kind := kv.Rows.Kinds[i]; kind.IsRetract() {
		return p.retract(kv, i, kind)
	}
	p.seq, p.begun, p.added = kv.Seq[i], true, true
	if len(p.groups) == 0 {
		return p.update(kv, i)
	}
	return p.updateGroups(kv, i)
}

// update lays the record over the row.
func (p *partialUpdate) update(kv *KeyValues, i int) error {
	for c := range p.row.cells {
		in := &kv.Rows.Cols[c]
		if !in.Nulls.Get(i) {
			aggregate.Set(&p.row.cells[c], in, i)
		} else if !in.Type.Nullable {
			return nullInNotNull(kv, c)
		}
	}
	return nil
}

// compare notes for each group how the record stands to the row.
func (p *partialUpdate) compare(kv *KeyValues, i int) {
	for g := range p.groups {
		group := &p.groups[g]
		group.order = groupNone
		for _, c := range group.sequence {
			if !kv.Rows.Cols[c].Nulls.Get(i) {
				group.order = groupNewer
				break
			}
		}
		if group.order == groupNone {
			continue
		}
		for _, c := range group.sequence {
			if r := row.CompareValues(&kv.Rows.Cols[c], i, &p.row.cells[c], 0); r != 0 {
				if r < 0 {
					group.order = groupOlder
				}
				break
			}
		}
	}
}

func (p *partialUpdate) updateGroups(kv *KeyValues, i int) error {
	p.compare(kv, i)
	for c := range p.cols {
		col, cell, in := &p.cols[c], &p.row.cells[c], &kv.Rows.Cols[c]
		order := groupNewer
		if col.group >= 0 && !col.key {
			order = p.groups[col.group].order
		}
		var err error
		switch {
		case order == groupNone:
		case col.fn != nil && order == groupNewer:
			err = col.fn.Add(cell, in, i)
		case col.fn != nil:
			err = col.fn.AddReversed(cell, in, i)
		case order == groupNewer && (col.group >= 0 || !in.Nulls.Get(i)):
			aggregate.Set(cell, in, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var errPartialDelete = errors.New("merge-engine partial-update takes no -U or -D by itself: set ignore-delete=true to skip such " +
	"records, partial-update.remove-record-on-delete=true to remove the row, or sequence groups to take back their columns")

func (p *partialUpdate) retract(kv *KeyValues, i int, kind row.Kind) error {
	if !p.begun {
		if err := p.row.set(kv, i); err != nil {
			return err
		}
		p.begun = true
	}
	if p.ignoreDelete {
		return nil
	}
	p.seq = kv.Seq[i]
	switch {
	case len(p.groups) > 0:
		return p.retractGroups(kv, i, kind)
	case !p.removeOnDelete:
		return errPartialDelete
	case kind == row.Delete:
		return p.remove(kv, i)
	}
	return nil
}

// remove deletes the row. Its values become those of the record.
func (p *partialUpdate) remove(kv *KeyValues, i int) error {
	p.deleted = true
	return p.row.set(kv, i)
}

// retractGroups takes the record back from each group that it has something for; other columns stay.
func (p *partialUpdate) retractGroups(kv *KeyValues, i int, kind row.Kind) error {
	p.compare(kv, i)
	for c := range p.cols {
		col, cell, in := &p.cols[c], &p.row.cells[c], &kv.Rows.Cols[c]
		if col.group < 0 {
			continue
		}
		group := &p.groups[col.group]
		switch {
		case group.order == groupNone:
		case col.sequence:
			if group.order == groupOlder {
				continue
			}
			if group.removes && kind == row.Delete {
				return p.remove(kv, i)
			}
			aggregate.Set(cell, in, i)
		case col.fn != nil:
			if err := col.fn.Retract(cell, in, i); err != nil {
				return err
			}
		case group.order == groupNewer:
			aggregate.SetNull(cell)
		}
	}
	return nil
}

func (p *partialUpdate) Result(out *KeyValues) error {
	kind := row.Insert
	if p.deleted || !p.added {
		kind = row.Delete
	}
	p.row.appendTo(out, kind, p.seq)
	return nil
}

// excludeEachOther is the error of options that contradict each other.
func excludeEachOther(a, b string) error {
	return fmt.Errorf("%w: %s and %s exclude each other", table.ErrOption, a, b)
}
