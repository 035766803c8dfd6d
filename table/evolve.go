package table

import (
	"fmt"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
)

// EvolveOptions are the type mappings that bear on how a table follows its source.
type EvolveOptions struct {
	// DecimalNoChange: a DECIMAL column stays as it is.
	DecimalNoChange bool
	// NonStringToString: a column of any type may become a string.
	NonStringToString bool
}

// Evolve returns the changes that let the table hold rows with the given columns, whose names are the table's: unknown
// columns are added (nullable, at the end), types that have become wider are widened, narrower ones are left, comments
// follow. Columns that the table has and the source lacks stay. A type that can't be followed is an error that wraps
// ErrSchema. These are the rules of Java's CDC sinks (UpdatedDataFieldsProcessFunctionBase).
func (s *Schema) Evolve(cols []row.Field, opt EvolveOptions) ([]SchemaChange, error) {
	var changes []SchemaChange
	for i := range cols {
		c := &cols[i]
		at := s.FieldIndex(c.Name)
		if at < 0 {
			t := c.Type
			t.Nullable = true
			changes = append(changes, SchemaChange{Kind: AddColumn, Column: c.Name, Type: t, Comment: c.Comment, IfNotExists: true})
			continue
		}
		old := &s.Fields[at]
		if !old.Type.EqualIgnoringIDs(&c.Type, true) {
			types, err := evolveType(c.Name, nil, &old.Type, &c.Type, opt)
			if err != nil {
				return nil, fmt.Errorf("%w: column %s is %s and can't follow its source to %s: %w", ErrSchema, c.Name,
					old.Type.String(), c.Type.String(), err)
			}
			changes = append(changes, types...)
		}
		if c.Comment != "" && c.Comment != old.Comment {
			changes = append(changes, SchemaChange{Kind: UpdateComment, Column: c.Name, Comment: c.Comment})
		}
	}
	return changes, nil
}

func evolveType(column string, nested []string, from, to *row.Type, opt EvolveOptions) ([]SchemaChange, error) {
	if from.EqualIgnoringIDs(to, true) {
		return nil, nil
	}
	within := func(name string) []string { return append(slices.Clone(nested), name) }
	switch {
	case from.Root == row.Array && to.Root == row.Array:
		return evolveType(column, within("element"), from.Elem, to.Elem, opt)
	case from.Root == row.Map && to.Root == row.Map:
		if !from.Key.EqualIgnoringIDs(to.Key, true) {
			return nil, fmt.Errorf("the key of a map stays as it is")
		}
		return evolveType(column, within("value"), from.Elem, to.Elem, opt)
	case from.Root == row.Row && to.Root == row.Row:
		return evolveRow(column, nested, from, to, opt)
	case from.Root == row.Decimal && opt.DecimalNoChange:
		return nil, nil
	}
	wider, ok := widens(from, to)
	if !ok && !(opt.NonStringToString && isText(to.Root)) {
		return nil, fmt.Errorf("the types are of different kinds")
	}
	if ok && !wider {
		return nil, nil
	}
	return []SchemaChange{{Kind: UpdateType, Column: column, Nested: nested, Type: *to, KeepNullable: true}}, nil
}

func evolveRow(column string, nested []string, from, to *row.Type, opt EvolveOptions) ([]SchemaChange, error) {
	var changes []SchemaChange
	for i := range from.Fields {
		if f := &from.Fields[i]; !f.Type.Nullable && to.FieldIndex(f.Name) < 0 {
			return nil, fmt.Errorf("field %s is NOT NULL and has gone", f.Name)
		}
	}
	for i := range to.Fields {
		f := &to.Fields[i]
		path := append(slices.Clone(nested), f.Name)
		at := from.FieldIndex(f.Name)
		if at >= 0 {
			sub, err := evolveType(column, path, &from.Fields[at].Type, &f.Type, opt)
			if err != nil {
				return nil, err
			}
			changes = append(changes, sub...)
			continue
		}
		if !f.Type.Nullable {
			return nil, fmt.Errorf("new field %s is NOT NULL", f.Name)
		}
		changes = append(changes, SchemaChange{
			Kind: AddColumn, Column: column, Nested: path, Type: f.Type, Comment: f.Comment, IfNotExists: true,
		})
	}
	return changes, nil
}

// widens tells whether to holds all values of from and more (wider) or fewer; ok is false when the two are of different
// kinds. A DECIMAL that gains in precision or scale counts as wider, as in Java.
func widens(from, to *row.Type) (wider, ok bool) {
	f, t := from.Root, to.Root
	switch {
	case isText(f) && isText(t), isBinary(f) && isBinary(t):
		return to.Length >= from.Length, true
	case isInt(f) && isInt(t), isFloat(f) && isFloat(t):
		return t >= f, true
	case f == row.Decimal && t == row.Decimal:
		return to.Precision > from.Precision || to.Scale > from.Scale, true
	case f == row.Timestamp && t == row.Timestamp:
		return to.Precision >= from.Precision, true
	}
	return false, false
}
