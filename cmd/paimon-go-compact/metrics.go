package main

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/compactor"
)

// metrics gathers what the service does, for /metrics, the log and the terminal.
type metrics struct {
	service *compactor.Service // set before anything is asked

	jobSeconds *prometheus.HistogramVec
	read       atomic.Int64 // bytes, of all tables
	written    atomic.Int64

	mu   sync.Mutex
	held map[string]string // guarded by mu: the consumers that hold expiry back, by table
}

func newMetrics() *metrics {
	return &metrics{held: map[string]string{}, jobSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "paimon_compact_job_duration_seconds",
		Help: "Time of one compaction of a bucket, without its commit.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 16)}, []string{"table"})}
}

// listener keeps the figures and tells the log.
func (m *metrics) listener(log *slog.Logger) compactor.Listener {
	return compactor.Listener{
		JobEnd: func(j compactor.JobInfo) {
			m.read.Add(j.BytesRead)
			m.written.Add(j.BytesWritten)
			if j.Err != nil {
				return // the service tells
			}
			m.jobSeconds.WithLabelValues(j.Table).Observe(j.Duration.Seconds())
			log.Debug("compacted", "table", j.Table, "partition", j.Partition, "bucket", j.Bucket, "because_of", j.Reason, "into_level", j.OutputLevel,
				"files", j.Files, "files_written", j.FilesWritten, "upgraded", j.Upgraded, "bytes_read", j.BytesRead, "bytes_written", j.BytesWritten, "ms", j.Duration.Milliseconds())
		},
		CommitEnd: func(c compactor.CommitInfo) {
			if c.Snapshot != nil {
				log.Info("committed", "table", c.Table, "snapshot", c.Snapshot.ID, "compactions", c.Jobs, "lost", c.Lost, "ms", c.Duration.Milliseconds())
			}
		},
		MaintainEnd: func(i compactor.MaintainInfo) {
			if n := i.Snapshots + i.Changelogs + i.Tags + i.Consumers + i.Partitions; n > 0 {
				log.Info("expired", "table", i.Table, "snapshots", i.Snapshots, "changelogs", i.Changelogs, "tags", i.Tags, "consumers", i.Consumers,
					"partitions", i.Partitions, "files", i.Files, "bytes", i.Bytes, "ms", i.Duration.Milliseconds())
			}
			if i.Err == nil {
				m.tellHeld(log, &i)
			}
		},
		TableGone: func(table string) {
			m.jobSeconds.DeleteLabelValues(table)
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.held, table)
		},
	}
}

// tellHeld says when other consumers than before hold a table's expiry back.
func (m *metrics) tellHeld(log *slog.Logger, i *compactor.MaintainInfo) {
	by := strings.Join(i.HeldBy, ", ")
	m.mu.Lock()
	before := m.held[i.Table]
	m.held[i.Table] = by
	m.mu.Unlock()
	switch {
	case by == before:
	case by == "":
		log.Info("consumers hold expiry back no more", "table", i.Table)
	default:
		log.Warn("consumers hold expiry back: what they have not read is kept; paimon-go consumers shows, moves and deletes them", "table", i.Table, "consumers", by, "snapshots", i.Held)
	}
}

// Describe implements prometheus.Collector: the metrics are only known when collected.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	s := m.service.Stats()
	cli.Collect(ch, nil, []cli.Value{
		cli.Gauge("paimon_compact_tables", "Tables looked after.", float64(len(s.Tables))),
		cli.Gauge("paimon_compact_workers", "Most compactions at once.", float64(s.Workers)),
		cli.Gauge("paimon_compact_jobs_running", "Compactions under way.", float64(s.Running)),
		cli.Gauge("paimon_compact_jobs_waiting", "Compactions that wait for a worker.", float64(s.Waiting)),
	})
	for i := range s.Tables {
		t := &s.Tables[i]
		labels := prometheus.Labels{"table": t.Name}
		cli.Collect(ch, labels, tableValues(t, time.Now()))
		outcomes := prometheus.NewDesc("paimon_compact_jobs_total", "Compactions by outcome; lost: somebody else's commit made the result void.", []string{"outcome"}, labels)
		for outcome, n := range map[string]int64{"done": t.Done, "failed": t.Failed, "lost": t.Lost} {
			ch <- prometheus.MustNewConstMetric(outcomes, prometheus.CounterValue, float64(n), outcome)
		}
		expired := prometheus.NewDesc("paimon_compact_expired_total", "What expiry removed, by kind.", []string{"kind"}, labels)
		for kind, n := range map[string]int{"snapshots": t.Maintained.Snapshots, "changelogs": t.Maintained.Changelogs, "tags": t.Maintained.Tags,
			"consumers": t.Maintained.Consumers, "partitions": t.Maintained.Partitions, "files": t.Maintained.Files} {
			ch <- prometheus.MustNewConstMetric(expired, prometheus.CounterValue, float64(n), kind)
		}
	}
	m.jobSeconds.Collect(ch)
}

// tableValues are the metrics of a table.
func tableValues(t *compactor.TableStats, now time.Time) []cli.Value {
	refused, since := 0.0, 0.0
	if t.Refused != "" {
		refused = 1
	}
	if !t.LastCommit.IsZero() {
		since = now.Sub(t.LastCommit).Seconds()
	}
	return []cli.Value{
		cli.Gauge("paimon_compact_refused", "1 when the table can't be compacted by this program and is left alone.", refused),
		cli.Gauge("paimon_compact_broken_buckets", "Buckets that can't be compacted until somebody mends what the log names.", float64(t.Broken)),
		cli.Gauge("paimon_compact_backlog_bytes", "What the compactions that are due have to read.", float64(t.BacklogBytes)),
		cli.Gauge("paimon_compact_backlog_jobs", "Compactions that are due, those under way included.", float64(t.BacklogJobs)),
		cli.Gauge("paimon_compact_sorted_runs", "Sorted runs of the worst bucket.", float64(t.MaxRuns)),
		cli.Gauge("paimon_compact_level0_files", "Level-0 files of the worst bucket.", float64(t.MaxLevel0)),
		cli.Gauge("paimon_compact_postponed_files", "Files of a table with bucket=-2 whose rows have no bucket yet.", float64(t.PostponedFiles)),
		cli.Gauge("paimon_compact_postponed_bytes", "Their bytes.", float64(t.PostponedBytes)),
		cli.Gauge("paimon_compact_table_jobs_running", "Compactions of the table under way.", float64(t.Running)),
		cli.Gauge("paimon_compact_live_buckets", "Buckets with files.", float64(t.Buckets)),
		cli.Gauge("paimon_compact_live_files", "Data files of the newest snapshot.", float64(t.Files)),
		cli.Gauge("paimon_compact_live_bytes", "Their bytes.", float64(t.Bytes)),
		cli.Gauge("paimon_compact_snapshot_id", "The snapshot that the figures are of.", float64(t.Snapshot)),
		cli.Gauge("paimon_compact_held_snapshots", "Snapshots from the first one that is kept only because a consumer has not read it, to the newest; 0 when there is none.", float64(t.Maintained.Held)),
		cli.Gauge("paimon_compact_seconds_since_last_commit", "Time since our last commit to the table, 0 before the first.", since),
		cli.Gauge("paimon_compact_write_amplification", "Bytes written by writers and compactions for each that writers wrote, 0 before they wrote any.", t.WriteAmplification()),
		cli.Gauge("paimon_compact_longest_job_seconds", "The longest compaction so far.", t.LongestJob.Seconds()),
		cli.Counter("paimon_compact_commits_total", "Commits.", float64(t.Commits)),
		cli.Counter("paimon_compact_conflicts_total", "Commits that another one's commit got in the way of.", float64(t.Conflicts)),
		cli.Counter("paimon_compact_read_bytes_total", "Bytes read by compactions.", float64(t.BytesRead)),
		cli.Counter("paimon_compact_written_bytes_total", "Bytes written by compactions.", float64(t.BytesWritten)),
		cli.Counter("paimon_compact_read_rows_total", "Rows read by compactions.", float64(t.RowsRead)),
		cli.Counter("paimon_compact_written_rows_total", "Rows written by compactions.", float64(t.RowsWritten)),
		cli.Counter("paimon_compact_changelog_rows_total", "Rows of changelogs written by compactions.", float64(t.ChangelogRows)),
		cli.Counter("paimon_compact_appended_bytes_total", "Bytes that writers added at level 0.", float64(t.AppendedBytes)),
		cli.Counter("paimon_compact_expired_bytes_total", "Bytes that expiry removed.", float64(t.Maintained.Bytes)),
	}
}

// line returns a function that gives what the terminal shows; it is called once a second.
func (m *metrics) line() func() string {
	var read, written int64
	return func() string {
		s := m.service.Stats()
		var backlog int64
		runs, jobs := 0, 0
		for i := range s.Tables {
			t := &s.Tables[i]
			backlog += t.BacklogBytes
			jobs += t.BacklogJobs
			runs = max(runs, t.MaxRuns)
		}
		r, w := m.read.Load(), m.written.Load()
		defer func() { read, written = r, w }()
		return fmt.Sprintf("%d tables, %d of %d compactions under way, %s to do, worst bucket %d runs; %s/s read, %s/s written", len(s.Tables), s.Running, jobs,
			cli.Size(backlog), runs, cli.Size(r-read), cli.Size(w-written))
	}
}
