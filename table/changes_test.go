package table

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/mem"
)

func TestConsumersAreRecordedAndFound(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	_, err := tab.Consumer(t.Context(), "c")
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, next := range []int64{7, 3} { // a reset goes back, too
		require.NoError(t, tab.RecordConsumer(t.Context(), "c", next))
		c, err := tab.Consumer(t.Context(), "c")
		require.NoError(t, err)
		require.Equal(t, next, c.Next)
	}
	all, err := tab.Consumers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "c", all[0].ID)
	require.False(t, all[0].Changed.IsZero())
	for _, id := range []string{"", "a/b", `a\b`} {
		require.ErrorIs(t, tab.RecordConsumer(t.Context(), id, 1), ErrOption)
	}
}

func TestEarliestChangeHasAllAfterIt(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	id, err := tab.EarliestChange(t.Context())
	require.NoError(t, err)
	require.Zero(t, id)
	s := Snapshot{Version: 3, BaseManifestList: "b", DeltaManifestList: "d", CommitKind: CommitAppend}
	for _, n := range []int64{3, 5, 6} { // 4 is missing
		s.ID = n
		_, err := tab.KeepChangelog(t.Context(), &s)
		require.NoError(t, err)
	}
	for _, n := range []int64{7, 8} {
		s.ID = n
		data, err := s.encode()
		require.NoError(t, err)
		_, err = tab.fs.Publish(t.Context(), tab.snapshotPath(n), data)
		require.NoError(t, err)
	}
	id, err = tab.EarliestChange(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, id)
	for n := int64(1); n <= 9; n++ {
		s, err := tab.SnapshotOrChangelog(t.Context(), n)
		switch {
		case n < 3 || n == 4:
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.ErrorContains(t, err, fmt.Sprintf("the changes of snapshot %d have expired, the earliest that can be read are those of snapshot 5", n))
		case n == 9:
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.NotContains(t, err.Error(), "expired")
		default:
			require.NoError(t, err)
			require.Equal(t, n, s.ID)
		}
	}
}
