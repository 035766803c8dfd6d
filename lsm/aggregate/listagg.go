package aggregate

import (
	"bytes"

	"github.com/paimon-go/paimon-go/format/row"
)

// listAgg joins strings with a delimiter between them.
type listAgg struct {
	noState
	noRetract
	delimiter []byte
	split     []byte // what separates the words of a string; nil: they may be there twice
	words     index
}

func newListAgg(t *row.Type, p params) (Func, error) {
	if t.Root != row.VarChar || t.Length != row.MaxLength {
		return nil, needs("STRING", t)
	}
	delimiter, ok := p.get("list-agg-delimiter")
	if !ok {
		delimiter = ","
	}
	distinct, err := p.bool("distinct")
	if err != nil {
		return nil, err
	}
	f := &listAgg{delimiter: []byte(delimiter)}
	if distinct {
		if f.split = f.delimiter; len(f.split) == 0 {
			f.split = []byte(" ") // as Java does
		}
	}
	return f, nil
}

func (f *listAgg) Add(acc, in *row.Column, i int) error {
	if skipNull(acc, in, i) {
		return nil
	}
	v := in.Value(i)
	switch {
	case len(v) == 0:
		return nil
	case len(acc.Bytes) == 0:
		acc.Bytes = append(acc.Bytes, v...)
	case f.split != nil:
		f.addWords(acc, v)
	default:
		acc.Bytes = append(append(acc.Bytes, f.delimiter...), v...)
	}
	acc.Off[1] = uint32(len(acc.Bytes))
	return nil
}

// addWords appends the words of v that are new.
func (f *listAgg) addWords(acc *row.Column, v []byte) {
	f.words.reset()
	for w, rest := f.cut(acc.Bytes); ; w, rest = f.cut(rest) {
		f.words.keys = append(f.words.keys, w...)
		f.words.add()
		if rest == nil {
			break
		}
	}
	for w, rest := f.cut(v); ; w, rest = f.cut(rest) {
		if len(w) > 0 {
			f.words.keys = append(f.words.keys, w...)
			if _, found := f.words.add(); !found {
				acc.Bytes = append(append(acc.Bytes, f.delimiter...), w...)
			}
		}
		if rest == nil {
			return
		}
	}
}

// cut returns the first word of v and the rest, nil after the last.
func (f *listAgg) cut(v []byte) (word, rest []byte) {
	word, rest, ok := bytes.Cut(v, f.split)
	if !ok {
		return word, nil
	}
	return word, rest[:len(rest):len(rest)]
}
