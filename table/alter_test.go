package table

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/fstest"
	"github.com/paimon-go/paimon-go/fs/mem"
)

// applied applies changes to a schema of the given columns, in text.
func applied(t *testing.T, s *Schema, frozen bool, changes ...SchemaChange) (*Schema, error) {
	t.Helper()
	before := encoded(t, s)
	next, err := s.Apply(frozen, changes...)
	require.Equal(t, before, encoded(t, s), "Apply must leave the old schema alone")
	return next, err
}

func columnsOf(s *Schema) string {
	out := ""
	for i := range s.Fields {
		out += fmt.Sprintf("%d:%s %s; ", s.Fields[i].ID, s.Fields[i].Name, s.Fields[i].Type.String())
	}
	return out
}

func nullable(t *testing.T, s string) row.Type {
	typ := typeOf(t, s)
	require.True(t, typ.Nullable)
	return typ
}

func TestAlterMakesWhatJavaMakes(t *testing.T) {
	s0, _ := goldenSchema(t, "1.4.2/altered-schema-0.json")
	want1, _ := goldenSchema(t, "1.4.2/altered-schema-1.json")
	want2, _ := goldenSchema(t, "1.4.2/altered-schema-2.json")
	s1, err := applied(t, s0, false,
		SchemaChange{Kind: AddColumn, Column: "n", Type: nullable(t, "ROW<a INT, b ROW<c INT>>")},
		SchemaChange{Kind: AddColumn, Column: "first", Type: nullable(t, "STRING"), Position: Position{Place: PlaceFirst}},
		SchemaChange{Kind: RenameColumn, Column: "v", NewName: "w"},
	)
	require.NoError(t, err)
	require.Equal(t, encoded(t, want1), encoded(t, s1))
	s2, err := applied(t, s1, false,
		SchemaChange{Kind: DropColumn, Column: "first"},
		SchemaChange{Kind: AddColumn, Column: "last", Type: nullable(t, "INT"), Position: Position{PlaceAfter, "k"}},
		SchemaChange{Kind: UpdateType, Column: "w", Type: nullable(t, "BIGINT")},
		SchemaChange{Kind: UpdateComment, Column: "w", Comment: "wide"},
		SchemaChange{Kind: UpdateType, Column: "n", Nested: []string{"a"}, Type: nullable(t, "BIGINT")},
		SchemaChange{Kind: AddColumn, Column: "n", Nested: []string{"d"}, Type: nullable(t, "STRING")},
		SchemaChange{Kind: SetOption, Key: "snapshot.time-retained", Value: "2 h"},
		SchemaChange{Kind: RemoveOption, Key: "add-column-before-partition"},
	)
	require.NoError(t, err)
	require.Equal(t, encoded(t, want2), encoded(t, s2))
}

func TestApplyColumnChanges(t *testing.T) {
	base, err := NewSchema(Spec{
		Fields:      fieldsOf(t, "k INT, a INT, r ROW<x INT, y STRING>, l ARRAY<ROW<q INT>>, m MAP<STRING, ARRAY<INT>>, nn INT NOT NULL, p STRING"),
		PrimaryKeys: []string{"k", "p"}, PartitionKeys: []string{"p"},
		Options: Options{"bucket": "2", "sequence.field": "a", "fields.a.stats-mode": "none", "fields.a,k.sequence-group": "r,a"},
	})
	require.NoError(t, err)
	str := nullable(t, "STRING")
	for _, c := range []struct {
		change SchemaChange
		want   string // part of the columns, or of the error when it begins with !
	}{
		{SchemaChange{Kind: AddColumn, Column: "z", Type: str}, "9:p STRING NOT NULL; 10:z STRING; "},
		{SchemaChange{Kind: AddColumn, Column: "z", Type: str, Position: Position{PlaceBefore, "a"}}, "10:z STRING; 1:a INT"},
		{SchemaChange{Kind: AddColumn, Column: "z", Type: str, Position: Position{Place: PlaceLast}}, "10:z STRING; "},
		{SchemaChange{Kind: AddColumn, Column: "z", Type: str, Position: Position{PlaceAfter, "none"}}, "!no column none"},
		{SchemaChange{Kind: AddColumn, Column: "a", Type: str}, "!exists already"},
		{SchemaChange{Kind: AddColumn, Column: "a", Type: str, IfNotExists: true}, "1:a INT"},
		{SchemaChange{Kind: AddColumn, Column: "z", Type: typeOf(t, "INT NOT NULL")}, "!NOT NULL"},
		{SchemaChange{Kind: AddColumn, Column: "_LEVEL", Type: str}, "!_LEVEL"},
		{SchemaChange{Kind: AddColumn, Column: "l", Nested: []string{"element", "z"}, Type: str}, "l ARRAY<ROW<`q` INT, `z` STRING>>"},
		{SchemaChange{Kind: AddColumn, Column: "l", Nested: []string{"z"}, Type: str}, "!no field z"},
		{SchemaChange{Kind: AddColumn, Column: "l", Nested: []string{"element"}, Type: str}, "!no column"},
		{SchemaChange{Kind: AddColumn, Column: "none", Nested: []string{"z"}, Type: str}, "!no column none"},
		{SchemaChange{Kind: RenameColumn, Column: "k", NewName: "id"}, "0:id INT NOT NULL"},
		{SchemaChange{Kind: RenameColumn, Column: "r", Nested: []string{"x"}, NewName: "xx"}, "r ROW<`xx` INT, `y` STRING>"},
		{SchemaChange{Kind: RenameColumn, Column: "p", NewName: "id"}, "!partition column"},
		{SchemaChange{Kind: RenameColumn, Column: "a", NewName: "k"}, "!exists already"},
		{SchemaChange{Kind: RenameColumn, Column: "a"}, "!to nothing"},
		{SchemaChange{Kind: RenameColumn, Column: "none", NewName: "x"}, "!no column none"},
		{SchemaChange{Kind: DropColumn, Column: "r"}, "1:a INT; 5:l"},
		{SchemaChange{Kind: DropColumn, Column: "r", Nested: []string{"x"}}, "r ROW<`y` STRING>"},
		{SchemaChange{Kind: DropColumn, Column: "l", Nested: []string{"element", "q"}}, "!last one"},
		{SchemaChange{Kind: DropColumn, Column: "k"}, "!part of a key"},
		{SchemaChange{Kind: DropColumn, Column: "p"}, "!part of a key"},
		{SchemaChange{Kind: DropColumn, Column: "a"}, "!there is no column a"},
		{SchemaChange{Kind: DropColumn, Column: "none"}, "!no column none"},
		{SchemaChange{Kind: UpdateType, Column: "a", Type: nullable(t, "BIGINT")}, "1:a BIGINT"},
		{SchemaChange{Kind: UpdateType, Column: "a", Type: nullable(t, "SMALLINT")}, "1:a SMALLINT"}, // explicit cast
		{SchemaChange{Kind: UpdateType, Column: "a", Type: nullable(t, "BYTES")}, "!can't become"},
		{SchemaChange{Kind: UpdateType, Column: "k", Type: typeOf(t, "BIGINT NOT NULL")}, "!key column"},
		{SchemaChange{Kind: UpdateType, Column: "a", Type: typeOf(t, "BIGINT NOT NULL")}, "!can't become NOT NULL"},
		{SchemaChange{Kind: UpdateType, Column: "nn", Type: nullable(t, "BIGINT"), KeepNullable: true}, "nn BIGINT NOT NULL"},
		{SchemaChange{Kind: UpdateType, Column: "nn", Type: nullable(t, "BIGINT")}, "nn BIGINT; "},
		{SchemaChange{Kind: UpdateType, Column: "m", Nested: []string{"value", "element"}, Type: nullable(t, "BIGINT")}, "m MAP<STRING, ARRAY<BIGINT>>"},
		{SchemaChange{Kind: UpdateType, Column: "m", Nested: []string{"key"}, Type: str}, "!no field key"},
		{SchemaChange{Kind: UpdateType, Column: "r", Type: nullable(t, "ROW<x INT>")}, "!can't become"},
		{SchemaChange{Kind: UpdateNullable, Column: "nn", Nullable: true}, "nn INT; "},
		{SchemaChange{Kind: UpdateNullable, Column: "a"}, "!can't become NOT NULL"},
		{SchemaChange{Kind: UpdateNullable, Column: "k", Nullable: true}, "!primary key"},
		{SchemaChange{Kind: MoveColumn, Column: "a", Position: Position{Place: PlaceFirst}}, "1:a INT; 0:k"},
		{SchemaChange{Kind: MoveColumn, Column: "k", Position: Position{PlaceAfter, "r"}}, "2:r ROW<`x` INT, `y` STRING>; 0:k"},
		{SchemaChange{Kind: MoveColumn, Column: "nn", Position: Position{PlaceBefore, "a"}}, "0:k INT NOT NULL; 8:nn INT NOT NULL; 1:a"},
		{SchemaChange{Kind: MoveColumn, Column: "a", Position: Position{PlaceAfter, "a"}}, "!beside itself"},
		{SchemaChange{Kind: MoveColumn, Column: "none"}, "!no column none"},
		{SchemaChange{Kind: UpdateComment, Column: "none"}, "!no column none"},
		{SchemaChange{Kind: 99}, "!unknown kind"},
	} {
		next, err := applied(t, base, true, c.change)
		if c.want[0] == '!' {
			require.ErrorContains(t, err, c.want[1:], "%+v", c.change)
			require.Condition(t, func() bool { return isOneOf(err, ErrSchema, ErrOption) })
			continue
		}
		require.NoError(t, err, "%+v", c.change)
		require.Contains(t, columnsOf(next), c.want, "%+v", c.change)
	}

	next, err := applied(t, base, true, SchemaChange{Kind: RenameColumn, Column: "a", NewName: "b"}, SchemaChange{Kind: RenameColumn, Column: "k", NewName: "id"})
	require.NoError(t, err)
	require.Equal(t, []string{"id", "p"}, next.PrimaryKeys)
	require.Equal(t, Options{"bucket": "2", "sequence.field": "b", "fields.b.stats-mode": "none", "fields.b,id.sequence-group": "r,b"}, next.Options)

	none, err := applied(t, base, true, SchemaChange{Kind: AddColumn, Column: "a", Type: str, IfNotExists: true}, SchemaChange{Kind: SetOption, Key: "bucket", Value: "2"})
	require.NoError(t, err)
	require.Same(t, base, none, "no change, no new version")
}

func TestApplyOptionChanges(t *testing.T) {
	spec := smallSpec(t)
	spec.Options["ignore-delete"] = "true"
	s, err := NewSchema(spec)
	require.NoError(t, err)
	for _, c := range []struct {
		key, value   string
		fresh, later bool
	}{
		{"write-only", "true", true, true},
		{"bucket", "8", true, true},
		{"bucket", "-1", true, false},
		{"merge-engine", "first-row", true, false},
		{"merge-engine", "deduplicate", true, true}, // as it is
		{"ignore-delete", "false", true, false},
		{"deletion-vectors.enabled", "true", true, false},
		{"rowkind.field", "v", true, false},
		{"write-ony", "true", false, false},
		{"write-buffer-size", "much", false, false},
		{"path", "/x", false, false},
	} {
		for _, frozen := range []bool{false, true} {
			next, err := applied(t, s, frozen, SchemaChange{Kind: SetOption, Key: c.key, Value: c.value})
			if frozen && c.later || !frozen && c.fresh {
				require.NoError(t, err, "%+v frozen=%v", c, frozen)
				require.Equal(t, c.value, next.Options.Get(lookupKey(c.key)))
			} else {
				require.ErrorIs(t, err, ErrOption, "%+v frozen=%v", c, frozen)
				require.ErrorContains(t, err, c.key)
			}
		}
	}
	_, err = applied(t, s, true, SchemaChange{Kind: RemoveOption, Key: "bucket"})
	require.ErrorIs(t, err, ErrOption)
	next, err := applied(t, s, true, SchemaChange{Kind: RemoveOption, Key: "ignore-delete"})
	require.NoError(t, err)
	require.NotContains(t, next.Options, "ignore-delete")
}

func TestAlterPublishesTheNextVersion(t *testing.T) {
	fsys := mem.New()
	tab, err := Create(t.Context(), fsys, testPath, smallSpec(t))
	require.NoError(t, err)
	other, err := Open(t.Context(), fsys, testPath, nil)
	require.NoError(t, err)
	s, err := tab.Alter(t.Context(), SchemaChange{Kind: AddColumn, Column: "z", Type: nullable(t, "INT")})
	require.NoError(t, err)
	require.EqualValues(t, 1, s.ID)
	require.Same(t, s, tab.Schema())
	require.EqualValues(t, 0, other.Schema().ID)
	require.NoError(t, other.Refresh(t.Context()))
	require.Equal(t, encoded(t, s), encoded(t, other.Schema()))
	old, err := other.SchemaByID(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, old.Fields, 3)

	again, err := other.Alter(t.Context(), SchemaChange{Kind: AddColumn, Column: "z", Type: nullable(t, "INT"), IfNotExists: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, again.ID)

	fstest.Write(t, fsys, testPath+"/snapshot/snapshot-1", []byte("{}"))
	_, err = tab.Alter(t.Context(), SchemaChange{Kind: SetOption, Key: "merge-engine", Value: "aggregation"})
	require.ErrorIs(t, err, ErrOption)
	require.Len(t, fsys.Paths(), 3)
}

func TestAlterOfManyAtOnceLosesNone(t *testing.T) {
	fsys := mem.New()
	_, err := Create(t.Context(), fsys, testPath, smallSpec(t))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			tab, err := Open(t.Context(), fsys, testPath, nil)
			if err == nil {
				_, err = tab.Alter(t.Context(), SchemaChange{Kind: AddColumn, Column: fmt.Sprint("c", g), Type: row.Type{Root: row.Int, Nullable: true}})
			}
			if err != nil {
				t.Errorf("alter: %v", err)
			}
		})
	}
	wg.Wait()
	tab, err := Open(t.Context(), fsys, testPath, nil)
	require.NoError(t, err)
	require.EqualValues(t, 8, tab.Schema().ID)
	require.Len(t, tab.Schema().Fields, 11)
	require.Equal(t, 10, tab.Schema().HighestFieldID)
}

func TestAlterResolvesALostReply(t *testing.T) {
	for _, how := range []faultfs.How{faultfs.Before, faultfs.Lost, faultfs.ReplyLost} {
		inner := mem.New()
		_, err := Create(t.Context(), inner, testPath, smallSpec(t))
		require.NoError(t, err)
		fsys := faultfs.New(inner, faultfs.Nth(1, how, faultfs.Ops(faultfs.OpPublish)))
		tab, err := Open(t.Context(), fsys, testPath, nil)
		require.NoError(t, err)
		_, err = tab.Alter(t.Context(), SchemaChange{Kind: AddColumn, Column: "z", Type: nullable(t, "INT")})
		if how != faultfs.ReplyLost {
			require.ErrorIs(t, err, faultfs.ErrInjected)
			_, err = tab.Alter(t.Context(), SchemaChange{Kind: AddColumn, Column: "z", Type: nullable(t, "INT")})
		}
		require.NoError(t, err)
		require.EqualValues(t, 1, tab.Schema().ID)
		require.Len(t, inner.Paths(), 2)
	}
}
