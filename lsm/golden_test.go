package lsm

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	_ "github.com/paimon-go/paimon-go/format/avro"
	_ "github.com/paimon-go/paimon-go/format/parquet"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/table"
)

// goldenTable is a line of index.jsonl: a table that Java wrote, and what Java reads from it.
type goldenTable struct {
	Table     string
	What      string
	File      string
	Snapshots map[int64]struct {
		Rows     int
		Checksum string
	}
	Changelog *struct {
		File string
		From int64
	}
}

// goldenDirs are testdata/golden and what PAIMON_GO_GOLDEN names, the output of the judge's verb golden.
func goldenDirs() []string {
	dirs := []string{"testdata/golden"}
	if d := os.Getenv("PAIMON_GO_GOLDEN"); d != "" {
		dirs = append(dirs, d)
	}
	return dirs
}

func eachGolden(t *testing.T, f func(t *testing.T, dir string, g goldenTable, tab *table.Table)) {
	for _, dir := range goldenDirs() {
		index, err := os.ReadFile(filepath.Join(dir, "index.jsonl"))
		require.NoError(t, err)
		for line := range strings.Lines(string(index)) {
			var g goldenTable
			require.NoError(t, json.Unmarshal([]byte(line), &g))
			t.Run(g.Table, func(t *testing.T) {
				path, err := filepath.Abs(filepath.Join(dir, "warehouse/golden.db", g.Table))
				require.NoError(t, err)
				tab, err := table.Open(t.Context(), local.FS{}, path, nil)
				require.NoError(t, err)
				f(t, dir, g, tab)
			})
		}
	}
}

// readable tells whether tables of this kind are read here; the others must be refused by name.
func readable(tab *table.Table) bool {
	o := tab.Options()
	return len(tab.Schema().PrimaryKeys) > 0 && o.Get(table.KeyFileFormat) != "orc"
}

func scanLines(t *testing.T, tab *table.Table, s *table.Snapshot, o ScanOptions) ([]string, error) {
	var lines []string
	for b, err := range Scan(t.Context(), tab, s, o) {
		if err != nil {
			return nil, err
		}
		for i := range b.N {
			lines = append(lines, string(row.AppendJSONRow(nil, b, i, true)))
		}
	}
	slices.Sort(lines)
	return lines, nil
}

func fileLines(t *testing.T, path string) []string {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var lines []string
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		lines = append(lines, sc.Text())
	}
	slices.Sort(lines)
	return lines
}

func checksum(lines []string) string {
	var sum uint64
	for _, l := range lines {
		h := sha256.Sum256([]byte(l))
		sum += binary.BigEndian.Uint64(h[:])
	}
	return fmt.Sprintf("%016x", sum)
}

func TestScanReadsWhatJavaReads(t *testing.T) {
	eachGolden(t, func(t *testing.T, dir string, g goldenTable, tab *table.Table) {
		latest, err := tab.Latest(t.Context())
		require.NoError(t, err)
		lines, err := scanLines(t, tab, latest, ScanOptions{})
		if !readable(tab) {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(fileLines(t, filepath.Join(dir, "expected", g.File)), lines))
		for id, want := range g.Snapshots {
			s, err := tab.Snapshot(t.Context(), id)
			require.NoError(t, err)
			schema, err := tab.SchemaByID(t.Context(), s.SchemaID)
			require.NoError(t, err)
			lines, err := scanLines(t, tab, s, ScanOptions{Schema: schema, BatchRows: 3})
			require.NoError(t, err)
			require.Len(t, lines, want.Rows, "snapshot %d", id)
			require.Equal(t, want.Checksum, checksum(lines), "snapshot %d", id)
		}
	})
}

func TestReadChangelogReadsWhatJavaReads(t *testing.T) {
	eachGolden(t, func(t *testing.T, dir string, g goldenTable, tab *table.Table) {
		if g.Changelog == nil || len(tab.Schema().PrimaryKeys) == 0 {
			return
		}
		latest, err := tab.Latest(t.Context())
		require.NoError(t, err)
		from, err := tab.SnapshotOrChangelog(t.Context(), g.Changelog.From)
		require.NoError(t, err)
		schema, err := tab.SchemaByID(t.Context(), from.SchemaID) // Java reads on with the schema it began with
		require.NoError(t, err)
		var lines []string
		for c, err := range ReadChangelog(t.Context(), tab, from.ID, latest.ID, ScanOptions{Schema: schema}) {
			if errors.Is(err, ErrUnsupported) || tab.Options().Get(table.KeyFileFormat) == "orc" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			for i := range c.Rows.N {
				line := row.AppendJSONRow(fmt.Appendf(nil, `{"_snapshot":%d,`, c.Snapshot.ID), c.Rows, i, true)
				lines = append(lines, string(bytes.Replace(line, []byte(",{"), []byte(","), 1)))
			}
		}
		slices.Sort(lines)
		require.Empty(t, cmp.Diff(fileLines(t, filepath.Join(dir, "expected", g.Changelog.File)), lines))
	})
}

func TestCheckFileAcceptsWhatJavaWrote(t *testing.T) {
	eachGolden(t, func(t *testing.T, _ string, _ goldenTable, tab *table.Table) {
		if len(tab.Schema().PrimaryKeys) == 0 || tab.Options().Get(table.KeyFileFormat) == "orc" {
			return
		}
		s, err := tab.Latest(t.Context())
		require.NoError(t, err)
		requireFilesSound(t.Context(), t, tab, s)
	})
}

// requireFilesSound checks every data and changelog file of a snapshot.
func requireFilesSound(ctx context.Context, t *testing.T, tab *table.Table, s *table.Snapshot) {
	for e, err := range tab.Scan(ctx, s, table.Filter{}) {
		require.NoError(t, err)
		require.Empty(t, slices.Collect(CheckFile(ctx, tab, &e, false)), e.File.Name)
	}
	for e, err := range tab.ScanChangelog(ctx, s) {
		require.NoError(t, err)
		require.Empty(t, slices.Collect(CheckFile(ctx, tab, &e, true)), e.File.Name)
	}
}
