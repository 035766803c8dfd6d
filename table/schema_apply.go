package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
)

// Apply returns the schema that follows s after the changes, s itself when they change nothing. frozen tells that the table
// has snapshots, which fixes some options. The rules are those of Java's SchemaManager.generateTableSchema.
func (s *Schema) Apply(frozen bool, changes ...SchemaChange) (*Schema, error) {
	a := applying{
		old: s, frozen: frozen,
		fields: slices.Clone(s.Fields), highest: s.HighestFieldID, options: s.Options.Clone(), comment: s.Comment,
		renamed: map[string]string{},
	}
	for i := range changes {
		if err := a.apply(&changes[i]); err != nil {
			return nil, err
		}
	}
	next := &Schema{
		Version: SchemaVersion, ID: s.ID + 1, Fields: a.fields, HighestFieldID: a.highest,
		PartitionKeys: s.PartitionKeys, PrimaryKeys: renameAll(s.PrimaryKeys, a.renamed),
		Options: a.options, Comment: a.comment, TimeMillis: time.Now().UnixMilli(),
		optionOrder: s.optionOrder, emptyComment: s.emptyComment && a.comment == "",
	}
	if a.highest == s.HighestFieldID && a.comment == s.Comment && maps.Equal(a.options, s.Options) &&
		slices.EqualFunc(a.fields, s.Fields, fieldEqual) {
		return s, nil
	}
	if err := next.Validate(); err != nil {
		return nil, err
	}
	return next, nil
}

func fieldEqual(a, b row.Field) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Comment == b.Comment && a.Type.Equal(&b.Type, false) &&
		(a.Default == nil) == (b.Default == nil) && (a.Default == nil || *a.Default == *b.Default)
}

type applying struct {
	old     *Schema
	frozen  bool
	fields  []row.Field
	highest int
	options Options
	comment string
	renamed map[string]string // old name of a top-level column to its new one
}

func (a *applying) apply(c *SchemaChange) error {
	var err error
	switch c.Kind {
	case AddColumn:
		err = a.addColumn(c)
	case RenameColumn:
		err = a.renameColumn(c)
	case DropColumn:
		err = a.dropColumn(c)
	case UpdateType:
		err = a.updateType(c)
	case UpdateNullable:
		err = a.updateNullable(c)
	case UpdateComment:
		err = a.updateField(c, func(f *row.Field) { f.Comment = c.Comment })
	case UpdateDefault:
		err = a.updateField(c, func(f *row.Field) { f.Default = c.Default })
	case MoveColumn:
		a.fields, err = move(a.fields, c.Column, c.Position)
	case SetOption:
		return a.setOption(c.Key, c.Value)
	case RemoveOption:
		return a.removeOption(c.Key)
	case SetTableComment:
		a.comment = c.Comment
	default:
		err = fmt.Errorf("unknown kind of change %d", c.Kind)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return nil
}

func (c *SchemaChange) path() []string { return append([]string{c.Column}, c.Nested...) }

func (c *SchemaChange) name() string { return strings.Join(c.path(), ".") }

func (a *applying) addColumn(c *SchemaChange) error {
	if !c.Type.Nullable {
		return fmt.Errorf("new column %s can't be NOT NULL, older rows have no value for it", c.name())
	}
	highest := a.highest
	next := func() int { highest++; return highest }
	added := row.Field{ID: next(), Comment: c.Comment, Default: c.Default}
	added.Type = assignTypeIDs(c.Type, next)
	exists := false
	fields, err := editFields(a.fields, c.path(), func(in []row.Field, name string) ([]row.Field, error) {
		if fieldIndex(in, name) >= 0 {
			exists = true
			if c.IfNotExists {
				return in, nil
			}
			return nil, fmt.Errorf("column %s exists already", c.name())
		}
		added.Name = name
		pos := c.Position
		if pos.Place == PlaceDefault && len(c.Nested) == 0 && a.options.Bool(KeyAddColumnBeforePartition) {
			if i := slices.IndexFunc(in, func(f row.Field) bool { return slices.Contains(a.old.PartitionKeys, f.Name) }); i >= 0 {
				pos = Position{PlaceBefore, in[i].Name}
			}
		}
		i, err := pos.index(in)
		if err != nil {
			return nil, err
		}
		return slices.Insert(in, i, added), nil
	}, nil)
	if err != nil {
		return err
	}
	a.fields = fields
	if !exists {
		a.highest = highest
	}
	return nil
}

// index returns where a new field is inserted.
func (p Position) index(fields []row.Field) (int, error) {
	switch p.Place {
	case PlaceFirst:
		return 0, nil
	case PlaceAfter, PlaceBefore:
		i := fieldIndex(fields, p.Ref)
		if i < 0 {
			return 0, fmt.Errorf("there is no column %s to stand beside", p.Ref)
		}
		if p.Place == PlaceAfter {
			i++
		}
		return i, nil
	}
	return len(fields), nil
}

func move(fields []row.Field, name string, p Position) ([]row.Field, error) {
	i := fieldIndex(fields, name)
	if i < 0 {
		return nil, fmt.Errorf("there is no column %s", name)
	}
	if p.Ref == name && (p.Place == PlaceAfter || p.Place == PlaceBefore) {
		return nil, fmt.Errorf("column %s can't be moved beside itself", name)
	}
	f := fields[i]
	rest := slices.Delete(slices.Clone(fields), i, i+1)
	to, err := p.index(rest)
	if err != nil {
		return nil, err
	}
	return slices.Insert(rest, to, f), nil
}

func (a *applying) renameColumn(c *SchemaChange) error {
	if c.isKey(a.old.PartitionKeys) {
		return fmt.Errorf("partition column %s can't be renamed", c.Column)
	}
	if c.NewName == "" {
		return fmt.Errorf("column %s can't be renamed to nothing", c.name())
	}
	fields, err := editFields(a.fields, c.path(), func(in []row.Field, name string) ([]row.Field, error) {
		i := fieldIndex(in, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no column %s", c.name())
		}
		if fieldIndex(in, c.NewName) >= 0 {
			return nil, fmt.Errorf("column %s exists already", c.NewName)
		}
		in[i].Name = c.NewName
		return in, nil
	}, nil)
	if err != nil {
		return err
	}
	a.fields = fields
	if len(c.Nested) == 0 {
		original := c.Column
		for was, is := range a.renamed {
			if is == c.Column {
				original = was
			}
		}
		a.renamed[original] = c.NewName
		a.options = renameInOptions(a.options, c.Column, c.NewName)
	}
	return nil
}

// renameInOptions follows a renamed column in the options that name columns.
func renameInOptions(o Options, from, to string) Options {
	out := Options{}
	names := map[string]string{from: to}
	inList := func(list string) string { return strings.Join(renameAll(strings.Split(list, ","), names), ",") }
	for k, v := range o {
		switch k {
		case KeyBucketKey.Name, KeySequenceField.Name, KeyRowkindField.Name:
			v = inList(v)
		}
		// A column's name may have dots, so the pattern's suffix is found from the end.
		if rest, ok := strings.CutPrefix(k, "fields."); ok {
			if p := lookupPattern(k); p != nil && p.Suffix != "" {
				k = "fields." + inList(strings.TrimSuffix(rest, p.Suffix)) + p.Suffix
				if p.Suffix == ".sequence-group" {
					v = inList(v)
				}
			}
		}
		out[k] = v
	}
	return out
}

func renameAll(names []string, renamed map[string]string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n
		if to, ok := renamed[n]; ok {
			out[i] = to
		}
	}
	return out
}

func (a *applying) dropColumn(c *SchemaChange) error {
	if c.isKey(a.old.PartitionKeys) || c.isKey(a.old.PrimaryKeys) {
		return fmt.Errorf("column %s is part of a key and can't be dropped", c.Column)
	}
	fields, err := editFields(a.fields, c.path(), func(in []row.Field, name string) ([]row.Field, error) {
		i := fieldIndex(in, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no column %s", c.name())
		}
		if len(in) == 1 {
			return nil, fmt.Errorf("column %s is the last one and can't be dropped", c.name())
		}
		return slices.Delete(in, i, i+1), nil
	}, nil)
	if err != nil {
		return err
	}
	a.fields = fields
	return nil
}

func (a *applying) updateType(c *SchemaChange) error {
	for _, keys := range [][]string{a.old.PartitionKeys, a.old.PrimaryKeys} {
		if c.isKey(keys) {
			return fmt.Errorf("the type of key column %s can't be changed", c.Column)
		}
	}
	return a.editType(c, func(t row.Type) (row.Type, error) {
		to := c.Type
		if c.KeepNullable {
			to.Nullable = t.Nullable
		} else if err := a.checkNullable(c, t.Nullable, to.Nullable); err != nil {
			return t, err
		}
		if t.EqualIgnoringIDs(&to, true) {
			t.Nullable = to.Nullable // the ids of nested fields stay
			return t, nil
		}
		if !CanCast(&t, &to, !a.old.Options.Bool(KeyDisableExplicitTypeCasting)) {
			return t, fmt.Errorf("column %s can't become %s from %s", c.name(), to.String(), t.String())
		}
		return to, nil
	})
}

func (a *applying) updateNullable(c *SchemaChange) error {
	if c.Nullable && c.isKey(a.old.PrimaryKeys) {
		return fmt.Errorf("primary key column %s must be NOT NULL", c.Column)
	}
	return a.editType(c, func(t row.Type) (row.Type, error) {
		if err := a.checkNullable(c, t.Nullable, c.Nullable); err != nil {
			return t, err
		}
		t.Nullable = c.Nullable
		return t, nil
	})
}

func (a *applying) checkNullable(c *SchemaChange, from, to bool) error {
	if from && !to && a.old.Options.Bool(KeyAlterColumnNullToNotNullDisabled) {
		return fmt.Errorf("column %s can't become NOT NULL; %s=false would allow it", c.name(), KeyAlterColumnNullToNotNullDisabled.Name)
	}
	return nil
}

// isKey tells whether the change is of a column, not of a field within one, that is among the keys.
func (c *SchemaChange) isKey(keys []string) bool {
	return len(c.Nested) == 0 && slices.Contains(keys, c.Column)
}

func (a *applying) editType(c *SchemaChange, edit func(row.Type) (row.Type, error)) (err error) {
	a.fields, err = editFields(a.fields, c.path(), func(in []row.Field, name string) ([]row.Field, error) {
		i := fieldIndex(in, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no column %s", c.name())
		}
		in[i].Type, err = edit(in[i].Type)
		return in, err
	}, edit)
	return err
}

func (a *applying) updateField(c *SchemaChange, edit func(*row.Field)) (err error) {
	a.fields, err = editFields(a.fields, c.path(), func(in []row.Field, name string) ([]row.Field, error) {
		i := fieldIndex(in, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no column %s", c.name())
		}
		edit(&in[i])
		return in, nil
	}, nil)
	return err
}

func (a *applying) setOption(key, value string) error {
	if key == "path" {
		return fmt.Errorf("%w: path can't be stored in a table", ErrOption)
	}
	if _, err := checkOption(key, value); err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	if a.frozen {
		if err := checkChange(a.old.Options, key, value); err != nil {
			return err
		}
	}
	a.options[key] = value
	return nil
}

func (a *applying) removeOption(key string) error {
	if a.frozen {
		if err := checkReset(a.old.Options, key); err != nil {
			return err
		}
	}
	delete(a.options, key)
	return nil
}

func fieldIndex(fields []row.Field, name string) int {
	return slices.IndexFunc(fields, func(f row.Field) bool { return f.Name == name })
}

// editFields copies fields along a path and edits the copy of the list that the last name is in. Within an ARRAY the path
// goes on with "element", within a MAP with "value"; when it ends there, elem edits that type, if it may.
func editFields(fields []row.Field, path []string, list func([]row.Field, string) ([]row.Field, error),
	elem func(row.Type) (row.Type, error),
) ([]row.Field, error) {
	out := slices.Clone(fields)
	if len(path) == 1 {
		return list(out, path[0])
	}
	i := fieldIndex(out, path[0])
	if i < 0 {
		return nil, fmt.Errorf("there is no column %s", path[0])
	}
	t, err := editWithin(out[i].Type, path[1:], list, elem)
	if err != nil {
		return nil, fmt.Errorf("within column %s: %w", path[0], err)
	}
	out[i].Type = t
	return out, nil
}

func editWithin(t row.Type, path []string, list func([]row.Field, string) ([]row.Field, error),
	elem func(row.Type) (row.Type, error),
) (row.Type, error) {
	var err error
	switch {
	case t.Root == row.Row:
		t.Fields, err = editFields(t.Fields, path, list, elem)
		return t, err
	case t.Root == row.Array && path[0] == "element", t.Root == row.Map && path[0] == "value":
		sub := *t.Elem
		switch {
		case len(path) > 1:
			sub, err = editWithin(sub, path[1:], list, elem)
		case elem == nil:
			err = fmt.Errorf("%s is no column", path[0])
		default:
			sub, err = elem(sub)
		}
		t.Elem = &sub
		return t, err
	}
	return t, fmt.Errorf("%s has no field %s", t.String(), path[0])
}
