package lsm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// stretch writes a file with the keys from first on.
func stretch(t *testing.T, tab *table.Table, level int, first, n int32, kind row.Kind, seq int64) table.DataFile {
	kv := NewKeyValues(tab.Schema().RowType())
	r := rand.New(rand.NewPCG(uint64(seq), 1))
	for k := first; k < first+n; k++ {
		kv.Rows.Cols[0].AppendI32(k)
		kv.Rows.Cols[1].AppendI32(r.Int32())
		kv.Rows.Cols[2].AppendNull()
		kv.Rows.Cols[3].AppendNull()
		kv.Rows.Cols[4].AppendI64(r.Int64())
		kv.Rows.EndRow(kind)
		kv.Seq = append(kv.Seq, seq)
		seq++
	}
	w := mustFiles(t, tab).NewWriter(t.Context(), noPartition, 0, level, Data, table.SourceAppend)
	require.NoError(t, w.Write(kv))
	files, err := w.Close()
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

// TestRewriteMovesLargeFilesAndMergesSmallOnes: large files have 1000 rows, 22 kB, small ones 10.
func TestRewriteMovesLargeFilesAndMergesSmallOnes(t *testing.T) {
	tab := narrowTable(t, table.Options{"target-file-size": "20 kb"})
	forced := narrowTable(t, table.Options{"target-file-size": "20 kb", "compaction.force-rewrite-all-files": "true"})
	lenient := narrowTable(t, table.Options{"target-file-size": "20 kb", "compaction.small-file-ratio": "100"})
	type file struct {
		level    int
		first, n int32
		kind     row.Kind
	}
	const add, del = row.Insert, row.Delete
	for _, c := range []struct {
		name   string
		table  *table.Table
		level  int
		rewr   bool
		files  []file
		moved  []int // which files only change their level
		stay   []int // which aren't mentioned
		merged int   // files of the rest
	}{
		{"a lone small file moves", tab, 5, false, []file{{0, 0, 10, add}}, []int{0}, nil, 0},
		{"a lone small file between large ones moves", tab, 5, false,
			[]file{{0, 0, 1000, add}, {0, 3000, 10, add}, {0, 4000, 1000, add}}, []int{0, 1, 2}, nil, 0},
		{"small neighbours are merged", tab, 5, false,
			[]file{{0, 0, 1000, add}, {0, 3000, 10, add}, {0, 3100, 10, add}, {0, 4000, 1000, add}}, []int{0, 3}, nil, 1},
		{"a small file goes with what overlaps beside it", tab, 5, false,
			[]file{{0, 0, 10, add}, {0, 100, 10, add}, {0, 105, 10, add}}, nil, nil, 1},
		{"what is in its level stays", tab, 5, false, []file{{5, 0, 1000, add}, {0, 3000, 1000, add}}, []int{1}, []int{0}, 0},
		{"a lone small file in its level stays", tab, 5, false, []file{{5, 0, 10, add}, {0, 3000, 1000, add}}, []int{1}, []int{0}, 0},
		{"retracts don't reach the max level", tab, 5, false, []file{{0, 0, 1000, del}, {0, 3000, 1000, add}}, []int{1}, nil, 0},
		{"retracts may move above it", tab, 4, false, []file{{0, 0, 1000, del}, {0, 3000, 1000, add}}, []int{0, 1}, nil, 0},
		{"everything is rewritten when that is forced", forced, 5, false, []file{{5, 0, 1000, add}, {0, 3000, 10, add}}, nil, nil, 2},
		{"small-file-ratio makes files small", lenient, 5, false, []file{{0, 0, 1000, add}, {0, 3000, 1000, add}}, nil, nil, 2},
		{"file by file", tab, 5, true, []file{{5, 0, 10, add}, {5, 20, 10, add}}, nil, nil, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var files []table.DataFile
			for i, f := range c.files {
				files = append(files, stretch(t, c.table, f.level, f.first, f.n, f.kind, int64(i)*5000))
			}
			levels := mustLevels(t, c.table, files)
			u := Unit{Files: files, OutputLevel: c.level, DropDelete: c.level == 5, FileRewrite: c.rewr}
			inc, stats, err := mustRewriter(t, c.table, RewriterConfig{}).Rewrite(t.Context(), noPartition, 0, levels, u)
			require.NoError(t, err)
			after := map[string]table.DataFile{}
			for _, f := range inc.After {
				require.Equal(t, c.level, f.Level)
				after[f.Name] = f
			}
			for i, f := range files {
				require.Equal(t, !slices.Contains(c.stay, i), slices.ContainsFunc(inc.Before, func(b table.DataFile) bool { return b.Name == f.Name }), "file %d is replaced", i)
				moved, ok := after[f.Name]
				require.Equal(t, slices.Contains(c.moved, i), ok, "file %d only moves", i)
				if ok {
					moved.Level = f.Level
					require.Equal(t, f, moved)
				}
			}
			require.Len(t, inc.After, len(c.moved)+c.merged)
			require.Equal(t, len(c.moved), stats.Upgraded)
			require.Equal(t, c.merged, stats.FilesWritten)
		})
	}
}

func TestRewriteRefusesFilesOfANewerSchema(t *testing.T) {
	tab := narrowTable(t, nil)
	f := stretch(t, tab, 0, 0, 10, row.Insert, 0)
	f.SchemaID = 1
	levels := mustLevels(t, tab, []table.DataFile{f})
	_, _, err := mustRewriter(t, tab, RewriterConfig{}).Rewrite(t.Context(), noPartition, 0, levels, unitOf(levels, 1, nil))
	require.ErrorIs(t, err, table.ErrSchema)
	require.ErrorContains(t, err, f.Name)
}

// TestRewriteGoesOnWithoutRoomToSpill: when the disk is full, a merge takes more memory.
func TestRewriteGoesOnWithoutRoomToSpill(t *testing.T) {
	tab := narrowTable(t, nil)
	var files []table.DataFile
	for i := range int32(30) {
		files = append(files, stretch(t, tab, 0, i, 500, row.Insert, int64(i)*500))
	}
	levels := mustLevels(t, tab, files)
	for _, limit := range []int64{1, 3 << 10, 20 << 10} {
		spill, err := NewSpillStore([]string{t.TempDir()}, "", 0, limit)
		require.NoError(t, err)
		rw := mustRewriter(t, tab, RewriterConfig{Memory: 1 << 20, Spill: spill})
		inc, stats, err := rw.Rewrite(t.Context(), noPartition, 0, levels, unitOf(levels, 30, nil))
		require.NoError(t, err)
		require.EqualValues(t, 529, stats.RowsWritten)
		rw.Remove(t.Context(), noPartition, 0, inc)
		require.Zero(t, spill.Used())
		require.NoError(t, spill.Close())
	}
}

// TestLookupFoldTakesOneRecordOfTheDeeperLevels: it has all that lies deeper still.
func TestLookupFoldTakesOneRecordOfTheDeeperLevels(t *testing.T) {
	typ := mergeType()
	for _, c := range []struct {
		levels []int
		want   []int // which records the merge function is given
	}{
		{[]int{0, 0}, []int{0, 1}},
		{[]int{5, 3, 0, 0}, []int{1, 2, 3}},
		{[]int{3, 5, 0}, []int{0, 2}},
		{[]int{5, 4}, []int{1}},
	} {
		rec := &recorder{}
		l := &lookupFold{kv: NewKeyValues(typ)}
		kv := NewKeyValues(typ)
		for i, level := range c.levels {
			appendRecord(kv, record{key: 1, seq: int64(i)})
			l.add(kv, i, level)
		}
		for range 2 {
			require.NoError(t, l.fold(rec))
		}
		require.Equal(t, c.want, rec.seen)
	}
}

type recorder struct{ seen []int }

func (r *recorder) Reset() {}

func (r *recorder) Add(kv *KeyValues, i int) error {
	r.seen = append(r.seen, int(kv.Seq[i]))
	return nil
}

func (r *recorder) Result(*KeyValues) error { return nil }
