package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/table"
)

func TestPartitionsAreFilteredByTheirValues(t *testing.T) {
	w := newWorld(t)
	w.create("db.a", nil)
	w.write("db.a", "d1", 0, 40, 6, false)
	w.write("db.a", "d2", 0, 40, 6, false)
	filter := func(name string, p map[string]string) bool {
		require.Equal(t, "db.a", name)
		return p["dt"] == "d2"
	}
	_, err := w.service(compactor.Config{PartitionFilter: filter}, w.tables).Once(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"dt=d1/0": 6, "dt=d1/1": 6, "dt=d2/0": 1, "dt=d2/1": 1}, w.runs("db.a"))
}

func TestPartitionsThatAreWrittenRestUntilTheyAreIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 40, 6, false)
		cfg := compactor.Config{PartitionIdle: time.Hour}
		_, err := w.service(cfg, w.tables).Once(t.Context())
		require.NoError(t, err)
		require.Equal(t, 6, w.maxRuns("db.a"))
		stop := running(t, w.service(cfg, w.tables))
		time.Sleep(30 * time.Minute)
		w.write("db.a", "d2", 0, 40, 6, false)
		require.Equal(t, 6, w.maxRuns("db.a"))
		time.Sleep(time.Hour)
		require.Equal(t, map[string]int{"dt=d1/0": 1, "dt=d1/1": 1, "dt=d2/0": 6, "dt=d2/1": 6}, w.runs("db.a"))
		time.Sleep(time.Hour)
		stop()
		require.Equal(t, 1, w.maxRuns("db.a"))
		w.check(false)
	})
}

// TestFullCompactionEachNCommits: every N-th commit of ours compacts the buckets that were written since, and others not.
func TestFullCompactionEachNCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"full-compaction.delta-commits": "3", "compaction.max-size-amplification-percent": "100000"})
		var mu sync.Mutex
		full := map[string]int{}
		l := compactor.Listener{JobStart: func(j compactor.Job) {
			mu.Lock()
			defer mu.Unlock()
			if j.Full {
				full[j.Partition]++
			}
		}}
		w.write("db.a", "cold", 0, 40, 2, false)
		s := w.service(compactor.Config{Listener: l}, w.tables)
		stop := running(t, s)
		for range 120 {
			w.write("db.a", "hot", 0, 40, 1, false)
			time.Sleep(time.Second)
		}
		stop()
		ours, fulls := 0, 0
		for _, snap := range w.snapshots("db.a") {
			if snap.CommitUser != s.User() {
				continue
			}
			ours++
			require.EqualValues(t, ours, snap.CommitIdentifier, "identifiers are consecutive")
			if ours%3 == 0 {
				fulls++
			}
		}
		require.Greater(t, fulls, 3)
		require.InDelta(t, 2*fulls, full["dt=hot"], 2, "a bucket that is one run already needs none")
		require.Equal(t, 2, full["dt=cold"], "once, for what was there before")
		w.check(false)
	})
}

func TestFullCompactionOfATableThatIsHardlyWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"full-compaction.delta-commits": "2", "num-sorted-run.compaction-trigger": "3"})
		s := w.service(compactor.Config{}, w.tables)
		stop := running(t, s)
		for i := range 19 { // each commit another partition: none ever comes to 3 runs
			w.write("db.a", fmt.Sprintf("d%d", i/2), 0, 40, 1, false)
			time.Sleep(time.Minute)
		}
		stop()
		for _, snap := range w.snapshots("db.a") {
			if snap.CommitUser == s.User() {
				require.Zero(t, snap.CommitIdentifier%2)
			}
		}
		require.Equal(t, 1, w.maxRuns("db.a"))
	})
}

func TestOptimizationIntervalNeedsNoNewData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"compaction.optimization-interval": "1 h"})
		w.write("db.a", "d1", 0, 40, 2, false)
		stop := running(t, w.service(compactor.Config{}, w.tables))
		time.Sleep(time.Minute)
		require.Equal(t, 1, w.maxRuns("db.a"), "there was no full compaction yet")
		w.write("db.a", "d1", 0, 40, 2, false)
		time.Sleep(30 * time.Minute)
		require.Equal(t, 3, w.maxRuns("db.a"))
		time.Sleep(time.Hour)
		stop()
		require.Equal(t, 1, w.maxRuns("db.a"))
	})
}

// firstRow makes the first of the rows visible, for which level 0 has to be compacted whatever the runs.
func TestLevel0OfFirstRowTablesIsCompactedAtOnce(t *testing.T) {
	for _, mode := range []string{"radical", "gentle"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create("db.a", table.Options{"merge-engine": "first-row", "lookup-compact": mode, "lookup-compact.max-interval": "5"})
			stop := running(t, w.service(compactor.Config{}, w.tables))
			w.writeFirst("db.a", 1)
			time.Sleep(time.Minute)
			if mode == "radical" {
				require.Len(t, contents(t, w.open("db.a")), 40)
			} else {
				require.Empty(t, contents(t, w.open("db.a")))
			}
			w.writeFirst("db.a", 4)
			time.Sleep(time.Minute)
			stop()
			require.Len(t, contents(t, w.open("db.a")), 40)
			requireSound(t, w.open("db.a"), false)
		})
	}
}

type fakeMaintainer struct {
	mu   sync.Mutex
	user string
	left int
	runs []int64
}

func (f *fakeMaintainer) ids() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.runs)
}

func (f *fakeMaintainer) Maintain(_ context.Context, s *table.Snapshot) (compactor.Maintained, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = append(f.runs, s.ID)
	if f.left == 0 {
		return compactor.Maintained{}, nil
	}
	f.left--
	return compactor.Maintained{Snapshots: 50, Files: 7}, nil
}

func TestMaintenanceFollowsNewSnapshotsAndGoesOnWhileThereIsSomethingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", nil)
		w.write("db.a", "d1", 0, 40, 2, false)
		m := &fakeMaintainer{left: 3}
		cfg := compactor.Config{Maintainer: func(_ *table.Table, user string) compactor.Maintainer {
			m.user = user
			return m
		}}
		s := w.service(cfg, w.tables)
		stop := running(t, s)
		time.Sleep(time.Minute)
		require.Equal(t, []int64{2, 2, 2, 2}, m.ids(), "until nothing expires")
		require.Equal(t, s.User(), m.user)
		require.Equal(t, compactor.Maintained{Snapshots: 150, Files: 21}, statsOf(t, s, "db.a").Maintained)
		for range 60 {
			w.write("db.a", "d1", 0, 40, 1, false)
			time.Sleep(time.Second)
		}
		n := len(m.ids())
		require.Greater(t, n, 5)
		require.Less(t, n, 9)
		time.Sleep(time.Hour)
		require.InDelta(t, n+6, len(m.ids()), 2, "age alone makes snapshots expire")
		stop()

		m.runs = nil
		_, err := w.service(cfg, w.tables).Once(t.Context())
		require.NoError(t, err)
		require.Len(t, m.runs, 1)
	})
}

func TestPlanAndExplainSayWhatAndWhyAndDoNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "1"})
		w.create("db.refused", table.Options{"deletion-vectors.bitmap64": "true"})
		w.write("db.a", "d1", 0, 40, 4, false)
		_, err := w.service(compactor.Config{}, w.tables).Once(t.Context())
		require.NoError(t, err)
		for range 6 {
			time.Sleep(time.Minute)
			w.write("db.a", "d1", 0, 40, 1, false)
		}
		w.write("db.a", "d2", 0, 4, 3, false)
		before := w.fsys.Paths()
		s := w.service(compactor.Config{}, w.tables)
		jobs, err := s.Plan(t.Context())
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		require.Positive(t, jobs[0].Bytes)
		jobs[0].Bytes = 0
		require.Equal(t, compactor.Job{Table: "db.a", Partition: "dt=d1", Files: 7, Runs: 7, Level0: 6, Reason: "size amplification", OutputLevel: 5}, jobs[0])

		all, err := s.Explain(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.NotNil(t, all[0].Job)
		require.Nil(t, all[1].Job)
		require.Equal(t, "dt=d2", all[1].Partition)
		require.Len(t, all[0].Groups, 2)
		young, old := all[0].Groups[0], all[0].Groups[1]
		require.Equal(t, []any{0, table.SourceAppend, 6, 6}, []any{young.Level, young.Source, young.Files, young.Small})
		require.Equal(t, 5*time.Minute, young.Newest.Sub(young.Oldest))
		require.Equal(t, []any{5, table.SourceCompact, 1, 1}, []any{old.Level, old.Source, old.Files, old.Small})
		require.InDelta(t, 60, all[0].AppendedPerHour, 40)
		require.Equal(t, 7+int(all[0].AppendedPerHour), all[0].Predicted)

		full, err := w.service(compactor.Config{Strategy: compactor.Full}, w.tables).Plan(t.Context())
		require.NoError(t, err)
		require.Len(t, full, 2)
		require.Equal(t, before, w.fsys.Paths())
	})
}

// writeFirst commits rounds of the same 40 keys to a table whose merge engine no writer of ours takes: what is written to a
// table like it is copied.
func (w *world) writeFirst(name string, rounds int) {
	const like = "scratch.t"
	if w.want[like] == nil {
		_, err := table.Create(context.Background(), w.fsys, pathOf(like), guide(nil))
		require.NoError(w.t, err)
		w.want[like] = map[string]string{}
	}
	defer delete(w.want, name)
	ctx := context.Background()
	from, to := w.open(like), w.open(name)
	committer := to.NewCommit("writer", nil)
	for range rounds {
		w.write(like, "d1", 0, 40, 1, false)
		s, err := from.Latest(ctx)
		require.NoError(w.t, err)
		x := table.Committable{ID: s.ID}
		for e, err := range from.ScanDelta(ctx, s) {
			require.NoError(w.t, err)
			src, err := from.DataFilePath(e.Partition, e.Bucket, &e.File)
			require.NoError(w.t, err)
			r, err := w.fsys.Open(ctx, src)
			require.NoError(w.t, err)
			data := make([]byte, r.Size())
			_, _ = r.ReadAt(data, 0)
			require.NoError(w.t, r.Close())
			_, err = w.fsys.Publish(ctx, strings.Replace(src, pathOf(like), pathOf(name), 1), data)
			require.NoError(w.t, err)
			m := table.CommitMessage{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets}
			m.Data.New = []table.DataFile{e.File}
			x.Messages = append(x.Messages, m)
		}
		_, err = committer.Commit(ctx, x)
		require.NoError(w.t, err)
	}
}

func TestExpiredPartitionsAreLeftAlone(t *testing.T) {
	for _, skip := range []string{"true", "false"} {
		w := newWorld(t)
		w.create("db.a", table.Options{"compaction.skip-expired-partitions": skip, "partition.expiration-time": "7 d", "partition.timestamp-formatter": "yyyy-MM-dd"})
		today := time.Now().Format("2006-01-02")
		w.write("db.a", "2020-01-01", 0, 40, 6, false)
		w.write("db.a", today, 0, 40, 6, false)
		_, err := w.service(compactor.Config{}, w.tables).Once(t.Context())
		require.NoError(t, err)
		old := map[string]int{"true": 6, "false": 1}[skip]
		require.Equal(t, map[string]int{"dt=2020-01-01/0": old, "dt=2020-01-01/1": old, "dt=" + today + "/0": 1, "dt=" + today + "/1": 1}, w.runs("db.a"))
	}
}
