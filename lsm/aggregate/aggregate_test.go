package aggregate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// bench is a column with its function and its cell.
type bench struct {
	*Column
	typ  row.Type
	cell row.Column
	in   row.Column
}

func newBench(t require.TestingT, name, typ string, o table.Options) *bench {
	b := new(bench)
	var err error
	b.typ, err = row.ParseType(typ)
	require.NoError(t, err)
	b.Column, err = New(&row.Field{Name: "c", Type: b.typ}, name, o)
	require.NoError(t, err)
	b.cell.Init(&b.typ)
	b.in.Init(&b.typ)
	b.begin()
	return b
}

func (b *bench) begin() {
	b.Reset()
	SetNull(&b.cell)
}

// do takes "+ value", a newer record, "< value", an older one, or "- value", a retract; values are JSON.
func (b *bench) do(t require.TestingT, step string) error {
	// The value lies among others, as in a batch.
	b.in.Reset()
	b.in.AppendNull()
	require.NoError(t, row.ParseJSONValue([]byte(step[2:]), &b.in), step)
	b.in.AppendNull()
	switch step[0] {
	case '+':
		return b.Add(&b.cell, &b.in, 1)
	case '<':
		return b.AddReversed(&b.cell, &b.in, 1)
	case '-':
		return b.Retract(&b.cell, &b.in, 1)
	}
	return fmt.Errorf("bad step %s", step)
}

func (b *bench) value() string { return string(row.AppendJSONValue(nil, &b.cell, 0)) }

func TestFunctions(t *testing.T) {
	distinct := table.Options{"fields.c.distinct": "true"}
	rows := "ARRAY<ROW<a INT, b STRING, c INT>>"
	keyed := table.Options{"fields.c.nested-key": "a, b"}
	timed := "MAP<STRING, ROW<v INT, t STRING>>"
	for _, c := range []struct {
		function, typ string
		options       table.Options
		steps         string // separated by ;
		want          string
	}{
		{"sum", "INT", nil, "+ null; + 3; + null; + 4; - 2", "5"},
		{"sum", "INT", nil, "- 2; + 3", "1"},
		{"sum", "INT", nil, "- null", "null"},
		{"sum", "INT", nil, "+ 2147483647; + 1", "-2147483648"},
		{"sum", "INT", nil, "- -2147483648", "-2147483648"},
		{"sum", "TINYINT", nil, "+ 127; + 1", "-128"},
		{"sum", "TINYINT", nil, "- -128", "-128"},
		{"sum", "SMALLINT", nil, "+ -32768; - 1", "32767"},
		{"sum", "BIGINT", nil, "+ 9223372036854775807; + 2", "-9223372036854775807"},
		{"sum", "FLOAT", nil, "+ 0.5; - 0.25; < 1", "1.25"},
		{"sum", "DOUBLE", nil, "- 0.5; + 2", "1.5"},
		{"sum", "DECIMAL(4, 2)", nil, `+ "99.99"; + "0.02"`, `"100.01"`}, // as in Java: more digits than the type has
		{"sum", "DECIMAL(4, 2)", nil, `- "99.99"`, `"-99.99"`},
		{"sum", "DECIMAL(18, 0)", nil, strings.Repeat(`+ "999999999999999999"; `, 9) + `+ "0"`, `"8999999999999999991"`},
		{"sum", "DECIMAL(18, 0)", nil, strings.Repeat(`+ "999999999999999999"; `, 9) + `+ "999999999999999999"`, "null"},
		{"sum", "DECIMAL(19, 1)", nil, `+ "999999999999999999.9"; + "-1"`, `"999999999999999998.9"`},
		{"sum", "DECIMAL(19, 1)", nil, `+ "999999999999999999.9"; + "0.1"`, "null"},
		{"sum", "DECIMAL(19, 1)", nil, `+ "999999999999999999.9"; + "0.1"; + "7"`, `"7.0"`},
		{"product", "INT", nil, "+ 3; + null; + 4; - 5", "2"},
		{"product", "INT", nil, "- 4", "null"},
		{"product", "TINYINT", nil, "+ -128; - -1", "-128"},
		{"product", "BIGINT", nil, "+ 4611686018427387904; + 2", "-9223372036854775808"},
		{"product", "DOUBLE", nil, "+ 3; + 0.5; - 3", "0.5"},
		{"product", "FLOAT", nil, "+ 3; + 0.5; - 3", "0.5"},
		{"product", "DECIMAL(6, 2)", nil, `+ "1.05"; + "0.10"`, `"0.11"`}, // half up
		{"product", "DECIMAL(6, 2)", nil, `+ "-1.05"; + "0.10"`, `"-0.11"`},
		{"product", "DECIMAL(6, 2)", nil, `+ "-1.04"; + "0.10"`, `"-0.10"`},
		{"product", "DECIMAL(6, 2)", nil, `+ "1000.00"; + "10.00"`, "null"},
		{"product", "DECIMAL(6, 2)", nil, `+ "1.00"; - "8.00"`, `"0.13"`},
		{"product", "DECIMAL(6, 2)", nil, `+ "6.00"; - "-15.00"`, `"-0.40"`},
		{"product", "DECIMAL(6, 2)", nil, `+ "0.00"; - "3.00"`, `"0.00"`},
		{"product", "DECIMAL(38, 0)", nil, `+ "99999999999999999999999999999999999999"; + "1"`, `"99999999999999999999999999999999999999"`},
		{"product", "DECIMAL(38, 0)", nil, `+ "99999999999999999999999999999999999999"; + "99999999999999999999999999999999999999"`, "null"},
		{"max", "INT", nil, "+ 1; + null; + 3; + 2; < 0", "3"},
		{"min", "INT", nil, "+ 1; + null; + 3; + -2; < 0", "-2"},
		{"max", "STRING", nil, `+ "a"; + "b"; + "ab"`, `"b"`},
		{"min", "DECIMAL(20, 1)", nil, `+ "3.0"; + "-2.5"`, `"-2.5"`},
		{"max", "DOUBLE", nil, `+ -0; + 0; + "NaN"; + 5`, `"NaN"`},
		{"max", "TIMESTAMP(9)", nil, `+ "2024-01-01T00:00:00.000000001"; + "2024-01-01T00:00:00.000000002"`, `"2024-01-01T00:00:00.000000002"`},
		{"last_value", "STRING", nil, `+ "a"; + null`, "null"},
		{"last_value", "STRING", nil, `+ "a"; < "b"`, `"a"`},
		{"last_value", "STRING", nil, `+ "a"; - "b"`, "null"},
		{"last_non_null_value", "STRING", nil, `+ "a"; + null; - null`, `"a"`},
		{"last_non_null_value", "STRING", nil, `+ "a"; - "b"`, "null"},
		{"last_non_null_value", "STRING", nil, `+ null; < "b"`, `"b"`},
		{"first_value", "INT", nil, "+ null; + 1", "null"},
		{"first_value", "INT", nil, "+ 1; + 2; < 0", "0"},
		{"first_non_null_value", "INT", nil, "+ null; + 1; + 2", "1"},
		{"first_non_null_value", "INT", nil, "+ 1; + 2; < 0", "0"},
		{"first_not_null_value", "INT", nil, "+ null; + 1; + 2", "1"},
		{"bool_and", "BOOLEAN", nil, "+ true; + null; + false; + true", "false"},
		{"bool_or", "BOOLEAN", nil, "+ false; + null; + true; + false", "true"},
		{"listagg", "STRING", nil, `+ null; + "a"; + ""; + "b"; < "0"`, `"0,a,b"`},
		{"listagg", "STRING", nil, `+ ""; + "a"`, `"a"`},
		{"listagg", "STRING", table.Options{"fields.c.list-agg-delimiter": " - "}, `+ "a"; + "b"`, `"a - b"`},
		{"listagg", "STRING", distinct, `+ "a,a"; + "b,,a"; + "c,b"`, `"a,a,b,c"`},
		{"listagg", "STRING", distinct, `+ "a"; < "b,a,c"`, `"b,a,c"`},
		{"listagg", "STRING", distinct.With(table.Options{"fields.c.list-agg-delimiter": ""}), `+ "a b"; + "b c"`, `"a bc"`},
		{"collect", "ARRAY<INT>", nil, "+ [1,2]; + null; + [2,null]; < [0]", "[1,2,2,null,0]"},
		{"collect", "ARRAY<INT>", table.Options{"fields.c.ignore-retract": "true"}, "+ [1,2]; < [0]; - [1]", "[0,1,2]"},
		{"collect", "ARRAY<INT>", nil, "+ [1,2,1,1,null]; - [1,1,3,null]", "[2,1]"},
		{"collect", "ARRAY<INT>", nil, "+ [1]; - [1]; - [2]", "[]"},
		{"collect", "ARRAY<INT>", nil, "- [1]; + [1]; - null; - []", "[1]"},
		{"collect", "ARRAY<INT>", distinct, "+ [1,2,1]; + [3,2,null,null]", "[1,2,3,null]"},
		{"collect", "ARRAY<INT>", distinct, "+ [2,2]; + null; + null", "[2]"},
		{"collect", "ARRAY<ROW<x INT, y STRING>>", distinct, `+ [{"x":1,"y":"a"}]; + [{"x":1,"y":"a"},{"x":1,"y":null},{"x":1,"y":null}]`, `[{"x":1,"y":"a"},{"x":1,"y":null}]`},
		{"collect", "ARRAY<MAP<STRING, INT>>", distinct, `+ [[["a",1],["b",2]]]; + [[["b",2],["a",1]],[["a",1]]]`, `[[["a",1],["b",2]],[["a",1]]]`},
		{"collect", "ARRAY<BYTES>", nil, `+ ["MQ==",null]; - ["MQ==",null]`, `["MQ=="]`},
		{"merge_map", "MAP<STRING, INT>", nil, `+ [["a",1],["b",2]]; + null; + [["b",3],["c",null]]; < [["a",0],["d",4]]`, `[["a",1],["b",3],["c",null],["d",4]]`},
		{"merge_map", "MAP<STRING, INT>", nil, `+ [["a",1],["b",2]]; - [["b",7],["x",1]]; - []; - null`, `[["a",1]]`},
		{"merge_map", "MAP<STRING, INT>", nil, `- [["a",1]]`, "null"},
		{"merge_map_with_keytime", timed, nil, `+ [["a",{"v":1,"t":"2"}],["b",{"v":1,"t":null}]]; + [["a",{"v":2,"t":"1"}],["b",{"v":2,"t":"0"}],["c",{"v":3,"t":null}],["d",{"v":4,"t":"4"}]]`,
			`[["a",{"v":1,"t":"2"}],["b",{"v":2,"t":"0"}],["d",{"v":4,"t":"4"}]]`},
		{"merge_map_with_keytime", timed, nil, `+ [["a",{"v":1,"t":"2"}],["b",{"v":1,"t":"9"}]]; + [["a",null],["b",{"v":2,"t":"9"}]]; + [["a",{"v":5,"t":"0"}]]`,
			`[["a",{"v":5,"t":"0"}],["b",{"v":1,"t":"9"}]]`},
		{"merge_map_with_keytime", timed, nil, `+ [["a",{"v":1,"t":"😀"}]]; + [["a",{"v":2,"t":"～"}]]`, `[["a",{"v":2,"t":"～"}]]`}, // the order of UTF-16
		{"nested_update", rows, nil, `+ [{"a":1,"b":"x","c":1}]; + [null,{"a":1,"b":"x","c":1}]`, `[{"a":1,"b":"x","c":1},{"a":1,"b":"x","c":1}]`},
		{"nested_update", rows, nil, `+ [{"a":1,"b":"x","c":1},null,{"a":2,"b":null,"c":1},{"a":1,"b":"x","c":1}]; - [{"a":1,"b":"x","c":1},null]`, `[{"a":2,"b":null,"c":1}]`},
		{"nested_update", rows, table.Options{"fields.c.count-limit": "3"}, `+ [{"a":1},null]; + [null,{"a":2},{"a":3}]; + [{"a":4}]; + [{"a":5}]`,
			`[{"a":1,"b":null,"c":null},{"a":2,"b":null,"c":null},{"a":4,"b":null,"c":null}]`},
		{"nested_update", rows, keyed, `+ [{"a":1,"b":"x","c":1},{"a":2,"b":"x","c":1}]; + [{"a":1,"b":"x","c":2},{"a":1,"b":"y","c":3}]`,
			`[{"a":1,"b":"x","c":2},{"a":2,"b":"x","c":1},{"a":1,"b":"y","c":3}]`},
		{"nested_update", rows, keyed, `+ [{"a":1,"b":"x","c":1},{"a":2,"b":"x","c":1},{"a":2,"b":"x","c":2}]; - [{"a":1,"b":"x","c":9}]`, `[{"a":2,"b":"x","c":2}]`},
		{"nested_partial_update", rows, table.Options{"fields.c.nested-key": "a"}, `+ [{"a":1,"b":"x","c":1},null]; + [{"a":1,"b":null,"c":2},{"a":2,"b":"z"}]`,
			`[{"a":1,"b":"x","c":2},{"a":2,"b":"z","c":null}]`},
		{"max", "INT", table.Options{"fields.c.ignore-retract": "true"}, "+ 3; - 3", "3"},
		{PrimaryKey, "INT", nil, "+ 3; - 3; < 3", "3"},
	} {
		b := newBench(t, c.function, c.typ, c.options)
		for range 2 { // nothing stays from key to key
			b.begin()
			for step := range strings.SplitSeq(c.steps, "; ") {
				require.NoError(t, b.do(t, step), "%s(%s): %s", c.function, c.typ, c.steps)
			}
			require.Equal(t, c.want, b.value(), "%s(%s) %v: %s", c.function, c.typ, c.options, c.steps)
			require.Equal(t, 1, b.cell.N)
		}
	}
}

func TestDataThatAFunctionCantTake(t *testing.T) {
	for _, c := range []struct {
		function, typ, steps string
		want                 []string
	}{
		{"max", "INT", "+ 1; - 1", []string{"column c", "max", "fields.c.ignore-retract=true"}},
		{"listagg", "STRING", `- "a"`, []string{"column c", "listagg", "fields.c.ignore-retract=true"}},
		{"first_value", "INT", "- 1", []string{"column c", "ignore-retract"}},
		{"bool_or", "BOOLEAN", "- true", []string{"column c", "ignore-retract"}},
		{"product", "INT", "+ 1; - 0", []string{"column c", "product", "divides by zero"}},
		{"product", "BIGINT", "+ 1; - 0", []string{"divides by zero"}},
		{"product", "DECIMAL(6, 2)", `+ "1"; - "0"`, []string{"divides by zero"}},
		{"product", "DECIMAL(6, 2)", `+ "10"; - "3"`, []string{"column c", "without end"}},
		{"rbm32", "BYTES", `+ "AAAA"; + "AAAA"`, []string{"column c", "rbm32", "no Roaring bitmap"}},
	} {
		b := newBench(t, c.function, c.typ, nil)
		var err error
		for step := range strings.SplitSeq(c.steps, "; ") {
			require.NoError(t, err)
			err = b.do(t, step)
		}
		for _, w := range c.want {
			require.ErrorContains(t, err, w, "%s(%s): %s", c.function, c.typ, c.steps)
		}
	}
}

func TestOptionsThatAreNotValid(t *testing.T) {
	for _, c := range []struct {
		function, typ string
		options       table.Options
		want          string
	}{
		{"sum", "STRING", nil, "function sum needs a number, not STRING"},
		{"product", "BOOLEAN", nil, "number"},
		{"max", "ARRAY<INT>", nil, "order"},
		{"bool_and", "INT", nil, "BOOLEAN"},
		{"bool_or", "INT", nil, "BOOLEAN"},
		{"listagg", "VARCHAR(10)", nil, "STRING"},
		{"collect", "MAP<INT, INT>", nil, "ARRAY"},
		{"merge_map", "ARRAY<INT>", nil, "MAP"},
		{"merge_map_with_keytime", "MAP<INT, INT>", nil, "rows"},
		{"merge_map_with_keytime", "MAP<INT, ROW<t STRING>>", nil, "2 fields"},
		{"merge_map_with_keytime", "MAP<INT, ROW<a INT, t STRING>>", table.Options{"fields.c.ts-field": "x"}, "field x"},
		{"merge_map_with_keytime", "MAP<INT, ROW<a INT, t INT>>", nil, "string"},
		{"nested_update", "ARRAY<INT>", nil, "rows"},
		{"nested_update", "ARRAY<ROW<a INT>>", table.Options{"fields.c.nested-key": "b"}, "nested-key"},
		{"nested_update", "ARRAY<ROW<a INT>>", table.Options{"fields.c.count-limit": "many"}, "count-limit"},
		{"nested_update", "ARRAY<ROW<a INT>>", table.Options{"fields.c.nested-sequence-field": "a"}, "nested-sequence-field"},
		{"nested_partial_update", "ARRAY<ROW<a INT>>", nil, "nested-key"},
		{"rbm32", "BINARY(3)", nil, "VARBINARY"},
		{"listagg", "STRING", table.Options{"fields.c.distinct": "maybe"}, "distinct"},
		{"max", "INT", table.Options{"fields.c.ignore-retract": "maybe"}, "ignore-retract"},
		{"max", "INT", table.Options{"fields.c.ignore-retract": "true", "aggregation.remove-record-on-delete": "true"}, "exclude each other"},
		{"avg", "INT", nil, "no function"},
	} {
		typ, err := row.ParseType(c.typ)
		require.NoError(t, err)
		_, err = New(&row.Field{Name: "c", Type: typ}, c.function, c.options)
		require.ErrorIs(t, err, table.ErrOption, "%s(%s)", c.function, c.typ)
		require.ErrorContains(t, err, c.want, "%s(%s)", c.function, c.typ)
		require.Regexp(t, `column c|fields\.c\.`, err.Error())
	}
}

func TestCommonFunctionsAllocateNothing(t *testing.T) {
	for _, c := range [][3]string{
		{"sum", "INT", "5"}, {"sum", "DECIMAL(10, 2)", `"1.25"`}, {"sum", "DECIMAL(38, 2)", `"1.25"`}, {"product", "BIGINT", "3"},
		{"max", "STRING", `"abc"`}, {"min", "TIMESTAMP(6)", `"2024-01-01T00:00:00"`}, {"last_value", "STRING", `"abc"`},
		{"last_non_null_value", "BIGINT", "3"}, {"first_value", "STRING", `"abc"`}, {"bool_or", "BOOLEAN", "true"},
		{"listagg", "STRING", `"abc"`}, {"collect", "ARRAY<INT>", "[1,2,3]"}, {"merge_map", "MAP<STRING, INT>", `[["a",1]]`},
	} {
		o := table.Options{}
		if c[0] == "collect" {
			o["fields.c.distinct"] = "true"
		}
		b := newBench(t, c[0], c[1], o)
		require.NoError(t, row.ParseJSONValue([]byte(c[2]), &b.in))
		n := testing.AllocsPerRun(50, func() {
			b.begin()
			for range 20 {
				if err := b.Add(&b.cell, &b.in, 0); err != nil {
					panic(err)
				}
				if err := b.AddReversed(&b.cell, &b.in, 0); err != nil {
					panic(err)
				}
			}
		})
		require.Zero(t, n, c)
	}
}
