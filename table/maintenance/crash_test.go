package maintenance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

// usedWorld is a table with a past: two tags, a branch, and snapshots enough.
func usedWorld(t tb, options table.Options) *world {
	w := newWorld(t, 7, options)
	for i := range 10 {
		w.append()
		w.compact()
		if i == 3 || i == 6 {
			s, err := w.table.Latest(w.ctx)
			require.NoError(t, err)
			_, err = w.table.CreateTag(w.ctx, fmt.Sprint(i), s, -1)
			require.NoError(t, err)
		}
		if i == 6 {
			w.branch("b")
		}
	}
	return w
}

func (w *world) clone() *world {
	c := *w
	c.fs = w.fs.CrashClone()
	c.table = c.on(c.fs)
	return &c
}

// tasks are what is cut short at every call.
var tasks = map[string]func(ctx context.Context, t *table.Table) error{
	"snapshots": func(ctx context.Context, t *table.Table) error {
		_, err := ExpireSnapshots(ctx, t, ExpireOptions{RetainMin: ptr(3), RetainMax: ptr(3)})
		return err
	},
	"snapshots and changelogs": func(ctx context.Context, t *table.Table) error {
		if _, err := ExpireSnapshots(ctx, t, ExpireOptions{RetainMin: ptr(3), RetainMax: ptr(3)}); err != nil {
			return err
		}
		_, err := ExpireChangelogs(ctx, t, ExpireOptions{RetainMin: ptr(6), RetainMax: ptr(6)}, false)
		return err
	},
	"a tag": func(ctx context.Context, t *table.Table) error {
		if _, err := ExpireSnapshots(ctx, t, ExpireOptions{RetainMin: ptr(3), RetainMax: ptr(3)}); err != nil {
			return err
		}
		for _, name := range []string{"3", "6"} {
			if _, err := DeleteTag(ctx, t, name, false, nil); err != nil {
				return err
			}
		}
		return nil
	},
	"orphans": func(ctx context.Context, t *table.Table) error {
		_, err := RemoveOrphanFiles(ctx, t, OrphanOptions{OlderThan: *future()})
		return err
	},
}

// keptChangelogs makes changelogs of what expires.
var keptChangelogs = table.Options{"changelog.num-retained.min": "12", "file-operation.thread-num": "1", "snapshot.expire.limit": "100"}

// TestExpiryThatIsCutShortIsFinishedByTheNext stops each task at each call that changes storage, with that call done or not,
// and demands that what stays is whole, and that a second run leaves what an undisturbed one does.
func TestExpiryThatIsCutShortIsFinishedByTheNext(t *testing.T) {
	for name, task := range tasks {
		t.Run(name, func(t *testing.T) {
			base := usedWorld(t, keptChangelogs)
			if name == "orphans" {
				for range 6 {
					base.file("x", 1, "data", 0)
				}
			}
			undisturbed := base.clone()
			require.NoError(t, task(undisturbed.ctx, undisturbed.table))
			needs := undisturbed.requireWhole()
			want := withoutHints(undisturbed.fs.Paths())
			require.NotEqual(t, withoutHints(base.fs.Paths()), want)
			for _, how := range []faultfs.How{faultfs.Before, faultfs.ReplyLost} {
				for n := 1; ; n++ {
					w := base.clone()
					faulty := faultfs.New(w.fs, nil)
					tab := w.on(faulty)
					faulty.Set(faultfs.CutAt(n, how))
					if task(w.ctx, tab) == nil {
						require.Greater(t, n, 6)
						break
					}
					w.requireAll(needs)
					require.NoError(t, task(w.ctx, w.on(w.fs)), "call %d", n)
					if name == "a tag" {
						// What a tag that is gone kept has become orphans.
						_, err := RemoveOrphanFiles(w.ctx, w.on(w.fs), OrphanOptions{OlderThan: *future()})
						require.NoError(t, err)
						require.Subset(t, want, withoutHints(w.fs.Paths()), "call %d", n)
						w.requireAll(needs)
						continue
					}
					require.Equal(t, want, withoutHints(w.fs.Paths()), "call %d", n)
				}
			}
		})
	}
}

// withoutHints leaves out the hints, which may be missing, and what asking the storage for its time left.
func withoutHints(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return fs.Base(p) == "EARLIEST" || fs.Base(p) == "LATEST" || strings.HasPrefix(fs.Base(p), ".clock.")
	})
}

// requireAll demands that all files are there that another world, which has expired more, needs.
func (w *world) requireAll(n needs) {
	for path, who := range n {
		_, err := w.fs.Stat(w.ctx, path)
		require.NoError(w.t, err, "%s needs %s", who, path)
	}
}

// TestAStorageThatFailsLosesNothing lets single calls of each kind fail.
func TestAStorageThatFailsLosesNothing(t *testing.T) {
	base := usedWorld(t, keptChangelogs)
	rng := rand.New(rand.NewPCG(3, 4))
	for name, task := range tasks {
		undisturbed := base.clone()
		require.NoError(t, task(undisturbed.ctx, undisturbed.table))
		needs := undisturbed.needs()
		for range 25 {
			w := base.clone()
			faulty := faultfs.New(w.fs, nil)
			faulty.FailWith(fs.ErrTransient)
			tab := w.on(faulty)
			faulty.Set(faultfs.Nth(1+rng.IntN(150), faultfs.Before, nil))
			_ = task(w.ctx, tab)
			w.requireAll(needs)
			require.NoError(t, task(w.ctx, w.on(w.fs)), name)
			w.requireWhole()
		}
	}
}

// TestTwoExpirersAtOnce lets two processes with different ideas expire, delete tags and clean at once.
func TestTwoExpirersAtOnce(t *testing.T) {
	for round := range 20 {
		w := usedWorld(t, table.Options{"changelog.num-retained.min": []string{"12", "1"}[round%2]})
		var wg sync.WaitGroup
		for k := range 2 {
			tab := w.on(slow{w.fs})
			wg.Go(func() {
				n := 2 + 3*k
				_, err := ExpireSnapshots(w.ctx, tab, ExpireOptions{RetainMin: &n, RetainMax: &n, MaxDeletes: 100})
				require.NoError(t, err)
				_, err = ExpireChangelogs(w.ctx, tab, ExpireOptions{RetainMin: ptr(n + 3), RetainMax: ptr(n + 3), MaxDeletes: 100}, false)
				require.NoError(t, err)
			})
		}
		wg.Wait()
		w.requireWhole()
		ids, err := w.table.SnapshotIDs(w.ctx)
		require.NoError(t, err)
		require.Len(t, ids, 2)
	}
}

// slow makes the order of calls of several goroutines depend on chance.
type slow struct{ *mem.FS }

func (s slow) Remove(ctx context.Context, path string) error {
	for range rand.IntN(4) {
		_, _ = s.Stat(ctx, path)
	}
	return s.FS.Remove(ctx, path)
}
