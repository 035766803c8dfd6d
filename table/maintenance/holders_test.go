package maintenance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/table"
)

// A consumer is named exactly when more would expire without it.
func TestConsumersThatHoldExpiryBackAreNamed(t *testing.T) {
	w := newWorld(t, 1, nil)
	for range 9 {
		w.append()
	}
	ids := w.snapshots()
	n := len(ids)
	latest := ids[n-1]
	for _, c := range []struct {
		name        string
		next        int64
		least, most int
		young       bool
		limit       int
		changelogs  bool // only they are kept for consumers
		held        int64
	}{
		{"by number", latest - 4, 2, 3, true, 0, false, 5},
		{"by age", latest - 4, 2, 100, false, 0, false, 5},
		{"kept for its age", latest - 4, 2, 100, true, 0, false, 0},
		{"kept in any case", latest - 1, 2, 3, false, 0, false, 0},
		{"the first that may go", latest - 2, 2, 3, false, 0, false, 3},
		{"a consumer of long ago", 0, 1, 1, true, 0, false, int64(n)},
		{"one that waits for more", latest + 1, 1, 1, false, 0, false, 0},
		{"later ones have their turn later", latest - 2, 1, 1, false, 2, false, 0},
		{"none is kept for it", latest - 4, 1, 1, false, 0, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := ExpireOptions{RetainMin: &c.least, RetainMax: &c.most, MaxDeletes: c.limit, DryRun: true}
			if !c.young {
				o.OlderThan = future()
			}
			var dynamic table.Options
			if c.changelogs {
				dynamic = table.Options{"consumer.changelog-only": "true"}
			}
			tab, err := table.Open(w.ctx, w.fs, testPath, dynamic)
			require.NoError(t, err)
			require.NoError(t, tab.RecordConsumer(w.ctx, "slow", c.next))
			require.NoError(t, tab.RecordConsumer(w.ctx, "fast", latest+1))
			r, err := ExpireSnapshots(w.ctx, tab, o)
			require.NoError(t, err)
			require.Equal(t, c.held, r.Held)
			var names []string
			for _, h := range r.HeldBy {
				names = append(names, h.ID)
			}
			if c.held == 0 {
				require.Empty(t, names)
			} else {
				require.Equal(t, []string{"slow"}, names)
			}
			require.NoError(t, tab.RemoveConsumer(w.ctx, "slow"))
			free, err := ExpireSnapshots(w.ctx, tab, o)
			require.NoError(t, err)
			require.Equal(t, c.held > 0, free.Snapshots > r.Snapshots)
		})
	}
}
