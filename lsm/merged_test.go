package lsm

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/table"
)

// mergedTable is a copy of a table whose changelog files Flink's sink has merged before each commit, in the layout of its
// format; 4 snapshots, 2 partitions, 3 buckets.
func mergedTable(t *testing.T, format string) *table.Table {
	dir := filepath.Join(t.TempDir(), "t")
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/merged/"+format)))
	tab, err := table.Open(t.Context(), local.FS{}, dir, nil)
	require.NoError(t, err)
	return tab
}

// changeLines are rows of ReadChangelog as the judge prints them.
func changeLines(t *testing.T, tab *table.Table, from, to int64) ([]string, error) {
	var lines []string
	for c, err := range ReadChangelog(t.Context(), tab, from, to, ScanOptions{}) {
		if err != nil {
			return lines, err
		}
		for i := range c.Rows.N {
			text := row.AppendJSONRow(nil, c.Rows, i, true)
			lines = append(lines, fmt.Sprintf(`{"_snapshot":%d,%s`, c.Snapshot.ID, text[1:]))
		}
	}
	return lines, nil
}

func TestReadChangelogReadsMergedFiles(t *testing.T) {
	for _, format := range []string{"parquet", "avro"} {
		tab := mergedTable(t, format)
		lines, err := changeLines(t, tab, 1, 4)
		require.NoError(t, err)
		want := fileLines(t, "testdata/merged/"+format+".changelog.jsonl")
		slices.Sort(lines)
		require.Empty(t, cmp.Diff(want, lines), format)
	}
}

func TestCheckTakesMergedFilesApart(t *testing.T) {
	for _, format := range []string{"parquet", "avro"} {
		tab := mergedTable(t, format)
		for p := range tab.Check(t.Context(), nil, true, CheckFile) {
			require.Fail(t, p.String())
		}
		for id := range int64(4) {
			s, err := tab.Snapshot(t.Context(), id+1)
			require.NoError(t, err)
			requireFilesSound(t.Context(), t, tab, s)
		}
	}
}

func TestDamageOfMergedFilesIsSeen(t *testing.T) {
	damages := map[string]func(t *testing.T, file string, content []byte) (string, []byte){
		"cut":      func(_ *testing.T, file string, b []byte) (string, []byte) { return file, b[:len(b)-1] },
		"longer":   func(_ *testing.T, file string, b []byte) (string, []byte) { return file, append(b, 0) },
		"overhead": func(_ *testing.T, file string, b []byte) (string, []byte) { b[len(b)-3] ^= 0x55; return file, b },
		"gone":     func(_ *testing.T, file string, b []byte) (string, []byte) { return file + ".away", b },
	}
	for what, damage := range damages {
		for _, format := range []string{"parquet", "avro"} {
			tab := mergedTable(t, format)
			files, err := filepath.Glob(tab.Path() + "/dt=2024-01-01/bucket-*/compacted-changelog-*")
			require.NoError(t, err)
			require.NotEmpty(t, files)
			content, err := os.ReadFile(files[0])
			require.NoError(t, err)
			require.NoError(t, os.Remove(files[0]))
			path, content := damage(t, files[0], content)
			require.NoError(t, os.WriteFile(path, content, 0o600))
			var found []string
			for p := range tab.Check(t.Context(), nil, true, CheckFile) {
				if p.Severity == table.SeverityError {
					found = append(found, p.String())
				}
			}
			require.NotEmpty(t, found, "%s %s", what, format)
			uuid, _, _ := strings.Cut(filepath.Base(files[0]), "$")
			require.Contains(t, strings.Join(found, "\n"), uuid, "%s %s", what, format)
			_, err = changeLines(t, tab, 1, 4)
			if what == "longer" {
				require.NoError(t, err, "%s %s", what, format) // readers don't mind
			} else {
				require.Error(t, err, "%s %s", what, format)
			}
		}
	}
}

// TestAPartReadsAsAFile compares a part of a file with a file of the same bytes.
func TestAPartReadsAsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("0123456789"), 0o600))
	for off := range int64(11) {
		for n := range 11 - off {
			in, err := local.FS{}.Open(t.Context(), path)
			require.NoError(t, err)
			r, err := extent{path: path, offset: off, size: n, part: true}.reader(in)
			require.NoError(t, err)
			require.Equal(t, n, r.Size())
			want := strings.NewReader("0123456789"[off : off+n])
			for at := range n + 2 {
				for size := range 5 {
					a, b := make([]byte, size), make([]byte, size)
					wn, werr := want.ReadAt(a, at)
					gn, gerr := r.ReadAt(b, at)
					if size == 0 && at <= n {
						werr, gerr = nil, nil
					}
					require.Equal(t, wn, gn)
					require.Equal(t, a, b)
					require.Equal(t, werr == io.EOF, gerr == io.EOF, "%d+%d at %d size %d", off, n, at, size)
				}
			}
			require.NoError(t, r.Close())
		}
	}
	in, err := local.FS{}.Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Close()) }()
	_, err = extent{path: path, offset: 5, size: 6, part: true}.reader(in)
	require.ErrorIs(t, err, table.ErrCorrupt)
}
