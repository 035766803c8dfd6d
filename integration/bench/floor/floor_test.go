package floor

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/paimon-go/paimon-go/format/parquet"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	_ "github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

func TestFilesAreCompressedAndWrittenAgain(t *testing.T) {
	for _, format := range []string{"avro", "parquet"} {
		path := table.TablePath(t.TempDir(), "d", "t")
		fsys, err := fs.For(t.Context(), path, nil)
		require.NoError(t, err)
		text := row.Type{Root: row.VarChar, Nullable: true, Length: row.MaxLength}
		tbl, err := table.Create(t.Context(), fsys, path, table.Spec{
			Fields:      []row.Field{{Name: "id", Type: row.Type{Root: row.BigInt}}, {Name: "data", Type: text}},
			PrimaryKeys: []string{"id"},
			Options:     table.Options{"bucket": "2", "file.format": format, "file.compression": "zstd", "write-only": "true", "changelog-producer": "input"},
		})
		require.NoError(t, err)
		w, err := writer.Open(t.Context(), tbl, writer.Config{})
		require.NoError(t, err)
		b := row.NewBatch(tbl.Schema().RowType())
		for i := range 5000 {
			b.Cols[0].AppendI64(int64(i))
			b.Cols[1].AppendString("some words that come again and again")
			b.EndRow(row.Insert)
		}
		require.NoError(t, w.Write(t.Context(), b))
		require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
		require.NoError(t, w.Wait(t.Context()))
		require.NoError(t, w.Close(t.Context()))

		files, err := Files(path, nil)
		require.NoError(t, err)
		require.Len(t, files, 4, "data and changelog of two buckets")
		rest, err := Files(path, map[string]bool{files[0]: true})
		require.NoError(t, err)
		require.Len(t, rest, 3)
		scratch := t.TempDir()
		c, err := Of(files, scratch)
		require.NoError(t, err)
		require.Equal(t, 4, c.Files)
		require.Greater(t, c.Plain, int64(100_000), "what was compressed, both times")
		require.Less(t, c.Bytes, c.Plain)
		require.Greater(t, c.Size, 0.3, "what bare zstd makes is most of the files: %+v", c)
		require.Less(t, c.Size, 1.2)
		left, err := Files(scratch, nil)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func packet(body []byte) []byte {
	n := len(body)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), 0}, body...)
}

func TestALogIsReadByItsHeaders(t *testing.T) {
	event := func(n int) []byte { return append([]byte{0}, bytes.Repeat([]byte{7}, n)...) }
	full := event(1<<24 - 2)
	var in []byte
	for _, body := range [][]byte{event(30), event(100_000), full, {9, 9}, event(19), {0xfe, 0, 0, 0, 0}} {
		in = append(in, packet(body)...)
	}
	var c LogCost
	require.NoError(t, c.read(bufio.NewReaderSize(bytes.NewReader(in), 1<<16)))
	require.Equal(t, 4, c.Events, "one of them in two packets")
	require.Equal(t, int64(31+100_001+1<<24-1+2+20), c.Bytes)

	require.ErrorContains(t, new(LogCost).read(bufio.NewReader(bytes.NewReader(packet([]byte("\xffno such log"))))), "no such log")
	require.Error(t, new(LogCost).read(bufio.NewReader(bytes.NewReader(in[:20]))))
}
