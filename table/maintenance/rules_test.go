package maintenance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/table"
)

func TestTimePatterns(t *testing.T) {
	// "" is a refusal; the answers are those of Java's PartitionTimeExtractor.
	for _, c := range []struct{ pattern, text, want string }{
		{"yyyyMMdd", "20240131", "2024-01-31T00:00:00"},
		{"yyyyMMdd", "2024-01-31", ""},
		{"yyyyMMdd", "2024013", ""},
		{"yyyyMMddHHmmss", "20240131131415", "2024-01-31T13:14:15"},
		{"yyyyMMddHH", "2024013113", "2024-01-31T13:00:00"},
		{"yyyy-MM-dd HH:mm:ss", "2024-01-31 13:14:15", "2024-01-31T13:14:15"},
		{"yyyy-MM-dd'T'HH:mm", "2024-01-31T13:14", "2024-01-31T13:14:00"},
		{"yyyy-MM-dd['T'HH:mm]", "2024-01-31", "2024-01-31T00:00:00"},
		{"yyyy-MM-dd['T'HH:mm]", "2024-01-31T13:14", "2024-01-31T13:14:00"},
		{"yyyy-MM-dd['T'HH:mm]", "2024-01-31T13", ""},
		{"d/M/yy", "1/2/24", "2024-02-01T00:00:00"},
		{"d.M.uuuu", "31.12.2023", "2023-12-31T00:00:00"},
		{"yyyy-MM-dd HH:mm:ss.SSS", "2024-01-31 13:14:15.250", "2024-01-31T13:14:15.25"},
		{"''yyyy MM dd''", "'2024 01 31'", "2024-01-31T00:00:00"},
		{"yyyy-MM-dd", "2024-02-31", "2024-02-29T00:00:00"},
		{"yyyy-MM-dd", "2024-13-01", ""},
		{"yyyy-MM-dd HH", "2024-01-31 24", "2024-02-01T00:00:00"},
		{"yyyy-MM-dd HH", "2024-01-31 25", ""},
		{"yyyy-MM", "2024-01", ""},
		{"yyyyMMdd", "120240131", ""},
		{"yyyyMMddHH", "20240131", ""},
		{"yyyy-MM-dd", "2023-04-31", "2023-04-30T00:00:00"},
		{"yyyy-MM-dd", "12024-01-01", ""},
		{"yyyy-MM-dd", "0000-01-01", ""},
		{"yyyy-MM-dd mm", "2024-01-31 13", "2024-01-31T00:00:00"},
		{"yyyy-MM-dd HH ss", "2024-01-31 13 10", "2024-01-31T00:00:00"},
		{"yyyyMMdd[HH]", "20240131", "2024-01-31T00:00:00"},
		{"yyyyMMdd[HH]", "2024013105", ""},
		{"yMd", "20240131", ""},
		{"y-M-d", "2024-1-3", "2024-01-03T00:00:00"},
		{"yyyyMMddHHmmssSSS", "20240131131415250", "2024-01-31T13:14:15.25"},
		{"yyyyMMdd HH:mm", "20240131 13:1", ""},
		{"yyy-MM-dd", "2024-01-31", "2024-01-31T00:00:00"},
		{"yyyyy-MM-dd", "2024-01-31", ""},
		{"yyyyMMd", "20240131", ""},
		{"yyyyMd", "2024131", ""},
		{"", "2024-1-31", "2024-01-31T00:00:00"},
		{"", "2024-01-31 1:2:3", "2024-01-31T01:02:03"},
		{"", "2024-01-31 13:14:15.5", "2024-01-31T13:14:15.5"},
		{"", "2024-13-32", "2025-02-01T00:00:00"},
		{"", "2024-01-31 25:00:00", "2024-02-01T01:00:00"},
		{"", "2024-01-31 13:14", ""},
		{"", "2024-01-31 13:14:15.", ""},
		{"", "-1-01-31", "-0001-01-31T00:00:00"},
		{"", "2024-0-0", "2023-11-30T00:00:00"},
		{"", "+2024-01-01", ""},
		{"", "2024-01-31 99:99:99", "2024-02-04T04:40:39"},
		{"", "2024-01-31T13:14:15", ""},
		{"", "20240131", ""},
		{"", "hello", ""},
		{"", "", ""},
	} {
		parse := defaultTime
		if c.pattern != "" {
			p, err := newTimePattern(c.pattern)
			require.NoError(t, err, c.pattern)
			parse = p.parse
		}
		got := ""
		if at, err := parse(c.text); err == nil {
			got = at.Format("2006-01-02T15:04:05.999999999")
		}
		require.Equal(t, c.want, got, "%q by %q", c.text, c.pattern)
	}
	for pattern, want := range map[string]string{
		"yyyy-MMM-dd": "MMM", "EEE yyyy": "EEE", "hh": "hh", "yyyy-MM-dd z": "z", "'x": "quote", "[yyyy": "[", "yyyy]": "]", "{": "reserved",
	} {
		_, err := newTimePattern(pattern)
		require.ErrorIs(t, err, table.ErrOption, pattern)
		require.ErrorContains(t, err, want)
	}
}

func TestTagPeriods(t *testing.T) {
	at := time.Date(2024, 3, 1, 13, 14, 15, 0, time.UTC)
	for _, c := range []struct {
		options table.Options
		name    string
	}{
		{table.Options{}, "2024-02-29"},
		{table.Options{"tag.period-formatter": "without_dashes"}, "20240229"},
		{table.Options{"tag.creation-period": "hourly"}, "2024-03-01 12"},
		{table.Options{"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes"}, "20240301 12"},
		{table.Options{"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes_and_spaces"}, "2024030112"},
		{table.Options{"tag.creation-period": "two-hours"}, "2024-03-01 10"},
		{table.Options{"tag.creation-period-duration": "5 min"}, "202403011305"},
	} {
		p, err := newTagPeriod(c.options)
		require.NoError(t, err)
		start := p.previous(at)
		require.Equal(t, c.name, p.name(start))
		again, ok := p.start(c.name)
		require.True(t, ok)
		require.Equal(t, start, again)
		for _, other := range []string{"mine", "2024-02-30", ""} {
			_, ok = p.start(other)
			require.False(t, ok, "%q by %v", other, c.options)
		}
	}
	_, err := newTagPeriod(table.Options{"tag.creation-delay": "1 d"})
	require.ErrorIs(t, err, table.ErrOption)
}

// snapshots returns the ids that are left.
func (w *world) snapshots() []int64 {
	ids, err := w.table.SnapshotIDs(w.ctx)
	require.NoError(w.t, err)
	return ids
}

func TestExpiryKeepsByNumberAgeAndLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, table.Options{"snapshot.num-retained.min": "2", "snapshot.time-retained": "1 h", "snapshot.expire.limit": "3"})
		for range 10 {
			w.append()
			time.Sleep(10 * time.Minute) // snapshot 10 is 10 minutes old, snapshot 1 100 minutes
		}
		expire := func(o ExpireOptions) []int64 {
			_, err := ExpireSnapshots(w.ctx, w.table, o)
			require.NoError(t, err)
			return w.snapshots()
		}
		require.Equal(t, int64(4), expire(ExpireOptions{})[0], "the limit")
		require.Equal(t, int64(5), expire(ExpireOptions{})[0], "the age")
		require.Equal(t, int64(7), expire(ExpireOptions{RetainMax: ptr(4)})[0], "the maximum, whatever the age")
		require.Equal(t, int64(9), expire(ExpireOptions{OlderThan: future()})[0], "the minimum")
		_, err := ExpireSnapshots(w.ctx, w.table, ExpireOptions{RetainMax: ptr(1)})
		require.ErrorIs(t, err, table.ErrOption)
		// changelog.num-retained.min above the number of changelogs makes Java look for changelog -6.
		r, err := ExpireChangelogs(w.ctx, w.table, ExpireOptions{RetainMin: ptr(100)}, false)
		require.NoError(t, err)
		require.Zero(t, r.Files)
	})
}

func TestDryRunNamesWhatGoesAndChangesNothing(t *testing.T) {
	base := usedWorld(t, nil)
	base.write(testPath+"/manifest/lost", "x")
	w := base.clone()
	before := w.fs.Paths()
	o := ExpireOptions{RetainMin: ptr(2), RetainMax: ptr(2), DryRun: true}
	would, err := ExpireSnapshots(w.ctx, w.table, o)
	require.NoError(t, err)
	orphans, err := RemoveOrphanFiles(w.ctx, w.table, OrphanOptions{OlderThan: *future(), DryRun: true})
	require.NoError(t, err)
	require.Equal(t, []string{"manifest/lost"}, orphans.Names)
	require.Equal(t, before, w.fs.Paths())
	o.DryRun = false
	_, err = ExpireSnapshots(w.ctx, w.table, o)
	require.NoError(t, err)
	var gone []string
	for _, p := range before {
		if !slices.Contains(w.fs.Paths(), p) {
			gone = append(gone, relative(w.table, p))
		}
	}
	require.Subset(t, would.Names, gone)
	for _, n := range would.Names {
		if !strings.HasPrefix(n, "index/") {
			require.Contains(t, gone, n)
		}
	}
}

func TestDamagedManifestKeepsFiles(t *testing.T) {
	w := usedWorld(t, nil)
	s, err := w.table.Snapshot(w.ctx, 4)
	require.NoError(t, err)
	list, err := w.table.ReadManifestList(w.ctx, s.DeltaManifestList, s.DeltaManifestListSize)
	require.NoError(t, err)
	w.write(w.table.ManifestPath(list[0].Name), "damaged")
	r, err := ExpireSnapshots(w.ctx, w.on(w.fs), ExpireOptions{RetainMin: ptr(2), RetainMax: ptr(2)})
	require.NoError(t, err)
	require.NotEmpty(t, r.Kept)
	// The second tag still needs what the damaged manifest says, so that nobody can tell which files are orphans.
	_, err = RemoveOrphanFiles(w.ctx, w.on(w.fs), OrphanOptions{OlderThan: *future()})
	require.ErrorIs(t, err, table.ErrCorrupt)
	require.ErrorContains(t, err, "nothing is removed")
}

func TestOrphansAreOldAndNothingElseIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, nil)
		w.append()
		kept := []string{"/paimon-go/u.json", "/p=x/notes.txt", "/other/data-1", "/schema/.schema-1", "/consumer/x", "/paimon-go/x.tmp", "/snapshot/snapshot-old"}
		orphans := []string{"/manifest/m", "/index/i", "/statistics/s", "/p=x/bucket-0/d", "/p=x/bucket-7/d2", "/snapshot/.snapshot-2.u.tmp", "/changelog/.tmp",
			"/schema/.schema-1.u.tmp", "/consumer/.consumer-x.u.tmp", "/paimon-go/.u.json.u.tmp", "/tag/.tag-x.u.tmp"}
		for _, p := range slices.Concat(kept, orphans) {
			w.write(testPath+p, "x")
		}
		w.write(testPath+"/snapshot/snapshot-old", "x")
		time.Sleep(23 * time.Hour)
		r, err := RemoveOrphanFiles(w.ctx, w.table, OrphanOptions{})
		require.NoError(t, err)
		require.Zero(t, r.Files)
		time.Sleep(2 * time.Hour)
		r, err = RemoveOrphanFiles(w.ctx, w.table, OrphanOptions{})
		require.NoError(t, err)
		require.Len(t, r.Names, len(orphans))
		for _, p := range kept {
			_, err := w.fs.Stat(w.ctx, testPath+p)
			require.NoError(t, err, p)
		}
		for _, p := range append(orphans, "/p=x/bucket-7") {
			_, err := w.fs.Stat(w.ctx, testPath+p)
			require.ErrorIs(t, err, fs.ErrNotExist, p)
		}
		w.requireWhole()
		// A branch that can't be told what it needs.
		w.write(w.table.BranchPath("b")+"/snapshot/LATEST", "1")
		_, err = RemoveOrphanFiles(w.ctx, w.table, OrphanOptions{})
		require.ErrorIs(t, err, table.ErrCorrupt)
	})
}

func TestPartitionsExpire(t *testing.T) {
	w := newWorld(t, 1, table.Options{"partition.expiration-time": "10 d"})
	for range 20 {
		w.append()
	}
	now := time.Date(2024, 1, 12, 0, 0, 0, 0, time.Local)
	partitions := func() []string {
		s, err := w.table.Latest(w.ctx)
		require.NoError(t, err)
		set := map[string]bool{}
		for e, err := range w.table.Scan(w.ctx, s, table.Filter{}) {
			require.NoError(t, err)
			p, err := w.table.PartitionPath(e.Partition)
			require.NoError(t, err)
			set[p] = true
		}
		var list []string
		for p := range set {
			list = append(list, p)
		}
		slices.Sort(list)
		return list
	}
	all := []string{"p=2024-01-01", "p=2024-01-02", "p=x"}
	require.Equal(t, all, partitions())
	r, err := ExpirePartitions(w.ctx, w.table, "m", PartitionOptions{Now: now, DryRun: true})
	require.NoError(t, err)
	require.Equal(t, []string{"p=2024-01-01"}, r.Names)
	require.Len(t, r.Kept, 1, "x is no time")
	require.Equal(t, all, partitions())
	_, err = ExpirePartitions(w.ctx, w.table, "m", PartitionOptions{Now: now})
	require.NoError(t, err)
	require.Equal(t, all[1:], partitions())
	s, err := w.table.Latest(w.ctx)
	require.NoError(t, err)
	require.Equal(t, table.CommitOverwrite, s.CommitKind)
	require.EqualValues(t, table.BatchIdentifier, s.CommitIdentifier)
	_, err = ExpirePartitions(w.ctx, w.table, "m", PartitionOptions{Strategy: "update-time", MaxNum: 1})
	require.NoError(t, err)
	require.Equal(t, all[2:], partitions())
	_, err = ExpirePartitions(w.ctx, w.table, "m", PartitionOptions{Strategy: "other"})
	require.ErrorIs(t, err, table.ErrOption)
	for p := range w.table.Check(w.ctx, nil, true, nil) {
		if p.Severity == table.SeverityError && p.Check != "file-size" {
			t.Error(p)
		}
	}
}

func TestConsumersThatAreIdleAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, table.Options{"consumer.expiration-time": "1 h"})
		w.write(testPath+"/consumer/consumer-a", `{"nextSnapshot":1}`)
		w.write(testPath+"/consumer/consumer-broken", `{`)
		time.Sleep(2 * time.Hour)
		w.write(testPath+"/consumer/consumer-b", `{"nextSnapshot":2}`)
		r, err := ExpireConsumers(w.ctx, w.table, false)
		require.NoError(t, err)
		require.Equal(t, 2, r.Consumers)
		left, err := w.table.Consumers(w.ctx)
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, table.Consumer{ID: "b", Next: 2, Changed: left[0].Changed}, left[0])
		require.WithinDuration(t, time.Now(), left[0].Changed, time.Hour)
	})
}

func TestMaintainerDoesAllInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, table.Options{
			"tag.automatic-creation": "process-time", "tag.creation-period": "hourly", "tag.num-retained-max": "3", "tag.default-time-retained": "5 h",
			"snapshot.time-retained": "30 min", "snapshot.num-retained.min": "2", "partition.expiration-time": "1 d", "sink.process-time-zone": "UTC",
		})
		time.Sleep(time.Until(time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC)))
		m := NewMaintainer(w.table, "maintenance", NewLimiter(1000))
		for range 30 {
			w.append()
			w.compact()
			time.Sleep(20 * time.Minute)
			_, err := m.Run(w.ctx, nil)
			require.NoError(t, err)
			w.requireWhole()
		}
		require.LessOrEqual(t, len(w.snapshots()), 6)
		tags, err := w.table.Tags(w.ctx)
		require.NoError(t, err)
		require.Len(t, tags, 3)
		require.Equal(t, 5*time.Hour, tags[0].Retained)
		// The drop of the last partitions makes a snapshot that gets a tag, which then expires.
		for range 4 {
			time.Sleep(9 * time.Hour)
			_, err = m.Run(w.ctx, nil)
			require.NoError(t, err)
		}
		tags, err = w.table.Tags(w.ctx)
		require.NoError(t, err)
		require.Empty(t, tags)
		for _, b := range []int32{0, 1} {
			require.Empty(t, w.live("2024-01-01", b))
			require.Empty(t, w.live("2024-01-02", b))
		}
		require.NotEmpty(t, w.live("x", 0))
		w.requireWhole()
	})
}

// TestDeletingATagAmidSnapshotsKeepsFiles: when the tag's snapshot is gone while earlier ones are there, as after a rollback
// to another history, what comes after the tag can't be told.
func TestDeletingATagAmidSnapshotsKeepsFiles(t *testing.T) {
	w := newWorld(t, 1, nil)
	for range 6 {
		w.append()
	}
	s, err := w.table.Snapshot(w.ctx, 4)
	require.NoError(t, err)
	_, err = w.table.CreateTag(w.ctx, "four", s, time.Hour)
	require.NoError(t, err)
	require.NoError(t, w.table.RemoveSnapshot(w.ctx, 4))
	r, err := DeleteTag(w.ctx, w.table, "four", false, nil)
	require.NoError(t, err)
	require.Equal(t, 1, r.Tags)
	w.requireWhole()
}

// Files that writers wrote stay for the changelogs of their commits, and beyond those as long as a tag needs them: whichever snapshots have tags, and
// however many changelogs go at once.
func TestChangelogsThatExpireKeepFilesOfTags(t *testing.T) {
	for tagged := range 1 << 5 {
		for first := 1; first <= 6; first++ {
			w := newWorld(t, 1, table.Options{"changelog.num-retained.min": "12"})
			m := func() table.CommitMessage {
				return table.CommitMessage{Partition: partition("x"), Bucket: 0, TotalBuckets: 2}
			}
			appendTo := func() {
				a := m()
				a.Data.New = []table.DataFile{w.file("x", 0, "data", 0)}
				w.do(a)
			}
			for range 2 {
				appendTo()
				c := m()
				c.Compact.Before = w.live("x", 0)
				c.Compact.After = []table.DataFile{w.file("x", 0, "data", 5)}
				w.do(c)
			}
			appendTo()
			appendTo()
			for id := range int64(5) {
				if tagged>>id&1 == 1 {
					s, err := w.table.Snapshot(w.ctx, id+1)
					require.NoError(t, err)
					_, err = w.table.CreateTag(w.ctx, fmt.Sprint("of-", id+1), s, 0)
					require.NoError(t, err)
				}
			}
			_, err := ExpireSnapshots(w.ctx, w.table, ExpireOptions{RetainMin: ptr(1), OlderThan: future()})
			require.NoError(t, err)
			for _, least := range []int{first, 1} {
				_, err := ExpireChangelogs(w.ctx, w.table, ExpireOptions{RetainMin: ptr(least), OlderThan: future()}, false)
				require.NoError(t, err)
				w.requireWhole()
			}
		}
	}
}

func TestLimiterSpreadsRemovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := usedWorld(t, nil)
		start := time.Now()
		r, err := ExpireSnapshots(w.ctx, w.table, ExpireOptions{RetainMin: ptr(1), RetainMax: ptr(1), Limit: NewLimiter(10)})
		require.NoError(t, err)
		require.InDelta(t, float64(r.Files-1)/10, time.Since(start).Seconds(), 0.2)
		for i := range 3 {
			_, err := w.table.CreateTag(w.ctx, fmt.Sprint("t", i), w.randomSnapshot(), time.Second)
			require.NoError(t, err)
		}
		time.Sleep(time.Minute)
		start = time.Now()
		r, err = ExpireTags(w.ctx, w.table, false, NewLimiter(10))
		require.NoError(t, err)
		require.Equal(t, 3, r.Tags)
		require.InDelta(t, 0.2, time.Since(start).Seconds(), 0.01)
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		_, err = RemoveOrphanFiles(ctx, w.table, OrphanOptions{Limit: NewLimiter(1)})
		require.NoError(t, err)
	})
}

func TestARemovalThatFailsKeepsTheSnapshots(t *testing.T) {
	w := usedWorld(t, nil)
	faulty := faultfs.New(w.fs, nil)
	tab := w.on(faulty)
	ids := w.snapshots()
	faulty.Set(func(c faultfs.Call) faultfs.How {
		if c.Op == faultfs.OpRemove && strings.Contains(c.Path, "/bucket-") {
			return faultfs.Before
		}
		return faultfs.OK
	})
	_, err := ExpireSnapshots(w.ctx, tab, ExpireOptions{RetainMin: ptr(1), RetainMax: ptr(1)})
	require.ErrorIs(t, err, faultfs.ErrInjected)
	require.Equal(t, ids, w.snapshots())
	require.Contains(t, fmt.Sprint(err), "removing")
	w.requireWhole()
}
