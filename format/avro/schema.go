package avro

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/paimon-go/paimon-go/format"
)

// Kind is the kind of an Avro schema.
type Kind uint8

// The kinds.
const (
	KindNull Kind = iota + 1
	KindBoolean
	KindInt
	KindLong
	KindFloat
	KindDouble
	KindBytes
	KindString
	KindFixed
	KindEnum
	KindArray
	KindMap
	KindRecord
	KindUnion
)

var kindNames = map[string]Kind{
	"null": KindNull, "boolean": KindBoolean, "int": KindInt, "long": KindLong, "float": KindFloat, "double": KindDouble,
	"bytes": KindBytes, "string": KindString, "fixed": KindFixed, "enum": KindEnum, "array": KindArray, "map": KindMap,
	"record": KindRecord, "error": KindRecord,
}

// String returns Avro's name of the kind.
func (k Kind) String() string {
	if k == KindUnion {
		return "union"
	}
	for n, v := range kindNames {
		if v == k && n != "error" {
			return n
		}
	}
	return "?"
}

// Schema is a parsed Avro schema. Named types are expanded where they are used, so it is a tree. Immutable.
type Schema struct {
	Kind             Kind
	Logical          string // logicalType
	Precision, Scale int    // of a decimal
	Name             string // full name of a record, enum or fixed
	Fields           []SchemaField
	Items            *Schema   // items of an array, values of a map
	Branches         []*Schema // of a union
	Size             int       // of a fixed
}

// SchemaField is a field of a record.
type SchemaField struct {
	Name   string
	Schema *Schema
}

// Field returns the index of a field of a record, or -1.
func (s *Schema) Field(name string) int {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

const (
	// maxSchemaNodes bounds what named types can expand to.
	maxSchemaNodes = 1 << 20
	// maxSchemaDepth bounds the nesting; a nullable ROW in a ROW takes two.
	maxSchemaDepth = 500
)

// ParseSchema parses the JSON of a schema. It refuses what no Paimon file holds and what would let a damaged file take
// time without bytes: recursive types, and values of no width (null outside of a union, a record of nothing).
// Errors wrap format.ErrCorrupt.
func ParseSchema(text string) (*Schema, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return nil, fmt.Errorf("avro schema: %w (%w)", format.ErrCorrupt, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("avro schema: text after its end: %w", format.ErrCorrupt)
	}
	p := schemaParser{names: map[string]*Schema{}}
	s, err := p.parse(raw, "")
	if err != nil {
		return nil, fmt.Errorf("avro schema: %w (%w)", format.ErrCorrupt, err)
	}
	return s, nil
}

type schemaParser struct {
	names map[string]*Schema // nil while the type is being defined
	nodes int
	depth int
}

// schemaJSON has the attributes of a schema object that matter to a reader.
type schemaJSON struct {
	Type      json.RawMessage
	Name      string
	Namespace string
	Logical   string `json:"logicalType"`
	Precision int
	Scale     int
	Fields    []struct {
		Name string
		Type json.RawMessage
	}
	Items  json.RawMessage
	Values json.RawMessage
	Size   int
}

func (p *schemaParser) parse(raw json.RawMessage, namespace string) (*Schema, error) {
	if p.nodes++; p.nodes > maxSchemaNodes {
		return nil, errTooBig
	}
	if p.depth++; p.depth > maxSchemaDepth {
		return nil, errors.New("nested too deeply")
	}
	defer func() { p.depth-- }()
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, errors.New("no type")
	}
	switch raw[0] {
	case '"':
		var name string
		if err := json.Unmarshal(raw, &name); err != nil {
			return nil, err
		}
		return p.named(name, namespace)
	case '[':
		return p.union(raw, namespace)
	case '{':
		return p.object(raw, namespace)
	}
	return nil, fmt.Errorf("%.20q is no type", raw)
}

// named is a primitive or a reference to a named type.
func (p *schemaParser) named(name, namespace string) (*Schema, error) {
	if k, ok := kindNames[name]; ok {
		if k >= KindFixed {
			return nil, fmt.Errorf("a %s needs an object", name)
		}
		return &Schema{Kind: k}, nil
	}
	s, ok := p.names[fullName(name, namespace)]
	if !ok {
		return nil, fmt.Errorf("unknown type %q", name)
	}
	if s == nil {
		return nil, fmt.Errorf("type %q contains itself", name)
	}
	return s, p.count(s)
}

// count adds the nodes that a reference expands to, as a tree of references could be exponentially larger than its text.
func (p *schemaParser) count(s *Schema) error {
	if p.nodes++; p.nodes > maxSchemaNodes {
		return errTooBig
	}
	for i := range s.Fields {
		if err := p.count(s.Fields[i].Schema); err != nil {
			return err
		}
	}
	for _, b := range s.Branches {
		if err := p.count(b); err != nil {
			return err
		}
	}
	if s.Items != nil {
		return p.count(s.Items)
	}
	return nil
}

func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

func (p *schemaParser) union(raw json.RawMessage, namespace string) (*Schema, error) {
	var branches []json.RawMessage
	if err := json.Unmarshal(raw, &branches); err != nil {
		return nil, err
	}
	s := &Schema{Kind: KindUnion}
	for _, b := range branches {
		branch, err := p.parse(b, namespace)
		if err != nil {
			return nil, err
		}
		if branch.Kind == KindUnion {
			return nil, errors.New("union in a union")
		}
		s.Branches = append(s.Branches, branch)
	}
	if len(s.Branches) == 0 {
		return nil, errors.New("empty union")
	}
	return s, nil
}

func (p *schemaParser) object(raw json.RawMessage, namespace string) (*Schema, error) {
	var o schemaJSON
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	o.Type = bytes.TrimSpace(o.Type)
	var name string
	if len(o.Type) == 0 || o.Type[0] != '"' {
		return p.parse(o.Type, namespace) // {"type": {…}} and {"type": […]}
	}
	if err := json.Unmarshal(o.Type, &name); err != nil {
		return nil, err
	}
	k, ok := kindNames[name]
	if !ok {
		return p.named(name, namespace)
	}
	s := &Schema{Kind: k, Logical: o.Logical, Precision: o.Precision, Scale: o.Scale}
	var err error
	switch k {
	case KindArray:
		s.Items, err = p.valueOf(o.Items, namespace)
	case KindMap:
		s.Items, err = p.valueOf(o.Values, namespace)
	case KindRecord, KindEnum, KindFixed:
		err = p.define(s, &o, namespace)
	}
	return s, err
}

// valueOf parses the items of an array, which must have a width.
func (p *schemaParser) valueOf(raw json.RawMessage, namespace string) (*Schema, error) {
	s, err := p.parse(raw, namespace)
	if err == nil && s.Kind == KindNull {
		err = errors.New("array or map of null")
	}
	return s, err
}

// define completes a named type.
func (p *schemaParser) define(s *Schema, o *schemaJSON, namespace string) error {
	if o.Name == "" {
		return fmt.Errorf("%s without a name", s.Kind)
	}
	if o.Namespace != "" {
		namespace = o.Namespace
	}
	s.Name = fullName(o.Name, namespace)
	if i := strings.LastIndexByte(s.Name, '.'); i >= 0 {
		namespace = s.Name[:i]
	}
	if _, ok := p.names[s.Name]; ok {
		return fmt.Errorf("type %q is defined twice", s.Name)
	}
	p.names[s.Name] = nil
	width := s.Kind == KindEnum
	if s.Kind == KindFixed {
		s.Size = o.Size
		width = s.Size > 0
	}
	for _, f := range o.Fields {
		field, err := p.parse(f.Type, namespace)
		if err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
		if s.Field(f.Name) >= 0 {
			return fmt.Errorf("two fields %q", f.Name)
		}
		s.Fields = append(s.Fields, SchemaField{f.Name, field})
		width = width || field.Kind != KindNull
	}
	if !width {
		return fmt.Errorf("%s %q has no width", s.Kind, s.Name)
	}
	p.names[s.Name] = s
	return nil
}

// NonNull takes ["null", X] and [X, "null"] apart: X and the index of null. Any other schema comes back as it is with
// index -1.
func (s *Schema) NonNull() (value *Schema, null int) {
	if s.Kind == KindUnion && len(s.Branches) == 2 {
		if s.Branches[0].Kind == KindNull && s.Branches[1].Kind != KindNull {
			return s.Branches[1], 0
		}
		if s.Branches[1].Kind == KindNull && s.Branches[0].Kind != KindNull {
			return s.Branches[0], 1
		}
	}
	return s, -1
}

// Skip moves past a value.
func (s *Schema) Skip(d *Decoder) {
	switch s.Kind {
	case KindBoolean:
		d.Boolean()
	case KindInt, KindEnum, KindLong:
		d.Long()
	case KindFloat:
		d.Fixed(4)
	case KindDouble:
		d.Fixed(8)
	case KindBytes, KindString:
		d.Bytes()
	case KindFixed:
		d.Fixed(s.Size)
	case KindUnion:
		if i := d.Long(); i < 0 || i >= int64(len(s.Branches)) {
			d.fail("bad union branch")
		} else {
			s.Branches[i].Skip(d)
		}
	case KindRecord:
		for i := range s.Fields {
			s.Fields[i].Schema.Skip(d)
		}
	case KindArray, KindMap:
		for n := d.Items(); n > 0 && d.err == nil; n = d.Items() {
			for ; n > 0 && d.err == nil; n-- {
				if s.Kind == KindMap {
					d.Bytes()
				}
				s.Items.Skip(d)
			}
		}
	}
}
