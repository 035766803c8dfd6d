package aggregate

import (
	"fmt"

	"github.com/paimon-go/paimon-go/format/row"
)

// nestedUpdate joins arrays of rows, a table within the row. With a key the newest row of a key stays. NULL rows are
// dropped where two arrays meet.
type nestedUpdate struct {
	noState
	key   []int // fields; none: rows are different from each other
	limit int   // most rows that an array may have before more are added
	rows  index
	at    []nestedRow // of each key
	out   row.Column
}

// nestedRow is row at of the elements of side 0, the cell, or 1.
type nestedRow struct {
	side int8
	at   int32
}

func needsRows(t *row.Type) error {
	if t.Root != row.Array || t.Elem.Root != row.Row {
		return needs("ARRAY of rows", t)
	}
	return nil
}

func newNestedUpdate(t *row.Type, p params) (Func, error) {
	if err := needsRows(t); err != nil {
		return nil, err
	}
	for _, name := range []string{"nested-sequence-field", "nested-key-null-strategy"} { // of Paimon 2.0
		if _, ok := p.get(name); ok {
			return nil, fmt.Errorf("is not supported with %s", p.key(name))
		}
	}
	f := &nestedUpdate{}
	var err error
	if f.key, err = p.nestedKey(t.Elem); err != nil {
		return nil, err
	}
	if f.limit, err = p.countLimit(); err != nil {
		return nil, err
	}
	f.out.Init(t)
	return f, nil
}

func (f *nestedUpdate) Add(acc, in *row.Column, i int) error {
	if skipNull(acc, in, i) {
		return nil
	}
	have := int(acc.Off[1])
	if have >= f.limit {
		return nil
	}
	f.rows.reset()
	f.at = f.at[:0]
	f.take(acc, 0, 0, have)
	f.take(in, i, 1, f.limit-have)
	f.out.Reset()
	sides := [2]*row.Column{&acc.Kids[0], &in.Kids[0]}
	for _, r := range f.at {
		f.out.Kids[0].AppendFrom(sides[r.side], int(r.at))
	}
	f.out.EndList()
	exchange(acc, &f.out)
	return nil
}

// take notes at most limit rows of array i of c.
func (f *nestedUpdate) take(c *row.Column, i int, side int8, limit int) {
	rows := &c.Kids[0]
	for j := int(c.Off[i]); j < int(c.Off[i+1]) && limit > 0; j++ {
		if rows.Nulls.Get(j) {
			continue
		}
		limit--
		r := nestedRow{side, int32(j)}
		if f.key == nil {
			f.at = append(f.at, r)
			continue
		}
		f.rows.keys = appendFields(f.rows.keys, rows, j, f.key)
		if n, found := f.rows.add(); found {
			f.at[n] = r
		} else {
			f.at = append(f.at, r)
		}
	}
}

// Retract removes the rows of the same keys, or those that are the same altogether.
func (f *nestedUpdate) Retract(acc, in *row.Column, i int) error {
	if either(acc, in, i) {
		return nil
	}
	f.rows.reset()
	gone := &in.Kids[0]
	for j := int(in.Off[i]); j < int(in.Off[i+1]); j++ {
		if !gone.Nulls.Get(j) {
			f.identify(gone, j)
			f.rows.add()
		}
	}
	taken := len(f.rows.ends)
	f.at = f.at[:0]
	rows := &acc.Kids[0]
	for j := range rows.N {
		if rows.Nulls.Get(j) {
			continue
		}
		f.identify(rows, j)
		r := nestedRow{0, int32(j)}
		if f.key == nil {
			if f.rows.find() < 0 {
				f.at = append(f.at, r)
			}
			continue
		}
		switch n, found := f.rows.add(); {
		case n < taken:
		case found:
			f.at[n-taken] = r
		default:
			f.at = append(f.at, r)
		}
	}
	f.out.Reset()
	for _, r := range f.at {
		f.out.Kids[0].AppendFrom(rows, int(r.at))
	}
	f.out.EndList()
	exchange(acc, &f.out)
	return nil
}

// identify appends what tells row j apart.
func (f *nestedUpdate) identify(rows *row.Column, j int) {
	if f.key == nil {
		f.rows.keys = appendValue(f.rows.keys, rows, j)
	} else {
		f.rows.keys = appendFields(f.rows.keys, rows, j, f.key)
	}
}

// nestedPartialUpdate joins arrays of rows: of the rows of a key each field's newest value that is not NULL stays.
type nestedPartialUpdate struct {
	noState
	noRetract
	key  []int
	keys index
	at   []nestedRow
	out  row.Column
}

func newNestedPartialUpdate(t *row.Type, p params) (Func, error) {
	if err := needsRows(t); err != nil {
		return nil, err
	}
	key, err := p.nestedKey(t.Elem)
	if err != nil {
		return nil, err
	}
	if key == nil {
		return nil, errNeedsKey
	}
	f := &nestedPartialUpdate{key: key}
	f.out.Init(t)
	return f, nil
}

func (f *nestedPartialUpdate) Add(acc, in *row.Column, i int) error {
	if skipNull(acc, in, i) {
		return nil
	}
	f.keys.reset()
	f.at = f.at[:0]
	f.take(acc, 0, 0)
	f.take(in, i, 1)
	f.out.Reset()
	rows := &f.out.Kids[0]
	sides := [2]*row.Column{&acc.Kids[0], &in.Kids[0]}
	width := len(rows.Kids)
	for n := range len(f.keys.ends) {
		for k := range rows.Kids {
			r := f.at[n*width+k]
			if r.side < 0 {
				rows.Kids[k].AppendNull()
			} else {
				rows.Kids[k].AppendFrom(&sides[r.side].Kids[k], int(r.at))
			}
		}
		rows.EndNested()
	}
	f.out.EndList()
	exchange(acc, &f.out)
	return nil
}

// take notes where the newest value of each field of each key lies.
func (f *nestedPartialUpdate) take(c *row.Column, i int, side int8) {
	rows := &c.Kids[0]
	width := len(rows.Kids)
	for j := int(c.Off[i]); j < int(c.Off[i+1]); j++ {
		if rows.Nulls.Get(j) {
			continue
		}
		f.keys.keys = appendFields(f.keys.keys, rows, j, f.key)
		n, found := f.keys.add()
		if !found {
			for range width {
				f.at = append(f.at, nestedRow{side: -1})
			}
		}
		for k := range rows.Kids {
			if !rows.Kids[k].Nulls.Get(j) {
				f.at[n*width+k] = nestedRow{side, int32(j)}
			}
		}
	}
}
