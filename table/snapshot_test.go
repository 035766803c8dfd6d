package table

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/mem"
)

func latestID(t testing.TB, tab *Table) int64 {
	t.Helper()
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	if s == nil {
		return 0
	}
	return s.ID
}

func TestLatestWithHintsOfAnyAge(t *testing.T) {
	for hint, want := range map[string]int64{
		"": 5, "5": 5, "3": 5, "1": 5, "4": 5, "9": 5, "0": 5, "-1": 5, "abc": 5, "5\n": 5, "99999999999999999999": 5,
	} {
		fsys := mem.New()
		tab := testTable(t, fsys, nil)
		c := tab.NewCommit("u", nil)
		for id := range int64(5) {
			mustCommit(t, c, id)
		}
		for id := range int64(2) { // 1 and 2 expire
			require.NoError(t, fsys.Remove(t.Context(), tab.snapshotPath(id+1)))
		}
		path := testPath + "/snapshot/LATEST"
		if hint == "" {
			require.NoError(t, fsys.Remove(t.Context(), path))
		} else {
			fsys.Overwrite(path, []byte(hint))
		}
		fsys.Overwrite(testPath+"/snapshot/snapshot-foo", []byte("x"))
		fsys.Overwrite(testPath+"/snapshot/.snapshot-9.x.tmp", []byte("x"))
		fresh, err := Open(t.Context(), fsys, testPath, nil)
		require.NoError(t, err)
		require.Equal(t, want, latestID(t, fresh), "hint %q", hint)
		require.Equal(t, want, latestID(t, fresh), "hint %q", hint)
		first, err := fresh.Earliest(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(3), first.ID)
	}
}

func TestLatestOfAnEmptyTable(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	require.Zero(t, latestID(t, tab))
	s, err := tab.LatestOf(t.Context(), "u")
	require.NoError(t, err)
	require.Nil(t, s)
	s, err = tab.Earliest(t.Context())
	require.NoError(t, err)
	require.Nil(t, s)
	for range tab.Scan(t.Context(), nil, Filter{}) {
		t.Fatal("there is nothing")
	}
}

func TestLatestFollowsOthersRollbackAndExpiry(t *testing.T) {
	fsys := mem.New()
	tab := testTable(t, fsys, nil)
	reader, err := Open(t.Context(), fsys, testPath, nil)
	require.NoError(t, err)
	c := tab.NewCommit("u", nil)
	for id := range int64(3) {
		mustCommit(t, c, id)
	}
	require.Equal(t, int64(3), latestID(t, reader))
	for id := int64(3); id < 3+2*maxForward; id++ {
		mustCommit(t, c, id)
	}
	require.Equal(t, int64(3+2*maxForward), latestID(t, reader))
	last := int64(3 + 2*maxForward)
	// Rolled back to the one before, and another one made in its place.
	require.NoError(t, fsys.Remove(t.Context(), tab.snapshotPath(last)))
	require.NoError(t, tab.writeLatestHint(t.Context(), last-1))
	require.Equal(t, last-1, latestID(t, reader))
	s, err := tab.NewCommit("v", nil).Commit(t.Context(), Committable{ID: 1})
	require.NoError(t, err)
	require.Equal(t, last, s.ID)
	got, err := reader.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, s.UUID, got.UUID)
	// All that the reader knew expire.
	for range 5 {
		mustCommit(t, c, BatchIdentifier)
	}
	for id := int64(1); id <= last; id++ {
		require.NoError(t, fsys.Remove(t.Context(), tab.snapshotPath(id)))
	}
	require.Equal(t, last+5, latestID(t, reader))
	s, err = reader.LatestOf(t.Context(), "v")
	require.NoError(t, err)
	require.Nil(t, s)
}

func TestLatestOfWalksBack(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	mustCommit(t, tab.NewCommit("a", nil), 1)
	mustCommit(t, tab.NewCommit("b", nil), 1)
	mustCommit(t, tab.NewCommit("b", nil), 2)
	s, err := tab.LatestOf(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, int64(1), s.ID)
	s, err = tab.LatestOf(t.Context(), "nobody")
	require.NoError(t, err)
	require.Nil(t, s)
	_, err = tab.Snapshot(t.Context(), 9)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestDamagedSnapshotsAreCorrupt(t *testing.T) {
	fsys := mem.New()
	tab := testTable(t, fsys, nil)
	s := mustCommit(t, tab.NewCommit("u", nil), 1)
	good, err := s.encode()
	require.NoError(t, err)
	for _, data := range []string{
		"", "{", "null", "[]", string(good[:len(good)-20]), `{"id":1}`, `{"version":3,"id":"x"}`,
		`{"version":3,"id":2,"baseManifestList":"a","deltaManifestList":"b","commitKind":"APPEND"}`,
		`{"version":3,"id":1,"baseManifestList":"a","deltaManifestList":"b","commitKind":"WHAT"}`,
		`{"version":3,"id":1,"baseManifestList":"a","deltaManifestList":"b","commitKind":"APPEND","baseManifestListSize":-1}`,
	} {
		fsys.Overwrite(tab.snapshotPath(1), []byte(data))
		_, err := tab.Snapshot(t.Context(), 1)
		require.ErrorIs(t, err, ErrCorrupt, data)
		require.ErrorContains(t, err, "snapshot-1")
	}
	fsys.Overwrite(tab.snapshotPath(1), []byte(`{"version":4,"id":1}`))
	_, err = tab.Snapshot(t.Context(), 1)
	require.ErrorIs(t, err, ErrNewerFormat)
}
