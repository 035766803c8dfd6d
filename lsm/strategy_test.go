package lsm

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/table"
)

// bucketModel is a bucket of which only sizes and order matter: each level above 0 is one file.
type bucketModel struct {
	t       *rapid.T
	schema  *table.Schema
	options table.Options
	files   []table.DataFile
	seq     int64
	now     time.Time
	names   int
}

func (b *bucketModel) add(level int, size, minSeq, maxSeq int64) {
	b.names++
	f := withSeq(keyedFile(fmt.Sprint("f", b.names), level, size, 0, 10), minSeq, maxSeq)
	f.CreationMillis = b.now.UnixMilli()
	b.files = append(b.files, f)
}

func (b *bucketModel) levels() *Levels {
	l, err := NewLevels(b.files, b.schema, b.options)
	require.NoError(b.t, err)
	return l
}

// apply merges a unit into one file, as large as its inputs or smaller.
func (b *bucketModel) apply(u Unit) {
	minSeq, maxSeq, size := int64(math.MaxInt64), int64(0), int64(0)
	picked := map[string]bool{}
	for _, f := range u.Files {
		picked[f.Name] = true
		size += f.Size
		minSeq, maxSeq = min(minSeq, f.MinSeq), max(maxSeq, f.MaxSeq)
	}
	require.Len(b.t, picked, len(u.Files), "a file is picked twice")
	b.files = slices.DeleteFunc(b.files, func(f table.DataFile) bool {
		if picked[f.Name] {
			return true
		}
		if f.Level > 0 {
			require.Greater(b.t, f.Level, u.OutputLevel, "level %d is in the way of the output", f.Level)
		}
		require.True(b.t, f.MinSeq > maxSeq || f.MaxSeq < minSeq, "an older file stays above newer output, or the reverse")
		require.Equal(b.t, f.MinSeq > maxSeq, f.Level == 0, "what stays in level 0 is newer than the output, the rest is older")
		return false
	})
	deeper := slices.ContainsFunc(b.files, func(f table.DataFile) bool { return f.Level > 0 })
	require.Equal(b.t, !deeper, u.DropDelete, "retracts are dropped exactly when nothing lies below")
	if size = size * int64(rapid.IntRange(0, 100).Draw(b.t, "kept")) / 100; size > 0 {
		b.add(u.OutputLevel, size, minSeq, maxSeq)
	}
}

// TestDrainedBucketsKeepTheirTrigger lets a writer add files and a compactor pick until nothing is left to pick.
func TestDrainedBucketsKeepTheirTrigger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &bucketModel{t: t, schema: intSchema(t), options: drawStrategy(t), now: time.Date(2024, 5, 17, 0, 0, 0, 0, time.UTC)}
		s, err := NewStrategy(b.options)
		require.NoError(t, err)
		trigger := b.options.Int(table.KeyNumSortedRunCompactionTrigger)
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			for range rapid.IntRange(0, 12).Draw(t, "flushes") {
				b.seq += 10
				b.add(0, rapid.Int64Range(1, 1<<rapid.IntRange(1, 40).Draw(t, "bits")).Draw(t, "size"), b.seq, b.seq+9)
			}
			b.now = b.now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "minutes")) * time.Minute)
			st := PickState{Levels: b.levels(), Now: b.now, ForceUp: rapid.Bool().Draw(t, "force")}
			for picks := 0; ; picks++ {
				before := st.Levels.NumSortedRuns()
				u, ok := s.Pick(st)
				if !ok {
					break
				}
				require.Less(t, picks, 100, "the picks don't end")
				require.NotEmpty(t, u.Files)
				require.NotZero(t, u.OutputLevel)
				b.apply(u)
				st.Levels = b.levels()
				require.True(t, st.Levels.NumSortedRuns() < before || before == 1 || u.Reason == ReasonForceUp, "%s leaves as many runs as before", u.Reason)
			}
			require.LessOrEqual(t, st.Levels.NumSortedRuns(), trigger)
			if st.ForceUp || NeedLookup(b.options) && s.LookupInterval() == 0 {
				require.Zero(t, st.Levels.DeepestLevel0(), "forced, and files stay in level 0")
			}
		}
		st := PickState{Levels: b.levels(), Now: b.now}
		if u, ok := s.PickFull(st, nil); ok {
			b.apply(u)
			st.Levels = b.levels()
		}
		require.LessOrEqual(t, st.Levels.NumSortedRuns(), 1, "after a full compaction")
		_, ok := s.PickFull(st, nil)
		require.False(t, ok, "a full compaction has nothing to do after another")
	})
}

func drawStrategy(t *rapid.T) table.Options {
	o := table.Options{"num-sorted-run.compaction-trigger": fmt.Sprint(rapid.IntRange(1, 8).Draw(t, "trigger"))}
	for key, values := range map[string][]string{
		"num-levels": {"2", "3", "10"},
		"compaction.max-size-amplification-percent": {"0", "25", "1000"},
		"compaction.size-ratio":                     {"0", "50", "10000"},
		"compaction.optimization-interval":          {"1 h"},
		"compaction.total-size-threshold":           {"1 mb"},
		"compaction.incremental-size-threshold":     {"1 mb"},
		"compaction.force-up-level-0":               {"true"},
		"merge-engine":                              {"first-row"},
		"lookup-compact":                            {"gentle"},
	} {
		if i := rapid.IntRange(-3, len(values)-1).Draw(t, key); i >= 0 {
			o[key] = values[i]
		}
	}
	return o
}

func TestLastFullCompactionIsReadAsLocalTime(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	s, err := NewStrategy(table.Options{"compaction.optimization-interval": "2 h"})
	require.NoError(t, err)
	made := time.Date(2024, 3, 31, 1, 30, 0, 0, zone) // at 2 o'clock it becomes 3
	old := keyedFile("old", 5, 1000, 0, 1)
	old.CreationMillis = localMillis(made)
	for after, want := range map[time.Duration]bool{2 * time.Hour: false, 2*time.Hour + time.Millisecond: true, -time.Hour: false} {
		l, err := NewLevels([]table.DataFile{old, keyedFile("new", 0, 1, 0, 1)}, intSchema(t), nil)
		require.NoError(t, err)
		_, ok := s.Pick(PickState{Levels: l, Now: made.Add(after)})
		require.Equal(t, want, ok, after)
	}
	old.CreationMillis = -1
	l, err := NewLevels([]table.DataFile{old, keyedFile("new", 0, 1, 0, 1)}, intSchema(t), nil)
	require.NoError(t, err)
	_, ok := s.Pick(PickState{Levels: l, Now: made})
	require.True(t, ok, "an unknown time is none")
}

func TestGentleLookupInterval(t *testing.T) {
	lookup := table.Options{"changelog-producer": "lookup", "lookup-compact": "gentle"}
	for _, c := range []struct {
		options table.Options
		want    int
	}{
		{nil, 0},
		{table.Options{"lookup-compact": "gentle"}, 0}, // nothing is looked up
		{table.Options{"changelog-producer": "lookup"}, 0},
		{lookup, 10},
		{lookup.With(table.Options{"lookup-compact.max-interval": "7"}), 7},
		{lookup.With(table.Options{"lookup-compact.max-interval": "2"}), 5}, // the trigger at least
		{lookup.With(table.Options{"num-sorted-run.compaction-trigger": "2147483647", "num-levels": "6"}), math.MaxInt32},
	} {
		s, err := NewStrategy(c.options)
		require.NoError(t, err)
		require.Equal(t, c.want, s.LookupInterval(), c.options)
	}
}

func TestStrategyRefusesOptionsWithoutMeaning(t *testing.T) {
	bad := table.Options{
		"num-sorted-run.compaction-trigger": "0", "num-levels": "1", "compaction.size-ratio": "1.5", "compaction.total-size-threshold": "much",
		"compaction.optimization-interval": "daily", "lookup-compact": "gently", "compaction.offpeak.start.hour": "noon",
	}
	for key, value := range bad {
		_, err := NewStrategy(table.Options{key: value})
		require.ErrorIs(t, err, table.ErrOption, key)
		require.ErrorContains(t, err, key)
	}
}
