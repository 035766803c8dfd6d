package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

// The files in testdata were written by Java Paimon 1.4.2 (testdata/golden.py): all and nested have every type, the others the same 250 rows
// (v1.jsonl) under different options. The rows are Java's own reading of them. Java can't read its own v2nodict back (its
// DELTA_BYTE_ARRAY reader loses the first prefix of a page of decimals); we can.

// golden returns a file, its type and its rows.
func golden(t testing.TB, name string) (file []byte, typ *row.Type, rows []string) {
	rowsOf := name
	if name != "all" && name != "nested" {
		rowsOf = "v1"
	}
	file, err := os.ReadFile(filepath.Join("testdata", name+".parquet"))
	require.NoError(t, err)
	fields, err := os.ReadFile(filepath.Join("testdata", rowsOf+".fields.json"))
	require.NoError(t, err)
	typ = new(row.Type)
	require.NoError(t, json.Unmarshal(fields, typ))
	lines, err := os.ReadFile(filepath.Join("testdata", rowsOf+".jsonl"))
	require.NoError(t, err)
	return file, typ, strings.Split(strings.TrimSpace(string(lines)), "\n")
}

var goldens = []string{"all", "nested", "v1", "v2", "v2nodict", "plain", "gzip", "snappy", "lz4", "lz4raw", "groups", "dictlimit"}

func TestReadsWhatJavaWrote(t *testing.T) {
	for _, name := range goldens {
		t.Run(name, func(t *testing.T) {
			file, typ, want := golden(t, name)
			for _, batchRows := range []int{0, 1, 7, 100} {
				got, err := readFile(file, typ, batchRows)
				require.NoError(t, err)
				require.Equal(t, len(want), got.N)
				// The value columns with their kind, as Java shows a row.
				valueType := row.NewRow(typ.Fields[3:]...)
				value := &row.Batch{Type: &valueType, Cols: got.Cols[3:], N: got.N}
				for i, line := range want {
					require.EqualValues(t, i, got.Cols[1].I64[i], "sequence number")
					require.Equal(t, got.Cols[3].I32[i], got.Cols[0].I32[i], "key")
					value.Kinds = append(value.Kinds, row.Kind(got.Cols[2].I32[i]))
					require.Equal(t, line, string(row.AppendJSONRow(nil, value, i, true)))
				}
			}
		})
	}
}

func footerOf(t testing.TB, file []byte) *fileMeta {
	n := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	m := new(fileMeta)
	require.NoError(t, m.read(file[len(file)-8-n:len(file)-8]))
	return m
}

// TestSchemaIsJavas writes the rows of Java's files again and compares the schemas in the footers element by element.
func TestSchemaIsJavas(t *testing.T) {
	for _, name := range []string{"all", "nested", "v1"} {
		file, typ, _ := golden(t, name)
		b, err := readFile(file, typ, 0)
		require.NoError(t, err)
		ours := writeFile(t, format.WriteSpec{Type: typ}, b)
		want, got := footerOf(t, file), footerOf(t, ours)
		require.Empty(t, cmp.Diff(want.schema, got.schema, cmp.AllowUnexported(schemaElement{})))
		for i, c := range want.groups[0].chunks {
			require.Equal(t, c.codec, got.groups[0].chunks[i].codec)
			require.Equal(t, c.values, got.groups[0].chunks[i].values)
			require.Equal(t, c.hasDict, got.groups[0].chunks[i].hasDict, "dictionary of column %d", i)
		}
		again, err := readFile(ours, typ, 0)
		require.NoError(t, err)
		requireSameRows(t, b, again)
		require.False(t, bytes.Equal(file, ours))
	}
}

func TestReadsFilesOfTheOtherNamesAsNull(t *testing.T) {
	file, typ, want := golden(t, "nested")
	some := *typ
	some.Fields = []row.Field{
		{Name: "absent", Type: row.Type{Root: row.BigInt, Nullable: true}},
		typ.Fields[9], // r
		{Name: "rr", Type: row.Type{Root: row.Row, Nullable: true, Fields: []row.Field{{Name: "absent", Type: row.Type{Root: row.Int, Nullable: true}}}}},
	}
	require.Equal(t, "r", some.Fields[1].Name)
	b, err := readFile(file, &some, 0)
	require.NoError(t, err)
	require.Equal(t, len(want), b.N)
	require.Equal(t, `{"absent":null,"r":{"x":1,"y":"s"},"rr":{"absent":null}}`, string(row.AppendJSONRow(nil, b, 0, false)))
	require.Equal(t, `{"absent":null,"r":null,"rr":null}`, string(row.AppendJSONRow(nil, b, 1, false)))
	require.Equal(t, `{"absent":null,"r":{"x":null,"y":null},"rr":{"absent":null}}`, string(row.AppendJSONRow(nil, b, 2, false)))
}
