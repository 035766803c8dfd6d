package compactor_test

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

func (w *world) clone() *world {
	c := w.on(w.fsys.CrashClone())
	c.want, c.next = maps.Clone(w.want), maps.Clone(w.next)
	for name, rows := range c.want {
		c.want[name] = maps.Clone(rows)
	}
	return c
}

// on returns the world with its files in another file system.
func (w *world) on(fsys *mem.FS) *world {
	c := *w
	c.fsys = fsys
	c.tables = &tables{fsys: c.fsys, names: w.tables.names}
	return &c
}

// every is the step from one call to the next that fails.
func every() int {
	if all {
		return 1
	}
	if testing.Short() {
		return 13
	}
	return 6
}

var hows = map[string]faultfs.How{"before": faultfs.Before, "lost": faultfs.Lost, "replyLost": faultfs.ReplyLost, "torn": faultfs.Torn}

// TestCrashAtEveryCallLosesNothing stops the process at each call that changes storage.
func TestCrashAtEveryCallLosesNothing(t *testing.T) {
	base := newWorld(t)
	base.create("db.a", table.Options{"commit.max-retries": "1"})
	base.write("db.a", "d1", 0, 20, 6, false)
	base.write("db.a", "d2", 0, 20, 7, true)
	for name, how := range hows {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n += (every() + 1) / 2 {
				done := false
				synctest.Test(t, func(t *testing.T) {
					w := base.clone()
					w.t = t
					faulty := faultfs.New(w.fsys, faultfs.CutAt(n, how))
					faulty.FailWith(fs.ErrTransient)
					_, err := w.service(compactor.Config{}, &faultyTables{w.tables, faulty}).Once(t.Context())
					w.check(true)
					if done = err == nil && !mutatesMoreThan(faulty, n); done {
						return
					}
					restarted := w.clone()
					_, err = restarted.service(compactor.Config{}, restarted.tables).Once(t.Context())
					require.NoError(t, err, "cut at %d", n)
					require.Equal(t, 1, restarted.maxRuns("db.a"))
					restarted.check(true)
				})
				if done {
					require.Greater(t, n, 20)
					break
				}
			}
		})
	}
}

func mutatesMoreThan(f *faultfs.FS, n int) bool {
	for _, c := range f.Calls() {
		if c.Op.Mutates() {
			n--
		}
	}
	return n <= 0
}

// TestOneFailingCallIsNoTrouble lets each call fail once.
func TestOneFailingCallIsNoTrouble(t *testing.T) {
	base := newWorld(t)
	base.create("db.a", table.Options{"commit.max-retries": "1"})
	base.write("db.a", "d1", 0, 20, 6, false)
	base.write("db.a", "d2", 0, 20, 7, true)
	for name, how := range hows {
		t.Run(name, func(t *testing.T) {
			for n := 1 + int(how)%every(); ; n += every() {
				calls := 0
				synctest.Test(t, func(t *testing.T) {
					w := base.clone()
					w.t = t
					faulty := faultfs.New(w.fsys, faultfs.Nth(n, how, func(c faultfs.Call) bool { return c.Path != warehouse }))
					faulty.FailWith(fs.ErrTransient)
					_, err := w.service(compactor.Config{}, &faultyTables{w.tables, faulty}).Once(t.Context())
					require.NoError(t, err, fmt.Sprintf("call %d", n))
					require.Equal(t, 1, w.maxRuns("db.a"))
					w.check(true)
					calls = len(faulty.Calls())
				})
				if n > calls {
					break
				}
			}
		})
	}
}
