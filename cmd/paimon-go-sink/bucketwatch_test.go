package main

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cmd/internal/buckets"
	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// The advice comes once after the initial read, with what commits had since, and then when it is something else, after hours.
func TestAdviceOnBucketsIsRare(t *testing.T) {
	var b bucketWatch
	now := time.Unix(1e9, 0)
	after := func(d time.Duration) time.Time { now = now.Add(d); return now }
	commit := func(partitions, files int, reading bool) {
		b.committed(&writer.CommitInfo{Partitions: partitions, Buckets: 2 * partitions, Files: files, Snapshot: &table.Snapshot{}}, reading)
	}
	small, large := &buckets.Advice{Verdict: buckets.Small, LargestBytes: 1}, &buckets.Advice{Verdict: buckets.Large, LargestBytes: 1}

	commit(90, 900, true)
	require.False(t, b.due(now, true))
	require.EqualValues(t, 90, b.lastPartitions.Load())
	require.False(t, b.due(now, false), "commits of the log are to come")
	commit(2, 4, false)
	commit(4, 12, false)
	b.committed(&writer.CommitInfo{}, false) // nothing came
	require.True(t, b.due(after(time.Second), false))
	require.Equal(t, buckets.Tick{Partitions: 3, Buckets: 6, Files: 8}, b.measured())
	require.True(t, b.judged(small, now))
	require.EqualValues(t, buckets.Small, b.verdict.Load())
	require.False(t, b.due(after(time.Minute), false))
	require.True(t, b.due(after(time.Hour), false))
	require.Equal(t, buckets.Tick{Partitions: 3, Buckets: 6, Files: 8}, b.measured(), "no commits since")
	require.False(t, b.judged(small, now), "said already")
	require.False(t, b.judged(large, now), "another thing, but soon")
	require.EqualValues(t, buckets.Large, b.verdict.Load())
	require.True(t, b.judged(large, after(6*time.Hour)))
	require.False(t, b.judged(large, after(100*time.Hour)))

	quiet := bucketWatch{}
	require.False(t, quiet.due(now, false), "the read has not begun")
	require.False(t, quiet.due(after(time.Hour), true))
	require.False(t, quiet.due(now, false))
	require.True(t, quiet.due(after(10*time.Minute), false), "a table that nothing changes in")
	require.False(t, quiet.judged(&buckets.Advice{}, now), "nothing is in it")
	require.True(t, quiet.judged(small, now))
}

// someGauges is a collector of fixed values.
type someGauges []cli.Value

func (g someGauges) Describe(chan<- *prometheus.Desc)    {}
func (g someGauges) Collect(ch chan<- prometheus.Metric) { cli.Collect(ch, nil, g) }

func TestTheSinkLogsAdviceOnBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		r := newRig(t)
		r.job.log = slog.New(slog.NewTextHandler(&log, nil))
		r.job.source.RowsPerSecond, r.job.args.CommitInterval = 100, 10*time.Second
		require.NoError(t, r.run(t.Context()))
		require.Equal(t, 1, strings.Count(log.String(), "about the buckets of the table: the table has"), log.String())
		require.Contains(t, log.String(), "partitions_per_commit=1 buckets_per_commit=4 files_per_commit=4")
		m := newMetrics(r.job)
		tab, err := table.Open(t.Context(), r.inner, rigTable, nil)
		require.NoError(t, err)
		s, err := tab.Latest(t.Context())
		require.NoError(t, err)
		m.buckets.committed(&writer.CommitInfo{Partitions: 1, Buckets: 4, Files: 4, Snapshot: s}, false)
		log.Reset()
		require.NoError(t, r.job.adviseBuckets(t.Context(), tab, s, &m.buckets))
		require.NoError(t, r.job.adviseBuckets(t.Context(), tab, s, &m.buckets))
		text := log.String()
		require.Equal(t, 1, strings.Count(text, "about the buckets of the table"), text)
		require.Contains(t, text, "level=INFO")
		require.Contains(t, text, "if it will not grow, with bucket=1 a commit makes fewer files: about 1 instead of 4")
		require.Contains(t, text, "partitions_per_commit=1 buckets_per_commit=4 files_per_commit=4")
		values := map[string]float64{}
		registry := prometheus.NewRegistry()
		registry.MustRegister(someGauges(m.bucketGauges(&writer.Stats{IndexKeys: 7})))
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			values[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
		}
		require.InDelta(t, -1, values["paimon_bucket_advice"], 0)
		require.Positive(t, values["paimon_bucket_bytes"])
		require.InDelta(t, 4, values["paimon_tick_files"], 0)
		require.InDelta(t, 7, values["paimon_index_keys"], 0)
	})
}
