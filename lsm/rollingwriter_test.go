package lsm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

func wideTable(t testing.TB, formatID string, options table.Options) *table.Table {
	o := table.Options{"bucket": "1", "file.format": formatID}.With(options)
	return mustCreate(t, table.Spec{Fields: wideFields(t, formatID), PrimaryKeys: []string{"id", "name"}, Options: o})
}

func mustFiles(t testing.TB, tab *table.Table) *Files {
	f, err := NewFiles(tab, tab.Schema())
	require.NoError(t, err)
	return f
}

var noPartition = row.EmptySerializedRow()

// readAll reads files one after the other.
func readAll(t testing.TB, tab *table.Table, files []table.DataFile, target *table.Schema) *KeyValues {
	out, kv := NewKeyValues(target.RowType()), NewKeyValues(target.RowType())
	for i := range files {
		r, err := OpenFile(t.Context(), tab, noPartition, 0, &files[i], target)
		require.NoError(t, err)
		for {
			err := r.Next(kv)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			out.AppendRange(kv, 0, kv.Len())
		}
		require.NoError(t, r.Close())
	}
	return out
}

func entryOf(f table.DataFile) *table.Entry {
	return &table.Entry{Kind: table.Add, Partition: noPartition, Bucket: 0, TotalBuckets: 1, File: f}
}

func checkText(t testing.TB, tab *table.Table, e *table.Entry) string {
	var text string
	for p := range CheckFile(t.Context(), tab, e, false) {
		text += p.String() + "\n"
	}
	return text
}

func TestFilesGiveBackWhatWasWritten(t *testing.T) {
	for _, formatID := range []string{"parquet", "avro"} {
		for _, thin := range []string{"false", "true"} {
			t.Run(formatID+" thin "+thin, func(t *testing.T) {
				tab := wideTable(t, formatID, table.Options{"data-file.thin-mode": thin, "target-file-size": "40 kb"})
				r := rand.New(rand.NewPCG(1, 2))
				kv := randomRecords(r, tab.Schema(), 5000, 100)
				w := mustFiles(t, tab).NewWriter(t.Context(), noPartition, 0, 0, Data, table.SourceAppend)
				for at := 0; at < kv.Len(); { // batches of all sizes
					n := min(1+r.IntN(2500), kv.Len()-at)
					part := NewKeyValues(kv.Rows.Type)
					part.AppendRange(kv, at, at+n)
					require.NoError(t, w.Write(part))
					at += n
				}
				files, err := w.Close()
				require.NoError(t, err)
				require.Greater(t, len(files), 1, "the run rolls")
				var total int64
				for i, f := range files {
					total += f.RowCount
					require.True(t, strings.HasPrefix(f.Name, "data-") && strings.HasSuffix(f.Name, fmt.Sprintf("-%d.%s", i, formatID)), f.Name)
					require.WithinDuration(t, time.Now(), table0(f.CreationMillis), time.Minute)
					problems := checkText(t, tab, entryOf(f))
					require.Empty(t, problems)
				}
				require.EqualValues(t, kv.Len(), total)
				got := readAll(t, tab, files, tab.Schema())
				require.Equal(t, kv.Seq, got.Seq)
				require.Empty(t, cmp.Diff(lines(kv.Rows), lines(got.Rows)))
			})
		}
	}
}

// table0 reads a creation time as the wall clock that it is.
func table0(ms int64) time.Time {
	u := time.UnixMilli(ms).UTC()
	return time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), 0, time.Local)
}

func TestWriterFollowsTheSettingsOfLevelAndKind(t *testing.T) {
	tab := wideTable(t, "avro", table.Options{
		"file.format.per.level": "3:parquet", "file.compression.per.level": "3:gzip", "file.suffix.include.compression": "true",
		"changelog-file.prefix": "cl-", "changelog-file.stats-mode": "none", "metadata.stats-mode.per.level": "3:counts",
	})
	files := mustFiles(t, tab)
	kv := randomRecords(rand.New(rand.NewPCG(1, 2)), tab.Schema(), 50, 0)
	write := func(level int, kind FileKind) table.DataFile {
		w := files.NewWriter(t.Context(), noPartition, 0, level, kind, table.SourceCompact)
		require.NoError(t, w.Write(kv))
		fs, err := w.Close()
		require.NoError(t, err)
		require.Len(t, fs, 1)
		require.Equal(t, level, fs[0].Level)
		require.Equal(t, table.SourceCompact, fs[0].Source)
		return fs[0]
	}
	f := write(0, Data)
	require.True(t, strings.HasSuffix(f.Name, ".zst.avro"), f.Name)
	require.Nil(t, f.ValueStatsCols, "all columns have statistics")
	f = write(3, Data)
	require.True(t, strings.HasSuffix(f.Name, ".gz.parquet"), f.Name)
	require.NotContains(t, f.ValueStatsCols, "cax", "an array has none in parquet")
	require.Len(t, f.ValueStatsCols, len(tab.Schema().Fields)-4)
	require.NotEqual(t, table.EmptyStats(), f.KeyStats, "keys have bounds in parquet whatever the mode")
	f = write(0, Changelog)
	require.True(t, strings.HasPrefix(f.Name, "cl-"), f.Name)
	require.Empty(t, f.ValueStatsCols)
	require.NotNil(t, f.ValueStatsCols)
}

func TestKeyStatsAreCutLaterThanValueStats(t *testing.T) {
	for _, c := range []struct {
		format, mode string
		key, value   int
	}{{"parquet", "truncate(16)", 128, 16}, {"avro", "truncate(16)", 16, 16}, {"parquet", "full", 128, 300}, {"avro", "full", 300, 300}} {
		tab := mustCreate(t, table.Spec{
			Fields: []row.Field{{Name: "k", Type: mustType(t, "STRING NOT NULL")}}, PrimaryKeys: []string{"k"},
			Options: table.Options{"bucket": "1", "file.format": c.format, "metadata.stats-mode": c.mode},
		})
		kv := NewKeyValues(tab.Schema().RowType())
		kv.Rows.Cols[0].AppendString(strings.Repeat("é", 300))
		kv.Rows.EndRow(row.Insert)
		kv.Seq = append(kv.Seq, 1)
		w := mustFiles(t, tab).NewWriter(t.Context(), noPartition, 0, 0, Data, table.SourceAppend)
		require.NoError(t, w.Write(kv))
		fs, err := w.Close()
		require.NoError(t, err)
		low := func(b []byte) int {
			one := row.NewBatch(tab.Schema().RowType())
			require.NoError(t, row.DecodeSerializedRow(b, tab.Schema().RowType().FieldTypes(), one))
			return len(one.Cols[0].Value(0)) / 2
		}
		require.Equal(t, 300, low(fs[0].MinKey), "keys are never cut")
		require.Equal(t, c.key, low(fs[0].KeyStats.Min), "%v", c)
		require.Equal(t, c.value, low(fs[0].ValueStats.Min), "%v", c)
	}
}

func TestAbortRemovesOnlyOwnFiles(t *testing.T) {
	tab := wideTable(t, "avro", table.Options{"target-file-size": "10 kb"})
	files := mustFiles(t, tab)
	kv := randomRecords(rand.New(rand.NewPCG(1, 2)), tab.Schema(), 3000, 0)
	keep := files.NewWriter(t.Context(), noPartition, 0, 0, Data, table.SourceAppend)
	require.NoError(t, keep.Write(kv))
	kept, err := keep.Close()
	require.NoError(t, err)
	for _, closed := range []bool{false, true} {
		w := files.NewWriter(t.Context(), noPartition, 0, 0, Data, table.SourceAppend)
		require.NoError(t, w.Write(kv))
		if closed {
			_, err := w.Close()
			require.NoError(t, err)
		}
		w.Abort()
		w.Abort()
	}
	names, err := os.ReadDir(filepath.Join(tab.Path(), "bucket-0"))
	require.NoError(t, err)
	require.Len(t, names, len(kept))
}

func TestWriterWithoutRowsMakesNoFile(t *testing.T) {
	tab := wideTable(t, "avro", nil)
	w := mustFiles(t, tab).NewWriter(t.Context(), noPartition, 0, 0, Data, table.SourceAppend)
	require.NoError(t, w.Write(NewKeyValues(tab.Schema().RowType())))
	files, err := w.Close()
	require.NoError(t, err)
	require.Empty(t, files)
	require.NoDirExists(t, filepath.Join(tab.Path(), "bucket-0"))
}

// TestDamageIsSeen cuts and changes files: a reader must never give other rows without an error.
func TestDamageIsSeen(t *testing.T) {
	for _, formatID := range []string{"parquet", "avro"} {
		t.Run(formatID, func(t *testing.T) {
			tab := wideTable(t, formatID, nil)
			kv := randomRecords(rand.New(rand.NewPCG(1, 2)), tab.Schema(), 300, 0)
			w := mustFiles(t, tab).NewWriter(t.Context(), noPartition, 0, 0, Data, table.SourceAppend)
			require.NoError(t, w.Write(kv))
			files, err := w.Close()
			require.NoError(t, err)
			path := filepath.Join(tab.Path(), "bucket-0", files[0].Name)
			whole, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
				require.NoError(t, os.WriteFile(path, whole[:n], 0o600))
				_, err := OpenFile(t.Context(), tab, noPartition, 0, &files[0], tab.Schema())
				require.ErrorIs(t, err, table.ErrCorrupt)
				problems := checkText(t, tab, entryOf(files[0]))
				require.NotEmpty(t, problems)
			}
			require.NoError(t, os.WriteFile(path, whole, 0o600))
			short := files[0]
			short.RowCount++
			r, err := OpenFile(t.Context(), tab, noPartition, 0, &short, tab.Schema())
			require.NoError(t, err)
			dst := NewKeyValues(tab.Schema().RowType())
			for err == nil {
				err = r.Next(dst)
			}
			require.ErrorIs(t, err, table.ErrCorrupt, "fewer rows than the manifest says")
			require.NoError(t, r.Close())
		})
	}
}

func TestCheckFileSeesWhatTheManifestGetsWrong(t *testing.T) {
	tab := wideTable(t, "avro", nil)
	kv := randomRecords(rand.New(rand.NewPCG(1, 2)), tab.Schema(), 300, 7)
	w := mustFiles(t, tab).NewWriter(t.Context(), noPartition, 0, 0, Data, table.SourceAppend)
	require.NoError(t, w.Write(kv))
	files, err := w.Close()
	require.NoError(t, err)
	for want, wrong := range map[string]func(e *table.Entry){
		"rows, the manifest":     func(e *table.Entry) { e.File.RowCount-- },
		"retracts, the manifest": func(e *table.Entry) { e.File.DeleteRows++ },
		"sequence numbers":       func(e *table.Entry) { e.File.MinSeq-- },
		"the first key":          func(e *table.Entry) { e.File.MinKey = e.File.MaxKey },
		"the last key":           func(e *table.Entry) { e.File.MaxKey = e.File.MinKey },
		"key statistics of id":   func(e *table.Entry) { e.File.KeyStats.Min = e.File.KeyStats.Max },
		"value statistics of v":  func(e *table.Entry) { e.File.ValueStats.Max = e.File.ValueStats.Min },
		"nulls, the manifest": func(e *table.Entry) {
			e.File.ValueStats.NullCounts = append([]int64{9}, e.File.ValueStats.NullCounts[1:]...)
		},
		"belongs to bucket":       func(e *table.Entry) { e.TotalBuckets = 64 },
		"bytes long instead of":   func(e *table.Entry) { e.File.Size++ },
		"which the schema 0 does": func(e *table.Entry) { e.File.ValueStatsCols = []string{"nope"} },
	} {
		e := entryOf(files[0])
		wrong(e)
		problems := checkText(t, tab, e)
		require.Contains(t, problems, want)
	}
	twice := NewKeyValues(kv.Rows.Type)
	twice.AppendRange(kv, 0, 2)
	twice.AppendRange(kv, 0, 2)
	twice.AppendRange(kv, 1, 2)
	w = mustFiles(t, tab).NewWriter(t.Context(), noPartition, 0, 0, Data, table.SourceAppend)
	require.NoError(t, w.Write(twice))
	files, err = w.Close()
	require.NoError(t, err)
	problems := checkText(t, tab, entryOf(files[0]))
	require.Contains(t, problems, "row 2: its key is below")
	require.Contains(t, problems, "row 4: its key is that")
}

func TestAsyncWriterPassesBytesAndErrorsOn(t *testing.T) {
	var buf bytes.Buffer
	sink := &fakeSink{w: &buf, failAfter: 1 << 40}
	w := newAsyncWriter(sink)
	r := rand.New(rand.NewPCG(3, 4))
	var want []byte
	for len(want) < 5*asyncBlockBytes {
		p := make([]byte, r.IntN(100_000))
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		want = append(want, p...)
		n, err := w.Write(p)
		require.NoError(t, err)
		require.Equal(t, len(p), n)
	}
	require.NoError(t, w.Close())
	require.True(t, bytes.Equal(want, buf.Bytes()))
	require.True(t, sink.closed)

	sink = &fakeSink{w: io.Discard, failAfter: asyncBlockBytes}
	w = newAsyncWriter(sink)
	var err error
	for range 100 {
		if _, err = w.Write(make([]byte, asyncBlockBytes)); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, io.ErrShortWrite)
	require.ErrorIs(t, w.Close(), io.ErrShortWrite)
	require.NoError(t, w.Abort())
	require.True(t, sink.aborted)
}

// fakeSink fails once it has taken more than failAfter bytes.
type fakeSink struct {
	w               io.Writer
	n, failAfter    int
	closed, aborted bool
}

func (s *fakeSink) Write(p []byte) (int, error) {
	if s.n += len(p); s.n > s.failAfter {
		return 0, io.ErrShortWrite
	}
	return s.w.Write(p)
}
func (s *fakeSink) Close() error { s.closed = true; return nil }
func (s *fakeSink) Abort() error { s.aborted = true; return nil }
