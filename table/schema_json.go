package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
)

// schemaJSON has the keys of a schema file in Java's order (SchemaSerializer).
type schemaJSON struct {
	Version        *int            `json:"version"`
	ID             *int64          `json:"id"`
	Fields         []row.Field     `json:"fields"`
	HighestFieldID *int            `json:"highestFieldId"`
	PartitionKeys  []string        `json:"partitionKeys"`
	PrimaryKeys    []string        `json:"primaryKeys"`
	Options        json.RawMessage `json:"options"`
	Comment        *string         `json:"comment,omitempty"`
	TimeMillis     int64           `json:"timeMillis"`
}

// MarshalJSON gives the exact layout of Java's schema files. Options stand in the order in which they were read, new ones
// behind them by name.
func (s *Schema) MarshalJSON() ([]byte, error) {
	var opts bytes.Buffer
	opts.WriteByte('{')
	for i, k := range s.orderedOptions() {
		if i > 0 {
			opts.WriteByte(',')
		}
		b := appendJSONString(opts.AvailableBuffer(), k)
		b = append(b, ':')
		opts.Write(appendJSONString(b, s.Options[k]))
	}
	opts.WriteByte('}')
	j := schemaJSON{
		Version: &s.Version, ID: &s.ID, HighestFieldID: &s.HighestFieldID,
		Fields: orEmpty(s.Fields), PartitionKeys: orEmpty(s.PartitionKeys), PrimaryKeys: orEmpty(s.PrimaryKeys),
		Options: opts.Bytes(), TimeMillis: s.TimeMillis,
	}
	if s.Comment != "" || s.emptyComment {
		j.Comment = &s.Comment
	}
	return json.Marshal(j)
}

// Encode returns the content of the schema's file.
func (s *Schema) Encode() ([]byte, error) {
	compact, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return prettyJSON(compact)
}

func (s *Schema) orderedOptions() []string {
	var old, added []string
	for _, k := range s.optionOrder {
		if _, ok := s.Options[k]; ok {
			old = append(old, k)
		}
	}
	for k := range s.Options {
		if !slices.Contains(s.optionOrder, k) {
			added = append(added, k)
		}
	}
	slices.Sort(added)
	return append(old, added...)
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// DecodeSchema reads the content of a schema file. Errors wrap ErrNewerFormat, ErrSchema (a type that this program does not
// know) or ErrCorrupt.
func DecodeSchema(data []byte) (*Schema, error) {
	var v struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if v.Version != nil && *v.Version > SchemaVersion {
		return nil, fmt.Errorf("%w: schema version %d, this program knows up to %d", ErrNewerFormat, *v.Version, SchemaVersion)
	}
	var j schemaJSON
	if err := json.Unmarshal(data, &j); err != nil {
		if foreign := foreignType(data); foreign != "" {
			return nil, fmt.Errorf("%w: %s", ErrSchema, foreign)
		}
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	switch {
	case j.ID == nil:
		return nil, fmt.Errorf("%w: no id", ErrCorrupt)
	case j.Fields == nil:
		return nil, fmt.Errorf("%w: no fields", ErrCorrupt)
	case j.HighestFieldID == nil:
		return nil, fmt.Errorf("%w: no highestFieldId", ErrCorrupt)
	case j.PartitionKeys == nil || j.PrimaryKeys == nil:
		return nil, fmt.Errorf("%w: no partitionKeys or primaryKeys", ErrCorrupt)
	case j.Options == nil:
		return nil, fmt.Errorf("%w: no options", ErrCorrupt)
	}
	s := &Schema{
		Version: 1, ID: *j.ID, Fields: j.Fields, HighestFieldID: *j.HighestFieldID,
		PartitionKeys: j.PartitionKeys, PrimaryKeys: j.PrimaryKeys, TimeMillis: j.TimeMillis,
	}
	if j.Version != nil {
		s.Version = *j.Version
	}
	if j.Comment != nil {
		s.Comment, s.emptyComment = *j.Comment, *j.Comment == ""
	}
	if err := s.decodeOptions(j.Options); err != nil {
		return nil, fmt.Errorf("%w: options: %w", ErrCorrupt, err)
	}
	if err := s.checkShape(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return s, nil
}

// foreignType finds a column of a type that Java has and this program has not.
func foreignType(data []byte) string {
	var j struct {
		Fields []struct {
			Name string
			Type json.RawMessage
		}
	}
	if json.Unmarshal(data, &j) != nil {
		return ""
	}
	for _, f := range j.Fields {
		for _, t := range []string{"VARIANT", "BLOB", "VECTOR", "GEOMETRY", "GEOGRAPHY"} {
			if bytes.Contains(f.Type, []byte(`"`+t)) {
				return fmt.Sprintf("column %s is of type %s, which is not supported", f.Name, t)
			}
		}
	}
	return ""
}

// decodeOptions keeps the order and applies the defaults that older versions had.
func (s *Schema) decodeOptions(raw json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return errors.New("not an object")
	}
	s.Options = Options{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		val, err := dec.Token()
		if err != nil {
			return err
		}
		if _, nested := val.(json.Delim); nested {
			return fmt.Errorf("value of %q is not a string", key)
		}
		k := key.(string)
		if _, ok := s.Options[k]; !ok {
			s.optionOrder = append(s.optionOrder, k)
		}
		if val == nil {
			val = "null"
		}
		s.Options[k] = fmt.Sprint(val)
	}
	if _, err := dec.Token(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	// SchemaSerializer.deserialize
	if _, ok := s.Options[KeyBucket.Name]; !ok && s.Version <= 1 {
		s.Options[KeyBucket.Name] = "1"
	}
	if _, ok := s.Options[KeyFileFormat.Name]; !ok && s.Version <= 2 {
		s.Options[KeyFileFormat.Name] = "orc"
	}
	return nil
}

// checkShape finds what no writer could have meant: keys that are no columns, equal or unknown field ids.
func (s *Schema) checkShape() error {
	if s.ID < 0 {
		return fmt.Errorf("id %d", s.ID)
	}
	if len(s.Fields) == 0 {
		return errors.New("no fields")
	}
	names, ids := map[string]bool{}, map[int]bool{}
	for i := range s.Fields {
		if names[s.Fields[i].Name] {
			return fmt.Errorf("two columns %q", s.Fields[i].Name)
		}
		names[s.Fields[i].Name] = true
		if err := checkIDs(&s.Fields[i], s.HighestFieldID, ids); err != nil {
			return err
		}
	}
	for _, k := range slices.Concat(s.PartitionKeys, s.PrimaryKeys) {
		if !names[k] {
			return fmt.Errorf("key column %q is not among the fields", k)
		}
	}
	return nil
}

func checkIDs(f *row.Field, highest int, seen map[int]bool) error {
	if f.ID < 0 || f.ID > highest {
		return fmt.Errorf("column %q has id %d, the highest is %d", f.Name, f.ID, highest)
	}
	if seen[f.ID] {
		return fmt.Errorf("column %q has an id, %d, that another has too", f.Name, f.ID)
	}
	seen[f.ID] = true
	return eachNested(&f.Type, func(n *row.Field) error { return checkIDs(n, highest, seen) })
}

// eachNested calls do for the fields of the ROW types directly within t.
func eachNested(t *row.Type, do func(*row.Field) error) error {
	for i := range t.Fields {
		if err := do(&t.Fields[i]); err != nil {
			return err
		}
	}
	for _, sub := range []*row.Type{t.Key, t.Elem} {
		if sub != nil {
			if err := eachNested(sub, do); err != nil {
				return err
			}
		}
	}
	return nil
}
