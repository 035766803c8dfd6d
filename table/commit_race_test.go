package table

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
)

func TestLostRaceIsReplayedWithoutOrphans(t *testing.T) {
	f := &publishHook{FileSystem: mem.New()}
	tab := testTable(t, f, nil)
	other, err := Open(t.Context(), f, testPath, nil)
	require.NoError(t, err)
	theirs := other.NewCommit("other", nil)
	var retries []RetryInfo
	ours := tab.NewCommit("u", &Listener{Retry: func(r RetryInfo) { retries = append(retries, r) }})
	mustCommit(t, ours, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
	f.once(func() { mustCommit(t, theirs, 1, appendOf("x", 1, testFile("b", 0, 0, 9))) })
	s := mustCommit(t, ours, 2, appendOf("x", 0, testFile("c", 0, 0, 9)))
	require.Equal(t, int64(3), s.ID)
	require.Equal(t, int64(30), s.TotalRecordCount)
	require.Len(t, retries, 1)
	require.Equal(t, []string{"x/0/a@0", "x/0/c@0", "x/1/b@0"}, liveFiles(t, tab, Filter{}))
	requireNoOrphans(t, tab)
}

func TestCompactionThatLostItsFilesConflicts(t *testing.T) {
	f := &publishHook{FileSystem: mem.New()}
	tab := testTable(t, f, nil)
	other, err := Open(t.Context(), f, testPath, nil)
	require.NoError(t, err)
	a := testFile("a", 0, 0, 9)
	mustCommit(t, tab.NewCommit("u", nil), 1, appendOf("x", 0, a))
	f.once(func() {
		mustCommit(t, other.NewCommit("c1", nil), 1, compactOf("x", 0, []DataFile{a}, []DataFile{testFile("m1", 5, 0, 9)}))
	})
	_, err = tab.NewCommit("c2", nil).Commit(t.Context(), Committable{ID: 1, Messages: []CommitMessage{
		compactOf("x", 0, []DataFile{a}, []DataFile{testFile("m2", 5, 0, 9)})}})
	require.ErrorIs(t, err, ErrConflict)
	require.Equal(t, []string{"x/0/m1@5"}, liveFiles(t, tab, Filter{}))
	requireNoOrphans(t, tab)
}

func TestGivingUpAfterLostRacesLeavesNothing(t *testing.T) {
	f := &publishHook{FileSystem: mem.New()}
	tab := testTable(t, f, Options{"commit.max-retries": "3"})
	other, err := Open(t.Context(), f, testPath, nil)
	require.NoError(t, err)
	theirs := other.NewCommit("other", nil)
	n := 0
	var busy func(string, []byte) (bool, error)
	busy = func(string, []byte) (bool, error) {
		n++
		f.set(nil)
		mustCommit(t, theirs, int64(n), appendOf("x", 1, testFile(fmt.Sprint("o", n), 0, 0, 0)))
		f.set(busy)
		return true, nil
	}
	f.set(busy)
	_, err = tab.NewCommit("u", nil).Commit(t.Context(), Committable{ID: 1, Messages: []CommitMessage{appendOf("x", 0, testFile("a", 0, 0, 9))}})
	f.set(nil)
	require.ErrorIs(t, err, errLostRace)
	require.NotErrorIs(t, err, ErrUnknownOutcome)
	require.Equal(t, 4, n)
	requireNoOrphans(t, tab)
}

// The merged manifests of a lost attempt still serve when the other commit only appended.
func TestMergedManifestsSurviveALostRace(t *testing.T) {
	f := &publishHook{FileSystem: mem.New()}
	tab := testTable(t, f, Options{"manifest.merge-min-count": "3"})
	other, err := Open(t.Context(), f, testPath, Options{"manifest.merge-min-count": "100"})
	require.NoError(t, err)
	ours := tab.NewCommit("u", nil)
	for id := range int64(3) {
		mustCommit(t, ours, id, appendOf("x", 0, testFile(fmt.Sprint("a", id), 0, 0, 9)))
	}
	f.once(func() { mustCommit(t, other.NewCommit("o", nil), 1, appendOf("x", 1, testFile("b", 0, 0, 9))) })
	var end CommitInfo
	ours.listener.CommitEnd = func(i CommitInfo) { end = i }
	s := mustCommit(t, ours, 3, appendOf("x", 0, testFile("a3", 0, 0, 9)))
	require.Equal(t, 2, end.Attempts)
	require.Equal(t, 1, end.MergedManifests)
	base, err := tab.readList(t.Context(), s.BaseManifestList, s.BaseManifestListSize)
	require.NoError(t, err)
	require.Len(t, base, 2) // the merged three and theirs
	require.Equal(t, []string{"x/0/a0@0", "x/0/a1@0", "x/0/a2@0", "x/0/a3@0", "x/1/b@0"}, liveFiles(t, tab, Filter{}))
	requireNoOrphans(t, tab)
}

func TestASecondInstanceIsFencedOff(t *testing.T) {
	fsys := mem.New()
	tab := testTable(t, fsys, nil)
	one := tab.NewCommit("u", nil)
	one.Resume(0, 0)
	s := mustCommit(t, one, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
	mustCommit(t, tab.NewCommit("compactor", nil), 1, compactOf("x", 0, []DataFile{testFile("a", 0, 0, 9)}, []DataFile{testFile("m", 5, 0, 9)}))

	second, err := Open(t.Context(), fsys, testPath, nil)
	require.NoError(t, err)
	two := second.NewCommit("u", nil)
	two.Resume(s.ID, s.CommitIdentifier)
	mustCommit(t, two, 2, appendOf("x", 0, testFile("b", 0, 0, 9)))
	// The first one does the same work again, and must not add its file.
	_, err = one.Commit(t.Context(), Committable{ID: 2, Messages: []CommitMessage{appendOf("x", 0, testFile("c", 0, 0, 9))}})
	require.ErrorIs(t, err, ErrFenced)
	mustCommit(t, two, 3, appendOf("x", 0, testFile("d", 0, 0, 9)))
	require.Equal(t, []string{"x/0/b@0", "x/0/d@0", "x/0/m@5"}, liveFiles(t, tab, Filter{}))
	requireNoOrphans(t, tab)

	// One that knows nothing of its predecessors is fenced off at once, and so is one with wrong memories.
	for _, r := range [][2]int64{{0, 0}, {1, 1}, {2, 1}, {3, 3}, {9, 9}} {
		c := tab.NewCommit("u", nil)
		c.Resume(r[0], r[1])
		_, err = c.Commit(t.Context(), Committable{ID: 10})
		require.ErrorIs(t, err, ErrFenced, "%v", r)
	}
}

func TestFencingToleratesExpiryAndSeesRollback(t *testing.T) {
	expire := func(t *testing.T, tab *Table, ids ...int64) {
		for _, id := range ids {
			require.NoError(t, tab.fs.Remove(t.Context(), tab.snapshotPath(id)))
		}
	}
	setup := func(t *testing.T) (*Table, *Commit, *Commit) {
		tab := testTable(t, mem.New(), nil)
		ours, other := tab.NewCommit("u", nil), tab.NewCommit("o", nil)
		ours.Resume(0, 0)
		mustCommit(t, ours, 1, appendOf("x", 0, testFile("a", 0, 0, 9)))
		for id := range int64(3) {
			mustCommit(t, other, id, appendOf("x", 0, testFile(fmt.Sprint("o", id), 0, 0, 9)))
		}
		return tab, ours, other
	}
	t.Run("expired, same instance", func(t *testing.T) {
		tab, ours, _ := setup(t)
		expire(t, tab, 1, 2)
		require.Equal(t, int64(5), mustCommit(t, ours, 2).ID)
	})
	t.Run("expired, resumed", func(t *testing.T) {
		tab, _, _ := setup(t)
		expire(t, tab, 1, 2)
		c := tab.NewCommit("u", nil)
		c.Resume(1, 1)
		require.Equal(t, int64(5), mustCommit(t, c, 2).ID)
		again := tab.NewCommit("u", nil)
		again.Resume(5, 2)
		s := mustCommit(t, again, 2) // done before
		require.Equal(t, int64(5), s.ID)
	})
	t.Run("rolled back", func(t *testing.T) {
		tab, ours, other := setup(t)
		mustCommit(t, ours, 2)
		expire(t, tab, 5, 4, 3)
		require.NoError(t, tab.writeLatestHint(t.Context(), 2))
		for id := int64(10); id < 14; id++ {
			mustCommit(t, other, id)
		}
		_, err := ours.Commit(t.Context(), Committable{ID: 3})
		require.ErrorIs(t, err, ErrFenced)
		// Without a guard the commit goes through, on what is there now.
		require.Equal(t, int64(7), mustCommit(t, tab.NewCommit("u", nil), 3).ID)
	})
}

// Two writers and a compactor work on one table whose storage loses replies and drops publications.
func TestCommittersRace(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { raceOnce(t, seed) })
	}
}

func raceOnce(t *testing.T, seed uint64) {
	const commits = 25
	rng := rand.New(rand.NewPCG(seed, 1))
	f := faultfs.New(mem.New(), nil)
	f.FailWith(fs.ErrTransient)
	options := Options{"commit.max-retries": "10000", "manifest.merge-min-count": "5", "manifest.full-compaction-threshold-size": "20 kb", "manifest.target-file-size": "4 kb"}
	testTable(t, f, options)
	f.Set(func(c faultfs.Call) faultfs.How { // called by one goroutine at a time
		switch r := rng.IntN(100); {
		case isPublish(c) && r < 10:
			return faultfs.ReplyLost
		case isPublish(c) && r < 20:
			return faultfs.Lost
		case c.Op != faultfs.OpReplace && c.Op != faultfs.OpRemove && r < 2:
			return faultfs.Before
		}
		return faultfs.OK
	})
	var wg sync.WaitGroup
	want := make(map[string]bool)
	for w := range 2 {
		name := fmt.Sprint("w", w)
		mine := openAgain(t, f)
		c := mine.NewCommit(name, nil)
		c.Resume(0, 0)
		for id := range commits {
			want[fmt.Sprintf("%s-%d", name, id)] = true
		}
		wg.Go(func() {
			for id := range commits {
				file := testFile(fmt.Sprintf("%s-%d", name, id), 0, id, id)
				_, err := c.Commit(t.Context(), Committable{ID: int64(id), Messages: []CommitMessage{appendOf(fmt.Sprint("p", id%3), int32(w), file)}})
				if err != nil {
					t.Errorf("%s %d: %v", name, id, err)
					return
				}
			}
		})
	}
	compactor := openAgain(t, f)
	stop := make(chan struct{})
	done := make(chan int)
	go func() {
		n := 0
		c := compactor.NewCommit("compactor", nil)
		for id := int64(1); ; id++ {
			select {
			case <-stop:
				done <- n
				return
			default:
			}
			made, err := lift(t, compactor, c, id)
			if err != nil && !errors.Is(err, fs.ErrTransient) {
				t.Errorf("compactor: %v", err)
			}
			n += made
		}
	}()
	wg.Wait()
	close(stop)
	lifted := <-done
	f.Set(nil)
	require.Positive(t, lifted)
	checker := openAgain(t, f)
	got := map[string]bool{}
	for _, name := range liveNames(t, checker) {
		require.False(t, got[name], "%s is there twice", name)
		got[name] = true
	}
	require.Equal(t, want, got)
	requireConsistent(t, checker)
	s, err := checker.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(2*commits), s.TotalRecordCount)
	if !t.Failed() {
		requireNoOrphans(t, checker)
	}
}

func openAgain(t testing.TB, fsys fs.FileSystem) *Table {
	t.Helper()
	for {
		tab, err := Open(t.Context(), fsys, testPath, nil)
		if !errors.Is(err, fs.ErrTransient) {
			require.NoError(t, err)
			return tab
		}
	}
}

func liveNames(t testing.TB, tab *Table) []string {
	t.Helper()
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	var names []string
	for e, err := range tab.Scan(t.Context(), s, Filter{}) {
		require.NoError(t, err)
		names = append(names, e.File.Name)
	}
	slices.Sort(names)
	return names
}

// lift moves a level-0 file to level 5 by metadata only and returns how many it moved.
func lift(t *testing.T, tab *Table, c *Commit, id int64) (int, error) {
	s, err := tab.Latest(t.Context())
	if err != nil {
		return 0, err
	}
	for e, err := range tab.Scan(t.Context(), s, Filter{}) {
		if err != nil {
			return 0, err
		}
		if e.File.Level > 0 {
			continue
		}
		up := e.File
		up.Level = 5
		_, err := c.Commit(t.Context(), Committable{ID: id, Messages: []CommitMessage{{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets,
			Compact: CompactIncrement{Before: []DataFile{e.File}, After: []DataFile{up}}}}})
		if err != nil {
			return 0, err
		}
		return 1, nil
	}
	return 0, nil
}

// requireConsistent demands that each snapshot goes on from the one before.
func requireConsistent(t *testing.T, tab *Table) {
	t.Helper()
	for p := range tab.check(t.Context(), nil, checkScope{}) {
		require.Failf(t, "problem", "%+v", p)
	}
}
