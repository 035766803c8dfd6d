package compactor_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/table/maintenance"
)

// all is set to let tests meet every call, which takes minutes.
var all = os.Getenv("PAIMON_GO_ALL_FAULTS") != ""

// TestWhatVanishesUnderExpiryIsReadAnew removes a file of metadata or data exactly between what told of it and its being opened:
// a writer commits, and everything before expires, under the eyes of the service.
func TestWhatVanishesUnderExpiryIsReadAnew(t *testing.T) {
	base := newWorld(t)
	base.create("db.a", nil)
	base.write("db.a", "d1", 0, 20, 6, false)
	base.write("db.a", "d1", 0, 20, 1, true)
	step := 3
	if all {
		step = 1
	}
	vanished := 0
	for n, more := 1, true; more; n += step {
		synctest.Test(t, func(t *testing.T) {
			w := base.clone()
			w.t = t
			faulty := faultfs.New(w.fsys, nil)
			var opened atomic.Int64
			gone := false // read when the service has stopped
			faulty.Before(func(c faultfs.Call) {
				if c.Op != faultfs.OpOpen || !strings.Contains(c.Path, "/manifest/") && !strings.Contains(c.Path, "/bucket-") {
					return
				}
				if opened.Add(1) != int64(n) {
					return
				}
				// A compaction by another and the expiry of all before it.
				_, err := w.service(compactor.Config{Strategy: compactor.Full}, w.tables).Once(t.Context())
				require.NoError(t, err)
				w.write("db.a", "d1", 0, 20, 5, false)
				one := 1
				_, err = maintenance.ExpireSnapshots(t.Context(), w.open("db.a"), maintenance.ExpireOptions{RetainMax: &one, RetainMin: &one, MaxDeletes: 100})
				require.NoError(t, err)
				_, err = w.fsys.Stat(t.Context(), c.Path)
				gone = err != nil
			})
			s := w.service(compactor.Config{}, &faultyTables{w.tables, faulty})
			stop := running(t, s)
			betweenLooks()
			time.Sleep(5 * time.Minute)
			require.Equal(t, 1, w.maxRuns("db.a"), "open %d", n)
			w.write("db.a", "d1", 0, 20, 6, false)
			time.Sleep(5 * time.Minute)
			require.LessOrEqual(t, w.maxRuns("db.a"), 2, "it goes on")
			stop()
			w.check(true)
			more = opened.Load() >= int64(n)
			if gone {
				vanished++
			}
		})
	}
	require.Greater(t, vanished, 5)
}

// TestAWallClockThatJumpsChangesNothing lets the wall clock jump under a running service: rows stay that would be old by it, and
// no bucket rests for longer than by the time that passes.
func TestAWallClockThatJumpsChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var off atomic.Int64
		w := newWorld(t)
		w.create("db.a", nil)
		tbl := w.open("db.a")
		_, err := tbl.Alter(t.Context(), table.SchemaChange{Kind: table.AddColumn, Column: "at", Type: bigintNull},
			table.SchemaChange{Kind: table.SetOption, Key: "record-level.expire-time", Value: "1 d"},
			table.SchemaChange{Kind: table.SetOption, Key: "record-level.time-field", Value: "at"})
		require.NoError(t, err)
		w.at = func() int64 { return time.Now().Unix() }
		s := w.service(compactor.Config{Now: func() time.Time { return time.Now().Add(time.Duration(off.Load())) }}, w.tables)
		stop := running(t, s)
		betweenLooks()
		for _, jump := range []time.Duration{0, 72 * time.Hour, -300 * time.Hour, 500 * time.Hour, 0} {
			off.Store(int64(jump))
			w.write("db.a", "d1", 0, 30, 6, false)
			time.Sleep(2 * time.Minute)
			require.LessOrEqual(t, w.maxRuns("db.a"), 2, jump)
			w.check(false)
		}
		// Two days later the rows are old.
		time.Sleep(48 * time.Hour)
		off.Store(0)
		w.at = nil
		w.write("db.a", "d2", 0, 1, 1, false)
		stop()
		_, err = w.service(compactor.Config{Strategy: compactor.Full}, w.tables).Once(t.Context())
		require.NoError(t, err)
		require.Len(t, contents(t, w.open("db.a")), 1)
	})
}

// TestAHostWhoseClockIsAheadDropsNothing starts a service on a machine whose clock has always been days ahead of the storage's: rows
// and partitions are as old as the storage says, however long that goes on, and it is asked once an hour at most.
func TestAHostWhoseClockIsAheadDropsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{
			"compaction.skip-expired-partitions": "true", "partition.expiration-time": "2 d", "partition.expiration-strategy": "update-time",
		})
		_, err := w.open("db.a").Alter(t.Context(), table.SchemaChange{Kind: table.AddColumn, Column: "at", Type: bigintNull},
			table.SchemaChange{Kind: table.SetOption, Key: "record-level.expire-time", Value: "2 d"},
			table.SchemaChange{Kind: table.SetOption, Key: "record-level.time-field", Value: "at"})
		require.NoError(t, err)
		w.at = func() int64 { return time.Now().Unix() }
		ahead := func() time.Time { return time.Now().Add(72 * time.Hour) }
		faulty := faultfs.New(w.fsys, nil)
		asked := func() (n int) {
			for _, c := range faulty.Calls() {
				if c.Op == faultfs.OpCreate && strings.Contains(c.Path, ".clock.") {
					n++
				}
			}
			return n
		}
		w.write("db.a", "d1", 0, 30, 6, false)
		stop := running(t, w.service(compactor.Config{Now: ahead}, &faultyTables{w.tables, faulty}))
		betweenLooks()
		time.Sleep(2 * time.Minute)
		require.LessOrEqual(t, w.maxRuns("db.a"), 2)
		w.check(false)
		require.Equal(t, 1, asked())
		time.Sleep(25 * time.Hour)
		w.write("db.a", "d1", 0, 30, 6, false)
		time.Sleep(2 * time.Minute)
		require.LessOrEqual(t, w.maxRuns("db.a"), 2)
		stop()
		_, err = w.service(compactor.Config{Strategy: compactor.Full, Now: ahead}, w.tables).Once(t.Context())
		require.NoError(t, err)
		w.check(false)
		require.LessOrEqual(t, asked(), 27)
	})
}

// TestAnHourOfTrouble lets storage fail for an hour in every way, be full, or be slow: the service waits, and goes on by itself.
func TestAnHourOfTrouble(t *testing.T) {
	base := newWorld(t)
	base.create("db.a", table.Options{"commit.max-retries": "1"})
	base.write("db.a", "d1", 0, 20, 6, false)
	base.write("db.a", "d2", 0, 20, 7, true)
	full := func(c faultfs.Call) bool {
		return c.Op == faultfs.OpWrite || c.Op == faultfs.OpPublish || c.Op == faultfs.OpReplace
	}
	for name, c := range map[string]struct {
		how   faultfs.How
		err   error
		match func(faultfs.Call) bool
	}{
		"away":             {faultfs.Lost, fs.ErrTransient, nil},
		"replies are lost": {faultfs.ReplyLost, fs.ErrTransient, nil},
		"full":             {faultfs.Torn, syscall.ENOSPC, full},
		"no rights":        {faultfs.Before, fs.ErrPermission, func(c faultfs.Call) bool { return c.Op.Mutates() }},
	} {
		t.Run(name, func(t *testing.T) {
			for _, from := range []int{1, 25, 45, 60} {
				synctest.Test(t, func(t *testing.T) {
					w := base.clone()
					w.t = t
					until := time.Now().Add(time.Hour)
					faulty := faultfs.New(w.fsys, func(call faultfs.Call) faultfs.How {
						if call.N < from || time.Now().After(until) || c.match != nil && !c.match(call) {
							return faultfs.OK
						}
						return c.how
					})
					faulty.FailWith(c.err)
					stop := running(t, w.service(compactor.Config{}, &faultyTables{w.tables, faulty}))
					time.Sleep(time.Hour + 7*time.Minute) // the longest pause between tries is 5 minutes, and some by chance
					require.Equal(t, 1, w.maxRuns("db.a"), "from call %d", from)
					stop()
					w.check(true)
				})
			}
		})
	}
	t.Run("slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := base.clone()
			w.t = t
			faulty := faultfs.New(w.fsys, nil)
			faulty.Before(func(faultfs.Call) { time.Sleep(3 * time.Second) })
			stop := running(t, w.service(compactor.Config{}, &faultyTables{w.tables, faulty}))
			time.Sleep(20 * time.Minute)
			require.Equal(t, 1, w.maxRuns("db.a"))
			stop()
			w.check(true)
		})
	})
}

// TestCrashesLeaveWhatACrashCanLeave stops the process at a call, and gives the next one what a disk may have kept of it: files that
// were being written are there in part or not, and removals are undone.
func TestCrashesLeaveWhatACrashCanLeave(t *testing.T) {
	base := newWorld(t)
	base.create("db.a", table.Options{"commit.max-retries": "1"})
	base.write("db.a", "d1", 0, 20, 6, false)
	base.write("db.a", "d2", 0, 20, 7, true)
	step := 9
	if all {
		step = 1
	}
	for n, more := 1, true; more; n += step {
		synctest.Test(t, func(t *testing.T) {
			w := base.clone()
			w.t = t
			faulty := faultfs.New(w.fsys, faultfs.CutAt(n, faultfs.How(1+n%4)))
			faulty.FailWith(fs.ErrTransient)
			_, _ = w.service(compactor.Config{}, &faultyTables{w.tables, faulty}).Once(t.Context())
			more = mutatesMoreThan(faulty, n)
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			for range 3 {
				after := w.on(w.fsys.CrashCloneAtRandom(rng))
				after.check(true)
				_, err := after.service(compactor.Config{}, after.tables).Once(t.Context())
				require.NoError(t, err, fmt.Sprintf("cut at %d", n))
				require.Equal(t, 1, after.maxRuns("db.a"))
				after.check(true)
			}
		})
	}
}
