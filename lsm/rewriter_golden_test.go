package lsm

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/table"
)

// TestRewriteOfJavasTables compacts copies of the tables that Java wrote: what Java read from them is still what is there,
// and every file is sound. PAIMON_GO_GOLDEN_OUT keeps the copies, for Java to look at.
func TestRewriteOfJavasTables(t *testing.T) {
	out := os.Getenv("PAIMON_GO_GOLDEN_OUT")
	if out == "" {
		out = t.TempDir()
	}
	eachGolden(t, func(t *testing.T, dir string, g goldenTable, tab *table.Table) {
		if !readable(tab) {
			return
		}
		path := filepath.Join(out, strconv.Itoa(slices.Index(goldenDirs(), dir)), "golden.db", g.Table)
		require.NoError(t, os.CopyFS(path, os.DirFS(tab.Path())))
		tab, err := table.Open(t.Context(), local.FS{}, path, nil)
		require.NoError(t, err)
		rw, err := NewRewriter(tab, tab.Schema(), RewriterConfig{})
		if err != nil {
			require.True(t, NeedLookup(tab.Options()) || tab.Options().Get(table.KeyChangelogProducer) != "none" || tab.Options().Int(table.KeyBucket) == -2, err)
			return
		}
		var msgs []table.CommitMessage
		latest, err := tab.Latest(t.Context())
		require.NoError(t, err)
		want, err := scanLines(t, tab, latest, ScanOptions{})
		require.NoError(t, err)
		buckets, err := groupBuckets(tab.Scan(t.Context(), latest, table.Filter{}), func(*table.Entry) bool { return true })
		require.NoError(t, err)
		totals := map[int32]int32{}
		for e, err := range tab.Scan(t.Context(), latest, table.Filter{}) {
			require.NoError(t, err)
			totals[e.Bucket] = e.TotalBuckets
		}
		for _, b := range buckets {
			levels := mustLevels(t, tab, b.files)
			inc, _, err := rw.Rewrite(t.Context(), b.partition, b.bucket, levels, unitOf(levels, len(levels.Runs()), nil))
			require.NoError(t, err)
			msgs = append(msgs, table.CommitMessage{Partition: b.partition, Bucket: b.bucket, TotalBuckets: totals[b.bucket], Compact: inc})
		}
		_, err = tab.NewCommit("compactor", nil).Commit(t.Context(), table.Committable{ID: 1, Messages: msgs})
		require.NoError(t, err)
		latest, err = tab.Latest(t.Context())
		require.NoError(t, err)
		got, err := scanLines(t, tab, latest, ScanOptions{})
		require.NoError(t, err)
		if tab.Options().Get(table.KeyMergeEngine) != "first-row" { // of which level 0 was not to be seen
			require.Empty(t, cmp.Diff(kindless(want), kindless(got)))
			require.Empty(t, cmp.Diff(kindless(fileLines(t, filepath.Join(dir, "expected", g.File))), kindless(got)))
		}
		requireFilesSound(t.Context(), t, tab, latest)
	})
}

// kindless cuts the kinds, which tell whether a row was merged or read as it is, off, and sorts what is left.
func kindless(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l[len(`{"_kind":"+I",`):]
	}
	slices.Sort(out)
	return out
}
