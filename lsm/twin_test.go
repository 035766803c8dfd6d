package lsm

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// contentOf is what is in files, one after the other, without the random marks between Avro's blocks.
func contentOf(t testing.TB, tab *table.Table, files []table.DataFile) (out []byte) {
	dir, err := tab.BucketPath(noPartition, 0)
	require.NoError(t, err)
	for i := range files {
		r, err := tab.FS().Open(t.Context(), dir+"/"+files[i].Name)
		require.NoError(t, err)
		b, err := io.ReadAll(io.NewSectionReader(r, 0, files[i].Size))
		require.NoError(t, err)
		require.NoError(t, r.Close())
		if bytes.HasPrefix(b, []byte("Obj\x01")) {
			b = bytes.ReplaceAll(b, b[len(b)-16:], nil)
		}
		out = append(out, b...)
	}
	return out
}

// writePair writes records to a changelog, in the pieces that a flush makes, and those that stay to data files beside it.
func writePair(t testing.TB, tab *table.Table, kv *KeyValues, stays func(i int) bool, twin *format.Twin) (data, changelog []table.DataFile) {
	files := mustFiles(t, tab)
	d := files.NewWriter(t.Context(), noPartition, 0, 0, Data, table.SourceAppend)
	c := files.NewWriter(t.Context(), noPartition, 0, 0, Changelog, table.SourceAppend)
	if twin != nil {
		one, other := twin.Sides()
		d.Beside(one)
		c.Beside(other)
	}
	out, raw := NewKeyValues(kv.Rows.Type), NewKeyValues(kv.Rows.Type)
	for at := 0; at < kv.Len(); at += decodeRows {
		end := min(at+decodeRows, kv.Len())
		raw.Reset()
		raw.AppendRange(kv, at, end)
		require.NoError(t, c.Write(raw))
		for i := at; i < end; i++ {
			if stays(i) {
				out.AppendRange(kv, i, i+1)
			}
		}
		if out.Len()+decodeRows > writeRows || end == kv.Len() {
			require.NoError(t, d.Write(out))
			out.Reset()
		}
	}
	data, err := d.Close()
	require.NoError(t, err)
	changelog, err = c.Close()
	require.NoError(t, err)
	return data, changelog
}

// TestFilesBesideEachOtherAreAsAlone compares the files of a pair with those that are written without knowing of each other.
func TestFilesBesideEachOtherAreAsAlone(t *testing.T) {
	var twin format.Twin
	for _, formatID := range []string{"avro", "parquet"} {
		for _, compression := range []string{"zstd", "snappy", "none"} {
			for name, stays := range map[string]func(i int) bool{
				"all":  func(int) bool { return true },
				"most": func(i int) bool { return i%3000 != 2999 },
				"some": func(i int) bool { return i%3 != 0 },
				"none": func(int) bool { return false },
			} {
				t.Run(fmt.Sprint(formatID, " ", compression, " ", name), func(t *testing.T) {
					tab := wideTable(t, formatID, table.Options{"changelog-producer": "input", "file.compression": compression, "parquet.page.size": "4096"})
					kv := randomRecords(rand.New(rand.NewPCG(3, 4)), tab.Schema(), 8000, 100)
					data, changelog := writePair(t, tab, kv, stays, &twin)
					aloneData, aloneChangelog := writePair(t, tab, kv, stays, nil)
					require.True(t, bytes.Equal(contentOf(t, tab, aloneData), contentOf(t, tab, data)))
					require.True(t, bytes.Equal(contentOf(t, tab, aloneChangelog), contentOf(t, tab, changelog)))
					require.Empty(t, cmp.Diff(lines(kv.Rows), lines(readAll(t, tab, changelog, tab.Schema()).Rows)))
					if name == "all" && compression != "none" {
						require.True(t, bytes.Equal(contentOf(t, tab, data), contentOf(t, tab, changelog)))
						require.Greater(t, twin.Found(), int64(10))
					}
				})
			}
		}
	}
}

// TestFilesOfOtherSettingsShareNothing: a changelog may have a format or a compression of its own.
func TestFilesOfOtherSettingsShareNothing(t *testing.T) {
	for _, o := range []table.Options{{"changelog-file.format": "parquet"}, {"changelog-file.compression": "snappy"}} {
		var twin format.Twin
		tab := wideTable(t, "avro", table.Options{"changelog-producer": "input"}.With(o))
		kv := randomRecords(rand.New(rand.NewPCG(3, 4)), tab.Schema(), 2000, 100)
		data, changelog := writePair(t, tab, kv, func(int) bool { return true }, &twin)
		require.Zero(t, twin.Found())
		for _, files := range [][]table.DataFile{data, changelog} {
			require.Empty(t, cmp.Diff(lines(kv.Rows), lines(readAll(t, tab, files, tab.Schema()).Rows)))
		}
	}
}

// TestAFlushOfNewKeysCompressesOnce goes the way of the writer, with keys of which each came once, and with one that came twice.
func TestAFlushOfNewKeysCompressesOnce(t *testing.T) {
	for _, again := range []bool{false, true} {
		tab := wideTable(t, "avro", table.Options{"changelog-producer": "input"})
		kv := randomRecords(rand.New(rand.NewPCG(5, 6)), tab.Schema(), 4000, 100)
		kinds := kv.Rows.Kinds
		for i := range kinds {
			kinds[i] = row.Insert
		}
		if again {
			kv.AppendRange(kv, 2000, 2001)
		}
		files := mustFiles(t, tab)
		rec := NewRecords(BufferSpec{Type: tab.Schema().RowType(), Keys: tab.Schema().KeyIndexes(), PageSize: 64 << 10, KeepAll: true})
		tree := NewBuffers(rec, NewBudget(64<<20)).NewMergeTree()
		rows := make([]int32, kv.Len())
		for i := range rows {
			rows[i] = int32(i)
		}
		took, err := tree.Append(kv.Rows, rows, 0)
		require.NoError(t, err)
		require.Equal(t, kv.Len(), took)
		var f Flusher
		open := func(kind FileKind) func(*format.TwinSide) FileSink {
			return func(side *format.TwinSide) FileSink {
				w := files.NewWriter(t.Context(), noPartition, 0, 0, kind, table.SourceAppend)
				w.Beside(side)
				return w
			}
		}
		inc, err := tree.Seal().Flush(t.Context(), &f, Output{Data: open(Data), Changelog: open(Changelog), FanIn: 128})
		require.NoError(t, err)
		require.Equal(t, again, inc.New[0].RowCount != inc.Changelog[0].RowCount)
		if blocks := inc.New[0].Size / 60_000; again { // those behind the key are others, at first
			require.Positive(t, f.files.twin.Found())
		} else {
			require.Greater(t, f.files.twin.Found(), blocks)
		}
	}
}

// BenchmarkWritePair writes new rows to a data file and a changelog file, and with every third row replaced at once.
func BenchmarkWritePair(b *testing.B) {
	for _, formatID := range []string{"parquet", "avro"} {
		for _, beside := range []bool{false, true} {
			for _, part := range []int{1, 3} {
				b.Run(fmt.Sprintf("%s/beside=%t/kept=1:%d", formatID, beside, part), func(b *testing.B) {
					tab := benchTable(b, formatID)
					kv := NewKeyValues(tab.Schema().RowType())
					for _, part := range benchRows(tab.Schema(), 100, 0, 1) {
						kv.AppendRange(part, 0, part.Len())
					}
					var twin *format.Twin
					if beside {
						twin = new(format.Twin)
					}
					b.ReportAllocs()
					for b.Loop() {
						writePair(b, tab, kv, func(i int) bool { return part == 1 || i%part != 0 }, twin)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*kv.Len()), "ns/row")
				})
			}
		}
	}
}
