package table

import (
	"context"
	"errors"
	"fmt"
	"path"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
)

func TestCommitMakesAnAppendAndACompactSnapshot(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	c := tab.NewCommit("u", nil)
	a, b := testFile("a", 0, 0, 9), testFile("b", 0, 5, 14)
	s := mustCommit(t, c, 1, appendOf("x", 0, a, b))
	require.Equal(t, int64(1), s.ID)
	require.Equal(t, CommitAppend, s.CommitKind)
	require.Equal(t, int64(20), s.TotalRecordCount)

	d, merged := testFile("d", 0, 0, 1), testFile("m", 5, 0, 14)
	m := appendOf("x", 1, d)
	m2 := compactOf("x", 0, []DataFile{a, b}, []DataFile{merged})
	w := int64(77)
	s, err := c.Commit(t.Context(), Committable{ID: 2, Watermark: &w, Properties: map[string]string{"pos": "<1&2>"}, Messages: []CommitMessage{m, m2}})
	require.NoError(t, err)
	require.Equal(t, int64(3), s.ID)
	require.Equal(t, CommitCompact, s.CommitKind)
	require.Equal(t, int64(-5), s.DeltaRecordCount)
	require.Equal(t, int64(17), s.TotalRecordCount)
	require.Equal(t, []string{"x/0/m@5", "x/1/d@0"}, liveFiles(t, tab, Filter{}))

	other, err := Open(t.Context(), tab.FS(), testPath, nil)
	require.NoError(t, err)
	again, err := other.Snapshot(t.Context(), 3)
	require.NoError(t, err)
	require.Equal(t, s, again)
	require.Equal(t, map[string]string{"pos": "<1&2>"}, again.Properties)
	append2, err := other.Snapshot(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, CommitAppend, append2.CommitKind)
	require.Equal(t, int64(2), append2.CommitIdentifier)
	require.Equal(t, liveFiles(t, tab, Filter{}), liveFiles(t, other, Filter{}))
	requireNoOrphans(t, other)
	bucket, level := int32(1), 5
	require.Equal(t, []string{"x/1/d@0"}, liveFiles(t, other, Filter{Bucket: &bucket}))
	require.Equal(t, []string{"x/0/m@5"}, liveFiles(t, other, Filter{Level: &level}))
	require.Empty(t, liveFiles(t, other, Filter{Partition: binaryRow("y")}))
	hint, err := readWhole(t.Context(), tab.FS(), testPath+"/snapshot/LATEST")
	require.NoError(t, err)
	require.Equal(t, "3", string(hint))
}

func TestEmptyCommitRecordsPropertiesAndKeepsTheWatermark(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	c := tab.NewCommit("u", nil)
	high, low := int64(10), int64(5)
	_, err := c.Commit(t.Context(), Committable{ID: 1, Watermark: &high, Properties: map[string]string{"a": "b"}})
	require.NoError(t, err)
	s, err := c.Commit(t.Context(), Committable{ID: 2, Watermark: &low})
	require.NoError(t, err)
	require.Equal(t, int64(10), *s.Watermark)
	require.Nil(t, s.Properties)
	require.Empty(t, liveFiles(t, tab, Filter{}))
}

func TestCommitOfACommittedIdentifierIsNotRepeated(t *testing.T) {
	fsys := mem.New()
	tab := testTable(t, fsys, nil)
	c := tab.NewCommit("u", nil)
	mustCommit(t, c, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
	mustCommit(t, c, 2, appendOf("x", 0, testFile("b", 0, 0, 9)))
	for _, again := range []*Commit{c, tab.NewCommit("u", nil)} {
		require.Equal(t, int64(2), mustCommit(t, again, 2, appendOf("x", 0, testFile("b", 0, 0, 9))).ID)
		require.Equal(t, int64(2), mustCommit(t, again, 1, appendOf("x", 0, testFile("a", 0, 0, 9))).ID)
	}
	ids, err := tab.NewCommit("u", nil).FilterCommitted(t.Context(), []int64{1, 2, 3, 4})
	require.NoError(t, err)
	require.Equal(t, []int64{3, 4}, ids)
	ids, err = tab.NewCommit("v", nil).FilterCommitted(t.Context(), []int64{1, 2})
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, ids)
	// Batch jobs all have the same identifier.
	require.Equal(t, int64(3), mustCommit(t, c, BatchIdentifier, appendOf("x", 0, testFile("c", 0, 0, 9))).ID)
	require.Equal(t, int64(4), mustCommit(t, c, BatchIdentifier, appendOf("x", 0, testFile("d", 0, 0, 9))).ID)
	requireNoOrphans(t, tab)
}

func TestSecondHalfOfACommitIsMadeUp(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	a, b := testFile("a", 0, 0, 9), testFile("b", 5, 0, 9)
	first := tab.NewCommit("u", nil)
	mustCommit(t, first, 1, appendOf("x", 0, a))
	x := Committable{ID: 1, Messages: []CommitMessage{appendOf("x", 0, a), compactOf("x", 0, []DataFile{a}, []DataFile{b})}}
	s, err := tab.NewCommit("u", nil).Commit(t.Context(), x)
	require.NoError(t, err)
	require.Equal(t, int64(2), s.ID)
	s, err = tab.NewCommit("u", nil).Commit(t.Context(), x)
	require.NoError(t, err)
	require.Equal(t, int64(2), s.ID)
	require.Equal(t, []string{"x/0/b@5"}, liveFiles(t, tab, Filter{}))
}

func TestConflicts(t *testing.T) {
	a, b := testFile("a", 0, 0, 9), testFile("b", 5, 20, 29)
	base := []CommitMessage{appendOf("x", 0, a, b)}
	for name, m := range map[string]CommitMessage{
		"deleted file is not there":   compactOf("x", 0, []DataFile{testFile("gone", 0, 0, 9)}, nil),
		"other level":                 compactOf("x", 0, []DataFile{testFile("a", 1, 0, 9)}, nil),
		"other bucket":                compactOf("x", 1, []DataFile{a}, nil),
		"other partition":             compactOf("y", 0, []DataFile{a}, nil),
		"added file is there":         compactOf("x", 0, nil, []DataFile{b}),
		"overlap in a level":          compactOf("x", 0, []DataFile{a}, []DataFile{testFile("c", 5, 0, 20)}),
		"overlap among the new files": compactOf("x", 0, []DataFile{a}, []DataFile{testFile("c", 4, 0, 5), testFile("d", 4, 5, 9)}),
		"same file twice":             compactOf("x", 0, []DataFile{a, a}, nil),
		"other number of buckets":     {Partition: binaryRow("x"), Bucket: 0, TotalBuckets: 3, Compact: CompactIncrement{After: []DataFile{testFile("c", 4, 0, 5)}}},
		"overwrite of a missing file": {Partition: binaryRow("x"), Bucket: 0, TotalBuckets: 2, Data: DataIncrement{Deleted: []DataFile{testFile("gone", 0, 0, 9)}}},
	} {
		t.Run(name, func(t *testing.T) {
			tab := testTable(t, mem.New(), nil)
			mustCommit(t, tab.NewCommit("u", nil), 1, base...)
			s, err := tab.NewCommit("c", nil).Commit(t.Context(), Committable{ID: 1, Messages: []CommitMessage{m}})
			require.ErrorIs(t, err, ErrConflict)
			require.Nil(t, s)
			require.Equal(t, []string{"x/0/a@0", "x/0/b@5"}, liveFiles(t, tab, Filter{}))
			requireNoOrphans(t, tab)
		})
	}
	t.Run("neighbours are fine", func(t *testing.T) {
		tab := testTable(t, mem.New(), nil)
		mustCommit(t, tab.NewCommit("u", nil), 1, base...)
		mustCommit(t, tab.NewCommit("c", nil), 1, compactOf("x", 0, []DataFile{a}, []DataFile{testFile("c", 5, 0, 19)}))
	})
}

func TestOverwriteDeletesFiles(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	c := tab.NewCommit("u", nil)
	a := testFile("a", 0, 0, 9)
	mustCommit(t, c, 1, appendOf("x", 0, a))
	s := mustCommit(t, c, 2, CommitMessage{Partition: binaryRow("x"), TotalBuckets: 4, Data: DataIncrement{Deleted: []DataFile{a}, New: []DataFile{testFile("b", 0, 0, 3)}}})
	require.Equal(t, CommitOverwrite, s.CommitKind)
	require.Equal(t, int64(4), s.TotalRecordCount)
	require.Equal(t, []string{"x/0/b@0"}, liveFiles(t, tab, Filter{}))
}

func TestDuplicateFilesAreDiscardedWhenAsked(t *testing.T) {
	tab := testTable(t, mem.New(), Options{"commit.discard-duplicate-files": "true"})
	c := tab.NewCommit("u", nil)
	mustCommit(t, c, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
	s := mustCommit(t, c, 2, appendOf("x", 0, testFile("a", 0, 0, 9), testFile("b", 0, 0, 0)))
	require.Equal(t, int64(1), s.DeltaRecordCount)
	require.Equal(t, []string{"x/0/a@0", "x/0/b@0"}, liveFiles(t, tab, Filter{}))
}

func TestFilesThatNobodyCouldReadAreRefused(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	for _, spoil := range []func(*DataFile, *CommitMessage){
		func(f *DataFile, _ *CommitMessage) { f.Name = "" },
		func(f *DataFile, _ *CommitMessage) { f.Size = 0 },
		func(f *DataFile, _ *CommitMessage) { f.MinKey = nil },
		func(f *DataFile, _ *CommitMessage) { f.ValueStats = Stats{} },
		func(_ *DataFile, m *CommitMessage) { m.Bucket = 2 },
		func(_ *DataFile, m *CommitMessage) { m.Partition = nil },
	} {
		f := testFile("a", 0, 0, 9)
		m := appendOf("x", 0)
		spoil(&f, &m)
		m.Data.New = []DataFile{f}
		_, err := tab.NewCommit("u", nil).Commit(t.Context(), Committable{ID: 1, Messages: []CommitMessage{m}})
		require.Error(t, err)
	}
}

// metaCalls counts calls by kind and directory, without those on open files.
func metaCalls(f *faultfs.FS) map[string]int {
	n := map[string]int{}
	for _, c := range f.Calls() {
		switch c.Op {
		case faultfs.OpWrite, faultfs.OpClose, faultfs.OpReadAt:
		default:
			dir := path.Base(path.Dir(c.Path))
			if c.Op == faultfs.OpList {
				dir = path.Base(c.Path)
			}
			n[string(c.Op)+" "+dir]++
		}
	}
	return n
}

func TestCommitCostsFewCalls(t *testing.T) {
	f := faultfs.New(mem.New(), nil)
	tab := testTable(t, f, nil)
	c := tab.NewCommit("u", nil)
	for id := range int64(5) {
		mustCommit(t, c, id, appendOf("x", 0, testFile(fmt.Sprint("f", id), 0, 0, 9)))
	}
	f.Set(nil)
	mustCommit(t, c, 5, appendOf("x", 0, testFile("f5", 0, 0, 9)))
	require.Equal(t, map[string]int{
		"open snapshot":    2, // the next one, which isn't there, and the latest, which is as it was
		"stat schema":      1, // the next one, which isn't there
		"create manifest":  3, // manifest, delta list, base list
		"publish snapshot": 1, "replace snapshot": 1,
	}, metaCalls(f))
	// A compaction knows all manifests already.
	f.Set(nil)
	files := []DataFile{testFile("f0", 0, 0, 9), testFile("f1", 0, 0, 9)}
	mustCommit(t, tab.NewCommit("compactor", nil), 1, compactOf("x", 0, files, []DataFile{testFile("c", 5, 0, 9)}))
	n := metaCalls(f)
	require.Equal(t, 3, n["create manifest"])
	require.Zero(t, n["open manifest"])
}

func TestTransientErrorsAreRetried(t *testing.T) {
	for n := 1; ; n++ {
		f := faultfs.New(mem.New(), nil)
		tab := testTable(t, f, nil)
		c := tab.NewCommit("u", nil)
		mustCommit(t, c, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
		f.FailWith(fs.ErrTransient)
		f.Set(faultfs.Nth(n, faultfs.Before, nil))
		s, err := c.Commit(t.Context(), Committable{ID: 2, Messages: []CommitMessage{appendOf("x", 0, testFile("b", 0, 0, 9))}})
		done := len(f.Calls()) < n
		trace := f.Trace(testPath)
		f.Set(nil)
		require.NoError(t, err, trace)
		require.Equal(t, int64(2), s.ID, trace)
		require.Equal(t, []string{"x/0/a@0", "x/0/b@0"}, liveFiles(t, tab, Filter{}), trace)
		requireNoOrphans(t, tab)
		if done {
			return
		}
	}
}

func TestPermanentErrorsLeaveNothingBehind(t *testing.T) {
	for _, how := range []faultfs.How{faultfs.Before, faultfs.Torn} {
		for n := 1; ; n++ {
			f := faultfs.New(mem.New(), nil)
			tab := testTable(t, f, nil)
			c := tab.NewCommit("u", nil)
			mustCommit(t, c, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
			f.FailWith(fs.ErrFull)
			f.Set(faultfs.Nth(n, how, func(c faultfs.Call) bool { return c.Op != faultfs.OpReplace }))
			_, err := c.Commit(t.Context(), Committable{ID: 2, Messages: []CommitMessage{appendOf("x", 0, testFile("b", 0, 0, 9))}})
			trace := f.Trace(testPath)
			f.Set(nil)
			if err == nil {
				require.Equal(t, []string{"x/0/a@0", "x/0/b@0"}, liveFiles(t, tab, Filter{}), trace)
				break
			}
			require.ErrorIs(t, err, fs.ErrFull)
			require.NotErrorIs(t, err, ErrUnknownOutcome)
			require.Equal(t, []string{"x/0/a@0"}, liveFiles(t, tab, Filter{}), trace)
			requireNoOrphans(t, tab)
		}
	}
}

func isPublish(c faultfs.Call) bool { return c.Op == faultfs.OpPublish }

func TestUnknownOutcomesAreResolved(t *testing.T) {
	for name, how := range map[string]faultfs.How{"it happened": faultfs.ReplyLost, "it did not": faultfs.Lost} {
		t.Run(name, func(t *testing.T) {
			f := faultfs.New(mem.New(), nil)
			tab := testTable(t, f, nil)
			c := tab.NewCommit("u", nil)
			f.Set(faultfs.Nth(1, how, isPublish))
			s := mustCommit(t, c, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
			require.Equal(t, int64(1), s.ID)
			require.Equal(t, []string{"x/0/a@0"}, liveFiles(t, tab, Filter{}))
			s = mustCommit(t, c, 2, appendOf("x", 0, testFile("b", 0, 0, 9)))
			require.Equal(t, int64(2), s.ID)
			requireNoOrphans(t, tab)
		})
	}
}

func TestUnresolvedOutcomeDeletesNothing(t *testing.T) {
	f := faultfs.New(mem.New(), nil)
	tab := testTable(t, f, Options{"commit.max-retries": "2"})
	c := tab.NewCommit("u", nil)
	mustCommit(t, c, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
	f.Set(func(c faultfs.Call) faultfs.How {
		if isPublish(c) {
			return faultfs.Lost
		}
		return faultfs.OK
	})
	before := manifestFiles(t, tab)
	x := Committable{ID: 2, Messages: []CommitMessage{appendOf("x", 0, testFile("b", 0, 0, 9))}}
	_, err := c.Commit(t.Context(), x)
	require.ErrorIs(t, err, ErrUnknownOutcome)
	require.Len(t, manifestFiles(t, tab), len(before)+3)
	f.Set(nil)
	s, err := c.Commit(t.Context(), x)
	require.NoError(t, err)
	require.Equal(t, int64(2), s.ID)
}

// What happened stays unknown as long as the storage is away, and is found out by committing the same again, even by a
// guarding Commit.
func TestUnknownOutcomeIsFoundOutLater(t *testing.T) {
	for name, how := range map[string]faultfs.How{"it happened": faultfs.ReplyLost, "it did not": faultfs.Lost} {
		for _, guard := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", guard), func(t *testing.T) {
				f := faultfs.New(mem.New(), nil)
				f.FailWith(fs.ErrTransient)
				tab := testTable(t, f, Options{"commit.max-retries": "2"})
				c := tab.NewCommit("u", nil)
				if guard {
					c.Resume(0, 0)
				}
				mustCommit(t, c, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
				published := false
				away := func(call faultfs.Call) faultfs.How {
					switch {
					case published:
						return faultfs.Lost
					case isPublish(call):
						published = true
						return how
					}
					return faultfs.OK
				}
				f.Set(away)
				x := Committable{ID: 2, Messages: []CommitMessage{appendOf("x", 0, testFile("b", 0, 0, 9))}}
				for range 3 {
					_, err := c.Commit(t.Context(), x)
					require.ErrorIs(t, err, ErrUnknownOutcome)
				}
				f.Set(nil)
				s, err := c.Commit(t.Context(), x)
				require.NoError(t, err)
				require.Equal(t, int64(2), s.ID)
				require.Equal(t, int64(3), mustCommit(t, c, 3, appendOf("x", 0, testFile("c", 0, 0, 9))).ID)
				require.Equal(t, []string{"x/0/a@0", "x/0/b@0", "x/0/c@0"}, liveFiles(t, tab, Filter{}))
				requireNoOrphans(t, tab)
			})
		}
	}
	t.Run("somebody else took the id", func(t *testing.T) {
		f := faultfs.New(mem.New(), nil)
		tab := testTable(t, f, Options{"commit.max-retries": "0"})
		c := tab.NewCommit("u", nil)
		f.Set(faultfs.Nth(1, faultfs.Lost, isPublish))
		x := Committable{ID: 1, Messages: []CommitMessage{appendOf("x", 0, testFile("a", 0, 0, 9))}}
		_, err := c.Commit(t.Context(), x)
		require.ErrorIs(t, err, ErrUnknownOutcome)
		mustCommit(t, tab.NewCommit("other", nil), 1)
		s, err := c.Commit(t.Context(), x)
		require.NoError(t, err)
		require.Equal(t, int64(2), s.ID)
		requireNoOrphans(t, tab)
	})
	t.Run("a later commit goes first", func(t *testing.T) {
		f := faultfs.New(mem.New(), nil)
		tab := testTable(t, f, Options{"commit.max-retries": "0"})
		c := tab.NewCommit("u", nil)
		c.Resume(0, 0)
		f.Set(func(call faultfs.Call) faultfs.How {
			if isPublish(call) {
				return faultfs.ReplyLost
			}
			if call.Op == faultfs.OpOpen && call.Path == tab.snapshotPath(1) {
				return faultfs.Before
			}
			return faultfs.OK
		})
		_, err := c.Commit(t.Context(), Committable{ID: 1, Messages: []CommitMessage{appendOf("x", 0, testFile("a", 0, 0, 9))}})
		require.ErrorIs(t, err, ErrUnknownOutcome)
		f.Set(nil)
		require.Equal(t, int64(2), mustCommit(t, c, 2).ID)
	})
}

func TestCancelledCommitLooksOnceMore(t *testing.T) {
	for _, happens := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		f := &publishHook{FileSystem: mem.New()}
		tab := testTable(t, f, nil)
		f.before = func(path string, data []byte) (bool, error) {
			if happens {
				_, err := f.FileSystem.Publish(ctx, path, data)
				require.NoError(t, err)
			}
			cancel()
			return false, context.Canceled
		}
		s, err := tab.NewCommit("u", nil).Commit(ctx, Committable{ID: 1, Messages: []CommitMessage{appendOf("x", 0, testFile("a", 0, 0, 9))}})
		if happens {
			require.NoError(t, err)
			require.Equal(t, int64(1), s.ID)
		} else {
			require.ErrorIs(t, err, ErrUnknownOutcome)
		}
	}
}

func TestHintFailureIsNoCommitFailure(t *testing.T) {
	synctest.Test(t, hintFailure) // there are pauses between the tries
}

func hintFailure(t *testing.T) {
	f := faultfs.New(mem.New(), nil)
	tab := testTable(t, f, Options{"manifest.compression": "none"}) // encoders outlive a bubble
	f.Set(func(c faultfs.Call) faultfs.How {
		if c.Op == faultfs.OpReplace {
			return faultfs.Before
		}
		return faultfs.OK
	})
	var failed error
	var ends []CommitInfo
	c := tab.NewCommit("u", &Listener{HintFailed: func(err error) { failed = err }, CommitEnd: func(i CommitInfo) { ends = append(ends, i) }})
	s := mustCommit(t, c, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
	require.Equal(t, int64(1), s.ID)
	require.ErrorIs(t, failed, faultfs.ErrInjected)
	require.Len(t, ends, 1)
	require.Equal(t, 1, ends[0].Attempts)
	require.Equal(t, 1, ends[0].Added)
	require.False(t, errors.Is(ends[0].Err, failed))
}
