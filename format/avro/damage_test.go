package avro

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/stretchr/testify/require"
)

// TestFlippedBitsNeverGiveOtherRowsUnseen where the codec has a checksum, and never panic where it has none.
func TestFlippedBitsNeverGiveOtherRowsUnseen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	typ := row.NewRow(row.Field{Name: "a", Type: row.Type{Root: row.BigInt}}, row.Field{Name: "b", Type: row.Type{Root: row.VarChar}},
		row.Field{Name: "c", Type: row.Type{Root: row.Decimal, Precision: 30, Nullable: true}})
	b := randomBatch(r, &typ, 500)
	for _, codec := range writeCodecs {
		file := writeFile(t, b, format.WriteSpec{Compression: codec}, 500)
		header := bytes.Index(file, file[len(file)-syncBytes:]) + syncBytes
		for i := 0; i < len(file); i += 1 + len(file)/800 {
			bad := bytes.Clone(file)
			bad[i] ^= 1 << r.IntN(8)
			got, err := readFile(t, bad, &typ, 0)
			if err != nil || i < header {
				continue // a changed name, say, reads as another column
			}
			if codec == CodecSnappy {
				require.Equal(t, text(b), text(got), "bit of byte %d", i)
			}
		}
	}
}

// record makes a container of one block by hand.
func container(schema, codec string, count, size int64, block []byte) []byte {
	out := append([]byte{}, magic[:]...)
	out = AppendCount(out, 2)
	out = AppendString(AppendString(out, metaSchema), schema)
	out = AppendString(AppendString(out, metaCodec), codec)
	out = AppendEnd(out)
	sync := bytes.Repeat([]byte{7}, syncBytes)
	out = append(out, sync...)
	out = append(AppendLong(AppendLong(out, count), size), block...)
	return append(out, sync...)
}

func TestHostileLengthsAreRefused(t *testing.T) {
	typ := row.NewRow(row.Field{Name: "a", Type: row.Type{Root: row.Array, Elem: &row.Type{Root: row.VarChar}}})
	schema, err := SchemaOf(&typ)
	require.NoError(t, err)
	huge := AppendLong(nil, 1<<62)
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	bomb := enc.EncodeAll(make([]byte, 300<<20), nil)
	for name, file := range map[string][]byte{
		"empty file":          {},
		"header only in part": []byte("Obj\x01\x04"),
		"metadata count":      append([]byte("Obj\x01"), huge...),
		"metadata length":     append([]byte("Obj\x01\x02"), huge...),
		"block count":         container(schema, "null", 1<<62, 1, []byte{0}),
		"negative count":      container(schema, "null", -1, 1, []byte{0}),
		"block size":          container(schema, "null", 1, 1<<62, []byte{0}),
		"negative size":       container(schema, "null", 1, -5, []byte{0}),
		"items":               container(schema, "null", 1, int64(len(huge)), huge),
		"string":              container(schema, "null", 1, int64(len(huge))+1, append([]byte{2}, huge...)),
		"min items":           container(schema, "null", 1, 10, []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1}),
		"too many records":    container(schema, "null", 2, 2, []byte{0, 2}),
		"too few records":     container(schema, "null", 1, 2, []byte{0, 0}),
		"no records":          container(schema, "null", 0, 2, []byte{0, 0}),
		"zstd bomb":           container(schema, "zstandard", 1, int64(len(bomb)), bomb),
		"zstd junk":           container(schema, "zstandard", 1, 3, []byte("abc")),
		"snappy junk":         container(schema, "snappy", 1, 3, []byte("abc")),
		"snappy length":       container(schema, "snappy", 1, 9, []byte{255, 255, 255, 255, 7, 0, 0, 0, 0}),
		"deflate junk":        container(schema, "deflate", 1, 3, []byte("\xffbc")),
		"not a record":        container(`"int"`, "null", 1, 1, []byte{0}),
		"no schema":           container("", "null", 1, 1, []byte{0}),
		"another type":        container(strings.Replace(schema, "string", "bytes", 1)[:len(schema)-8]+`"x"}]}`, "null", 1, 1, []byte{0}),
	} {
		_, err := readFile(t, file, &typ, 0)
		require.ErrorIs(t, err, format.ErrCorrupt, name)
	}
}

func TestColumnOfAnotherTypeIsNamed(t *testing.T) {
	file := longFile(t, CodecNull, 3)
	typ := row.NewRow(row.Field{Name: "b", Type: row.Type{Root: row.Int}})
	_, err := readFile(t, file, &typ, 0)
	require.ErrorContains(t, err, "column b: is string in the Avro file, which is no INT NOT NULL")
}

func TestUnionsInEitherOrderAreRead(t *testing.T) {
	schema := `["null",{"type":"record","name":"r","fields":[{"name":"a","type":["long","null"]},{"name":"b","type":["null","int"]}]}]`
	typ := row.NewRow(row.Field{Name: "a", Type: row.Type{Root: row.BigInt, Nullable: true}},
		row.Field{Name: "b", Type: row.Type{Root: row.BigInt, Nullable: true}})
	block := []byte{2, 0, 10, 0, 2, 2, 2, 12}
	got, err := readFile(t, container(schema, "null", 2, int64(len(block)), block), &typ, 0)
	require.NoError(t, err)
	require.Equal(t, `{"a":5,"b":null}`+"\n"+`{"a":null,"b":6}`+"\n", text(got))
	block[0] = 0
	_, err = readFile(t, container(schema, "null", 2, int64(len(block)), block), &typ, 0)
	require.ErrorContains(t, err, "null instead of a row")
}

func TestTimestampsOfAnotherUnitAreConverted(t *testing.T) {
	schema := `{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"long","logicalType":"timestamp-micros"}},
		{"name":"b","type":{"type":"long","logicalType":"local-timestamp-millis"}}]}`
	typ := row.NewRow(row.Field{Name: "a", Type: row.Type{Root: row.Timestamp, Precision: 3}},
		row.Field{Name: "b", Type: row.Type{Root: row.TimestampLTZ, Precision: 6}})
	block := AppendLong(AppendLong(nil, -1500), -2)
	got, err := readFile(t, container(schema, "null", 1, int64(len(block)), block), &typ, 0)
	require.NoError(t, err)
	require.Equal(t, []int64{-2}, got.Cols[0].I64)
	require.Equal(t, []int64{-2000}, got.Cols[1].I64)
	block = AppendLong(AppendLong(nil, 0), 1<<60)
	_, err = readFile(t, container(schema, "null", 1, int64(len(block)), block), &typ, 0)
	require.ErrorContains(t, err, "timestamp out of range")
}

func TestCodecNames(t *testing.T) {
	typ := idString
	for _, c := range []struct{ compression, option, codec, refused string }{
		{"", "", "zstandard", ""}, {"zstd", "", "zstandard", ""}, {"ZSTD", "", "zstandard", ""}, {"zstandard", "", "zstandard", ""},
		{"none", "", "null", ""}, {"uncompressed", "", "null", ""}, {"null", "", "null", ""},
		{"deflate", "", "deflate", ""}, {"snappy", "", "snappy", ""},
		{"gzip", "", "", `file.compression "gzip"`}, {"lz4", "", "", `file.compression "lz4"`},
		{"xz", "", "", `codec "xz" is not supported`}, {"bzip2", "", "", `codec "bzip2" is not supported`},
		{"zstd", "snappy", "snappy", ""}, {"lz4", "null", "null", ""}, {"zstd", "lz4", "", `unknown Avro codec "lz4"`},
	} {
		var out bytes.Buffer
		w, err := Format.NewWriter(&out, format.WriteSpec{Type: &typ, Compression: c.compression, Options: map[string]string{optionCodec: c.option}})
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused)
			continue
		}
		require.NoError(t, err)
		_, err = w.Close()
		require.NoError(t, err)
		r, err := NewBlockReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
		require.NoError(t, err)
		require.Equal(t, c.codec, r.Codec())
	}
}

func TestNullInNotNullColumnIsRefused(t *testing.T) {
	typ := row.NewRow(row.Field{Name: "a", Type: row.Type{Root: row.BigInt, Nullable: true}},
		row.Field{Name: "r", Type: row.NewRow(row.Field{Name: "x", Type: row.Type{Root: row.Int}})})
	w, err := Format.NewWriter(io.Discard, format.WriteSpec{Type: &typ})
	require.NoError(t, err)
	b := row.NewBatch(&typ)
	b.Cols[0].AppendNull()
	b.Cols[1].Kids[0].AppendNull()
	b.Cols[1].EndNested()
	b.N = 1
	require.ErrorContains(t, w.Write(b), "column r.x: NULL in a NOT NULL column")
	_, err = w.Close()
	require.Error(t, err, "a file with a fault must not look complete")
	w.Abort()
}

// failingWriter fails after some bytes.
type failingWriter struct{ left int }

var errDisk = errors.New("disk full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return w.left, errDisk
	}
	w.left -= len(p)
	return len(p), nil
}

func TestWriteErrorsReachTheCaller(t *testing.T) {
	b := randomBatch(rand.New(rand.NewPCG(1, 2)), &idString, 30000)
	for _, room := range []int{0, 10, 300, 50000, 100000} {
		w, err := Format.NewWriter(&failingWriter{room}, format.WriteSpec{Type: &idString})
		if err == nil {
			if err = w.Write(b); err == nil {
				_, err = w.Close()
			} else {
				_, closeErr := w.Close()
				require.ErrorIs(t, closeErr, errDisk)
			}
		}
		require.ErrorIs(t, err, errDisk, "room for %d bytes", room)
	}
}

type failingReader struct{ *bytes.Reader }

func (r failingReader) ReadAt(p []byte, off int64) (int, error) {
	if off > 0 {
		return 0, errDisk
	}
	return r.Reader.ReadAt(p, off)
}

func TestReadErrorsAreNotDamage(t *testing.T) {
	file := writeFile(t, randomBatch(rand.New(rand.NewPCG(1, 2)), &idString, 50000), format.WriteSpec{Compression: "null"}, 1000)
	r, err := Format.NewReader(failingReader{bytes.NewReader(file)}, int64(len(file)), format.ReadSpec{Type: &idString})
	require.NoError(t, err)
	b := row.NewBatch(&idString)
	for err == nil {
		err = r.Next(b)
	}
	require.ErrorIs(t, err, errDisk)
	require.NotErrorIs(t, err, format.ErrCorrupt)
	require.Equal(t, err, r.Next(b))
}
