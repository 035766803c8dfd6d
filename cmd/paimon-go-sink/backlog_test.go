package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWarnsOfABacklogThatNobodyCompacts(t *testing.T) {
	now := time.Now()
	warnings := func(depths ...int) (n int) {
		b := backlog{trigger: 5}
		for _, d := range depths {
			if now = now.Add(lookEvery); b.seen(d, now) {
				n++
			}
			require.Equal(t, int64(d), b.deepest.Load())
		}
		return n
	}
	require.Zero(t, warnings(1, 3, 5, 4, 7, 3, 6, 14, 2, 6, 8, 10, 4), "a compactor at work")
	require.Zero(t, warnings(60, 60, 60, 60, 60, 60), "an old backlog of a quiet table")
	require.Zero(t, warnings(60, 70, 55, 40, 45, 30, 10), "a compactor that catches up")
	require.Equal(t, 1, warnings(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21), "once in a while only")
	var day []int
	for i := range 40 {
		day = append(day, 2*i)
	}
	require.Equal(t, 2, warnings(day...))
}

func TestDeepestLevel0(t *testing.T) {
	w := t.TempDir()
	replay(t, 0, w, with("--primary_keys", "day,id", "--partition_keys", "day")...)
	tab := openTable(t, w)
	latest, err := tab.Latest(context.Background())
	require.NoError(t, err)
	deepest, files, err := deepestLevel0(context.Background(), tab, latest)
	require.NoError(t, err)
	require.Positive(t, deepest)
	require.Greater(t, files, deepest)
}
