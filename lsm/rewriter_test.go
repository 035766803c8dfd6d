package lsm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/table"
)

// liveFiles returns the files of the only bucket.
func liveFiles(t testing.TB, tab *table.Table) []table.DataFile {
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	var files []table.DataFile
	for e, err := range tab.Scan(t.Context(), s, table.Filter{}) {
		require.NoError(t, err)
		files = append(files, e.File)
	}
	return files
}

func mustRewriter(t testing.TB, tab *table.Table, cfg RewriterConfig) *Rewriter {
	r, err := NewRewriter(tab, tab.Schema(), cfg)
	require.NoError(t, err)
	return r
}

func mustLevels(t testing.TB, tab *table.Table, files []table.DataFile) *Levels {
	l, err := NewLevels(files, tab.Schema(), tab.Options())
	require.NoError(t, err)
	return l
}

// unitOf makes a unit of the newest n runs.
func unitOf(l *Levels, n int, r *rand.Rand) Unit {
	runs := l.Runs()
	u := Unit{OutputLevel: l.MaxLevel()}
	if n < len(runs) {
		u.OutputLevel = runs[n].Level - 1
	}
	for _, run := range runs[:n] {
		u.Files = append(u.Files, run.Files...)
	}
	if least := max(1, runs[n-1].Level); n < len(runs) && least < u.OutputLevel {
		u.OutputLevel = least + r.IntN(u.OutputLevel-least+1)
	}
	u.DropDelete = u.OutputLevel >= l.HighestNonEmpty()
	return u
}

// randomUnit picks runs of which the output can lie above what is left; false when there is none.
func randomUnit(l *Levels, r *rand.Rand) (Unit, bool) {
	runs := l.Runs()
	var can []int
	for n := 1; n <= len(runs); n++ {
		if n == len(runs) || runs[n].Level > 1 && runs[n].Level > runs[n-1].Level {
			can = append(can, n)
		}
	}
	if len(can) == 0 {
		return Unit{}, false
	}
	return unitOf(l, can[r.IntN(len(can))], r), true
}

func commitCompact(t testing.TB, c *table.Commit, id int64, inc table.CompactIncrement) {
	_, err := c.Commit(t.Context(), table.Committable{ID: id, Messages: []table.CommitMessage{
		{Partition: noPartition, TotalBuckets: 1, Compact: inc},
	}})
	require.NoError(t, err)
}

// TestRewriteChangesNoRow writes, deletes and compacts at random; what a reader sees must stay.
func TestRewriteChangesNoRow(t *testing.T) {
	for i, o := range []table.Options{
		{"file.format": "avro"},
		{"file.format": "parquet", "target-file-size": "60 kb"},
		{"file.format": "avro", "file.format.per.level": "0:parquet,5:parquet", "target-file-size": "30 kb"},
		{"file.format": "avro", "sequence.field": "v", "compaction.force-rewrite-all-files": "true", "sort-spill-threshold": "2"},
		{"file.format": "parquet", "data-file.thin-mode": "true", "target-file-size": "200 kb", "compaction.small-file-ratio": "0.3"},
		{"file.format": "avro", "ignore-delete": "true", "metadata.stats-mode": "none", "sort-spill-threshold": "3"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			tab := mustCreateInMemory(t, table.Spec{
				Fields: wideFields(t, "avro"), PrimaryKeys: []string{"id", "name"}, Options: table.Options{"bucket": "1"}.With(o),
			})
			commit := tab.NewCommit("test", nil)
			r := rand.New(rand.NewPCG(uint64(i), 9))
			var seq int64
			rw := mustRewriter(t, tab, RewriterConfig{})
			if i%2 == 1 { // so little memory that runs have to be merged on disk first
				rw = mustRewriter(t, tab, RewriterConfig{Memory: 1 << 20, Spill: mustSpill(t)})
			}
			for id := int64(0); id < 25; {
				kv := randomRecords(r, tab.Schema(), 1+r.IntN(400), seq)
				seq += int64(kv.Len())
				msg := table.CommitMessage{Partition: noPartition, TotalBuckets: 1}
				msg.Data.New = mustWrite(t, tab, kv, Data)
				_, err := commit.Commit(t.Context(), table.Committable{ID: id, Messages: []table.CommitMessage{msg}})
				require.NoError(t, err)
				id++
				if r.IntN(3) > 0 {
					continue
				}
				levels := mustLevels(t, tab, liveFiles(t, tab))
				u, ok := randomUnit(levels, r)
				if !ok {
					continue
				}
				before := scanAll(t, tab, ScanOptions{})
				inc, stats, err := rw.Rewrite(t.Context(), noPartition, 0, levels, u)
				require.NoError(t, err)
				requireStats(t, u, inc, stats)
				commitCompact(t, commit, id, inc)
				id++
				require.Equal(t, before, scanAll(t, tab, ScanOptions{}), "unit to level %d of %d files", u.OutputLevel, len(u.Files))
			}
			s, err := tab.Latest(t.Context())
			require.NoError(t, err)
			requireFilesSound(t.Context(), t, tab, s)
			requireNoOrphans(t, tab)
		})
	}
}

func mustSpill(t testing.TB) *SpillStore {
	s, err := NewSpillStore([]string{t.TempDir()}, "", 0, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.Zero(t, s.Used(), "spilled runs are freed")
		require.NoError(t, s.Close())
	})
	return s
}

func requireStats(t *testing.T, u Unit, inc table.CompactIncrement, s RewriteStats) {
	before := map[string]table.DataFile{}
	var rowsIn, rowsOut int64
	for _, f := range inc.Before {
		before[f.Name] = f
	}
	read := 0
	for _, f := range inc.After {
		require.Equal(t, u.OutputLevel, f.Level)
		if old, ok := before[f.Name]; ok {
			rowsIn -= old.RowCount
			read--
			continue
		}
		require.Equal(t, table.SourceCompact, f.Source)
		if u.DropDelete {
			require.Zero(t, f.DeleteRows)
		}
		rowsOut += f.RowCount
	}
	for _, f := range inc.Before {
		rowsIn += f.RowCount
	}
	require.Equal(t, rowsIn, s.RowsRead)
	require.Equal(t, rowsOut, s.RowsWritten)
	require.Equal(t, len(inc.Before)+read, s.FilesRead)
	require.Equal(t, len(inc.After)+read, s.FilesWritten)
	require.Equal(t, s.FilesWritten > 0, s.BytesWritten > 0)
}

// requireNoOrphans checks that a bucket's directory has only the files that snapshots know.
func requireNoOrphans(t testing.TB, tab *table.Table) {
	known := map[string]bool{}
	latest, err := tab.Latest(t.Context())
	require.NoError(t, err)
	for id := int64(1); id <= latest.ID; id++ {
		s, err := tab.Snapshot(t.Context(), id)
		require.NoError(t, err)
		for e, err := range tab.ScanDelta(t.Context(), s) {
			require.NoError(t, err)
			known[e.File.Name] = true
		}
		for e, err := range tab.ScanChangelog(t.Context(), s) {
			require.NoError(t, err)
			known[e.File.Name] = true
		}
	}
	for _, name := range bucketFilesOnDisk(t, tab) {
		require.True(t, known[name], "orphan %s", name)
	}
}

func bucketFilesOnDisk(t testing.TB, tab *table.Table) []string {
	dir, err := tab.BucketPath(noPartition, 0)
	require.NoError(t, err)
	var names []string
	for info, err := range tab.FS().List(context.WithoutCancel(t.Context()), dir) {
		require.NoError(t, err)
		names = append(names, info.Name)
	}
	slices.Sort(names)
	return names
}

// level0 commits batches of rows as files of level 0.
func level0(t testing.TB, tab *table.Table, batches iter.Seq[*KeyValues]) {
	commit := tab.NewCommit("writer", nil)
	var id int64
	for kv := range batches {
		w := mustFiles(t, tab).NewWriter(t.Context(), noPartition, 0, 0, Data, table.SourceAppend)
		require.NoError(t, w.Write(kv))
		msg := table.CommitMessage{Partition: noPartition, TotalBuckets: 1}
		var err error
		msg.Data.New, err = w.Close()
		require.NoError(t, err)
		_, err = commit.Commit(t.Context(), table.Committable{ID: id, Messages: []table.CommitMessage{msg}})
		require.NoError(t, err)
		id++
	}
}

func TestRewriteThatFailsLeavesNothing(t *testing.T) {
	for _, producer := range []string{"none", "lookup", "full-compaction"} {
		t.Run(producer, func(t *testing.T) { failEverywhere(t, producer) })
	}
}

func failEverywhere(t *testing.T, producer string) {
	tab := wideTable(t, "parquet", table.Options{"target-file-size": "20 kb", "changelog-producer": producer})
	r := rand.New(rand.NewPCG(1, 9))
	level0(t, tab, func(yield func(*KeyValues) bool) {
		for i := range int64(4) {
			if !yield(randomRecords(r, tab.Schema(), 500, i*500)) {
				return
			}
		}
	})
	levels := mustLevels(t, tab, liveFiles(t, tab))
	u := unitOf(levels, len(levels.Runs()), r)
	before := bucketFilesOnDisk(t, tab)
	boom := errors.New("boom")
	var calls int
	for at := 1; ; at++ {
		calls = 0
		ctx, cancel := context.WithCancelCause(t.Context())
		rw := mustRewriter(t, tab, RewriterConfig{Throttle: func(context.Context, int64) error {
			if calls++; calls == at {
				if at%2 == 0 {
					cancel(boom)
					return nil
				}
				return boom
			}
			return nil
		}})
		inc, _, err := rw.Rewrite(ctx, noPartition, 0, levels, u)
		cancel(nil)
		if calls < at {
			require.NoError(t, err)
			require.NotEmpty(t, inc.After)
			require.Equal(t, producer == "none", len(inc.Changelog) == 0)
			rw.Remove(t.Context(), noPartition, 0, inc)
			require.Equal(t, before, bucketFilesOnDisk(t, tab))
			return
		}
		if err == nil { // cancelled at the very end
			rw.Remove(t.Context(), noPartition, 0, inc)
		} else {
			require.True(t, errors.Is(err, boom) || at%2 == 0 && errors.Is(err, context.Canceled), err)
		}
		require.Equal(t, before, bucketFilesOnDisk(t, tab), "failing at call %d", at)
	}
}

func mustWrite(t *testing.T, tab *table.Table, kv *KeyValues, kind FileKind) []table.DataFile {
	w := mustFiles(t, tab).NewWriter(t.Context(), noPartition, 0, 0, kind, table.SourceAppend)
	require.NoError(t, w.Write(kv))
	files, err := w.Close()
	require.NoError(t, err)
	return files
}
