package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// metrics gathers what the job does, for /metrics and for the terminal.
type metrics struct {
	job      *job
	writer   *writer.Writer
	pipeline cdc.Metrics
	started  time.Time

	commitSeconds prometheus.Histogram
	flushSeconds  prometheus.Histogram
	retries       atomic.Int64
	lastCommit    atomic.Int64 // Unix milliseconds
	lastSnapshot  atomic.Int64
	failed        atomic.Int64
	lastEarly     atomic.Int64 // Unix milliseconds of the last warning of early flushes
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
			if c.Snapshot != nil {
				m.lastSnapshot.Store(c.Snapshot.ID)
			}
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
func (m *metrics) gauges() []gauge {
	p := &m.pipeline
	s := m.writer.Stats()
	snapshotting := 0.0
	if p.Snapshotting.Load() {
		snapshotting = 1
	}
	since := 0.0
	if at := m.lastCommit.Load(); at > 0 {
		since = time.Since(time.UnixMilli(at)).Seconds()
	}
	return []gauge{
		{"paimon_source_rows_total", "Rows taken from the source.", true, float64(p.Rows.Load())},
		{"paimon_source_snapshot_rows_total", "Of them, rows of the initial read.", true, float64(p.SnapshotRows.Load())},
		{"paimon_source_schema_changes_total", "Schema changes applied.", true, float64(p.SchemaChanges.Load())},
		{"paimon_source_is_snapshotting", "1 while the table is read, 0 in the log.", false, snapshotting},
		{"paimon_source_event_lag_seconds", "Age of the newest row that was taken, by its commit time at the source.", false, m.lag().Seconds()},
		{"paimon_checkpoint_late_seconds", "How long after its tick the last checkpoint was taken.", false, float64(p.LateMillis.Load()) / 1000},
		{"paimon_checkpoints_total", "Checkpoints taken.", true, float64(p.Checkpoints.Load())},
		{"paimon_commits_total", "Commits done.", true, float64(s.Commits)},
		{"paimon_commit_failures_total", "Commits that failed.", true, float64(m.failed.Load())},
		{"paimon_commit_retries_total", "Commits that were tried again because another writer was faster or the storage failed.", true, float64(m.retries.Load())},
		{"paimon_last_committed_snapshot_id", "The newest snapshot of this job.", false, float64(m.lastSnapshot.Load())},
		{"paimon_seconds_since_last_commit", "Time since the last commit, 0 before the first.", false, since},
		{"paimon_write_buffer_used_bytes", "Write buffer in use.", false, float64(s.BufferBytes)},
		{"paimon_write_buffer_total_bytes", "Size of the write buffer.", false, float64(s.BufferLimit)},
		{"paimon_spilled_bytes", "Rows on local disk now.", false, float64(s.SpilledBytes)},
		{"paimon_spilled_bytes_total", "Bytes written to local disk.", true, float64(s.SpillBytes)},
		{"paimon_early_flushes_total", "Flushes before their checkpoint because there was no room to spill.", true, float64(s.EarlyFlushes)},
		{"paimon_files_written_total", "Data files written.", true, float64(s.Files)},
		{"paimon_file_bytes_written_total", "Bytes of data files written.", true, float64(s.FileBytes)},
		{"paimon_write_stalls_total", "Times that the reader or a shard had to wait for memory. The target is zero.", true, float64(s.Stalls)},
		{"paimon_write_stall_seconds_total", "Time of those waits.", true, s.StallTime.Seconds()},
		{"paimon_flush_queue_depth", "Flushes and spills that wait for a worker.", false, float64(s.PoolDepth)},
		{"paimon_buckets", "Buckets in memory.", false, float64(s.Buckets)},
	}
}

type gauge struct {
	name, help string
	counter    bool
	value      float64
}

// Describe implements prometheus.Collector: the metrics are only known when collected.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	labels := prometheus.Labels{"table": m.job.args.Database + "." + m.job.args.Table}
	for _, g := range m.gauges() {
		kind := prometheus.GaugeValue
		if g.counter {
			kind = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(g.name, g.help, nil, labels), kind, g.value)
	}
	byName := func(name, help, label string, values map[string]int64) {
		d := prometheus.NewDesc(name, help, []string{label}, labels)
		for k, v := range values {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), k)
		}
	}
	byName("paimon_source_ignored_events_total", "Events of the log that are without effect on the table.", "type", m.job.src.IgnoredEvents())
	v := m.job.src.Values()
	byName("paimon_source_policy_values_total", "Values that became something else by a policy.", "policy",
		map[string]int64{"zero-date": v.ZeroDates, "invalid-chars": v.InvalidChars, "time-out-of-range": v.TimesChanged})
	m.commitSeconds.Collect(ch)
	m.flushSeconds.Collect(ch)
}

// server is the HTTP endpoint; nil serves nothing.
type server struct {
	http *http.Server
	done chan error
}

// listen opens addr, so that one that can't be had ends the job before it begins; nil when addr is empty.
func listen(addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w: %w", addr, err, errUsage)
	}
	return l, nil
}

// startHTTP serves metrics, health and profiles on l, which it closes in the end; nothing when l is nil.
func startHTTP(l net.Listener, m *metrics, log *slog.Logger) *server {
	if l == nil {
		return nil
	}
	r := prometheus.NewRegistry()
	r.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	s := &server{http: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}, done: make(chan error, 1)}
	go func() { s.done <- s.http.Serve(l) }()
	log.Info("listening", "address", l.Addr().String())
	return s
}

// close ends the endpoint and waits for it.
func (s *server) close() error {
	if s == nil {
		return nil
	}
	err := s.http.Close()
	if serr := <-s.done; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}
