package table

import (
	"context"
	"fmt"

	"github.com/paimon-go/paimon-go/format/row"
)

// ChangeKind is what a SchemaChange does.
type ChangeKind uint8

// The kinds of schema changes, with the members of SchemaChange that each uses.
const (
	// AddColumn: Column, Type (nullable), Comment, Default, Position, IfNotExists.
	AddColumn ChangeKind = iota + 1
	// RenameColumn: Column, NewName.
	RenameColumn
	// DropColumn: Column.
	DropColumn
	// UpdateType: Column, Type, KeepNullable.
	UpdateType
	// UpdateNullable: Column, Nullable.
	UpdateNullable
	// UpdateComment: Column, Comment.
	UpdateComment
	// UpdateDefault: Column, Default.
	UpdateDefault
	// MoveColumn: Column, Position.
	MoveColumn
	// SetOption: Key, Value.
	SetOption
	// RemoveOption: Key.
	RemoveOption
	// SetTableComment: Comment.
	SetTableComment
)

// SchemaChange is one change of a table's schema.
type SchemaChange struct {
	Kind   ChangeKind
	Column string
	// Nested names a field within the column: the names of ROW fields, "element" for what an ARRAY holds and "value" for
	// what a MAP holds.
	Nested       []string
	NewName      string
	Type         row.Type
	KeepNullable bool
	Nullable     bool
	Comment      string
	Default      *string
	Position     Position
	IfNotExists  bool // a column of this name is no error, and left as it is
	Key, Value   string
}

// Place is where a column goes.
type Place uint8

// The places. PlaceDefault is the end, or before the first partition column with add-column-before-partition.
const (
	PlaceDefault Place = iota
	PlaceFirst
	PlaceLast
	PlaceAfter
	PlaceBefore
)

// Position is a place among the columns; Ref is the column that PlaceAfter and PlaceBefore refer to.
type Position struct {
	Place Place
	Ref   string
}

// maxAlterRaces bounds how often another's schema change may come first.
const maxAlterRaces = 100

// Alter applies changes to the newest schema and publishes the result as the next version, which becomes the table's
// current schema. When another schema comes first, the changes are applied to that one. Changes that change nothing make
// no version.
func (t *Table) Alter(ctx context.Context, changes ...SchemaChange) (*Schema, error) {
	frozen, err := t.hasSnapshots(ctx)
	if err != nil {
		return nil, err
	}
	for range maxAlterRaces {
		old, err := t.LatestSchema(ctx)
		if err != nil {
			return nil, err
		}
		next, err := old.Apply(frozen, changes...)
		if err != nil {
			return nil, fmt.Errorf("altering %s: %w", t.path, err)
		}
		if next == old {
			return old, t.use(old)
		}
		data, err := next.Encode()
		if err != nil {
			return nil, err
		}
		ok, err := publishOwn(ctx, t.fs, t.schemaPath(next.ID), data)
		if err != nil {
			return nil, fmt.Errorf("altering %s: %w", t.path, err)
		}
		if ok {
			return next, t.use(next)
		}
	}
	return nil, fmt.Errorf("altering %s: %w: another schema came first %d times", t.path, ErrConflict, maxAlterRaces)
}
