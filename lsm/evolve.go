package lsm

import (
	"fmt"

	"github.com/paimon-go/paimon-go/format/row"
)

// A data file is written with the schema of its time, and read as the table is now. Columns are matched by field id:
//
//	file (schema 2)                 target (schema 5)
//	1 id    INT                     1 id    INT                 the same
//	2 name  STRING                  2 title STRING              renamed: the same
//	3 price FLOAT                   3 price DOUBLE              cast, value by value
//	4 gone  DATE                                                dropped: not read
//	                                6 new   INT                 null
//
// Nested ROW fields go by the same rules, inside arrays and map values too (Java's SchemaEvolutionUtil).

// convert appends the values of src, a column as it was written, to dst, a column of the target's type.
type convert func(dst, src *row.Column) error

// newConvert returns how values of one type become values of another, nil when they are the same in memory.
func newConvert(from, to *row.Type) (convert, error) {
	if sameValues(from, to) {
		return nil, nil
	}
	switch {
	case from.Root == row.Row && to.Root == row.Row:
		return rowConvert(from, to)
	case from.Root == row.Array && to.Root == row.Array:
		return listConvert(from.Elem, to.Elem)
	case from.Root == row.Map && to.Root == row.Map:
		if !sameValues(from.Key, to.Key) {
			return nil, castError(from, to)
		}
		return listConvert(from.Elem, to.Elem)
	}
	c := newCast(from, to)
	if c == nil {
		return nil, castError(from, to)
	}
	return func(dst, src *row.Column) error {
		for i := range src.N {
			if src.IsNull(i) {
				dst.AppendNull()
			} else if err := c(dst, src, i); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func castError(from, to *row.Type) error {
	return fmt.Errorf("%w: values written as %s are not read as %s", ErrUnsupported, from, to)
}

// sameValues reports whether columns of both types hold the same values in the same slices, whatever the names.
func sameValues(a, b *row.Type) bool {
	if a.Root != b.Root || a.Length != b.Length || a.Precision != b.Precision || a.Scale != b.Scale || len(a.Fields) != len(b.Fields) {
		return false
	}
	for i := range a.Fields {
		if a.Fields[i].ID != b.Fields[i].ID || !sameValues(&a.Fields[i].Type, &b.Fields[i].Type) {
			return false
		}
	}
	return sameOrNil(a.Elem, b.Elem) && sameOrNil(a.Key, b.Key)
}

func sameOrNil(a, b *row.Type) bool {
	return a == nil && b == nil || a != nil && b != nil && sameValues(a, b)
}

// fieldByID returns the position of a field, or -1.
func fieldByID(fields []row.Field, id int) int {
	for i := range fields {
		if fields[i].ID == id {
			return i
		}
	}
	return -1
}

// rowConvert converts a nested ROW field by field.
func rowConvert(from, to *row.Type) (convert, error) {
	source := make([]int, len(to.Fields))
	casts := make([]convert, len(to.Fields))
	for i := range to.Fields {
		if source[i] = fieldByID(from.Fields, to.Fields[i].ID); source[i] < 0 {
			continue
		}
		var err error
		if casts[i], err = newConvert(&from.Fields[source[i]].Type, &to.Fields[i].Type); err != nil {
			return nil, fmt.Errorf("field %s: %w", to.Fields[i].Name, err)
		}
	}
	return func(dst, src *row.Column) error {
		appendNulls(dst, src)
		for i := range dst.Kids {
			if source[i] < 0 {
				for range src.N {
					dst.Kids[i].AppendNull()
				}
			} else if err := convertOrCopy(casts[i], &dst.Kids[i], &src.Kids[source[i]]); err != nil {
				return err
			}
		}
		dst.N += src.N
		return nil
	}, nil
}

// listConvert converts the elements of an ARRAY, or the values of a MAP.
func listConvert(from, to *row.Type) (convert, error) {
	elem, err := newConvert(from, to)
	if err != nil {
		return nil, err
	}
	return func(dst, src *row.Column) error {
		appendNulls(dst, src)
		base := dst.Off[dst.N]
		for i := range src.N {
			dst.Off = append(dst.Off, base+src.Off[i+1])
		}
		last := len(src.Kids) - 1
		if last == 1 {
			dst.Kids[0].AppendRange(&src.Kids[0], 0, src.Kids[0].N)
		}
		dst.N += src.N
		return convertOrCopy(elem, &dst.Kids[last], &src.Kids[last])
	}, nil
}

// appendNulls appends only the nulls of src.
func appendNulls(dst, src *row.Column) {
	if !src.HasNulls() {
		return
	}
	for i := range src.N {
		if src.IsNull(i) {
			dst.Nulls.Set(dst.N + i)
		}
	}
}

func convertOrCopy(c convert, dst, src *row.Column) error {
	if c != nil {
		return c(dst, src)
	}
	dst.AppendRange(src, 0, src.N)
	return nil
}
