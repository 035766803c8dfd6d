package table

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
)

// goldenSchema reads a schema file that Java has written.
func goldenSchema(t *testing.T, name string) (*Schema, []byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "schema", name))
	require.NoError(t, err)
	s, err := DecodeSchema(data)
	require.NoError(t, err, name)
	return s, data
}

// encoded returns a schema's file with what differs from run to run made equal.
func encoded(t *testing.T, s *Schema) string {
	t.Helper()
	c := &Schema{
		Version: s.Version, ID: s.ID, Fields: s.Fields, HighestFieldID: s.HighestFieldID, PartitionKeys: s.PartitionKeys,
		PrimaryKeys: s.PrimaryKeys, Options: s.Options, Comment: s.Comment, emptyComment: s.emptyComment,
	}
	b, err := c.Encode()
	require.NoError(t, err)
	return string(b)
}

func TestSchemaFilesOfJavaAreEncodedToTheSameBytes(t *testing.T) {
	paths, err := filepath.Glob("testdata/schema/*/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 8)
	for _, p := range paths {
		name, err := filepath.Rel("testdata/schema", p)
		require.NoError(t, err)
		s, data := goldenSchema(t, name)
		b, err := s.Encode()
		require.NoError(t, err)
		require.Equal(t, string(data), string(b), name)
	}
}

func TestSchemaOfAllTypes(t *testing.T) {
	s, _ := goldenSchema(t, "1.4.2/all-schema-0.json")
	require.EqualValues(t, 0, s.ID)
	require.Equal(t, 3, s.Version)
	require.Equal(t, 33, s.HighestFieldID)
	require.Equal(t, []string{"dt", "id"}, s.PrimaryKeys)
	require.Equal(t, []string{"id"}, s.TrimmedPrimaryKeys())
	require.Equal(t, []int{1}, s.PartitionIndexes())
	require.Equal(t, []int{0}, s.KeyIndexes())
	require.Equal(t, []int{0}, s.BucketKeyIndexes())
	require.Equal(t, []int{s.FieldIndex("ts9")}, s.SequenceIndexes())
	require.Equal(t, -1, s.FieldIndex("none"))
	require.False(t, s.CrossPartition())
	require.Equal(t, `all types, "quoted"`, s.Comment)
	require.Equal(t, "a\"b", s.Options["my comment"])
	require.Equal(t, "BIGINT NOT NULL", s.Fields[0].Type.String())
	require.Equal(t, "the key", s.Fields[0].Comment)
	require.Contains(t, s.Fields[s.FieldIndex("after")].Comment, "<html> & 'x' \u2028 \x01 tab\t é 你 😀")
	require.Same(t, s.RowType(), s.RowType())
	require.Len(t, s.RowType().Fields, len(s.Fields))
	require.Equal(t, row.Row, s.RowType().Root)
}

func TestOldVersionsHaveTheirDefaults(t *testing.T) {
	const v = `{%s"id":0,"fields":[{"id":0,"name":"k","type":"INT NOT NULL"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":["k"],"options":{%s}}`
	for _, c := range []struct{ version, options, bucket, format string }{
		{"", "", "1", "orc"},
		{`"version":1,`, "", "1", "orc"},
		{`"version":1,`, `"bucket":"4","file.format":"avro"`, "4", "avro"},
		{`"version":2,`, "", "-1", "orc"},
		{`"version":3,`, "", "-1", "parquet"},
	} {
		s, err := DecodeSchema(fmt.Appendf(nil, v, c.version, c.options))
		require.NoError(t, err)
		require.Equal(t, c.bucket, s.Options.Get(KeyBucket), c)
		require.Equal(t, c.format, FileFormat(s.Options, 0), c)
	}
}

func TestNewerSchemaVersionIsRefused(t *testing.T) {
	_, err := DecodeSchema([]byte(`{"version":4,"id":"a new kind of id"}`))
	require.ErrorIs(t, err, ErrNewerFormat)
	require.NotErrorIs(t, err, ErrCorrupt)
}

func TestDamagedSchemaIsCorrupt(t *testing.T) {
	_, data := goldenSchema(t, "1.4.2/all-schema-0.json")
	for n := range data {
		_, err := DecodeSchema(data[:n])
		require.ErrorIs(t, err, ErrCorrupt, "cut at %d", n)
	}
	_, small := goldenSchema(t, "1.4.2/altered-schema-2.json")
	// A flipped bit is found, or it has changed a value that says nothing about its own rightness.
	for i := range small {
		for bit := range 8 {
			bad := append([]byte(nil), small...)
			bad[i] ^= 1 << bit
			d, err := DecodeSchema(bad)
			if err == nil {
				_, err = d.Encode()
				require.NoError(t, err)
				continue
			}
			require.Condition(t, func() bool { return isOneOf(err, ErrCorrupt, ErrNewerFormat, ErrSchema) }, "byte %d bit %d: %v", i, bit, err)
		}
	}
	for _, c := range []struct{ from, to string }{
		{`"id" : 33`, `"id" : 32`},
		{`"highestFieldId" : 33`, `"highestFieldId" : 32`},
		{`"primaryKeys" : [ "dt", "id" ]`, `"primaryKeys" : [ "dt", "ie" ]`},
		{`"partitionKeys"`, `"partitionkeyz"`},
		{`"INT NOT NULL"`, `"INT NOT NIL"`},
		{`"name" : "ti"`, `"name" : "si"`},
		{`"write-only" : "true"`, `"write-only" : {}`},
	} {
		bad := strings.Replace(string(data), c.from, c.to, 1)
		require.NotEqual(t, string(data), bad, c.from)
		_, err := DecodeSchema([]byte(bad))
		require.ErrorIs(t, err, ErrCorrupt, c.to)
	}
}

func TestTypesThatOnlyJavaHasAreNoDamage(t *testing.T) {
	_, data := goldenSchema(t, "1.4.2/minimal-schema-0.json")
	for _, typ := range []string{`"VARIANT"`, `"BLOB NOT NULL"`, `{"type":"VECTOR","element":"FLOAT","length":3}`, `{"type":"ARRAY","element":"VARIANT"}`} {
		_, err := DecodeSchema([]byte(strings.Replace(string(data), `"STRING"`, typ, 1)))
		require.ErrorIs(t, err, ErrSchema, typ)
		require.NotErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "column v")
	}
}

func FuzzDecodeSchema(f *testing.F) {
	paths, _ := filepath.Glob("testdata/schema/*/*.json")
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeSchema(data)
		if err != nil {
			if !isOneOf(err, ErrCorrupt, ErrNewerFormat, ErrSchema) {
				t.Fatalf("%v", err)
			}
			return
		}
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeSchema(b)
		if err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		c, err := again.Encode()
		if err != nil || string(b) != string(c) {
			t.Fatalf("%s became %s, %v", b, c, err)
		}
	})
}

func TestPrettyJSONIsJacksons(t *testing.T) {
	got, err := prettyJSON([]byte(`{"a":[],"b":{},"c":[1,{"d":null,"e":[[true]]}],"s":"\u003c\u2028\"\\\u001f\n","f":1.50}`))
	require.NoError(t, err)
	require.Equal(t, `{
  "a" : [ ],
  "b" : { },
  "c" : [ 1, {
    "d" : null,
    "e" : [ [ true ] ]
  } ],
  "s" : "<`+"\u2028"+`\"\\\u001F\n",
  "f" : 1.50
}`, string(got))
	for _, bad := range []string{"", "{", `{"a"}`, "[1", "{} {}", "nul"} {
		_, err := prettyJSON([]byte(bad))
		require.Error(t, err, bad)
	}
	var any any
	require.NoError(t, json.Unmarshal(got, &any))
}
