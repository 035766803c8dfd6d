package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// kindTick is a workload of our side alone: rows come evenly, and each time that so many megabytes of them have come there is a
// checkpoint, while rows go on coming. What counts is the time from the checkpoint to its snapshot, and how long a call of Write took
// at most: what a reader of a log would have waited.
const kindTick = "tick"

// ticked is what came of it. Times are in seconds.
type ticked struct {
	Ticks     int     `json:"ticks,omitempty"`
	CommitP50 float64 `json:"commit_s_median,omitempty"` // from the call of Checkpoint to the snapshot
	CommitP99 float64 `json:"commit_s_99,omitempty"`
	CommitMax float64 `json:"commit_s_max,omitempty"`
	WriteMax  float64 `json:"write_call_s_max,omitempty"`
	Stalls    int     `json:"stalls,omitempty"` // of rows that waited for memory, or of checkpoints that waited for earlier ones
	StallTime float64 `json:"stalled_s,omitempty"`
	Buffered  float64 `json:"buffered_mb,omitempty"` // memory of rows at the checkpoints, the middle one
}

// ticks are the workloads of a selection: 64 MB under the guide's write buffer, and 256 MB under one of 640.
func (w workload) ticks(selection string) (out []workload) {
	for _, f := range []string{"parquet", "avro"} {
		for _, mb := range []int{64, 256} {
			p := w
			p.Kind, p.Format, p.Data, p.Point = kindTick, f, "random", mb
			if p.Keys = 100_000_000; selected(p.name(), selection) {
				out = append(out, p)
			}
		}
	}
	return out
}

// tickPause is how long the rows of a tick take to come.
func (w workload) tickPause() time.Duration { return time.Duration(w.Point) * 25 * time.Millisecond }

// tickTable is the child process's part. Rows is how many ticks there are.
func tickTable(ctx context.Context, w workload, path string) (ticked, int64, error) {
	fsys, err := fs.For(ctx, path, nil)
	if err != nil {
		return ticked{}, 0, err
	}
	t, err := table.Create(ctx, fsys, path, w.spec())
	if err != nil {
		return ticked{}, 0, err
	}
	var (
		mu      sync.Mutex
		out     ticked
		asked   = map[int64]time.Time{}
		commits []float64
	)
	listener := writer.Listener{
		CommitEnd: func(i writer.CommitInfo) {
			mu.Lock()
			defer mu.Unlock()
			if i.Snapshot != nil {
				commits = append(commits, time.Since(asked[i.ID]).Seconds())
			}
		},
		Stall: func(i writer.StallInfo) {
			mu.Lock()
			defer mu.Unlock()
			out.Stalls++
			out.StallTime += i.Duration.Seconds()
		},
	}
	wr, err := writer.Open(ctx, t, writer.Config{CommitUser: "bench", Listener: listener})
	if err != nil {
		return ticked{}, 0, err
	}
	var (
		g, b     = newGenerator(w), row.NewBatch(t.Schema().RowType())
		n        = 0
		buffered []float64
		limit    = w.Point << 20
	)
	for id := int64(1); id <= int64(w.Rows); id++ {
		start := time.Now()
		for took := 0; took < limit; {
			b.Reset()
			for range batchRows {
				g.appendRow(b, n)
				n++
			}
			at := time.Now()
			if err := wr.Write(ctx, b); err != nil {
				return out, 0, err
			}
			out.WriteMax = max(out.WriteMax, time.Since(at).Seconds())
			took += b.Bytes()
			time.Sleep(time.Until(start.Add(time.Duration(float64(w.tickPause()) * float64(took) / float64(limit)))))
		}
		buffered = append(buffered, float64(wr.Stats().BufferBytes)/(1<<20))
		mu.Lock()
		asked[id] = time.Now()
		mu.Unlock()
		if err := wr.Checkpoint(ctx, id, nil); err != nil {
			return out, 0, err
		}
	}
	if err := wr.Wait(ctx); err != nil {
		return out, 0, err
	}
	if err := wr.Close(ctx); err != nil {
		return out, 0, err
	}
	if len(commits) != w.Rows {
		return out, 0, fmt.Errorf("%d snapshots of %d ticks", len(commits), w.Rows)
	}
	slices.Sort(commits)
	slices.Sort(buffered)
	c := len(commits)
	out.Ticks, out.CommitP50, out.CommitP99, out.CommitMax = c, commits[c/2], commits[c*99/100], commits[c-1]
	out.Buffered = buffered[c/2]
	return out, int64(n), nil
}
