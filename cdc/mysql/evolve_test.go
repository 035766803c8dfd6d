package mysql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/cdc/mysql/ddl"
)

func columns(t testing.TB, defs ...string) []Column {
	var cols []Column
	for _, d := range defs {
		name, typ, _ := strings.Cut(d, " ")
		c, err := ParseColumn(name, typ)
		require.NoError(t, err)
		c.Nullable = true
		if c.isCharacter() || len(c.Elements) > 0 {
			c.Charset = "utf8mb4"
		}
		cols = append(cols, c)
	}
	return cols
}

func TestEvolve(t *testing.T) {
	for _, c := range []struct{ sql, want, added, refused string }{
		{sql: "ADD c int unsigned", want: "id a e c", added: "c"},
		{sql: "ADD c int FIRST, ADD f char(3) AFTER id", want: "c id f a e", added: "c f"},
		{sql: "ADD (x int, y int)", want: "id a e x y", added: "x y"},
		{sql: "ADD c int, ADD f int AFTER c", want: "id a e c f", added: "c f"},
		{sql: "ADD A int", refused: "column A is added, which exists"},
		{sql: "ADD COLUMN IF NOT EXISTS a int", want: "id a e"},
		{sql: "MODIFY a varchar(10) NOT NULL DEFAULT 'x' COMMENT 'y'", want: "id a e"},
		{sql: "MODIFY a varchar(10) FIRST", want: "a id e"},
		{sql: "MODIFY a varchar(20)", refused: "column a changes from varchar(10) to varchar(20)"},
		{sql: "MODIFY id int unsigned", refused: "column id changes from int to int(11) unsigned"},
		{sql: "MODIFY id int AS (length(a)) STORED", refused: "column id is generated"},
		{sql: "CHANGE id id int GENERATED ALWAYS AS (7) VIRTUAL COMMENT 'x'", refused: "column id is generated"},
		{sql: "MODIFY e enum('x','y','z')", want: "id a e"},
		{sql: "MODIFY e enum('y','x')", refused: "changes or moves members"},
		{sql: "CHANGE a b varchar(10)", refused: "column a is renamed to b"},
		{sql: "DROP a", want: "id e"},
		{sql: "DROP a, ADD a int", want: "id e a", added: "a"},
		{sql: "DROP nope", refused: "column nope is dropped, which does not exist"},
		{sql: "RENAME COLUMN a TO b", refused: "column a is renamed to b"},
		{sql: "ADD c int AFTER nope", refused: "column c is placed after nope, which does not exist"},
		{sql: "CONVERT TO CHARACTER SET gbk", want: "id a e"},
	} {
		st := ddl.Parse("ALTER TABLE t "+c.sql, "d", 0)
		e := st[0].Effect(ddl.Name{Database: "d", Table: "t"})
		require.Equal(t, ddl.ColumnsChange, e.Kind, c.sql)
		got, err := Evolve(columns(t, "id int", "a varchar(10)", "e enum('x','y')"), "latin1", e.Changes, TypeOptions{})
		if c.refused != "" {
			require.ErrorIs(t, err, cdc.ErrRefused, c.sql)
			require.ErrorContains(t, err, c.refused)
			continue
		}
		require.NoError(t, err, c.sql)
		require.Equal(t, c.want, names(got.Columns), c.sql)
		require.Equal(t, c.added, names(got.Added), c.sql)
		for _, col := range got.Columns {
			if col.Name == "f" && col.DataType == "char" {
				require.Equal(t, "latin1", col.Charset)
			}
		}
		if strings.HasPrefix(c.sql, "CONVERT") {
			require.Equal(t, "gbk", got.Columns[1].Charset)
			require.Equal(t, "gbk", got.Columns[2].Charset)
			require.Equal(t, "gbk", got.Charset)
		}
		if strings.Contains(c.sql, "'z'") {
			require.Equal(t, []string{"x", "y", "z"}, got.Columns[2].Elements)
		}
	}
}

func TestDecimalNoChange(t *testing.T) {
	cols := columns(t, "d decimal(10,2)")
	st := ddl.Parse("ALTER TABLE t MODIFY d decimal(12,2)", "d", 0)
	e := st[0].Effect(ddl.Name{Database: "d", Table: "t"})
	_, err := Evolve(cols, "utf8mb4", e.Changes, TypeOptions{})
	require.ErrorContains(t, err, "column d changes from decimal(10,2) to decimal(12,2)")
	got, err := Evolve(cols, "utf8mb4", e.Changes, TypeOptions{DecimalNoChange: true})
	require.NoError(t, err)
	require.Equal(t, 12, got.Columns[0].Precision)
}

func names(cols []Column) string {
	var list []string
	for _, c := range cols {
		list = append(list, c.Name)
	}
	return strings.Join(list, " ")
}

func TestParseColumn(t *testing.T) {
	for in, want := range map[string]string{
		"int unsigned":                        "int 0 0 0 0 true []",
		"int(8) unsigned zerofill":            "int 0 0 0 0 true []",
		"INT(10) ZEROFILL":                    "int 0 0 0 0 true []",
		"tinyint(1)":                          "tinyint 1 0 0 0 false []",
		"bool":                                "tinyint 1 0 0 0 false []",
		"decimal(10,2) unsigned":              "decimal 0 10 2 0 true []",
		"decimal":                             "decimal 0 10 0 0 false []",
		"numeric(65,30)":                      "decimal 0 65 30 0 false []",
		"datetime(6)":                         "datetime 0 0 0 6 false []",
		"timestamp":                           "timestamp 0 0 0 0 false []",
		"bit":                                 "bit 1 0 0 0 false []",
		"bit(9)":                              "bit 9 0 0 0 false []",
		"varchar(20)":                         "varchar 20 0 0 0 false []",
		"varchar(20) /*M!100301 COMPRESSED*/": "varchar 20 0 0 0 false []",
		"double precision unsigned":           "double 0 0 0 0 true []",
		"float(7,3)":                          "float 0 0 0 0 false []",
		"geomcollection":                      "geometrycollection 0 0 0 0 false []",
		"vector(3)":                           "vector 3 0 0 0 false []",
		"year(4)":                             "year 0 0 0 0 false []",
		"serial":                              "bigint 0 0 0 0 true []",
		`enum('a,b','it''s','unsigned','b\\s','n\nl',')')`: `enum 0 0 0 0 false ["a,b" "it's" "unsigned" "b\\s" "n\nl" ")"]`,
		"set('x')": `set 0 0 0 0 false ["x"]`,
		"enum('')": `enum 0 0 0 0 false [""]`,
	} {
		c, err := ParseColumn("c", in)
		require.NoError(t, err, in)
		require.Equal(t, want, fmt.Sprintf("%s %d %d %d %d %v %q", c.DataType, c.Length, c.Precision, c.Scale, c.Fsp, c.Unsigned, c.Elements), in)
	}
	for _, in := range []string{"", "enum(", "enum()", "enum('a'", "enum('a' 'b')", "enum(a)", "decimal(66,0)", "decimal(5,6)", "varchar(x)", "time(7)", "int(-1)"} {
		_, err := ParseColumn("c", in)
		require.ErrorContains(t, err, "column c", in)
	}
}

func TestTypeChangesThatTheTableHasAlreadyAreFollowed(t *testing.T) {
	old := columns(t, "id int", "a varchar(10)", "e enum('x','y')", "d datetime")
	altered := targetType(t, columns(t, "id bigint", "a varchar(20)", "e enum('x','y')", "d datetime"), TypeOptions{})
	for _, c := range []struct{ sql, refused string }{
		{"MODIFY id bigint FIRST, CHANGE A a varchar(20)", ""},
		{"MODIFY a varchar(30)", "column a changes from varchar(10) to varchar(30)"},
		{"MODIFY id bigint AS (length(a)) STORED", "column id is generated"},
		{"MODIFY e enum('y','x')", "changes or moves members"},
		{"MODIFY d timestamp", "column d changes from datetime to timestamp"},
		{"CHANGE id no bigint", "column id is renamed to no"},
		{"CHANGE nope no bigint", "column nope is changed, which does not exist"},
	} {
		st := ddl.Parse("ALTER TABLE t "+c.sql, "d", 0)
		changes := st[0].Effect(ddl.Name{Database: "d", Table: "t"}).Changes
		e, err := Evolve(alteredByHand(old, "utf8mb4", changes, altered, TypeOptions{}), "utf8mb4", changes, TypeOptions{})
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused, c.sql)
			continue
		}
		require.NoError(t, err, c.sql)
		require.Equal(t, "bigint", e.Columns[0].DataType)
		require.Equal(t, "varchar(20)", e.Columns[1].ColumnType)
	}
	require.Equal(t, "int", old[0].DataType, "the columns given stay")
}
