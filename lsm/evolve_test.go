package lsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
)

func TestOldValuesAreReadAsJavaCastsThem(t *testing.T) {
	for _, c := range []struct{ from, value, to, want string }{
		{"TINYINT", "-128", "BIGINT", "-128"},
		{"INT", "5", "DOUBLE", "5"},
		{"BIGINT", "9007199254740993", "FLOAT", "9007199000000000"},
		{"FLOAT", "0.1", "DOUBLE", "0.10000000149011612"},
		{"BIGINT", "5000000000", "INT", "705032704"},
		{"INT", "383", "TINYINT", "127"},
		{"DOUBLE", "1e30", "INT", "2147483647"},
		{"DOUBLE", "1e30", "BIGINT", "9223372036854775807"},
		{"DOUBLE", "-1.9", "SMALLINT", "-1"},
		{"DOUBLE", `"NaN"`, "INT", "0"},
		{"INT", "7", "DECIMAL(10, 2)", `"7.00"`},
		{"INT", "1000", "DECIMAL(5, 2)", "null"},
		{"BIGINT", "-9", "DECIMAL(38, 3)", `"-9.000"`},
		{"DOUBLE", "0.125", "DECIMAL(5, 2)", `"0.13"`},
		{"DOUBLE", "1e-7", "DECIMAL(10, 8)", `"0.00000010"`},
		{"DOUBLE", "1.5e8", "DECIMAL(10, 0)", `"150000000"`},
		{"DECIMAL(10, 2)", `"1.25"`, "DECIMAL(12, 4)", `"1.2500"`},
		{"DECIMAL(10, 2)", `"-1.25"`, "DECIMAL(10, 1)", `"-1.3"`},
		{"DECIMAL(10, 2)", `"1.24"`, "DECIMAL(10, 1)", `"1.2"`},
		{"DECIMAL(10, 2)", `"99999999.99"`, "DECIMAL(9, 2)", "null"},
		{"DECIMAL(10, 2)", `"-99999999.99"`, "DECIMAL(38, 10)", `"-99999999.9900000000"`},
		{"DECIMAL(38, 10)", `"-1234567890123456789012345678.9"`, "DECIMAL(38, 1)", `"-1234567890123456789012345678.9"`},
		{"DECIMAL(38, 10)", `"-2.5"`, "BIGINT", "-2"},
		{"DECIMAL(10, 2)", `"-2.50"`, "DOUBLE", "-2.5"},
		{"DECIMAL(38, 2)", `"12345678901234567890.25"`, "DOUBLE", "12345678901234567000"},
		{"DECIMAL(10, 2)", `"-0.05"`, "STRING", `"-0.05"`},
		{"INT", "-12", "VARCHAR(2)", `"-1"`},
		{"BOOLEAN", "true", "INT", "1"},
		{"BOOLEAN", "false", "STRING", `"false"`},
		{"INT", "3", "BOOLEAN", "true"},
		{"DATE", `"2024-02-29"`, "STRING", `"2024-02-29"`},
		{"VARCHAR(10)", `"é漢😀x"`, "VARCHAR(3)", `"é漢😀"`},
		{"VARCHAR(10)", `"é"`, "CHAR(3)", `"é  "`},
		{"VARCHAR(3)", `"é漢😀"`, "STRING", `"é漢😀"`},
		{"CHAR(3)", `"ab "`, "STRING", `"ab "`},
		{"VARBINARY(4)", `"AQIDBA=="`, "VARBINARY(2)", `"AQI="`},
		{"VARBINARY(4)", `"AQI="`, "BINARY(3)", `"AQIA"`},
		{"STRING", `"hi"`, "BYTES", `"aGk="`},
		{"TIMESTAMP(3)", `"1969-12-31T23:59:59.999"`, "TIMESTAMP(6)", `"1969-12-31T23:59:59.999000000"`},
		{"TIMESTAMP(6)", `"1969-12-31T23:59:59.999999"`, "TIMESTAMP(3)", `"1969-12-31T23:59:59.999000000"`},
		{"TIMESTAMP(6)", `"2024-01-01T00:00:00.123456"`, "TIMESTAMP(9)", `"2024-01-01T00:00:00.123456000"`},
		{"TIMESTAMP(9)", `"2024-01-01T00:00:00.123456789"`, "TIMESTAMP(7)", `"2024-01-01T00:00:00.123456700"`},
		{"TIMESTAMP(9)", `"2024-01-01T00:00:00.123456789"`, "TIMESTAMP(1)", `"2024-01-01T00:00:00.100000000"`},
		{"TIMESTAMP(3)", `"1969-12-31T23:59:59.999"`, "DATE", `"1969-12-31"`},
		{"TIMESTAMP(6)", `"1969-12-31T23:59:59.5"`, "TIME(3)", `"23:59:59.500"`},
		{"DATE", `"1969-12-31"`, "TIMESTAMP(6)", `"1969-12-31T00:00:00.000000000"`},
		{"TIME(0)", `"00:00:01"`, "TIMESTAMP(3)", `"1970-01-01T00:00:01.000000000"`},
		{"TIMESTAMP(3) WITH LOCAL TIME ZONE", `"2024-01-01T00:00:00Z"`, "TIMESTAMP(6) WITH LOCAL TIME ZONE", `"2024-01-01T00:00:00.000000000Z"`},
		{"ARRAY<INT>", "[1,null,3]", "ARRAY<BIGINT>", "[1,null,3]"},
		{"MAP<STRING, INT>", `[["a",1],["b",null]]`, "MAP<STRING, DOUBLE>", `[["a",1],["b",null]]`},
		{"ARRAY<ARRAY<FLOAT>>", "[[1.5],null,[]]", "ARRAY<ARRAY<DOUBLE>>", "[[1.5],null,[]]"},
	} {
		from, to := mustType(t, c.from), mustType(t, c.to)
		var src, dst row.Column
		src.Init(&from)
		dst.Init(&to)
		for range 2 { // twice, with a null between
			require.NoError(t, row.ParseJSONValue([]byte(c.value), &src))
			src.AppendNull()
		}
		conv, err := newConvert(&from, &to)
		require.NoError(t, err, "%v", c)
		require.NoError(t, convertOrCopy(conv, &dst, &src), "%v", c)
		require.NoError(t, convertOrCopy(conv, &dst, &src), "%v", c)
		require.Equal(t, 8, dst.N)
		for i := range dst.N {
			want := c.want
			if i%2 == 1 {
				want = "null"
			}
			require.Equal(t, want, string(row.AppendJSONValue(nil, &dst, i)), "%v", c)
		}
	}
}

func TestNestedRowsAreMatchedByFieldID(t *testing.T) {
	typ := func(s string, ids ...int) row.Type {
		f := mustType(t, s)
		for i := range f.Fields {
			f.Fields[i].ID = ids[i]
		}
		return f
	}
	from, to := typ("ROW<a INT, b STRING, c FLOAT>", 5, 6, 7), typ("ROW<c2 DOUBLE, d DATE, a INT>", 7, 9, 5)
	var src, dst row.Column
	src.Init(&from)
	dst.Init(&to)
	require.NoError(t, row.ParseJSONValue([]byte(`{"a":1,"b":"x","c":0.5}`), &src))
	src.AppendNull()
	conv, err := newConvert(&from, &to)
	require.NoError(t, err)
	require.NoError(t, conv(&dst, &src))
	require.Equal(t, `{"c2":0.5,"d":null,"a":1}`, string(row.AppendJSONValue(nil, &dst, 0)))
	require.Equal(t, `null`, string(row.AppendJSONValue(nil, &dst, 1)))

	renamed := typ("ROW<z INT, y STRING, x FLOAT>", 5, 6, 7)
	conv, err = newConvert(&from, &renamed)
	require.NoError(t, err)
	require.Nil(t, conv, "names make no difference")
}

func TestCastsThatAreNotDoneAreNamed(t *testing.T) {
	for from, to := range map[string]string{
		"STRING": "INT", "TIMESTAMP(3)": "TIMESTAMP(3) WITH LOCAL TIME ZONE", "FLOAT": "STRING", "INT": "ARRAY<INT>",
		"MAP<INT, INT>": "MAP<BIGINT, INT>", "ARRAY<STRING>": "ARRAY<DATE>", "DECIMAL(5, 0)": "BOOLEAN",
	} {
		f, w := mustType(t, from), mustType(t, to)
		_, err := newConvert(&f, &w)
		require.ErrorContains(t, err, "not read as", "%s to %s", from, to)
	}
}

// TestEveryCastIsDoneOrUnsupported: a table whose column took such a way is one for other engines, nothing to try again.
func TestEveryCastIsDoneOrUnsupported(t *testing.T) {
	types := []string{"BOOLEAN", "TINYINT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "CHAR(3)", "STRING", "BINARY(3)", "BYTES", "DATE", "TIME(3)",
		"TIMESTAMP(3)", "TIMESTAMP(9)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "ARRAY<INT>", "ARRAY<FLOAT>", "ARRAY<STRING>", "MAP<INT, DOUBLE>", "MAP<INT, STRING>",
		"MAP<STRING, INT>", "MULTISET<STRING>", "ROW<a INT>"}
	named := 0
	for _, a := range types {
		for _, b := range types {
			from, err := row.ParseType(a)
			require.NoError(t, err)
			to, err := row.ParseType(b)
			require.NoError(t, err)
			if _, err := newConvert(&from, &to); err != nil {
				require.ErrorIs(t, err, ErrUnsupported)
				named++
			}
		}
	}
	require.Positive(t, named)
}
