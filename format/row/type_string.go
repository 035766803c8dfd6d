package row

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns the type as Paimon prints it: "BIGINT NOT NULL", "DECIMAL(10, 2)", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
// nested types in SQL form, "ARRAY<INT>".
func (t *Type) String() string { return string(t.append(nil)) }

func (t *Type) append(b []byte) []byte {
	switch t.Root {
	case Array, Multiset:
		b = append(b, t.Root.String()...)
		b = t.Elem.append(append(b, '<'))
		b = append(b, '>')
	case Map:
		b = t.Key.append(append(b, "MAP<"...))
		b = t.Elem.append(append(b, ", "...))
		b = append(b, '>')
	case Row:
		b = append(b, "ROW<"...)
		for i := range t.Fields {
			f := &t.Fields[i]
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(b, '`')
			b = append(b, strings.ReplaceAll(f.Name, "`", "``")...)
			b = f.Type.append(append(b, "` "...))
			if f.Comment != "" {
				b = append(b, " COMMENT '"...)
				b = append(b, strings.ReplaceAll(f.Comment, "'", "''")...)
				b = append(b, '\'')
			}
			if f.Default != nil {
				b = append(b, " DEFAULT "...)
				b = append(b, *f.Default...)
			}
		}
		b = append(b, '>')
	default:
		b = t.appendAtomic(b)
	}
	if !t.Nullable {
		b = append(b, " NOT NULL"...)
	}
	return b
}

// appendAtomic appends the name of an atomic type with its parameters.
func (t *Type) appendAtomic(b []byte) []byte {
	one := func(n int) []byte {
		b = append(b, t.Root.String()...)
		b = strconv.AppendInt(append(b, '('), int64(n), 10)
		return append(b, ')')
	}
	switch t.Root {
	case VarChar:
		if t.Length == MaxLength {
			return append(b, "STRING"...)
		}
		return one(t.Length)
	case VarBinary:
		if t.Length == MaxLength {
			return append(b, "BYTES"...)
		}
		return one(t.Length)
	case Char, Binary:
		return one(t.Length)
	case Decimal:
		b = strconv.AppendInt(append(b, "DECIMAL("...), int64(t.Precision), 10)
		b = strconv.AppendInt(append(b, ", "...), int64(t.Scale), 10)
		return append(b, ')')
	case Time, Timestamp:
		return one(t.Precision)
	case TimestampLTZ:
		b = strconv.AppendInt(append(b, "TIMESTAMP("...), int64(t.Precision), 10)
		return append(b, ") WITH LOCAL TIME ZONE"...)
	}
	return append(b, t.Root.String()...)
}

var rootNames = [...]string{
	Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT", BigInt: "BIGINT", Float: "FLOAT",
	Double: "DOUBLE", Decimal: "DECIMAL", Char: "CHAR", VarChar: "VARCHAR", Binary: "BINARY", VarBinary: "VARBINARY",
	Date: "DATE", Time: "TIME", Timestamp: "TIMESTAMP", TimestampLTZ: "TIMESTAMP_LTZ", Array: "ARRAY", Map: "MAP",
	Multiset: "MULTISET", Row: "ROW",
}

// String returns the SQL keyword of the root.
func (r Root) String() string {
	if int(r) < len(rootNames) && rootNames[r] != "" {
		return rootNames[r]
	}
	return "Root(" + strconv.Itoa(int(r)) + ")"
}

// Validate checks the parameters of a type and of those nested in it against Paimon's limits.
func (t *Type) Validate() error {
	in := func(what string, v, lo, hi int) error {
		if v < lo || v > hi {
			return fmt.Errorf("%s of %s is %d, not between %d and %d", what, t.Root, v, lo, hi)
		}
		return nil
	}
	switch t.Root {
	case Boolean, TinyInt, SmallInt, Int, BigInt, Float, Double, Date:
		return nil
	case Char, VarChar, Binary, VarBinary:
		return in("length", t.Length, 1, MaxLength)
	case Decimal:
		if err := in("precision", t.Precision, 1, 38); err != nil {
			return err
		}
		return in("scale", t.Scale, 0, t.Precision)
	case Time, Timestamp, TimestampLTZ:
		return in("precision", t.Precision, 0, 9)
	case Array, Multiset:
		if t.Elem == nil {
			return fmt.Errorf("%s has no element type", t.Root)
		}
		return t.Elem.Validate()
	case Map:
		if t.Key == nil || t.Elem == nil {
			return fmt.Errorf("%s has no key or value type", t.Root)
		}
		if err := t.Key.Validate(); err != nil {
			return err
		}
		return t.Elem.Validate()
	case Row:
		seen := make(map[string]bool, len(t.Fields))
		for i := range t.Fields {
			f := &t.Fields[i]
			if f.Name == "" || seen[f.Name] {
				return fmt.Errorf("field name %q of a ROW is empty or there twice", f.Name)
			}
			seen[f.Name] = true
			if err := f.Type.Validate(); err != nil {
				return fmt.Errorf("field %s: %w", f.Name, err)
			}
		}
		return nil
	}
	return fmt.Errorf("%s is no type", t.Root)
}

// Equal reports whether values of both types are the same values: equal roots, parameters, nullability (unless
// ignoreNullable), and for ROW equal field ids, names and types in order. Comments and defaults don't count.
func (t *Type) Equal(o *Type, ignoreNullable bool) bool { return t.equal(o, ignoreNullable, false) }

// EqualIgnoringIDs is Equal without the ids of nested fields.
func (t *Type) EqualIgnoringIDs(o *Type, ignoreNullable bool) bool {
	return t.equal(o, ignoreNullable, true)
}

func (t *Type) equal(o *Type, ignoreNullable, ignoreIDs bool) bool {
	if t == o {
		return true
	}
	if t == nil || o == nil || t.Root != o.Root || t.Nullable != o.Nullable && !ignoreNullable {
		return false
	}
	switch t.Root {
	case Char, VarChar, Binary, VarBinary:
		return t.Length == o.Length
	case Decimal:
		return t.Precision == o.Precision && t.Scale == o.Scale
	case Time, Timestamp, TimestampLTZ:
		return t.Precision == o.Precision
	case Array, Multiset:
		return t.Elem.equal(o.Elem, ignoreNullable, ignoreIDs)
	case Map:
		return t.Key.equal(o.Key, ignoreNullable, ignoreIDs) && t.Elem.equal(o.Elem, ignoreNullable, ignoreIDs)
	case Row:
		if len(t.Fields) != len(o.Fields) {
			return false
		}
		for i := range t.Fields {
			f, g := &t.Fields[i], &o.Fields[i]
			if f.Name != g.Name || f.ID != g.ID && !ignoreIDs || !f.Type.equal(&g.Type, ignoreNullable, ignoreIDs) {
				return false
			}
		}
	}
	return true
}

// FieldIndex returns the position of the field of a ROW with this name, -1 when there is none.
func (t *Type) FieldIndex(name string) int {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// FieldTypes returns pointers to the types of the fields of a ROW.
func (t *Type) FieldTypes() []*Type {
	ts := make([]*Type, len(t.Fields))
	for i := range ts {
		ts[i] = &t.Fields[i].Type
	}
	return ts
}
