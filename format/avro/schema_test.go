package avro

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	hamba "github.com/hamba/avro/v2"
	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSchemasThatPaimonDoesNotWriteAreRefused(t *testing.T) {
	for text, why := range map[string]string{
		``:                                "EOF",
		`"int" 5`:                         "after its end",
		`"nothing"`:                       "unknown type",
		`"record"`:                        "needs an object",
		`[]`:                              "empty union",
		`["null",["null"]]`:               "union in a union",
		`{"type":"array"}`:                "no type",
		`{"type":"array","items":"null"}`: "of null",
		`{"type":"record","name":"r","fields":[]}`:                                                    "no width",
		`{"type":"record","name":"r","fields":[{"name":"a","type":"null"}]}`:                          "no width",
		`{"type":"record","fields":[{"name":"a","type":"int"}]}`:                                      "without a name",
		`{"type":"record","name":"r","fields":[{"name":"a","type":["null","r"]}]}`:                    "contains itself",
		`{"type":"record","name":"r","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}`: "two fields",
		`{"type":"fixed","name":"f","size":0}`:                                                        "no width",
		strings.Repeat(`{"type":"array","items":`, 1000) + `"int"` + strings.Repeat("}", 1000):        "too deeply",
	} {
		_, err := ParseSchema(text)
		require.ErrorContains(t, err, why, text)
		require.ErrorIs(t, err, format.ErrCorrupt)
	}
}

// TestReferencesCannotExplode: each record has two of the one before.
func TestReferencesCannotExplode(t *testing.T) {
	text := `{"type":"record","name":"r0","fields":[{"name":"a","type":"int"}]}`
	for i := range 60 {
		text = fmt.Sprintf(`{"type":"record","name":"r%d","fields":[{"name":"a","type":%s},{"name":"b","type":"r%d"}]}`, i+1, text, i)
	}
	_, err := ParseSchema(text)
	require.ErrorIs(t, err, errTooBig)
}

func TestNamesFollowNamespaces(t *testing.T) {
	s, err := ParseSchema(`{"type":"record","name":"x.y.R","fields":[
		{"name":"e","type":{"type":"enum","name":"E","symbols":["A"]}},
		{"name":"f","type":{"type":"fixed","name":"F","namespace":"z","size":3}},
		{"name":"again","type":["E","null"]},{"name":"full","type":"x.y.E"},{"name":"other","type":{"type":"z.F"}}]}`)
	require.NoError(t, err)
	require.Equal(t, "x.y.R", s.Name)
	v, null := s.Fields[2].Schema.NonNull()
	require.Equal(t, 1, null)
	require.Equal(t, KindEnum, v.Kind)
	require.Equal(t, "x.y.E", s.Fields[3].Schema.Name)
	require.Equal(t, "z.F", s.Fields[4].Schema.Name)
	d := NewDecoder([]byte{0, 1, 2, 3, 0, 0, 0, 4, 5, 6})
	s.Skip(d)
	require.NoError(t, d.Err())
	require.Zero(t, d.Len())
}

// TestSkipPassesWholeDatums also shows that the text which we write is a schema to hamba and to us.
func TestSkipPassesWholeDatums(t *testing.T) {
	forAll(t, func(rt *rapid.T, _ *rand.Rand, b *row.Batch) {
		schema, counts, blocks := blocksOf(rt, writeFile(rt, b, format.WriteSpec{}, 100))
		_, err := hamba.ParseWithCache(schema, "", &hamba.SchemaCache{})
		require.NoError(rt, err)
		s, err := ParseSchema(schema)
		require.NoError(rt, err)
		for i, data := range blocks {
			d := NewDecoder(data)
			for range counts[i] {
				s.Skip(d)
			}
			require.NoError(rt, d.Err())
			require.Zero(rt, d.Len())
		}
	})
}

func TestTypesThatAvroCannotHoldAreRefusedByColumn(t *testing.T) {
	str := row.Type{Root: row.VarChar, Length: 5}
	integer := row.Type{Root: row.Int}
	for _, c := range []struct {
		name string
		typ  row.Type
		want string
	}{
		{"a", row.Type{Root: row.Timestamp, Precision: 7}, "column a: Avro cannot hold a timestamp of precision 7"},
		{"a", row.Type{Root: row.TimestampLTZ, Precision: 9}, "column a: Avro cannot hold a timestamp of precision 9"},
		{"a", row.Type{Root: row.Time, Precision: 6}, "column a: Avro cannot hold TIME(6)"},
		{"a", row.NewRow(row.Field{Name: "b", Type: row.Type{Root: row.Time, Precision: 4}}), "column a.b: "},
		{"a", row.NewRow(), "column a: Avro cannot hold a ROW without fields"},
		{"a", row.Type{Root: row.Multiset, Elem: &integer}, "column a: Paimon's Avro format cannot hold a MULTISET"},
		{"a-b", str, "column a-b: Avro allows only letters"},
		{"1a", str, "column 1a: Avro allows only letters"},
		{"a.b", str, "column a.b: Avro allows only letters"},
		{"", str, "column : Avro allows only letters"},
	} {
		typ := row.NewRow(row.Field{Name: c.name, Type: c.typ})
		_, err := Format.NewWriter(nil, format.WriteSpec{Type: &typ})
		require.ErrorContains(t, err, c.want)
	}
}

// TestEqualRecordsOfOneNameAreReferences: a.b_c and a_b.c give one name, which Avro Java writes as a reference.
func TestEqualRecordsOfOneNameAreReferences(t *testing.T) {
	leaf := row.NewRow(row.Field{Name: "x", Type: row.Type{Root: row.Int}})
	a := row.NewRow(row.Field{Name: "b_c", Type: leaf})
	typ := row.NewRow(row.Field{Name: "a", Type: a}, row.Field{Name: "a_b_c", Type: leaf}, row.Field{Name: "名前", Type: leaf})
	text, err := SchemaOf(&typ)
	require.NoError(t, err)
	require.Contains(t, text, `{"name":"a_b_c","type":"record_a_b_c"}`)
	s, err := ParseSchema(text)
	require.NoError(t, err)
	require.Equal(t, KindRecord, s.Fields[1].Schema.Kind)

	typ.Fields[1].Type.Fields = []row.Field{{Name: "y", Type: row.Type{Root: row.Int}}}
	_, err = SchemaOf(&typ)
	require.ErrorContains(t, err, "column a_b_c: its Avro record name record_a_b_c")
}

func TestResolverFollowsNames(t *testing.T) {
	writer := `{"type":"record","name":"w","fields":[
		{"name":"gone","type":["null",{"type":"map","values":"double"}]},
		{"name":"c","type":{"type":"array","items":["null","string"]}},
		{"name":"a","type":"int"},
		{"name":"turned","type":["long","null"]},
		{"name":"r","type":{"type":"record","name":"n","fields":[{"name":"y","type":"bytes"},{"name":"x","type":"boolean"}]}}]}`
	reader := `{"type":"record","name":"r","fields":[
		{"name":"a","type":["null","long"]},
		{"name":"new","type":["null","string"]},
		{"name":"r","type":{"type":"record","name":"n","fields":[{"name":"x","type":"boolean"},{"name":"z","type":["null","int"]},{"name":"y","type":"string"}]}},
		{"name":"turned","type":["null","long"]},
		{"name":"c","type":["null",{"type":"array","items":["null","string"]}]}]}`
	w, err := ParseSchema(writer)
	require.NoError(t, err)
	r, err := ParseSchema(reader)
	require.NoError(t, err)
	res, err := NewResolver(w, r)
	require.NoError(t, err)

	var in []byte
	in = AppendEnd(AppendDouble(AppendString(AppendCount(AppendUnion(in, true), 1), "k"), 1.5))
	in = AppendLong(AppendLong(in, -2), 4) // two items in four bytes
	in = AppendUnion(AppendString(AppendUnion(in, true), "s"), false)
	in = AppendInt(AppendEnd(in), -7)
	in = AppendLong(append(in, 0), 1<<40)
	in = AppendBoolean(AppendBytes(in, []byte("yy")), true)
	var want []byte
	want = AppendLong(AppendUnion(want, true), -7)
	want = AppendUnion(want, false)
	want = AppendString(AppendUnion(AppendBoolean(want, true), false), "yy")
	want = AppendLong(AppendUnion(want, true), 1<<40)
	want = AppendUnion(AppendString(AppendUnion(AppendCount(AppendUnion(want, true), 2), true), "s"), false)
	want = AppendEnd(want)

	d := NewDecoder(append(in, in...))
	for range 2 {
		require.Equal(t, want, res.Append(nil, d))
		require.NoError(t, d.Err())
	}
	require.Zero(t, d.Len())
	for n := range in {
		d := NewDecoder(in[:n])
		res.Append(nil, d)
		require.ErrorIs(t, d.Err(), format.ErrCorrupt)
	}
}

func TestResolverRefusesWhatCannotBe(t *testing.T) {
	one := func(typ string) *Schema {
		s, err := ParseSchema(`{"type":"record","name":"r","fields":[{"name":"a","type":` + typ + `}]}`)
		require.NoError(t, err)
		return s
	}
	for _, c := range [][2]string{{`"long"`, `"int"`}, {`"string"`, `"long"`}, {`["null","int","long"]`, `["null","long"]`}} {
		_, err := NewResolver(one(c[0]), one(c[1]))
		require.ErrorContains(t, err, "field .a", c)
	}
	_, err := NewResolver(one(`"int"`), &Schema{Kind: KindRecord, Fields: []SchemaField{{"b", &Schema{Kind: KindInt}}}})
	require.ErrorContains(t, err, "field .b: is missing")
	res, err := NewResolver(one(`["null","int"]`), one(`"int"`))
	require.NoError(t, err)
	d := NewDecoder([]byte{0})
	res.Append(nil, d)
	require.ErrorContains(t, d.Err(), "null where none may be")
}

// TestResolverToTheSameSchemaCopies is true of the form that this package writes.
func TestResolverToTheSameSchemaCopies(t *testing.T) {
	forAll(t, func(rt *rapid.T, _ *rand.Rand, b *row.Batch) {
		schema, counts, blocks := blocksOf(rt, writeFile(rt, b, format.WriteSpec{}, 100))
		s, err := ParseSchema(schema)
		require.NoError(rt, err)
		res, err := NewResolver(s, s)
		require.NoError(rt, err)
		for i, data := range blocks {
			d := NewDecoder(data)
			var out []byte
			for range counts[i] {
				out = res.Append(out, d)
			}
			require.NoError(rt, d.Err())
			require.Equal(rt, data, out)
		}
	})
}

func TestKeysOfMapEntriesHaveNoDefault(t *testing.T) {
	typ, err := row.ParseType("MAP<INT, STRING>")
	require.NoError(t, err)
	root := row.NewRow(row.Field{Name: "m", Type: typ})
	text, err := SchemaOf(&root)
	require.NoError(t, err)
	require.Contains(t, text, `"fields":[{"name":"key","type":["null","int"]},{"name":"value","type":["null","string"],"default":null}]`)
}
