package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/cdc/mysql"
	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// metrics gathers what the job does, for /metrics and for the terminal.
type metrics struct {
	job      *job
	writer   atomic.Pointer[writer.Writer] // of this session, or of the last one
	source   atomic.Pointer[mysql.Source]
	outage   atomic.Pointer[outage] // nil: the storage works, as far as one knows
	pipeline cdc.Metrics
	started  time.Time

	commitSeconds prometheus.Histogram
	flushSeconds  prometheus.Histogram
	retries       atomic.Int64
	commits       atomic.Int64 // of all sessions
	positions     atomic.Int64 // saved while there was nothing to commit
	restarts      atomic.Int64
	dropped       atomic.Int64 // sessions that ended because a partition was dropped under them
	lastCommit    atomic.Int64 // Unix milliseconds
	lastSnapshot  atomic.Int64
	failed        atomic.Int64
	lastEarly     atomic.Int64 // Unix milliseconds of the last warning of early flushes
	lastWait      atomic.Int64 // of the last warning of a wait for compaction
	lastFailed    atomic.Int64 // of the last warning of a compaction that failed
	backlog       backlog
	buckets       bucketWatch
}

func newMetrics(j *job) *metrics {
	labels := prometheus.Labels{"table": j.args.Database + "." + j.args.Table}
	h := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, ConstLabels: labels, Buckets: prometheus.ExponentialBuckets(0.005, 2, 14)})
	}
	return &metrics{job: j, started: time.Now(),
		commitSeconds: h("paimon_commit_duration_seconds", "Time of one commit, from the files being written to the snapshot."),
		flushSeconds:  h("paimon_flush_duration_seconds", "Time from a checkpoint until all its files were written.")}
}

func (m *metrics) listener() writer.Listener {
	return writer.Listener{
		CommitEnd: func(c writer.CommitInfo) {
			if c.Err != nil {
				m.failed.Add(1)
				return
			}
			m.flushSeconds.Observe(c.Flush.Seconds())
			m.commitSeconds.Observe(c.Duration.Seconds())
			m.lastCommit.Store(time.Now().UnixMilli())
			m.commits.Add(1)
			m.buckets.committed(&c, m.pipeline.Snapshotting.Load())
			m.worksAgain()
			if c.Snapshot != nil {
				m.lastSnapshot.Store(c.Snapshot.ID)
			}
		},
		Bootstrap: func(b writer.BootstrapInfo) {
			m.job.log.Info("reading the keys of the table, whose rows may move between partitions", "keys", b.Keys, "rows_in_files", b.Rows,
				"buckets", b.Buckets, "index_bytes", b.Mapped, "ms", b.Duration.Milliseconds(), "done", b.Done)
		},
		SpillEnd: func(s writer.SpillInfo) {
			if s.Files == 0 && s.Err == nil {
				return
			}
			now := time.Now().UnixMilli()
			if last := m.lastEarly.Load(); now-last < time.Minute.Milliseconds() || !m.lastEarly.CompareAndSwap(last, now) {
				return
			}
			m.job.log.Warn("rows go to level-0 files before their commit, which makes more files: spilling is off, or its directories are full or can't be written; give --spill_dir with room, or a larger write-buffer-size",
				"spill_dirs", m.job.args.SpillDir, "error", s.Err)
		},
		CompactionWait: func(i writer.CompactionWaitInfo) {
			now := time.Now().UnixMilli()
			if last := m.lastWait.Load(); now-last < time.Minute.Milliseconds() || !m.lastWait.CompareAndSwap(last, now) {
				return
			}
			m.job.log.Warn("a commit waits for compaction: a bucket has more sorted runs than num-sorted-run.stop-trigger; to go on without waiting set it to 2147483647, and give compaction more --compaction_workers, or run a dedicated one with write-only=true",
				"bucket", i.Bucket, "runs", i.Runs, "stop_trigger", i.StopTrigger)
		},
		CompactionEnd: func(i writer.CompactionInfo) {
			if i.Err == nil {
				m.job.log.Debug("compacted", "bucket", i.Bucket, "reason", i.Reason, "files", i.Files, "runs", i.Runs, "rows", i.RowsWritten, "ms", i.Duration.Milliseconds())
				return
			}
			now := time.Now().UnixMilli()
			if last := m.lastFailed.Load(); errors.Is(i.Err, context.Canceled) || errors.Is(i.Err, table.ErrConflict) || now-last < time.Minute.Milliseconds() || !m.lastFailed.CompareAndSwap(last, now) {
				return
			}
			m.job.log.Warn("a compaction inside the writer went wrong, trying on; commits go on without it", "bucket", i.Bucket, "error", i.Err)
		},
		MaintainEnd: func(i writer.MaintainInfo) {
			if i.Err != nil {
				m.job.log.Warn("the expiry of snapshots goes wrong, trying on", "error", i.Err)
			}
		},
		Commit: table.Listener{Retry: func(r table.RetryInfo) {
			m.retries.Add(1)
			m.job.log.Info("committing again", "epoch", r.Identifier, "retry", r.Retry, "wait_ms", r.Wait.Milliseconds(), "error", r.Err)
		}},
	}
}

// lag is how far the newest row taken is behind now; 0 before the first and while the table is read.
func (m *metrics) lag() time.Duration {
	at := m.pipeline.SourceMillis.Load()
	if at == 0 || m.pipeline.Snapshotting.Load() {
		return 0
	}
	return max(0, time.Since(time.UnixMilli(at)))
}

// gauges are the values that are read when somebody asks.
func (m *metrics) gauges() []cli.Value {
	p := &m.pipeline
	s := m.writer.Load().Stats()
	snapshotting := 0.0
	if p.Snapshotting.Load() {
		snapshotting = 1
	}
	since := 0.0
	if at := m.lastCommit.Load(); at > 0 {
		since = time.Since(time.UnixMilli(at)).Seconds()
	}
	failing := 0.0
	if o := m.outage.Load(); o != nil {
		failing = time.Since(o.since).Seconds()
	}
	values := []cli.Value{
		cli.Gauge("paimon_storage_failing_seconds", "How long the storage has failed, 0 while it works.", failing),
		cli.Counter("paimon_storage_restarts_total", "Restarts from the last commit because the storage failed.", float64(m.restarts.Load())),
		cli.Counter("paimon_dropped_partition_restarts_total", "Restarts from the last commit because a partition with dynamic buckets expired or was dropped while rows of it came.", float64(m.dropped.Load())),
		cli.Counter("paimon_source_rows_total", "Rows taken from the source.", float64(p.Rows.Load())),
		cli.Counter("paimon_source_snapshot_rows_total", "Of them, rows of the initial read.", float64(p.SnapshotRows.Load())),
		cli.Counter("paimon_source_schema_changes_total", "Schema changes applied.", float64(p.SchemaChanges.Load())),
		cli.Gauge("paimon_source_is_snapshotting", "1 while the table is read, 0 in the log.", snapshotting),
		cli.Gauge("paimon_source_event_lag_seconds", "Age of the newest row that was taken, by its commit time at the source.", m.lag().Seconds()),
		cli.Counter("paimon_source_wait_seconds_total", "Time spent waiting for the source: nothing changed, or it is slower than the table.", time.Duration(p.SourceWaitNanos.Load()).Seconds()),
		cli.Gauge("paimon_checkpoint_late_seconds", "How long after its tick the last checkpoint was taken.", float64(p.LateMillis.Load())/1000),
		cli.Counter("paimon_checkpoints_total", "Checkpoints taken.", float64(p.Checkpoints.Load())),
		cli.Counter("paimon_commits_total", "Commits done.", float64(s.Commits)),
		cli.Counter("paimon_commit_failures_total", "Commits that failed.", float64(m.failed.Load())),
		cli.Counter("paimon_commit_retries_total", "Commits that were tried again because another writer was faster or the storage failed.", float64(m.retries.Load())),
		cli.Gauge("paimon_last_committed_snapshot_id", "The newest snapshot of this job.", float64(m.lastSnapshot.Load())),
		cli.Gauge("paimon_seconds_since_last_commit", "Time since the last commit, 0 before the first.", since),
		cli.Gauge("paimon_write_buffer_used_bytes", "Write buffer in use.", float64(s.BufferBytes)),
		cli.Gauge("paimon_write_buffer_total_bytes", "Size of the write buffer.", float64(s.BufferLimit)),
		cli.Gauge("paimon_spilled_bytes", "Rows on local disk now.", float64(s.SpilledBytes)),
		cli.Counter("paimon_spilled_bytes_total", "Bytes written to local disk.", float64(s.SpillBytes)),
		cli.Counter("paimon_early_flushes_total", "Flushes before their checkpoint because there was no room to spill.", float64(s.EarlyFlushes)),
		cli.Counter("paimon_files_written_total", "Data files written.", float64(s.Files)),
		cli.Counter("paimon_file_bytes_written_total", "Bytes of data files written.", float64(s.FileBytes)),
		cli.Counter("paimon_write_stalls_total", "Times that the reader or a shard had to wait for memory. The target is zero.", float64(s.Stalls)),
		cli.Counter("paimon_write_stall_seconds_total", "Time of those waits.", s.StallTime.Seconds()),
		cli.Gauge("paimon_flush_queue_depth", "Flushes and spills that wait for a worker.", float64(s.PoolDepth)),
		cli.Gauge("paimon_level0_files_deepest", "Level-0 files of the worst bucket at the last look, each half a minute. It grows when nobody compacts.", float64(m.backlog.deepest.Load())),
		cli.Gauge("paimon_level0_files", "Level-0 files of all buckets at the last look.", float64(m.backlog.files.Load())),
		cli.Counter("paimon_inline_compactions_total", "Compactions inside the writer (write-only=false).", float64(s.Compactions)),
		cli.Gauge("paimon_inline_compactions_running", "Compactions under way.", float64(s.CompactionsRunning)),
		cli.Gauge("paimon_inline_compactions_queued", "Compactions that wait for a worker.", float64(s.CompactionsQueued)),
		cli.Counter("paimon_inline_compaction_failures_total", "Compactions that went wrong; they are tried again.", float64(s.CompactionFailures)),
		cli.Counter("paimon_inline_compaction_conflicts_total", "Commits that were made without their compactions, as another process had compacted the same files.", float64(s.CompactionConflicts)),
		cli.Counter("paimon_inline_compaction_read_bytes_total", "Bytes read by compactions.", float64(s.CompactionRead)),
		cli.Counter("paimon_inline_compaction_written_bytes_total", "Bytes written by compactions.", float64(s.CompactionWritten)),
		cli.Counter("paimon_inline_compaction_waits_total", "Commits that waited since a bucket had more sorted runs than num-sorted-run.stop-trigger.", float64(s.CompactionWaits)),
		cli.Counter("paimon_inline_compaction_wait_seconds_total", "Time of those waits.", s.CompactionWaitTime.Seconds()),
		cli.Gauge("paimon_inline_sorted_runs_deepest", "Sorted runs of the worst bucket that was written lately.", float64(s.MaxRuns)),
		cli.Gauge("paimon_buckets", "Buckets in memory.", float64(s.Buckets)),
	}
	return append(values, m.bucketGauges(&s)...)
}

// bucketGauges are those of the table's buckets.
func (m *metrics) bucketGauges(s *writer.Stats) []cli.Value {
	b := &m.buckets
	return []cli.Value{
		cli.Gauge("paimon_tick_partitions", "Partitions that the last commit has files of.", float64(b.lastPartitions.Load())),
		cli.Gauge("paimon_tick_buckets", "Buckets of all these partitions that it has files of.", float64(b.lastBuckets.Load())),
		cli.Gauge("paimon_tick_files", "Data and changelog files of the last commit.", float64(b.lastFiles.Load())),
		cli.Gauge("paimon_bucket_advice", "-1: the buckets are too small, 1: too large, 0: neither, or not looked at yet. The log says what to change.", float64(b.verdict.Load())),
		cli.Gauge("paimon_bucket_rows", "Rows of a bucket of the largest partition at the last look, one an hour.", float64(b.rows.Load())),
		cli.Gauge("paimon_bucket_bytes", "Bytes of a bucket of the largest partition at the last look. 200 MB to 1 GB is healthy.", float64(b.bytes.Load())),
		cli.Gauge("paimon_index_partitions", "Partitions with dynamic buckets whose index of keys is loaded.", float64(s.IndexPartitions)),
		cli.Gauge("paimon_index_buckets", "Buckets of these partitions.", float64(s.IndexBuckets)),
		cli.Gauge("paimon_index_keys", "Keys in these indexes.", float64(s.IndexKeys)),
		cli.Gauge("paimon_index_mapped_bytes", "Local files of these indexes that are mapped into memory.", float64(s.IndexMapped)),
		cli.Gauge("paimon_index_heap_bytes", "Memory of these indexes beside that.", float64(s.IndexHeap)),
	}
}

// Describe implements prometheus.Collector: the metrics are only known when collected.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	labels := prometheus.Labels{"table": m.job.args.Database + "." + m.job.args.Table}
	cli.Collect(ch, labels, m.gauges())
	byName := func(name, help, label string, values map[string]int64) {
		d := prometheus.NewDesc(name, help, []string{label}, labels)
		for k, v := range values {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), k)
		}
	}
	byName("paimon_source_ignored_events_total", "Events of the log that are without effect on the table.", "type", m.source.Load().IgnoredEvents())
	v := m.source.Load().Values()
	byName("paimon_source_policy_values_total", "Values that became something else by a policy.", "policy",
		map[string]int64{"zero-date": v.ZeroDates, "invalid-chars": v.InvalidChars, "time-out-of-range": v.TimesChanged})
	m.commitSeconds.Collect(ch)
	m.flushSeconds.Collect(ch)
}

// ready tells why the job is not in the log yet, or can't commit.
func (m *metrics) ready() error {
	if o := m.outage.Load(); o != nil {
		return fmt.Errorf("the storage fails: %w", o.err)
	}
	if err := m.writer.Load().Err(); err != nil {
		return err
	}
	if m.pipeline.Snapshotting.Load() {
		return errReading
	}
	return nil
}

// errReading: the table is not complete until the initial read has ended.
var errReading = errors.New("the initial read goes on")
