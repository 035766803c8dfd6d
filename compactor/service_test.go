package compactor_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/table"
)

// running runs a service in the background; stop ends it and waits.
func running(t *testing.T, s *compactor.Service) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}

// betweenLooks puts half a second between what a test does from here on and the looks of services, which are at whole seconds
// from their start on. At one instant of a bubble's clock both would run side by side, and a look would see a part of what is
// written, which is compacted as far as it goes.
func betweenLooks() { time.Sleep(time.Second / 2) }

func statsOf(t *testing.T, s *compactor.Service, name string) compactor.TableStats {
	for _, v := range s.Stats().Tables {
		if v.Name == name {
			return v
		}
	}
	require.Fail(t, "no such table", name)
	return compactor.TableStats{}
}

func TestServiceKeepsRunsAtTheTrigger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		s := w.service(compactor.Config{}, w.tables)
		stop := running(t, s)
		worst := 0
		for i := range 60 {
			w.write("db.a", "d1", 0, 30, 1, i%4 == 3)
			time.Sleep(time.Second)
			if i > 15 {
				worst = max(worst, w.maxRuns("db.a"))
			}
		}
		// A look each second sees the fifth run at once.
		require.LessOrEqual(t, worst, 5)
		v := statsOf(t, s, "db.a")
		require.Positive(t, v.AppendedBytes)
		require.Greater(t, v.WriteAmplification(), 1.0)
		require.Empty(t, v.LastError)
		stop()
		w.check(false)
	})
}

func TestServiceFindsTablesThatCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.service(compactor.Config{}, w.tables)
		stop := running(t, s)
		time.Sleep(time.Second)
		w.create("db.late", nil)
		w.write("db.late", "d1", 0, 30, 8, false)
		time.Sleep(time.Minute)
		require.Equal(t, 1, w.maxRuns("db.late"))
		stop()
		w.check(false)
	})
}

func TestServiceDropsAndFindsAgainATableThatWasMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 30, 8, false)
		s := w.service(compactor.Config{}, w.tables)
		stop := running(t, s)
		betweenLooks()
		time.Sleep(time.Minute)
		require.Equal(t, 1, w.maxRuns("db.a"))
		w.drop("db.a")
		time.Sleep(time.Minute)
		require.Empty(t, s.Stats().Tables)

		w.create("db.a", table.Options{"bucket": "1"})
		w.write("db.a", "d2", 5, 30, 8, false)
		time.Sleep(time.Minute)
		require.Equal(t, map[string]int{"dt=d2/0": 1}, w.runs("db.a"))

		w.drop("db.a") // and is there again before anybody looks
		w.create("db.a", table.Options{"bucket": "3"})
		w.write("db.a", "d3", 5, 30, 9, false)
		time.Sleep(2 * time.Minute)
		require.Equal(t, 1, w.maxRuns("db.a"))
		require.Len(t, w.runs("db.a"), 3)
		stop()
		w.check(false)
	})
}

// TestATableThatIsLostSightOfAndSeenAgain is listed, not listed, and listed again.
func TestATableThatIsLostSightOfAndSeenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		s := w.service(compactor.Config{}, w.tables)
		stop := running(t, s)
		betweenLooks()
		for range 3 {
			w.write("db.a", "d1", 0, 30, 8, false)
			time.Sleep(time.Minute)
			require.LessOrEqual(t, w.maxRuns("db.a"), 5)
			require.Positive(t, statsOf(t, s, "db.a").Commits)
			w.tables.set()
			time.Sleep(time.Minute)
			require.Empty(t, s.Stats().Tables)
			w.tables.set("db.a")
		}
		stop()
		w.check(false)
	})
}

// TestOperationsPerSecondAreBounded counts calls that cost a namenode something.
func TestOperationsPerSecondAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 30, 8, false)
		counted := faultfs.New(w.fsys, nil)
		s := w.service(compactor.Config{OpsPerSecond: 2}, &faultyTables{tables: w.tables, fsys: counted})
		stop := running(t, s)
		time.Sleep(5 * time.Minute)
		require.LessOrEqual(t, w.maxRuns("db.a"), 1)
		ops := 0
		for _, c := range counted.Calls() {
			switch c.Op {
			case faultfs.OpOpen, faultfs.OpCreate, faultfs.OpStat, faultfs.OpRemove, faultfs.OpPublish, faultfs.OpReplace:
				ops++
			}
		}
		require.LessOrEqual(t, ops, 5*60*2+40) // the table's opening doesn't count
		stop()
		w.check(false)
	})
}

func TestServiceFollowsTheSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 30, 3, false)
		s := w.service(compactor.Config{}, w.tables)
		stop := running(t, s)
		betweenLooks()
		time.Sleep(time.Minute)
		require.Equal(t, 3, w.maxRuns("db.a"))
		_, err := w.open("db.a").Alter(t.Context(), table.SchemaChange{Kind: table.AddColumn, Column: "more", Type: text},
			table.SchemaChange{Kind: table.SetOption, Key: "num-sorted-run.compaction-trigger", Value: "3"})
		require.NoError(t, err)
		time.Sleep(3 * time.Minute) // no snapshot tells of it
		require.Equal(t, 1, w.maxRuns("db.a"))
		w.write("db.a", "d1", 10, 20, 4, true)
		time.Sleep(time.Minute)
		require.Equal(t, 1, w.maxRuns("db.a"))
		stop()
		w.check(false)
	})
}

func TestServiceWaitsForStorageThatIsGoneForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"commit.max-retries": "2"})
		w.write("db.a", "d1", 0, 30, 4, false)
		faulty := faultfs.New(w.fsys, nil)
		faulty.FailWith(fs.ErrTransient)
		s := w.service(compactor.Config{}, &faultyTables{tables: w.tables, fsys: faulty})
		stop := running(t, s)
		for range 3 {
			time.Sleep(20 * time.Second)
			var away atomic.Bool
			away.Store(true)
			n := 0
			faulty.Set(func(faultfs.Call) faultfs.How { // some calls more go through, so that jobs and commits are cut too
				if n++; n < 40 || !away.Load() {
					return faultfs.OK
				}
				return faultfs.Before
			})
			w.write("db.a", "d1", 0, 30, 6, false)
			time.Sleep(time.Hour)
			away.Store(false)
			time.Sleep(15 * time.Minute)
			require.LessOrEqual(t, w.maxRuns("db.a"), 5)
		}
		stop()
		w.check(true)
	})
}

func TestServiceLeavesOtherTablesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.create("db.refused", table.Options{"deletion-vectors.bitmap64": "true", "write-only": "true"})
		w.write("db.a", "d1", 0, 30, 6, false)
		s := w.service(compactor.Config{}, w.tables)
		stop := running(t, s)
		time.Sleep(time.Minute)
		require.Equal(t, 1, w.maxRuns("db.a"))
		require.Contains(t, statsOf(t, s, "db.refused").Refused, "deletion-vectors")
		stop()

		strict := w.service(compactor.Config{StrictTables: true}, w.tables)
		require.ErrorIs(t, strict.Run(t.Context()), table.ErrOption)
		_, err := strict.Once(t.Context())
		require.ErrorIs(t, err, table.ErrOption)
	})
}

// TestIdleTablesCostTwoLooksATable counts what a service does to storage when nothing happens.
func TestIdleTablesCostTwoLooksATable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 30, 2, false)
		counted := faultfs.New(w.fsys, nil)
		s := w.service(compactor.Config{}, &faultyTables{tables: w.tables, fsys: counted})
		stop := running(t, s)
		time.Sleep(2 * time.Minute)
		counted.Set(nil)
		time.Sleep(5 * time.Minute)
		ops := map[string]int{}
		for _, c := range counted.Calls() {
			if !strings.HasSuffix(c.Path, "/schema") && !strings.Contains(c.Path, "/schema-") && c.Path != warehouse {
				ops[string(c.Op)]++
			}
		}
		require.LessOrEqual(t, ops["stat"], 2*31)
		require.LessOrEqual(t, ops["open"], 31/6*3, "each sixth look is a thorough one")
		delete(ops, "stat")
		delete(ops, "open")
		delete(ops, "readat")
		delete(ops, "close")
		require.Empty(t, ops)
		stop()
	})
}
