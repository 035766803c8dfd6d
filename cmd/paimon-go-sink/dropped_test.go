package main

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/table/maintenance"
)

// All partitions expire under a job that assigns buckets, while rows of them come. It goes on by itself, and in the end the table has
// what came after that, once.
func TestPartitionsMayExpireUnderDynamicBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		r := newRig(t, "bucket=-1", "changelog-producer=input", "dynamic-bucket.target-row-num=1000", "dynamic-bucket.assigner-parallelism=1")
		r.job.args.CommitInterval = 5 * time.Second
		r.job.log = slog.New(slog.NewTextHandler(&log, nil))
		r.job.args.PartitionKeys = "day"
		var dropped atomic.Int64 // snapshot
		go func() {
			time.Sleep(7500 * time.Millisecond) // between two ticks
			tab, err := table.Open(t.Context(), r.inner, rigTable, nil)
			if err != nil {
				return
			}
			_, err = maintenance.ExpirePartitions(t.Context(), tab, "expiry", maintenance.PartitionOptions{
				ExpirationTime: time.Hour, Now: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), Formatter: "yyyy-MM-dd"})
			if s, _ := tab.Latest(t.Context()); err == nil && s.CommitUser == "expiry" {
				dropped.Store(s.ID)
			}
		}()
		require.NoError(t, r.run(t.Context()))
		require.Positive(t, dropped.Load(), "partitions have expired")
		require.Equal(t, 1, strings.Count(log.String(), "reads anew where keys are"), log.String())

		tab, err := table.Open(t.Context(), r.inner, rigTable, nil)
		require.NoError(t, err)
		want := map[string]string{}
		key := func(b *row.Batch, i int) string {
			var text []byte
			for _, name := range []string{"id", "day"} {
				text = append(row.AppendPartitionText(text, &b.Cols[tab.Schema().FieldIndex(name)], i, false), '/')
			}
			return string(text)
		}
		last, err := tab.Latest(t.Context())
		require.NoError(t, err)
		for c, err := range lsm.ReadChangelog(t.Context(), tab, dropped.Load()+1, last.ID, lsm.ScanOptions{}) {
			require.NoError(t, err)
			for i := range c.Rows.N {
				if c.Rows.Kinds[i].IsRetract() {
					delete(want, key(c.Rows, i))
				} else {
					want[key(c.Rows, i)] = string(row.AppendJSONRow(nil, c.Rows, i, false))
				}
			}
		}
		found := map[string]string{}
		for b, err := range lsm.Scan(t.Context(), tab, last, lsm.ScanOptions{}) {
			require.NoError(t, err)
			for i := range b.N {
				require.NotContains(t, found, key(b, i))
				found[key(b, i)] = string(row.AppendJSONRow(nil, b, i, false))
			}
		}
		require.Equal(t, want, found)
		require.Greater(t, len(found), 1000)
		for p := range lsm.CheckBuckets(t.Context(), tab, last) {
			require.Fail(t, p.String())
		}
	})
}

// Where partitions go again and again before anything is committed, the job ends.
func TestPartitionsThatAlwaysGoEndTheJob(t *testing.T) {
	gone := func(*metrics) error { return table.ErrPartitionGone }
	n, err := sessions(t, gone, gone, gone, gone)
	require.ErrorIs(t, err, table.ErrPartitionGone)
	require.Equal(t, mostGone+1, n)
	require.Equal(t, cli.ExitForeign, report(&strings.Builder{}, err))
	committed := func(m *metrics) error { commits(m); return table.ErrPartitionGone }
	n, err = sessions(t, gone, committed, committed, committed, committed, committed, func(*metrics) error { return nil })
	require.NoError(t, err)
	require.Equal(t, 7, n)
	n, err = sessions(t, func(*metrics) error { return table.ErrForeignWriter })
	require.ErrorIs(t, err, table.ErrForeignWriter)
	require.Equal(t, 1, n)
}
