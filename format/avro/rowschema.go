package avro

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/paimon-go/paimon-go/format/row"
)

const (
	schemaNamespace = "org.apache.paimon.avro.generated"
	rootRecord      = "record"
)

// SchemaOf returns the JSON of the schema that Paimon writes for a ROW type, as Java's AvroSchemaConverter with Avro's
// Schema.toString. It names the column that Avro cannot hold.
func SchemaOf(t *row.Type) (string, error) {
	g := schemaText{named: map[string]string{}}
	root := row.Type{Root: row.Row, Fields: t.Fields}
	if err := g.value(&root, rootRecord, ""); err != nil {
		return "", err
	}
	return g.b.String(), nil
}

// schemaText builds the text. named has the records written so far: when the same name comes again, Avro writes a
// reference if the record is the same and fails if not.
type schemaText struct {
	b     strings.Builder
	named map[string]string
}

// column is the schema of a field, item or value: that of the type, and null where it is nullable.
func (g *schemaText) column(t *row.Type, rec, path string) error {
	if !t.Nullable {
		return g.value(t, rec, path)
	}
	g.b.WriteString(`["null",`)
	if err := g.value(t, rec, path); err != nil {
		return err
	}
	g.b.WriteByte(']')
	return nil
}

// value is the schema of a type without its null. rec is the name that a record gets here.
func (g *schemaText) value(t *row.Type, rec, path string) error {
	switch t.Root {
	case row.Boolean:
		g.b.WriteString(`"boolean"`)
	case row.TinyInt, row.SmallInt, row.Int:
		g.b.WriteString(`"int"`)
	case row.BigInt:
		g.b.WriteString(`"long"`)
	case row.Float:
		g.b.WriteString(`"float"`)
	case row.Double:
		g.b.WriteString(`"double"`)
	case row.Char, row.VarChar:
		g.b.WriteString(`"string"`)
	case row.Binary, row.VarBinary:
		g.b.WriteString(`"bytes"`)
	case row.Date:
		g.b.WriteString(`{"type":"int","logicalType":"date"}`)
	case row.Decimal:
		fmt.Fprintf(&g.b, `{"type":"bytes","logicalType":"decimal","precision":%d,"scale":%d}`, t.Precision, t.Scale)
	case row.Time:
		if t.Precision > 3 {
			return fmt.Errorf("column %s: Avro cannot hold TIME(%d), only a precision of 3 or less", path, t.Precision)
		}
		g.b.WriteString(`{"type":"int","logicalType":"time-millis"}`)
	case row.Timestamp, row.TimestampLTZ:
		return g.timestamp(t, path)
	case row.Array:
		g.b.WriteString(`{"type":"array","items":`)
		if err := g.column(t.Elem, rec, path); err != nil {
			return err
		}
		g.b.WriteByte('}')
	case row.Map, row.Multiset:
		return g.mapping(t, rec, path)
	case row.Row:
		return g.record(t.Fields, rec, path, false)
	default:
		return fmt.Errorf("column %s: Avro cannot hold its type", path)
	}
	return nil
}

// timestamp swaps Avro's meaning of local, as Java does.
func (g *schemaText) timestamp(t *row.Type, path string) error {
	if t.Precision > 6 {
		return fmt.Errorf("column %s: Avro cannot hold a timestamp of precision %d, only 6 or less", path, t.Precision)
	}
	g.b.WriteString(`{"type":"long","logicalType":"`)
	if t.Root == row.TimestampLTZ {
		g.b.WriteString("local-")
	}
	if t.Precision <= 3 {
		g.b.WriteString(`timestamp-millis"}`)
	} else {
		g.b.WriteString(`timestamp-micros"}`)
	}
	return nil
}

var nullableInt = row.Type{Root: row.Int, Nullable: true}

// mapParts returns the key and value types of a MAP, or of a MULTISET, which is a map from element to its count.
func mapParts(t *row.Type) (key, value *row.Type) {
	if t.Root == row.Multiset {
		return t.Elem, &nullableInt
	}
	return t.Key, t.Elem
}

// isStringMap reports whether the type is an Avro map; one with other keys is an array of records.
func isStringMap(t *row.Type) bool {
	key, _ := mapParts(t)
	return key.Root == row.Char || key.Root == row.VarChar
}

func (g *schemaText) mapping(t *row.Type, rec, path string) error {
	key, value := mapParts(t)
	if isStringMap(t) {
		g.b.WriteString(`{"type":"map","values":`)
		if err := g.column(value, rec, path); err != nil {
			return err
		}
		g.b.WriteByte('}')
		return nil
	}
	if t.Root == row.Multiset {
		// Java 1.3 and 1.4 write a schema for it and then fail with a ClassCastException, as they would reading it.
		return fmt.Errorf("column %s: Paimon's Avro format cannot hold a MULTISET of anything but strings", path)
	}
	g.b.WriteString(`{"type":"array","items":`)
	fields := []row.Field{{Name: "key", Type: *key}, {Name: "value", Type: *value}}
	if err := g.record(fields, rec, path, true); err != nil {
		return err
	}
	g.b.WriteString(`,"logicalType":"map"}`)
	return nil
}

// record writes a record of fields; entry says that it is that of a map, whose key has no default in Java's schema.
func (g *schemaText) record(fields []row.Field, rec, path string, entry bool) error {
	if len(fields) == 0 {
		return fmt.Errorf("column %s: Avro cannot hold a ROW without fields", path)
	}
	if before, ok := g.named[rec]; ok {
		again := schemaText{named: map[string]string{}}
		if err := again.define(fields, rec, path, entry); err != nil {
			return err
		}
		if again.b.String() != before {
			return fmt.Errorf("column %s: its Avro record name %s is that of another column's record", path, rec)
		}
		g.b.WriteString(strconv.Quote(rec))
		return nil
	}
	return g.define(fields, rec, path, entry)
}

func (g *schemaText) define(fields []row.Field, rec, path string, entry bool) error {
	start := g.b.Len()
	g.b.WriteString(`{"type":"record","name":` + strconv.Quote(rec))
	if rec == rootRecord {
		g.b.WriteString(`,"namespace":"` + schemaNamespace + `"`)
	}
	g.b.WriteString(`,"fields":[`)
	for i := range fields {
		f := &fields[i]
		fieldPath := f.Name
		if path != "" {
			fieldPath = path + "." + f.Name
		}
		if !validName(f.Name) {
			return fmt.Errorf("column %s: Avro allows only letters, digits and _ in a name, and no digit in front", fieldPath)
		}
		if i > 0 {
			g.b.WriteByte(',')
		}
		g.b.WriteString(`{"name":"` + f.Name + `","type":`)
		if err := g.column(&f.Type, rec+"_"+f.Name, fieldPath); err != nil {
			return err
		}
		if f.Type.Nullable && !(entry && i == 0) {
			g.b.WriteString(`,"default":null`)
		}
		g.b.WriteByte('}')
	}
	g.b.WriteString("]}")
	g.named[rec] = g.b.String()[start:]
	return nil
}

// validName is Java's Schema.validateName, which looks at UTF-16 units: a letter beyond the first plane is none.
func validName(s string) bool {
	for i, r := range s {
		letter := r == '_' || unicode.IsLetter(r) && r <= 0xffff
		if !letter && (i == 0 || !unicode.Is(unicode.Nd, r) || r > 0xffff) {
			return false
		}
	}
	return s != ""
}
