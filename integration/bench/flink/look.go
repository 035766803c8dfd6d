package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// watcher looks for commits of a table that may not be there yet.
type watcher struct {
	warehouse string
	conf      map[string]string
	t         *table.Table
	seen      int64 // snapshots looked at
}

func (w *watcher) open(ctx context.Context) (*table.Table, error) {
	if w.t != nil {
		return w.t, nil
	}
	fsys, err := fs.For(ctx, w.warehouse, w.conf)
	if err != nil {
		return nil, err
	}
	w.t, err = table.Open(ctx, fsys, table.TablePath(w.warehouse, database, tableName), nil)
	return w.t, err
}

// wait returns the first snapshot not looked at yet that is what one waits for, as long as the processes live.
func (w *watcher) wait(ctx context.Context, limit time.Duration, ps []*process, is func(*table.Table, *table.Snapshot) (bool, error)) (*table.Snapshot, error) {
	for deadline := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		s, err := w.next(ctx, is)
		if s != nil || err != nil {
			return s, err
		}
		if err := ctx.Err(); err != nil { // so that processes are stopped
			return nil, err
		}
		for _, p := range ps {
			if err := p.alive(); err != nil {
				return nil, err
			}
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("nothing to be seen of it after %s", limit)
		}
	}
}

func (w *watcher) next(ctx context.Context, is func(*table.Table, *table.Snapshot) (bool, error)) (*table.Snapshot, error) {
	t, err := w.open(ctx)
	if errors.Is(err, table.ErrNoTable) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	latest, err := t.Latest(ctx)
	if err != nil || latest == nil {
		return nil, err
	}
	for w.seen < latest.ID {
		s, err := t.Snapshot(ctx, w.seen+1)
		if err != nil {
			return nil, err
		}
		w.seen++
		if ok, err := is(t, s); ok || err != nil {
			return s, err
		}
	}
	return nil, nil
}

// has tells whether a snapshot brought the mark of a day.
func has(ctx context.Context, day string) func(*table.Table, *table.Snapshot) (bool, error) {
	return func(t *table.Table, s *table.Snapshot) (bool, error) {
		if s.CommitKind != table.CommitAppend {
			return false, nil
		}
		for e, err := range t.ScanDelta(ctx, s) {
			if err != nil {
				return false, err
			}
			v, err := t.PartitionValues(e.Partition)
			if err != nil || v[0] == day {
				return err == nil, err
			}
		}
		return false, nil
	}
}

// written is what the writers' commits of some time brought.
type written struct {
	Commits        int   `json:"commits"`
	Compactions    int   `json:"compaction_commits"`
	DataFiles      int   `json:"data_files"`
	DataBytes      int64 `json:"data_bytes"`
	DataRows       int64 `json:"data_rows"`
	ChangelogFiles int   `json:"changelog_files"`
	ChangelogBytes int64 `json:"changelog_bytes"`
	ChangelogRows  int64 `json:"changelog_rows"`
	// A place is a partition of a commit.
	DataPlaces         int     `json:"data_partitions"` // that got data files
	ChangelogPlaces    int     `json:"changelog_partitions"`
	MostDataFiles      int     `json:"data_files_per_partition_max"`
	MostChangelogFiles int     `json:"changelog_files_per_partition_max"`
	GapMedian          float64 `json:"commit_gap_s_median"`
	GapMax             float64 `json:"commit_gap_s_max"`

	times []int64 // of the commits, in milliseconds
}

// perPlace is the files of a partition and commit.
func perPlace(files, places int) float64 { return float64(files) / float64(max(places, 1)) }

// count looks at the commits between two times.
func count(ctx context.Context, t *table.Table, after, until time.Time) (written, []*table.Snapshot, error) {
	var (
		w    written
		list []*table.Snapshot
		gaps []float64
	)
	for s, err := range t.Snapshots(ctx) {
		if err != nil {
			return w, nil, err
		}
		if s.TimeMillis <= after.UnixMilli() || s.TimeMillis > until.UnixMilli() {
			continue
		}
		if s.CommitKind != table.CommitAppend {
			w.Compactions++
			continue
		}
		if n := len(w.times); n > 0 {
			gaps = append(gaps, float64(s.TimeMillis-w.times[n-1])/1e3)
		}
		list, w.times = append(list, s), append(w.times, s.TimeMillis)
		if err := w.add(ctx, t, s); err != nil {
			return w, nil, err
		}
	}
	if w.Commits = len(list); len(gaps) > 0 {
		slices.Sort(gaps)
		w.GapMedian, w.GapMax = gaps[len(gaps)/2], gaps[len(gaps)-1]
	}
	return w, list, nil
}

func (w *written) add(ctx context.Context, t *table.Table, s *table.Snapshot) error {
	data, changes := map[string]int{}, map[string]map[string]bool{}
	for e, err := range t.ScanDelta(ctx, s) {
		if err != nil {
			return err
		}
		data[string(e.Partition)]++
		w.DataFiles++
		w.DataBytes += e.File.Size
		w.DataRows += e.File.RowCount
	}
	for e, err := range t.ScanChangelog(ctx, s) {
		if err != nil {
			return err
		}
		part, merged, err := t.MergedPart(e.Partition, e.Bucket, &e.File)
		path, size := part.Path, part.Length
		if err == nil && !merged {
			size = e.File.Size
			path, err = t.DataFilePath(e.Partition, e.Bucket, &e.File)
		}
		if err != nil {
			return err
		}
		if changes[string(e.Partition)] == nil {
			changes[string(e.Partition)] = map[string]bool{}
		}
		changes[string(e.Partition)][path] = true
		w.ChangelogBytes += size
		w.ChangelogRows += e.File.RowCount
	}
	w.DataPlaces += len(data)
	w.ChangelogPlaces += len(changes)
	for _, n := range data {
		w.MostDataFiles = max(w.MostDataFiles, n)
	}
	for _, files := range changes {
		w.ChangelogFiles += len(files)
		w.MostChangelogFiles = max(w.MostChangelogFiles, len(files))
	}
	return nil
}

// latency is the time from a change in MySQL to the commit that shows it, in seconds.
type latency struct {
	Rows   int     `json:"latency_rows,omitempty"`
	Median float64 `json:"latency_s_median,omitempty"`
	P95    float64 `json:"latency_s_95,omitempty"`
	P99    float64 `json:"latency_s_99,omitempty"`
	Max    float64 `json:"latency_s_max,omitempty"`
}

// latencies reads the marks of time in the rows that commits brought.
func latencies(ctx context.Context, t *table.Table, list []*table.Snapshot) (latency, error) {
	var all []float64
	for _, s := range list {
		for e, err := range t.ScanDelta(ctx, s) {
			if err != nil {
				return latency{}, err
			}
			if all, err = fileLatencies(ctx, t, s, &e, all); err != nil {
				return latency{}, err
			}
		}
	}
	n := len(all)
	if n == 0 {
		return latency{}, nil
	}
	slices.Sort(all)
	return latency{Rows: n, Median: all[n/2], P95: all[n*95/100], P99: all[n*99/100], Max: all[n-1]}, nil
}

func fileLatencies(ctx context.Context, t *table.Table, s *table.Snapshot, e *table.Entry, all []float64) ([]float64, error) {
	r, err := lsm.OpenFile(ctx, t, e.Partition, e.Bucket, &e.File, t.Schema())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	kv := lsm.NewKeyValues(t.Schema().RowType())
	data := slices.IndexFunc(t.Schema().Fields, func(f row.Field) bool { return f.Name == "data" })
	for {
		kv.Reset()
		if err := r.Next(kv); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		for i, kind := range kv.Rows.Kinds {
			if kind.IsRetract() { // has the old row
				continue
			}
			rest, ok := bytes.CutPrefix(kv.Rows.Cols[data].Value(i), []byte("ts="))
			word, _, _ := bytes.Cut(rest, []byte(";"))
			if at, err := strconv.ParseInt(string(word), 10, 64); ok && err == nil {
				all = append(all, float64(s.TimeMillis-at)/1e3)
			}
		}
	}
}
