package lsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
)

func TestOldValuesAreReadAsJavaCastsThem(t *testing.T) {
	for _, c := range castCases {
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
		"STRING": "ARRAY<INT>", "TIMESTAMP(3)": "TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(3) WITH LOCAL TIME ZONE": "STRING",
		"INT": "ARRAY<INT>", "BIGINT": "TIMESTAMP(3) WITH LOCAL TIME ZONE", "MAP<INT, INT>": "MAP<BIGINT, INT>",
		"ARRAY<DATE>": "ARRAY<TIME(3)>", "DECIMAL(5, 0)": "BOOLEAN", "MULTISET<STRING>": "STRING",
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

// TestTimesOfTimestampsBefore1970: Java makes a negative TIME of one, and so do we.
func TestTimesOfTimestampsBefore1970(t *testing.T) {
	from, to := mustType(t, "TIMESTAMP(6)"), mustType(t, "TIME(3)")
	var src, dst row.Column
	src.Init(&from)
	dst.Init(&to)
	require.NoError(t, row.ParseJSONValue([]byte(`"1969-12-31T23:59:59.5"`), &src))
	conv, err := newConvert(&from, &to)
	require.NoError(t, err)
	require.NoError(t, conv(&dst, &src))
	require.Equal(t, int32(-500), dst.I32[0])
	_ = row.AppendJSONValue(nil, &dst, 0) // whatever it looks like
}

// TestValuesThatTheNewTypeHasNot: Java's readers stop at them, too.
func TestValuesThatTheNewTypeHasNot(t *testing.T) {
	for _, c := range []struct{ from, value, to string }{
		{"DOUBLE", `"NaN"`, "DECIMAL(10, 2)"}, {"FLOAT", `"-Infinity"`, "DECIMAL(10, 2)"},
		{"STRING", `""`, "INT"}, {"STRING", `"-"`, "INT"}, {"STRING", `"1e3"`, "INT"}, {"STRING", `" 1"`, "INT"}, {"STRING", `"128"`, "TINYINT"},
		{"STRING", `"9223372036854775808"`, "BIGINT"}, {"STRING", `"maybe"`, "BOOLEAN"}, {"STRING", `" 1"`, "DECIMAL(5, 2)"},
		{"STRING", `"NaN"`, "DECIMAL(5, 2)"}, {"STRING", `"1e9999999999"`, "DECIMAL(5, 2)"}, {"STRING", `"1_0"`, "DOUBLE"}, {"STRING", `"inf"`, "DOUBLE"},
		{"STRING", `""`, "FLOAT"}, {"STRING", `"2023-02-29"`, "DATE"}, {"STRING", `"2024-13"`, "DATE"}, {"STRING", `"2024-1-1-1"`, "DATE"},
		{"STRING", `"12:"`, "TIME(3)"}, {"STRING", `"10+08:00:00"`, "TIME(3)"}, {"STRING", `"noon"`, "TIME(3)"}, {"STRING", `"24-1-1"`, "TIMESTAMP(3)"},
		{"STRING", `"2024-01-01T00:00:00"`, "TIMESTAMP(3)"}, {"STRING", `"2024-01-01 00:00:60"`, "TIMESTAMP(3)"}, {"STRING", `"0000-01-01"`, "TIMESTAMP(3)"},
		{"STRING", `"1700000000"`, "TIMESTAMP(4)"},
	} {
		from, to := mustType(t, c.from), mustType(t, c.to)
		var src, dst row.Column
		src.Init(&from)
		dst.Init(&to)
		require.NoError(t, row.ParseJSONValue([]byte(c.value), &src))
		conv, err := newConvert(&from, &to)
		require.NoError(t, err, "%v", c)
		require.ErrorIs(t, conv(&dst, &src), ErrUnsupported, "%v", c)
	}
}
