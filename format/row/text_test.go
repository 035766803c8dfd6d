package row

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseTypeIsAsLenientAsJava(t *testing.T) {
	for in, want := range map[string]string{
		"int":                              "INT",
		" Integer  not  NULL ":             "INT NOT NULL",
		"bigint null":                      "BIGINT",
		"CHAR":                             "CHAR(1)",
		"varchar(2147483647)":              "STRING",
		"VARCHAR":                          "VARCHAR(1)",
		"STRING NOT NULL":                  "STRING NOT NULL",
		"bytes":                            "BYTES",
		"BINARY ( 5 )":                     "BINARY(5)",
		"VARBINARY(2147483647)":            "BYTES",
		"NUMERIC(10,2)":                    "DECIMAL(10, 2)",
		"dec(5)":                           "DECIMAL(5, 0)",
		"DECIMAL":                          "DECIMAL(10, 0)",
		"DOUBLE PRECISION":                 "DOUBLE",
		"TIME":                             "TIME(0)",
		"TIME(3) WITHOUT TIME ZONE":        "TIME(3)",
		"TIMESTAMP":                        "TIMESTAMP(6)",
		"TIMESTAMP(3) WITHOUT TIME ZONE":   "TIMESTAMP(3)",
		"TIMESTAMP(3)WITH LOCAL TIME ZONE": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
		"timestamp_ltz(9) not null":        "TIMESTAMP(9) WITH LOCAL TIME ZONE NOT NULL",
		"INT NOT NULL ARRAY NOT NULL":      "ARRAY<INT NOT NULL> NOT NULL",
		"INT MULTISET":                     "MULTISET<INT>",
		"MAP<STRING, INT> NOT NULL":        "MAP<STRING, INT> NOT NULL",
		"ROW<a INT, `b c` STRING COMMENT 'it''s'>": "ROW<`a` INT, `b c` STRING COMMENT 'it''s'>",
		"ROW<>": "ROW<>",
	} {
		got, err := ParseType(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got.String(), in)
	}
	for _, bad := range []string{"", "INT INT", "INT NOT", "CHAR(0)", "DECIMAL(39)", "DECIMAL(5,6)", "TIMESTAMP(10)", "VARCHAR(", "VARCHAR(a)",
		"VARIANT", "BLOB", "ARRAY<INT", "MAP<INT>", "TIMESTAMP WITH TIME ZONE", "ROW<a>", "VARCHAR(99999999999)"} {
		_, err := ParseType(bad)
		require.Error(t, err, bad)
	}
}

func TestFieldJSONIsThatOfASchemaFile(t *testing.T) {
	const text = `{"id":28,"name":"r","type":{"type":"ROW NOT NULL","fields":[{"id":29,"name":"a","type":"INT"},` +
		`{"id":30,"name":"m","type":{"type":"MAP","key":"STRING NOT NULL","value":{"type":"ARRAY NOT NULL","element":"BIGINT"}},` +
		`"description":"a \"map\" <b>"},{"id":31,"name":"s","type":{"type":"MULTISET","element":"DATE"},"defaultValue":""}]},"description":"row"}`
	var f Field
	require.NoError(t, json.Unmarshal([]byte(text), &f))
	require.Equal(t, `ROW<`+"`a` INT, `m` MAP<STRING NOT NULL, ARRAY<BIGINT> NOT NULL> COMMENT 'a \"map\" <b>', `s` MULTISET<DATE> DEFAULT > NOT NULL",
		f.Type.String())
	got, err := f.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, text, string(got))

	var noID Field
	require.NoError(t, json.Unmarshal([]byte(`{"name":"a","type":"int"}`), &noID))
	require.Equal(t, -1, noID.ID)
	for _, bad := range []string{`{"id":1,"type":"INT"}`, `{"id":1,"name":"a"}`, `{"id":1,"name":"a","type":"WHAT"}`, `{"id":1,"name":"a","type":{"type":"ARRAY"}}`,
		`{"id":1,"name":"a","type":{"type":"VECTOR","element":"INT"}}`, `{"id":1,"name":"a","type":7}`, `[]`} {
		require.Error(t, json.Unmarshal([]byte(bad), &f), bad)
	}
}

func TestParseDecimalNeverRounds(t *testing.T) {
	for _, c := range []struct {
		in    string
		scale int
		want  string
	}{
		{"1.5", 2, "1.50"}, {"-0.05", 2, "-0.05"}, {"+7", 0, "7"}, {".5", 1, "0.5"}, {"5.", 1, "5.0"}, {"1.500", 1, "1.5"}, {"0.000", 0, "0"},
		{"1e3", 0, "1000"}, {"1.25E-1", 3, "0.125"}, {"100e-2", 0, "1"}, {"-0", 0, "0"}, {"0e99", 0, "0"},
		{"99999999999999999999999999999999999999", 0, "99999999999999999999999999999999999999"},
		{"-0.00000000000000000000000000000000000001", 38, "-0.00000000000000000000000000000000000001"},
		{"000000000000000000000000000000000000000000000000001", 0, "1"},
	} {
		v, err := ParseDecimal(c.in, c.scale)
		require.NoError(t, err, c.in)
		require.Equal(t, c.want, string(v.AppendText(nil, c.scale)), c.in)
	}
	for in, want := range map[string]error{
		"": ErrDecimalSyntax, "-": ErrDecimalSyntax, ".": ErrDecimalSyntax, "1.2.3": ErrDecimalSyntax, "1e": ErrDecimalSyntax, "e5": ErrDecimalSyntax,
		"1x": ErrDecimalSyntax, " 1": ErrDecimalSyntax, "NaN": ErrDecimalSyntax,
		"1.234": ErrDecimalInexact, "1e-3": ErrDecimalInexact,
		"1e37": ErrDecimalRange, "1e999999999999": ErrDecimalRange, "999999999999999999999999999999999999.991e1": ErrDecimalRange,
		"99999999999999999999999999999999999999999999999999": ErrDecimalRange,
	} {
		_, err := ParseDecimal([]byte(in), 2)
		require.ErrorIs(t, err, want, in)
	}
}

func TestFloatTexts(t *testing.T) {
	for _, c := range []struct {
		v          float64
		java, json string
	}{
		{1e-7, "1.0E-7", "1e-7"}, {1e-6, "1.0E-6", "0.000001"}, {1e21, "1.0E21", "1e+21"}, {1e20, "1.0E20", "100000000000000000000"},
		{0.001, "0.001", "0.001"}, {-123456.75, "-123456.75", "-123456.75"}, {1e7, "1.0E7", "10000000"}, {3, "3.0", "3"},
		{5e-324, "4.9E-324", "5e-324"}, {1.25e100, "1.25E100", "1.25e+100"},
	} {
		require.Equal(t, c.java, string(appendJavaFloat(nil, c.v, 64)))
		require.Equal(t, c.json, string(appendJSONFloat(nil, c.v, 64)))
		want, err := json.Marshal(c.v)
		require.NoError(t, err)
		require.Equal(t, string(want), c.json)
	}
}

func TestJSONRowsOfEveryType(t *testing.T) {
	typ := fuzzRow(t)
	b := NewBatch(typ)
	require.NoError(t, ParseJSONRow([]byte(fuzzJSON), b))
	require.NoError(t, ParseJSONRow([]byte(` { "_kind" : "-D", "_snapshot": {"x":[1,"a",null]}, "d" : "7", "j": 12, "r":{"b":null,"a":{"x":3}}, "f":"NaN" } `), b))
	require.Equal(t, `{"_kind":"+I","a":true,"b":-1,"c":300,"d":-70000,"e":9007199254740993,"f":1.5,"g":-0,"h":"-12.30","i":"1.0000000001",`+
		`"j":"longer than seven","k":"AQID","l":"2024-02-29","m":"01:02:03.004","n":"1969-12-31T23:59:59.999000000",`+
		`"o":"2024-01-01T00:00:00.123456000","p":"2024-01-01T00:00:00.123456789Z","q":[["a",null],[],["bbbbbbbbbb"]],`+
		`"r":[["k",{"x":1,"y":"-5"}]],"s":[["2024-01-01T00:00:00.000000000",2]],"u":{"z":[1,2,3,4,5,6,7,8,9]}}`,
		string(AppendJSONRow(nil, b, 0, true)))
	require.Equal(t, `{"a":null,"b":null,"c":null,"d":7,"e":null,"f":"NaN","g":null,"h":null,"i":null,"j":"12","k":null,"l":null,"m":null,`+
		`"n":null,"o":null,"p":null,"q":null,"r":[["a",{"x":3,"y":null}],["b",null]],"s":null,"u":null}`, string(AppendJSONRow(nil, b, 1, false)))
	require.Equal(t, []Kind{Insert, Delete}, b.Kinds)

	for _, bad := range []string{``, `[]`, `{"a":true`, `{"a":true}}`, `{"x":1}`, `{"a":true,"a":false}`, `{"b":128}`, `{"d":1.5}`, `{"h":"1.234"}`,
		`{"h":"123456789.00"}`, `{"l":"2023-02-29"}`, `{"m":"24:00:00"}`, `{"n":"2024-01-01"}`, `{"n":"2024-01-01T00:00:00Z"}`, `{"k":"?"}`,
		`{"q":[["a"}`, `{"r":[["k"]]}`, `{"r":[["k",null,null]]}`, `{"u":{"y":1}}`, `{"_kind":"+X"}`, `{"a":tru}`, "{\"j\":\"a\nb\"}", `{"j":nul}`} {
		require.Error(t, ParseJSONRow([]byte(bad), b), bad)
		require.Equal(t, 2, b.N)
		for c := range b.Cols {
			require.Equal(t, 2, b.Cols[c].N)
		}
	}
}

func TestBucketFunctionsRefuseWhatJavaRefuses(t *testing.T) {
	str, ts, in := Type{Root: VarChar, Length: 5}, Type{Root: Timestamp}, Type{Root: Int}
	for _, c := range []struct {
		kind  string
		n     int
		types []*Type
	}{{"mod", 4, []*Type{&str}}, {"mod", 4, []*Type{&in, &in}}, {"hive", 4, []*Type{&ts}}, {"default", 0, []*Type{&in}}, {"crc", 4, []*Type{&in}}} {
		_, err := NewBucketFunc(c.kind, c.types, c.n)
		require.Error(t, err, c.kind)
	}
}
