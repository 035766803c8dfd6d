package lsm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// vectorLevels are the levels of the only bucket with its deletion vectors, and the name of the file that has them.
func vectorLevels(t testing.TB, tab *table.Table) (*Levels, string) {
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	levels := mustLevels(t, tab, liveFiles(t, tab))
	var files []table.IndexFile
	for e, err := range tab.IndexEntries(t.Context(), s, table.Filter{}) {
		require.NoError(t, err)
		files = append(files, e.File)
	}
	require.LessOrEqual(t, len(files), 1, "one file a bucket")
	v, err := ReadVectors(t.Context(), tab, noPartition, 0, files)
	require.NoError(t, err)
	if len(files) == 0 {
		return levels.WithVectors(nil), ""
	}
	return levels.WithVectors(v), files[0].Name
}

// vectorUnit picks at random what takes level 0, which is all that a bucket with deletion vectors ever has on top.
func vectorUnit(l *Levels, r *rand.Rand) (Unit, bool) {
	if l.DeepestLevel0() == 0 {
		u := Unit{OutputLevel: l.MaxLevel(), DropDelete: true}
		if r.IntN(2) == 0 && l.NumSortedRuns() == 1 && l.HighestNonEmpty() == l.MaxLevel() {
			u.FileRewrite = true
		}
		for _, run := range l.Runs() {
			u.Files = append(u.Files, run.Files...)
		}
		return u, len(u.Files) > 0
	}
	runs := l.Runs()
	var can []int
	for n := l.DeepestLevel0(); n <= len(runs); n++ {
		if n == len(runs) || runs[n].Level > 1 {
			can = append(can, n)
		}
	}
	if len(can) == 0 {
		return Unit{}, false
	}
	u := unitOf(l, can[r.IntN(len(can))], r)
	u.DropDelete = true
	return u, true
}

// TestVectorsHideWhatMergingWould writes the same records to a table with deletion vectors, which compacts at random, and to
// one without, which never does. Once level 0 is empty the first one's files, read as they are, have the rows that merging
// gives the other.
func TestVectorsHideWhatMergingWould(t *testing.T) {
	for i, o := range []table.Options{
		{},
		{"file.format": "parquet", "target-file-size": "20 kb"},
		{"compaction.small-file-ratio": "0.01"}, // files move to other levels whenever they can
		{"changelog-producer": "lookup"},
		{"sequence.field": "b"},
		{"sequence.field": "b", "changelog-producer": "lookup", "file.format.per.level": "0:parquet"},
		{"merge-engine": "partial-update"},
		{"merge-engine": "partial-update", "compaction.small-file-ratio": "0.01"},
		{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "max", "fields.s.aggregate-function": "last_value"},
		{"merge-engine": "aggregation", "sequence.field": "g", "fields.default-aggregate-function": "last_value", "changelog-producer": "lookup"},
		{"ignore-delete": "true"},
	} {
		for _, memory := range []int64{0, 1 << 20} {
			t.Run(fmt.Sprint(i, "/", memory), func(t *testing.T) {
				tab, plain := narrowTable(t, o.With(table.Options{"deletion-vectors.enabled": "true"})), narrowTable(t, o)
				cfg := RewriterConfig{Memory: memory}
				if memory > 0 {
					cfg.Spill = mustSpill(t)
				}
				commit, plainCommit := tab.NewCommit("test", nil), plain.NewCommit("test", nil)
				rw := mustRewriter(t, tab, cfg)
				r := rand.New(rand.NewPCG(uint64(i), 11))
				var seq int64
				marked := 0
				for id := int64(0); id < 30; {
					kv := narrowRows(tab, r, 1+r.IntN(300), seq)
					if kv.Len() == 0 {
						continue
					}
					if o["merge-engine"] == "" && o["sequence.field"] == "" { // what a retract had of it is gone with it
						for k := range kv.Rows.Kinds {
							kv.Rows.Kinds[k] = []row.Kind{row.Insert, row.UpdateAfter, row.UpdateAfter, row.Delete}[r.IntN(4)]
						}
					}
					seq += int64(kv.Len())
					for _, x := range []struct {
						tab    *table.Table
						commit *table.Commit
					}{{tab, commit}, {plain, plainCommit}} {
						msg := table.CommitMessage{Partition: noPartition, TotalBuckets: 1}
						msg.Data.New = mustWrite(t, x.tab, kv, Data)
						_, err := x.commit.Commit(t.Context(), table.Committable{ID: id, Messages: []table.CommitMessage{msg}})
						require.NoError(t, err)
					}
					id++
					for r.IntN(2) == 0 {
						levels, base := vectorLevels(t, tab)
						u, ok := vectorUnit(levels, r)
						if !ok {
							break
						}
						inc, _, err := rw.Rewrite(t.Context(), noPartition, 0, levels, u)
						require.NoError(t, err)
						if len(inc.Before) == 0 {
							require.Empty(t, inc.NewIndex)
							break
						}
						msg := table.CommitMessage{Partition: noPartition, TotalBuckets: 1, Compact: inc, Vectors: &base}
						_, err = commit.Commit(t.Context(), table.Committable{ID: id, Messages: []table.CommitMessage{msg}})
						require.NoError(t, err)
						id++
						for _, f := range inc.NewIndex {
							marked += len(f.Vectors)
						}
						want := scanAll(t, plain, ScanOptions{})
						require.Equal(t, want, scanAll(t, tab, ScanOptions{}), "unit to level %d of %d files", u.OutputLevel, len(u.Files))
						cols := scanAll(t, tab, ScanOptions{Columns: []string{"s", "id"}})
						require.Len(t, cols, len(want))
						requireVectorsSound(t, tab)
					}
				}
				require.Positive(t, marked)
			})
		}
	}
}

// requireVectorsSound checks that vectors are of live files and of rows that these have.
func requireVectorsSound(t *testing.T, tab *table.Table) {
	rows := map[string]int64{}
	for _, f := range liveFiles(t, tab) {
		rows[f.Name] = f.RowCount
		require.True(t, f.Level == 0 || f.DeleteRows == 0, "no retract above level 0")
	}
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	for e, err := range tab.IndexEntries(t.Context(), s, table.Filter{}) {
		require.NoError(t, err)
		v, err := ReadVectors(t.Context(), tab, noPartition, 0, []table.IndexFile{e.File})
		require.NoError(t, err)
		require.Len(t, v, len(e.File.Vectors))
		for name, b := range v {
			require.Contains(t, rows, name)
			require.Less(t, int64(b.Maximum()), rows[name])
		}
	}
}

// TestAbortedCompactionLeavesNoVectors checks Remove, and that levels without vectors are refused.
func TestAbortedCompactionLeavesNoVectors(t *testing.T) {
	tab := narrowTable(t, table.Options{"deletion-vectors.enabled": "true"})
	commit := tab.NewCommit("test", nil)
	rw := mustRewriter(t, tab, RewriterConfig{})
	r := rand.New(rand.NewPCG(1, 1))
	id := int64(0)
	write := func() {
		kv := narrowRows(tab, r, 100, id*100)
		msg := table.CommitMessage{Partition: noPartition, TotalBuckets: 1}
		msg.Data.New = mustWrite(t, tab, kv, Data)
		_, err := commit.Commit(t.Context(), table.Committable{ID: id, Messages: []table.CommitMessage{msg}})
		require.NoError(t, err)
		id++
	}
	write()
	levels, base := vectorLevels(t, tab)
	_, _, err := rw.Rewrite(t.Context(), noPartition, 0, mustLevels(t, tab, liveFiles(t, tab)), Unit{Files: liveFiles(t, tab), OutputLevel: 5})
	require.ErrorContains(t, err, "are not given")
	inc, _, err := rw.Rewrite(t.Context(), noPartition, 0, levels, Unit{Files: liveFiles(t, tab), OutputLevel: 5, DropDelete: true})
	require.NoError(t, err)
	require.Empty(t, inc.NewIndex)
	msg := table.CommitMessage{Partition: noPartition, TotalBuckets: 1, Compact: inc, Vectors: &base}
	_, err = commit.Commit(t.Context(), table.Committable{ID: id, Messages: []table.CommitMessage{msg}})
	require.NoError(t, err)
	id++
	write()
	levels, _ = vectorLevels(t, tab)
	u := Unit{Files: levels.Runs()[0].Files, OutputLevel: 4, DropDelete: true}
	inc, _, err = rw.Rewrite(t.Context(), noPartition, 0, levels, u)
	require.NoError(t, err)
	require.Len(t, inc.NewIndex, 1)
	path, err := tab.IndexFilePath(noPartition, 0, &inc.NewIndex[0])
	require.NoError(t, err)
	_, err = tab.FS().Stat(t.Context(), path)
	require.NoError(t, err)

	other := "index-of-somebody-else"
	msg = table.CommitMessage{Partition: noPartition, TotalBuckets: 1, Compact: inc, Vectors: &other}
	_, err = commit.Commit(t.Context(), table.Committable{ID: id, Messages: []table.CommitMessage{msg}})
	require.ErrorIs(t, err, table.ErrConflict)

	rw.Remove(t.Context(), noPartition, 0, inc)
	_, err = tab.FS().Stat(t.Context(), path)
	require.Error(t, err)
	requireNoOrphans(t, tab)

	_, _, err = rw.Rewrite(t.Context(), noPartition, 0, levels.WithVectors(map[string]*roaring.Bitmap{levels.Runs()[1].Files[0].Name: nil}), u)
	require.ErrorContains(t, err, "has not been read")
}
