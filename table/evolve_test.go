package table

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
)

func TestEvolveFollowsTheSourceAsJavasSinkDoes(t *testing.T) {
	for _, c := range []struct {
		from, to, want string // want: the new type, "" for no change, "!" for an error
	}{
		{"INT", "BIGINT", "BIGINT"},
		{"BIGINT", "INT", ""},
		{"TINYINT", "SMALLINT", "SMALLINT"},
		{"INT", "INT NOT NULL", ""},
		{"INT NOT NULL", "BIGINT", "BIGINT NOT NULL"},
		{"VARCHAR(10)", "VARCHAR(20)", "VARCHAR(20)"},
		{"VARCHAR(20)", "VARCHAR(10)", ""},
		{"CHAR(10)", "STRING", "STRING"},
		{"STRING", "VARCHAR(10)", ""},
		{"BINARY(4)", "BYTES", "BYTES"},
		{"BYTES", "BINARY(4)", ""},
		{"FLOAT", "DOUBLE", "DOUBLE"},
		{"DOUBLE", "FLOAT", ""},
		{"DECIMAL(10, 2)", "DECIMAL(12, 2)", "DECIMAL(12, 2)"},
		{"DECIMAL(10, 2)", "DECIMAL(9, 4)", "DECIMAL(9, 4)"},
		{"DECIMAL(10, 2)", "DECIMAL(9, 1)", ""},
		{"TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(6)"},
		{"TIMESTAMP(6)", "TIMESTAMP(3)", ""},
		{"INT", "DOUBLE", "!"},
		{"INT", "STRING", "!"},
		{"STRING", "INT", "!"},
		{"TIMESTAMP(3)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "!"},
		{"ARRAY<INT>", "ARRAY<BIGINT>", "ARRAY<BIGINT>"},
		{"ARRAY<INT>", "INT", "!"},
		{"MAP<STRING, INT>", "MAP<STRING, BIGINT>", "MAP<STRING, BIGINT>"},
		{"MAP<INT, INT>", "MAP<BIGINT, INT>", "!"},
		{"ROW<a INT, b INT>", "ROW<a BIGINT, c INT>", "ROW<`a` BIGINT, `b` INT, `c` INT>"},
		{"ROW<a INT, b INT NOT NULL>", "ROW<a INT>", "!"},
		{"ROW<a INT>", "ROW<a INT, b INT NOT NULL>", "!"},
		{"ROW<a INT>", "ROW<a STRING>", "!"},
	} {
		s, err := NewSchema(Spec{Fields: fieldsOf(t, "k INT, c "+c.from), PrimaryKeys: []string{"k"}, Options: Options{"bucket": "1"}})
		require.NoError(t, err)
		name := fmt.Sprintf("%s to %s", c.from, c.to)
		changes, err := s.Evolve(fieldsOf(t, "k INT NOT NULL, c "+c.to), EvolveOptions{})
		if c.want == "!" {
			require.ErrorIs(t, err, ErrSchema, name)
			require.ErrorContains(t, err, "column c", name)
			continue
		}
		require.NoError(t, err, name)
		next, err := s.Apply(true, changes...)
		require.NoError(t, err, name)
		want := c.want
		if want == "" {
			require.Same(t, s, next, name)
			continue
		}
		require.Equal(t, want, next.Fields[1].Type.String(), name)
		rest, err := next.Evolve(fieldsOf(t, "k INT NOT NULL, c "+c.to), EvolveOptions{})
		require.NoError(t, err)
		require.Empty(t, rest, "%s: once followed, nothing is left to do", name)
	}
}

func TestEvolveAddsColumnsAndComments(t *testing.T) {
	spec := smallSpec(t)
	s, err := NewSchema(spec)
	require.NoError(t, err)
	cols := fieldsOf(t, "new ROW<x INT> NOT NULL, v STRING, k INT")
	cols[0].Comment, cols[1].Comment = "added", "changed"
	changes, err := s.Evolve(cols, EvolveOptions{})
	require.NoError(t, err)
	next, err := s.Apply(true, changes...)
	require.NoError(t, err)
	require.Equal(t, "0:k INT NOT NULL; 1:v STRING; 2:p STRING NOT NULL; 3:new ROW<`x` INT>; ", columnsOf(next))
	require.Equal(t, "added", next.Fields[3].Comment)
	require.Equal(t, "changed", next.Fields[1].Comment)
	require.Equal(t, 4, next.Fields[3].Type.Fields[0].ID)
	require.Equal(t, 4, next.HighestFieldID)

	_, err = s.Evolve(fieldsOf(t, "k BIGINT"), EvolveOptions{})
	require.NoError(t, err)
	changes, err = s.Evolve(fieldsOf(t, "k BIGINT"), EvolveOptions{})
	require.NoError(t, err)
	_, err = s.Apply(true, changes...)
	require.ErrorIs(t, err, ErrSchema, "keys can't follow")
}

func TestEvolveMappings(t *testing.T) {
	s, err := NewSchema(Spec{Fields: fieldsOf(t, "k INT, d DECIMAL(5, 2), i INT"), PrimaryKeys: []string{"k"}, Options: Options{"bucket": "1"}})
	require.NoError(t, err)
	changes, err := s.Evolve(fieldsOf(t, "d DECIMAL(9, 2)"), EvolveOptions{DecimalNoChange: true})
	require.NoError(t, err)
	require.Empty(t, changes)
	changes, err = s.Evolve(fieldsOf(t, "i STRING"), EvolveOptions{NonStringToString: true})
	require.NoError(t, err)
	next, err := s.Apply(true, changes...)
	require.NoError(t, err)
	require.Equal(t, "STRING", next.Fields[2].Type.String())
}

func TestCanCast(t *testing.T) {
	types := "BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL(10,2) CHAR(3) VARCHAR(3) STRING BINARY(3) VARBINARY(3) DATE TIME(3) TIMESTAMP(3) TIMESTAMP_LTZ(3)"
	var b strings.Builder
	for to := range strings.FieldsSeq(types) {
		fmt.Fprintf(&b, "%-17s", to)
		for from := range strings.FieldsSeq(types) {
			f, g := typeOf(t, from), typeOf(t, to)
			switch {
			case CanCast(&f, &g, false):
				b.WriteByte('i')
			case CanCast(&f, &g, true):
				b.WriteByte('e')
			default:
				b.WriteByte('.')
			}
		}
		b.WriteByte('\n')
	}
	// i implicit, e explicit; columns are the types that are cast from, in the same order
	require.Equal(t, `BOOLEAN          .eeee...eee......
TINYINT          eieeeeeeeee......
SMALLINT         eiieeeeeeee......
INT              eiiieeeeeee....ee
BIGINT           eiiiieeeeee....ee
FLOAT            eiiiiieieee......
DOUBLE           eiiiiiiieee......
DECIMAL(10,2)    eiiiiiiieee......
CHAR(3)          eeeeeeeeieeee....
VARCHAR(3)       eeeeeeeeiiiee....
STRING           eeeeeeeeiiieeeeee
BINARY(3)        ........eeeie....
VARBINARY(3)     ........eeeii....
DATE             ........eee....ie
TIME(3)          ........eee....ie
TIMESTAMP(3)     ...ee...eee..eeii
TIMESTAMP_LTZ(3) ...ee...eee..eeii
`, b.String())
	arr, m := typeOf(t, "ARRAY<INT>"), row.Type{Root: row.Multiset, Nullable: true, Elem: &row.Type{Root: row.Int}}
	str := typeOf(t, "STRING")
	require.True(t, CanCast(&arr, &str, true))
	require.False(t, CanCast(&m, &str, true))
	require.False(t, CanCast(&str, &arr, true))
}
