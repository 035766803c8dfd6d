package aggregate

import "github.com/paimon-go/paimon-go/format/row"

// collect joins arrays; distinct keeps each element once.
type collect struct {
	noState
	distinct bool
	bytes    bool // elements are bytes
	nested   bool // elements are arrays, maps or rows: the cell is taken to be distinct already
	seen     index
	left     []int // of element n of seen: how often it is to be taken back
	out      row.Column
}

func newCollect(t *row.Type, p params) (Func, error) {
	if t.Root != row.Array {
		return nil, needs("ARRAY", t)
	}
	distinct, err := p.bool("distinct")
	if err != nil {
		return nil, err
	}
	f := &collect{distinct: distinct, bytes: t.Elem.Root == row.Binary || t.Elem.Root == row.VarBinary}
	switch t.Elem.Root {
	case row.Array, row.Map, row.Multiset, row.Row:
		f.nested = true
	}
	f.out.Init(t)
	return f, nil
}

func (f *collect) Add(acc, in *row.Column, i int) error {
	accNull, inNull := acc.Nulls.Get(0), in.Nulls.Get(i)
	switch {
	case accNull && inNull:
		return nil
	case !f.distinct:
		if !skipNull(acc, in, i) {
			acc.Kids[0].AppendRange(&in.Kids[0], int(in.Off[i]), int(in.Off[i+1]))
			acc.Off[1] = uint32(acc.Kids[0].N)
		}
		return nil
	}
	f.seen.reset()
	f.out.Reset()
	if !accNull {
		f.take(acc, 0, f.nested)
	}
	if !inNull {
		f.take(in, i, false)
	}
	f.out.EndList()
	exchange(acc, &f.out)
	return nil
}

// take adds the elements of array i of c that were not seen before to out; all of them when asked.
func (f *collect) take(c *row.Column, i int, all bool) {
	elems := &c.Kids[0]
	for j := int(c.Off[i]); j < int(c.Off[i+1]); j++ {
		f.seen.keys = appendValue(f.seen.keys, elems, j)
		if _, found := f.seen.add(); !found || all {
			f.out.Kids[0].AppendFrom(elems, j)
		}
	}
}

// stays tells whether a retract never removes element j. Java compares bytes by identity there, so that those of another
// record are never the same. (With distinct it does so, too, and which of two equal ones it drops depends on how a file was
// encoded; here each is kept once.)
func (f *collect) stays(elems *row.Column, j int) bool { return f.bytes && !elems.Nulls.Get(j) }

// addReversed keeps the order: the older elements come last.
func (f *collect) addReversed(acc, in *row.Column, i int) error { return f.Add(acc, in, i) }

// Retract removes each element once for each time that it is taken back.
func (f *collect) Retract(acc, in *row.Column, i int) error {
	if either(acc, in, i) || in.Off[i] == in.Off[i+1] {
		return nil
	}
	f.seen.reset()
	f.left = f.left[:0]
	for j := int(in.Off[i]); j < int(in.Off[i+1]); j++ {
		if f.stays(&in.Kids[0], j) {
			continue
		}
		f.seen.keys = appendValue(f.seen.keys, &in.Kids[0], j)
		n, found := f.seen.add()
		if !found {
			f.left = append(f.left, 0)
		}
		f.left[n]++
	}
	f.out.Reset()
	elems := &acc.Kids[0]
	for j := range elems.N {
		if !f.stays(elems, j) {
			f.seen.keys = appendValue(f.seen.keys, elems, j)
			if n := f.seen.find(); n >= 0 && f.left[n] > 0 {
				f.left[n]--
				continue
			}
		}
		f.out.Kids[0].AppendFrom(elems, j)
	}
	f.out.EndList()
	exchange(acc, &f.out)
	return nil
}
