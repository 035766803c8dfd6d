package aggregate

import "github.com/paimon-go/paimon-go/format/row"

// lastValue takes the newest value, NULL too.
type lastValue struct{ noState }

func (lastValue) Add(acc, in *row.Column, i int) error {
	Set(acc, in, i)
	return nil
}

func (lastValue) Retract(acc, _ *row.Column, _ int) error {
	SetNull(acc)
	return nil
}

// lastNonNull takes the newest value that is not NULL.
type lastNonNull struct{ noState }

func (lastNonNull) Add(acc, in *row.Column, i int) error {
	if !in.Nulls.Get(i) {
		Set(acc, in, i)
	}
	return nil
}

func (lastNonNull) Retract(acc, in *row.Column, i int) error {
	if !in.Nulls.Get(i) {
		SetNull(acc)
	}
	return nil
}

// primaryKey is for columns that all records of a key have in common.
type primaryKey struct{ noState }

func (primaryKey) Add(acc, in *row.Column, i int) error {
	Set(acc, in, i)
	return nil
}

func (primaryKey) Retract(acc, in *row.Column, i int) error {
	Set(acc, in, i)
	return nil
}

// firstValue takes the first value of the key, NULL too. Whether there was one is not seen from the cell.
type firstValue struct {
	noRetract
	seen bool
}

func (f *firstValue) Reset() { f.seen = false }

func (f *firstValue) Add(acc, in *row.Column, i int) error {
	if !f.seen {
		f.seen = true
		Set(acc, in, i)
	}
	return nil
}

// firstNonNull takes the first value of the key that is not NULL.
type firstNonNull struct {
	noRetract
	seen bool
}

func (f *firstNonNull) Reset() { f.seen = false }

func (f *firstNonNull) Add(acc, in *row.Column, i int) error {
	if !f.seen && !in.Nulls.Get(i) {
		f.seen = true
		Set(acc, in, i)
	}
	return nil
}

// extreme keeps the largest value, or the smallest.
type extreme struct {
	noState
	noRetract
	sign int // 1: largest, -1: smallest
}

func newMax(t *row.Type, _ params) (Func, error) { return newExtreme(t, 1) }
func newMin(t *row.Type, _ params) (Func, error) { return newExtreme(t, -1) }

func newExtreme(t *row.Type, sign int) (Func, error) {
	switch t.Root {
	case row.Boolean, row.Array, row.Map, row.Multiset, row.Row:
		return nil, needs("a type that has an order", t)
	}
	return extreme{sign: sign}, nil
}

func (f extreme) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) && row.CompareValues(in, i, acc, 0) == f.sign {
		Set(acc, in, i)
	}
	return nil
}

// boolAnd and boolOr join truth values.
type boolAnd struct {
	noState
	noRetract
}

type boolOr struct {
	noState
	noRetract
}

func newBoolAnd(t *row.Type, _ params) (Func, error) { return boolAnd{}, needsBool(t) }
func newBoolOr(t *row.Type, _ params) (Func, error)  { return boolOr{}, needsBool(t) }

func needsBool(t *row.Type) error {
	if t.Root != row.Boolean {
		return needs("BOOLEAN", t)
	}
	return nil
}

func (boolAnd) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		acc.I32[0] &= in.I32[i]
	}
	return nil
}

func (boolOr) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		acc.I32[0] |= in.I32[i]
	}
	return nil
}
