package row

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MarshalJSON writes the type as in a schema file: a string for an atomic type, an object for a nested one.
func (t Type) MarshalJSON() ([]byte, error) { return t.appendJSON(nil), nil }

func (t *Type) appendJSON(b []byte) []byte {
	switch t.Root {
	case Array, Map, Multiset, Row:
	default:
		return appendJSONString(b, t.String())
	}
	b = append(b, `{"type":"`...)
	b = append(b, t.Root.String()...)
	if !t.Nullable {
		b = append(b, " NOT NULL"...)
	}
	b = append(b, '"')
	switch t.Root {
	case Array, Multiset:
		b = t.Elem.appendJSON(append(b, `,"element":`...))
	case Map:
		b = t.Key.appendJSON(append(b, `,"key":`...))
		b = t.Elem.appendJSON(append(b, `,"value":`...))
	case Row:
		b = append(b, `,"fields":[`...)
		for i := range t.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = t.Fields[i].appendJSON(b)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// UnmarshalJSON reads what MarshalJSON or Java writes. Fields of a ROW without an id get the id -1.
func (t *Type) UnmarshalJSON(b []byte) error { return t.fromJSON(b, 0) }

func (t *Type) fromJSON(b []byte, depth int) error {
	if depth > maxTypeDepth {
		return errTypeDepth
	}
	b = bytes.TrimSpace(b)
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		var err error
		*t, err = ParseType(s)
		return err
	}
	var o struct {
		Type                string
		Element, Key, Value json.RawMessage
		Fields              []json.RawMessage
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	name := strings.ToUpper(o.Type)
	nested := func(what string, raw json.RawMessage) (*Type, error) {
		if raw == nil {
			return nil, fmt.Errorf("type %s without %s", o.Type, what)
		}
		n := new(Type)
		return n, n.fromJSON(raw, depth+1)
	}
	n := Type{Nullable: !strings.Contains(name, "NOT NULL")}
	var err error
	switch {
	case strings.HasPrefix(name, "ARRAY"):
		n.Root = Array
		n.Elem, err = nested("element", o.Element)
	case strings.HasPrefix(name, "MULTISET"):
		n.Root = Multiset
		n.Elem, err = nested("element", o.Element)
	case strings.HasPrefix(name, "MAP"):
		n.Root = Map
		if n.Key, err = nested("key", o.Key); err == nil {
			n.Elem, err = nested("value", o.Value)
		}
	case strings.HasPrefix(name, "ROW"):
		n.Root = Row
		n.Fields = make([]Field, len(o.Fields))
		for i := 0; i < len(o.Fields) && err == nil; i++ {
			err = n.Fields[i].fromJSON(o.Fields[i], depth+1)
		}
	case name == "":
		err = errors.New("type is neither a string nor an object with a type")
	default:
		err = fmt.Errorf("type %s is not supported", o.Type)
	}
	if err != nil {
		return err
	}
	*t = n
	return nil
}

// MarshalJSON writes the field as in a schema file: id, name, type, description and defaultValue, in that order.
func (f Field) MarshalJSON() ([]byte, error) { return f.appendJSON(nil), nil }

func (f *Field) appendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"id":`...), int64(f.ID), 10)
	b = appendJSONString(append(b, `,"name":`...), f.Name)
	b = f.Type.appendJSON(append(b, `,"type":`...))
	if f.Comment != "" {
		b = appendJSONString(append(b, `,"description":`...), f.Comment)
	}
	if f.Default != nil {
		b = appendJSONString(append(b, `,"defaultValue":`...), *f.Default)
	}
	return append(b, '}')
}

// UnmarshalJSON reads what MarshalJSON or Java writes. A missing id is read as -1.
func (f *Field) UnmarshalJSON(b []byte) error { return f.fromJSON(b, 0) }

func (f *Field) fromJSON(b []byte, depth int) error {
	o := struct {
		ID           int
		Name         *string
		Type         json.RawMessage
		Description  string
		DefaultValue *string
	}{ID: -1}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	if o.Name == nil || o.Type == nil {
		return fmt.Errorf("field without a name or type: %.100s", b)
	}
	n := Field{ID: o.ID, Name: *o.Name, Comment: o.Description, Default: o.DefaultValue}
	if err := n.Type.fromJSON(o.Type, depth); err != nil {
		return fmt.Errorf("field %s: %w", n.Name, err)
	}
	*f = n
	return nil
}
