package lsm

import "github.com/paimon-go/paimon-go/format/row"

// The columns of a key-value file besides the table's own, with the field ids that Java gives them (SpecialFields).
const (
	keyPrefix    = "_KEY_"
	keyIDOffset  = 1<<30 - 1 // Integer.MAX_VALUE / 2, added to the id of the key's column
	seqColumn    = "_SEQUENCE_NUMBER"
	seqColumnID  = 1<<31 - 2
	kindColumn   = "_VALUE_KIND"
	kindColumnID = 1<<31 - 3
)

var (
	bigintNotNull  = row.Type{Root: row.BigInt}
	tinyintNotNull = row.Type{Root: row.TinyInt}
)

// layout says which columns the files of one schema version have, in this order:
//
//	_KEY_<k>, ...      the trimmed primary key, NOT NULL, in key order (none in thin mode)
//	_SEQUENCE_NUMBER   BIGINT NOT NULL
//	_VALUE_KIND        TINYINT NOT NULL
//	...                all columns of the table, partition columns included
//
// The key columns repeat value columns, so a batch to write shares their memory.
type layout struct {
	value    *row.Type
	keys     []int // positions of the trimmed primary key among the value columns
	physical *row.Type
	first    int // position of the first value column in physical
}

func newLayout(value *row.Type, keys []int, thin bool) *layout {
	l := &layout{value: value, keys: keys}
	var fields []row.Field
	if !thin {
		for _, k := range keys {
			f := value.Fields[k]
			t := f.Type
			t.Nullable = false
			fields = append(fields, row.Field{ID: f.ID + keyIDOffset, Name: keyPrefix + f.Name, Type: t})
		}
	}
	fields = append(fields,
		row.Field{ID: seqColumnID, Name: seqColumn, Type: bigintNotNull},
		row.Field{ID: kindColumnID, Name: kindColumn, Type: tinyintNotNull})
	l.first = len(fields)
	fields = append(fields, value.Fields...)
	t := row.NewRow(fields...)
	l.physical = &t
	return l
}

// assemble makes dst, a batch of the physical type, a view of kv. kinds is scratch memory for the kind column and is
// returned for the next call. The view ends when kv changes.
func (l *layout) assemble(dst *row.Batch, kv *KeyValues, kinds []int32) []int32 {
	kinds = kinds[:0]
	for _, k := range kv.Rows.Kinds {
		kinds = append(kinds, int32(k))
	}
	n := kv.Rows.N
	dst.N = n
	view := func(at int, c row.Column) {
		c.Type = &l.physical.Fields[at].Type
		dst.Cols[at] = c
	}
	if l.first > 2 {
		for i, k := range l.keys {
			view(i, kv.Rows.Cols[k])
		}
	}
	view(l.first-2, row.Column{N: n, I64: kv.Seq})
	view(l.first-1, row.Column{N: n, I32: kinds})
	for i, c := range kv.Rows.Cols {
		view(l.first+i, c)
	}
	return kinds
}
