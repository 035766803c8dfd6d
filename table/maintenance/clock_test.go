package maintenance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

// behind is a storage whose clock is behind ours: as ours is ahead by so much.
type behind struct {
	*mem.FS
	by time.Duration
}

func (b behind) Stat(ctx context.Context, path string) (fs.Info, error) {
	info, err := b.FS.Stat(ctx, path)
	info.ModTime = info.ModTime.Add(-b.by)
	return info, err
}

// aging makes everything go after an hour or a day.
var aging = table.Options{
	"snapshot.num-retained.min": "1", "snapshot.time-retained": "1 h", "consumer.expiration-time": "1 d",
	"partition.expiration-strategy": "update-time", "partition.expiration-check-interval": "0 s",
	"tag.default-time-retained": "1 d",
}

// aged is a world with one of each thing that expires, all of it new.
func aged(t *testing.T) *world {
	// The creation time of the world's files is always the same.
	days := int(time.Since(time.UnixMilli(1_700_000_000_000))/(24*time.Hour)) + 2
	w := newWorld(t, 5, aging.With(table.Options{"partition.expiration-time": fmt.Sprint(days, " d")}))
	for range 6 {
		w.append()
	}
	s, err := w.table.Latest(w.ctx)
	require.NoError(t, err)
	_, err = w.table.CreateTag(w.ctx, "g", s, 24*time.Hour)
	require.NoError(t, err)
	require.NoError(t, w.table.RecordConsumer(w.ctx, "c", 6))
	return w
}

func TestAClockThatJumpsAheadExpiresNothing(t *testing.T) {
	w := aged(t)
	var off time.Duration
	m := NewMaintainer(w.table, "x", nil)
	m.clock = NewClock(func() time.Time { return time.Now().Add(off) })
	before := w.fs.Paths()
	for _, off = range []time.Duration{0, 72 * time.Hour, -72 * time.Hour, 300 * 24 * time.Hour} {
		r, err := m.Run(w.ctx, nil)
		require.NoError(t, err)
		require.Equal(t, Report{}, Report{Snapshots: r.Snapshots, Tags: r.Tags, Consumers: r.Consumers, Partitions: r.Partitions, Files: r.Files}, off)
		require.Equal(t, before, withoutEarliest(w.fs.Paths()), off)
	}
	// The same with a clock that was right all the time removes what is old, so it is the clock that keeps it.
	m.clock.guard.Set(time.Now().Add(72 * time.Hour))
	r, err := m.Run(w.ctx, nil)
	require.NoError(t, err)
	require.Positive(t, r.Partitions)
	require.Equal(t, Report{Snapshots: 6, Tags: 1, Consumers: 1}, Report{Snapshots: r.Snapshots, Tags: r.Tags, Consumers: r.Consumers})
}

func withoutEarliest(paths []string) []string {
	var out []string
	for _, p := range paths {
		if !strings.HasSuffix(p, "/EARLIEST") {
			out = append(out, p)
		}
	}
	return out
}

// A machine that starts with a clock days ahead of that of the storage goes by the storage's.
func TestTheStoragesClockCounts(t *testing.T) {
	w := aged(t)
	w.file("x", 1, "data", 0) // of a commit that is being made
	// What a clock of ours that is 3 days ahead makes of it.
	behindUs := w.on(behind{w.fs, 72 * time.Hour})
	now, err := NewClock(nil).now(w.ctx, behindUs, false)
	require.NoError(t, err)
	require.InDelta(t, 72*time.Hour, time.Since(now), float64(time.Minute))
	for _, path := range w.fs.Paths() {
		require.NotContains(t, path, ".clock.")
	}
	// In a dry run nothing is written.
	now, err = NewClock(nil).now(w.ctx, behindUs, true)
	require.NoError(t, err)
	require.InDelta(t, 0, time.Since(now), float64(time.Minute))
	// A storage whose clock is ahead of ours changes nothing, and nor does one that is about right.
	for _, by := range []time.Duration{-72 * time.Hour, 5 * time.Second} {
		now, err := NewClock(nil).now(w.ctx, w.on(behind{w.fs, by}), false)
		require.NoError(t, err)
		require.InDelta(t, 0, time.Since(now), float64(time.Minute))
	}
	synctest.Test(t, func(t *testing.T) { // and it does so for good, and is asked now and then
		faulty := faultfs.New(behind{w.fs, 72 * time.Hour}, nil)
		behindUs, clock := w.on(faulty), NewClock(nil)
		for range 6 * 24 * 3 {
			time.Sleep(10 * time.Minute)
			now, err := clock.now(w.ctx, behindUs, false)
			require.NoError(t, err)
			require.InDelta(t, 72*time.Hour, time.Since(now), float64(time.Minute))
		}
		asked := func() (n int) {
			for _, c := range faulty.Calls() {
				if c.Op == faultfs.OpCreate {
					n++
				}
			}
			return n
		}
		require.InDelta(t, 72, asked(), 1)
		// While it can't be asked what it said counts.
		faulty.Set(faultfs.CutAt(1, faultfs.Before))
		time.Sleep(30 * time.Hour)
		now, err := clock.now(w.ctx, behindUs, false)
		require.NoError(t, err)
		require.InDelta(t, 72*time.Hour, time.Since(now), float64(time.Minute))
		_, err = NewClock(nil).now(w.ctx, behindUs, false)
		require.Error(t, err)
	})
	r, err := RemoveOrphanFiles(w.ctx, behindUs, OrphanOptions{})
	require.NoError(t, err)
	require.Zero(t, r.Files)
}
