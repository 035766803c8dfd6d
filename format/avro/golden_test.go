package avro

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/stretchr/testify/require"
)

func golden(t testing.TB, path string) []byte {
	b, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(path)))
	require.NoError(t, err)
	return b
}

// tableType is a golden's ROW type, of its table's columns.
func tableType(t testing.TB, path string) row.Type {
	var typ row.Type
	require.NoError(t, json.Unmarshal(golden(t, path), &typ))
	return typ
}

// keyValueType is that of a data file of the table, whose key is id.
func keyValueType(table row.Type) row.Type {
	fields := []row.Field{
		{Name: "_KEY_id", Type: row.Type{Root: row.BigInt}},
		{Name: "_SEQUENCE_NUMBER", Type: row.Type{Root: row.BigInt}},
		{Name: "_VALUE_KIND", Type: row.Type{Root: row.TinyInt}},
	}
	return row.NewRow(append(fields, table.Fields...)...)
}

var idString = row.NewRow(row.Field{Name: "id", Type: row.Type{Root: row.BigInt}},
	row.Field{Name: "s", Type: row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}})

// readFile reads all rows of a file into one batch, batchRows at a time.
func readFile(t testing.TB, file []byte, typ *row.Type, batchRows int) (*row.Batch, error) {
	return readFileAs(t, file, format.ReadSpec{Type: typ, BatchRows: batchRows})
}

func readFileAs(t testing.TB, file []byte, spec format.ReadSpec) (*row.Batch, error) {
	typ := spec.Type
	r, err := Format.NewReader(bytes.NewReader(file), int64(len(file)), spec)
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(t, r.Close()) }()
	all, b := row.NewBatch(typ), row.NewBatch(typ)
	for {
		if err := r.Next(b); err == io.EOF {
			require.Equal(t, int64(all.N), r.(*fileReader).Rows())
			return all, nil
		} else if err != nil {
			return all, err
		}
		require.NotZero(t, b.N)
		for c := range b.Cols {
			require.Equal(t, b.N, b.Cols[c].N, typ.Fields[c].Name)
			all.Cols[c].AppendRange(&b.Cols[c], 0, b.N)
		}
		all.N += b.N
	}
}

// text has the rows of b as JSON lines without kinds.
func text(b *row.Batch) string {
	var out []byte
	for i := range b.N {
		out = append(row.AppendJSONRow(out, b, i, false), '\n')
	}
	return string(out)
}

// valueText is text of a key-value file: the kind and the table's columns.
func valueText(b *row.Batch, table *row.Type) string {
	v := &row.Batch{Type: table, N: b.N, Cols: b.Cols[3:]}
	for i := range b.N {
		v.Kinds = append(v.Kinds, row.Kind(b.Cols[2].I32[i]))
	}
	var out []byte
	for i := range v.N {
		out = append(row.AppendJSONRow(out, v, i, true), '\n')
	}
	return string(out)
}

// writeFile writes b in pieces of at most piece rows.
func writeFile(t require.TestingT, b *row.Batch, s format.WriteSpec, piece int) []byte {
	var out bytes.Buffer
	s.Type = b.Type
	w, err := Format.NewWriter(&out, s)
	require.NoError(t, err)
	part := row.NewBatch(b.Type)
	for from := 0; from < b.N; from += piece {
		part.Reset()
		part.N = min(piece, b.N-from)
		for c := range b.Cols {
			part.Cols[c].AppendRange(&b.Cols[c], from, from+part.N)
		}
		require.NoError(t, w.Write(part))
	}
	sum, err := w.Close()
	require.NoError(t, err)
	require.Equal(t, format.Summary{Rows: int64(b.N), Bytes: int64(out.Len())}, sum)
	require.Equal(t, sum.Bytes, w.Size())
	return out.Bytes()
}

// blocksOf returns the plain data of each block and its count, and the schema.
func blocksOf(t require.TestingT, file []byte) (schema string, counts []int64, data [][]byte) {
	r, err := NewBlockReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	for {
		n, d, err := r.Next()
		if err == io.EOF {
			return r.Schema(), counts, data
		}
		require.NoError(t, err)
		counts, data = append(counts, n), append(data, bytes.Clone(d))
	}
}

func TestReadsEveryTypeThatJavaWrote(t *testing.T) {
	table := tableType(t, "java-1.4.2/alltypes.type.json")
	typ := keyValueType(table)
	b, err := readFile(t, golden(t, "java-1.4.2/alltypes.avro"), &typ, 0)
	require.NoError(t, err)
	require.Equal(t, string(golden(t, "java-1.4.2/alltypes.jsonl")), valueText(b, &table))
	require.Equal(t, []int64{1, 2, 3}, b.Cols[0].I64)
	require.Equal(t, []int64{0, 1, 2}, b.Cols[1].I64)
}

func TestReadsEveryTypeThatPypaimonWrote(t *testing.T) {
	table := tableType(t, "pypaimon/types.type.json")
	typ := keyValueType(table)
	b, err := readFile(t, golden(t, "pypaimon/types.avro"), &typ, 0)
	require.NoError(t, err)
	require.Equal(t, string(golden(t, "pypaimon/types.jsonl")), valueText(b, &table))
}

func TestReadsEveryCodecOfJava(t *testing.T) {
	typ := keyValueType(idString)
	for _, codec := range []string{"null", "deflate", "snappy", "bzip2"} {
		b, err := readFile(t, golden(t, "java-1.4.2/"+codec+".avro"), &typ, 0)
		require.NoError(t, err, codec)
		want := `{"_kind":"+I","id":0,"s":"row 0"}` + "\n" + `{"_kind":"+I","id":1,"s":"row 1"}` + "\n" + `{"_kind":"+I","id":2,"s":"row 2"}` + "\n"
		require.Equal(t, want, valueText(b, &idString), codec)
	}
	xz := bytes.Replace(golden(t, "java-1.4.2/bzip2.avro"), []byte("\x0abzip2"), []byte("\x04xz"), 1)
	_, err := readFile(t, xz, &typ, 0)
	require.ErrorContains(t, err, `codec "xz"`)
	require.NotErrorIs(t, err, format.ErrCorrupt)
}

// TestWritesWhatJavaWrites: schema text, records and where blocks end are the same; compression and sync marker are
// allowed to differ.
func TestWritesWhatJavaWrites(t *testing.T) {
	for name, table := range map[string]row.Type{
		"alltypes": tableType(t, "java-1.4.2/alltypes.type.json"), "blocks": idString, "null": idString,
	} {
		typ := keyValueType(table)
		java := golden(t, "java-1.4.2/"+name+".avro")
		b, err := readFile(t, java, &typ, 100)
		require.NoError(t, err)
		spec := format.WriteSpec{Compression: "zstd"}
		if name == "null" {
			spec.Compression = "none"
		}
		ours := writeFile(t, b, spec, 77)
		schema, counts, data := blocksOf(t, ours)
		wantSchema, wantCounts, wantData := blocksOf(t, java)
		require.Equal(t, wantSchema, schema)
		require.Equal(t, wantCounts, counts)
		require.Equal(t, wantData, data, name)
		if name == "null" {
			sync := func(f []byte) []byte { return f[len(f)-syncBytes:] }
			require.Equal(t, java, bytes.ReplaceAll(ours, sync(ours), sync(java)))
		}
	}
}

func TestLongFileOfJavaIsReadInAnyBatchSize(t *testing.T) {
	typ := keyValueType(idString)
	for _, n := range []int{1, 7, 1000, 6000, 100000} {
		b, err := readFile(t, golden(t, "java-1.4.2/blocks.avro"), &typ, n)
		require.NoError(t, err)
		require.Equal(t, 6000, b.N)
		for i := range b.N {
			require.Equal(t, int64(i), b.Cols[3].I64[i])
			require.Equal(t, strings.Repeat("abcdefghij", i%5), string(b.Cols[4].Value(i)))
		}
	}
}
