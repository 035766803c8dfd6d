package table

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
)

// Spec describes a table to create. Field ids are given by Create.
type Spec struct {
	Fields        []row.Field
	PartitionKeys []string
	PrimaryKeys   []string
	Options       Options
	Comment       string
}

// Create makes a table: its directory with schema-0. The options primary-key and partition are turned into keys, "path" is
// never stored, and primary key columns become NOT NULL, all as in Java.
func Create(ctx context.Context, fsys fs.FileSystem, path string, spec Spec) (*Table, error) {
	s, err := NewSchema(spec)
	if err != nil {
		return nil, fmt.Errorf("creating table %s: %w", path, err)
	}
	t := &Table{fs: fsys, path: strings.TrimRight(path, "/"), dynamic: Options{}, byID: map[int64]*Schema{}}
	// Snapshots without a schema are a damaged table; with another first schema, its files would be read wrongly.
	snapshots, err := t.hasSnapshots(ctx)
	if err != nil {
		return nil, err
	}
	last, err := t.latestSchemaID(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case last >= 0:
		return nil, fmt.Errorf("creating table %s: %w", path, ErrTableExists)
	case snapshots:
		return nil, fmt.Errorf("creating table %s: %w: it has snapshots, but no schema; restore %s/schema, or choose another table", path, ErrCorrupt, path)
	}
	data, err := s.Encode()
	if err != nil {
		return nil, err
	}
	ok, err := publishOwn(ctx, fsys, t.schemaPath(0), data)
	if err != nil {
		return nil, fmt.Errorf("creating table %s: %w", path, err)
	}
	if !ok {
		return nil, fmt.Errorf("creating table %s: %w", path, ErrTableExists)
	}
	return t, t.use(s)
}

// NewSchema makes the first schema of a table and validates it.
func NewSchema(spec Spec) (*Schema, error) {
	s := &Schema{Version: SchemaVersion, Options: spec.Options.Clone(), Comment: spec.Comment, TimeMillis: time.Now().UnixMilli()}
	delete(s.Options, "path")
	var err error
	if s.PartitionKeys, err = keysOf(s.Options, KeyPartition, spec.PartitionKeys); err != nil {
		return nil, err
	}
	if s.PrimaryKeys, err = keysOf(s.Options, KeyPrimaryKey, spec.PrimaryKeys); err != nil {
		return nil, err
	}
	next := 0
	s.Fields = assignIDs(spec.Fields, func() int { next++; return next - 1 })
	s.HighestFieldID = next - 1
	for i := range s.Fields {
		if slices.Contains(s.PrimaryKeys, s.Fields[i].Name) {
			s.Fields[i].Type.Nullable = false
		}
	}
	if _, err := s.Options.Validate(); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s, nil
}

// keysOf takes keys that are given as an option out of the options.
func keysOf(o Options, k *Key, given []string) ([]string, error) {
	if !o.Has(k) {
		return slices.Clone(given), nil
	}
	if len(given) > 0 {
		return nil, fmt.Errorf("%w: %s is given as an option and beside it", ErrOption, k.Name)
	}
	list := o.List(k)
	delete(o, k.Name)
	return list, nil
}

// assignIDs copies columns with new ids: a column's own, then those of the fields within it.
func assignIDs(fields []row.Field, next func() int) []row.Field {
	out := make([]row.Field, len(fields))
	for i, f := range fields {
		f.ID = next()
		f.Type = assignTypeIDs(f.Type, next)
		out[i] = f
	}
	return out
}

// assignTypeIDs copies a type with new ids for the ROW fields within it. Unlike a column, a nested field comes after the
// fields of its own type, because Java's ReassignFieldId visits the type first.
func assignTypeIDs(t row.Type, next func() int) row.Type {
	if t.Key != nil {
		k := assignTypeIDs(*t.Key, next)
		t.Key = &k
	}
	if t.Elem != nil {
		e := assignTypeIDs(*t.Elem, next)
		t.Elem = &e
	}
	if t.Fields != nil {
		t.Fields = slices.Clone(t.Fields)
		for i := range t.Fields {
			t.Fields[i].Type = assignTypeIDs(t.Fields[i].Type, next)
			t.Fields[i].ID = next()
		}
	}
	return t
}
