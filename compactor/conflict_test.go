package compactor_test

import (
	"strconv"
	"strings"
	"sync"
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

// TestOnlyTheJobThatLostIsDropped lets another commit replace the files of one bucket while a service compacts three.
func TestOnlyTheJobThatLostIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "3"})
		w.write("db.a", "d1", 0, 60, 6, false)
		filter := func(string, map[string]string) bool { return true }
		var once sync.Once
		started := make(chan struct{})
		rival := w.service(compactor.Config{Strategy: compactor.Minor, Shard: 0, Shards: 3, PartitionFilter: filter}, w.tables)
		var lost int
		var kinds []error
		l := compactor.Listener{
			JobEnd: func(compactor.JobInfo) { // before the service commits, the rival does
				once.Do(func() {
					_, err := rival.Once(t.Context())
					require.NoError(t, err)
					close(started)
				})
				<-started
			},
			CommitEnd: func(c compactor.CommitInfo) { kinds = append(kinds, c.Err) },
		}
		s := w.service(compactor.Config{Strategy: compactor.Minor, Workers: 3, Listener: l}, w.tables)
		report, err := s.Once(t.Context())
		require.NoError(t, err)
		lost = int(report.Tables[0].Lost)
		mine := rivalBuckets(w)
		require.Positive(t, mine)
		require.Less(t, mine, 3)
		require.Equal(t, mine, lost)
		require.Len(t, kinds, 2)
		require.ErrorIs(t, kinds[0], table.ErrConflict)
		require.NoError(t, kinds[1], "the others are committed together")
		require.Equal(t, 1, w.maxRuns("db.a"))
		w.check(false)
	})
}

// rivalBuckets counts the buckets that the first COMPACT snapshot has.
func rivalBuckets(w *world) int {
	tbl := w.open("db.a")
	for _, s := range w.snapshots("db.a") {
		if s.CommitKind != table.CommitCompact {
			continue
		}
		buckets := map[int32]bool{}
		for e, err := range tbl.ScanDelta(w.t.(*testing.T).Context(), s) {
			require.NoError(w.t, err)
			buckets[e.Bucket] = true
		}
		return len(buckets)
	}
	return 0
}

// TestAnUnknownOutcomeDeletesNothing lets storage take a snapshot, or not, and not say so, and then keep snapshots back for a
// while; everything else works. The service goes on, or is stopped before it could find out.
func TestAnUnknownOutcomeDeletesNothing(t *testing.T) {
	for i := range 8 {
		how, buckets, stopped := []faultfs.How{faultfs.Lost, faultfs.ReplyLost}[i%2], i/2%2+1, i/4 == 1
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create("db.a", table.Options{"commit.max-retries": "0", "bucket": strconv.Itoa(buckets)})
			w.write("db.a", "d1", 0, 60, 6, false)
			faulty := faultfs.New(w.fsys, nil)
			faulty.FailWith(fs.ErrTransient)
			var published atomic.Bool
			until := time.Now().Add(10 * time.Minute)
			faulty.Set(func(c faultfs.Call) faultfs.How {
				if published.Load() && time.Now().Before(until) && strings.Contains(c.Path, "/snapshot") {
					return faultfs.Before
				}
				if c.Op == faultfs.OpPublish && !published.Swap(true) {
					return how
				}
				return faultfs.OK
			})
			s := w.service(compactor.Config{}, &faultyTables{w.tables, faulty})
			stop := running(t, s)
			time.Sleep(5 * time.Minute)
			require.True(t, published.Load())
			w.check(true)
			if stopped {
				stop()
				w.check(true)
				return
			}
			time.Sleep(20 * time.Minute)
			require.Equal(t, 1, w.maxRuns("db.a"))
			v := statsOf(t, s, "db.a")
			stop()
			require.EqualValues(t, buckets, v.Done, "no job was done twice")
			require.EqualValues(t, 1, v.Commits)
			w.check(false)
		})
	}
}

// TestAStoppedServiceLeavesNothingBehind stops services at any moment.
func TestAStoppedServiceLeavesNothingBehind(t *testing.T) {
	for n := 1; n < 60; n += 2 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create("db.a", nil)
			w.write("db.a", "d1", 0, 60, 6, false)
			stopNow := make(chan struct{})
			counted := faultfs.New(w.fsys, nil)
			i := 0
			counted.Set(func(c faultfs.Call) faultfs.How {
				if i++; i == n {
					close(stopNow)
				}
				return faultfs.OK
			})
			s := w.service(compactor.Config{}, &faultyTables{w.tables, counted})
			stop := running(t, s)
			select {
			case <-stopNow:
			case <-time.After(time.Minute):
			}
			begun := time.Now()
			stop()
			require.LessOrEqual(t, time.Since(begun), 10*time.Second)
			w.check(false)
		})
	}
}

// TestAStopCancelsJobsThatTakeTooLong stops a service whose jobs are throttled.
func TestAStopCancelsJobsThatTakeTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 3000, 6, false)
		s := w.service(compactor.Config{BytesPerSecond: 2000}, w.tables)
		stop := running(t, s)
		time.Sleep(20 * time.Second)
		require.Equal(t, 2, s.Stats().Running)
		begun := time.Now()
		stop()
		require.LessOrEqual(t, time.Since(begun), 10*time.Second)
		require.Equal(t, 6, w.maxRuns("db.a"))
		w.check(false)
	})
}
