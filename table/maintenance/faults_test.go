package maintenance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

// all is set to let tests meet every call, which takes minutes.
var all = os.Getenv("PAIMON_GO_ALL_FAULTS") != ""

// latestFiles returns the live files at the latest snapshot, each of which must be there.
func (w *world) latestFiles() []string {
	tab := w.on(w.fs)
	s, err := tab.Latest(w.ctx)
	require.NoError(w.t, err)
	var names []string
	for e, err := range tab.Scan(w.ctx, s, table.Filter{}) {
		require.NoError(w.t, err)
		path, err := tab.DataFilePath(e.Partition, e.Bucket, &e.File)
		require.NoError(w.t, err)
		_, err = w.fs.Stat(w.ctx, path)
		require.NoError(w.t, err, "snapshot %d", s.ID)
		names = append(names, e.File.Name)
	}
	slices.Sort(names)
	return names
}

func (w *world) in(fsys *mem.FS) *world {
	c := *w
	c.fs = fsys
	c.table = c.on(fsys)
	return &c
}

// TestMaintenanceMeetsEveryFault lets each call of a whole maintenance (tags, partitions, consumers, snapshots, changelogs) fail in
// every way, alone or with all that follow it, then takes what a crash may leave, and has another process do it again.
func TestMaintenanceMeetsEveryFault(t *testing.T) {
	days := int(time.Since(time.UnixMilli(1_700_000_000_000))/(24*time.Hour)) - 30
	base := newWorld(t, 9, aging.With(table.Options{
		"partition.expiration-time": fmt.Sprint(days, " d"), "changelog.num-retained.min": "3", "file-operation.thread-num": "1",
		"snapshot.num-retained.min": "2", "commit.max-retries": "1", "commit.min-retry-wait": "1 ms",
	}))
	for i := range 8 {
		base.append()
		base.compact()
		if i == 3 {
			s, err := base.table.Latest(base.ctx)
			require.NoError(t, err)
			_, err = base.table.CreateTag(base.ctx, "old", s, time.Hour)
			require.NoError(t, err)
			_, err = base.table.CreateTag(base.ctx, "kept", s, 1000*time.Hour)
			require.NoError(t, err)
			require.NoError(t, base.table.RecordConsumer(base.ctx, "c", s.ID))
		}
	}
	maintain := func(w *world, tab *table.Table) error {
		m := NewMaintainer(tab, "expiry", nil)
		m.clock.guard.Set(time.Now().Add(72 * time.Hour))
		_, err := m.Run(w.ctx, nil)
		return err
	}
	undisturbed := base.clone()
	require.NoError(t, maintain(undisturbed, undisturbed.table))
	undisturbed.requireWhole()
	before, want := base.latestFiles(), undisturbed.latestFiles()
	require.Less(t, len(want), len(before), "a partition expired")
	step := 7
	if all {
		step = 1
	}
	for _, cut := range []bool{false, true} {
		for how := faultfs.Before; how <= faultfs.Torn; how++ {
			for n, more := 1+int(how)%step, true; more; n += step {
				w := base.clone()
				faulty := faultfs.New(w.fs, nil)
				faulty.FailWith(fs.ErrTransient)
				tab := w.on(faulty)
				if cut {
					faulty.Set(faultfs.CutAt(n, how))
				} else {
					faulty.Set(faultfs.Nth(n, how, nil))
				}
				err := maintain(w, tab)
				more = err != nil || len(faulty.Calls()) >= n && !cut
				rng := rand.New(rand.NewPCG(uint64(n), uint64(how)))
				for _, after := range []*world{w.in(w.fs.CrashClone()), w.in(w.fs.CrashCloneAtRandom(rng))} {
					require.Subset(t, before, after.latestFiles(), "call %d", n)
					require.NoError(t, maintain(after, after.table), "after call %d", n)
					require.Equal(t, want, after.latestFiles(), "call %d", n)
					after.requireWhole()
				}
			}
		}
	}
}
