package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/integration/bench/floor"
	"github.com/paimon-go/paimon-go/table"
)

// plan is what all runs have in common.
type plan struct {
	Rows   int           `json:"rows"`
	Events int           `json:"events"`
	Rate   int           `json:"rate"`
	Length time.Duration `json:"length"`
	Days   int           `json:"days"`
	Seed   uint64        `json:"seed"`
}

// initialRead is the first phase of a catch-up's run.
const initialRead = "initial read"

// result is a phase of a run.
type result struct {
	setting
	Plan   plan   `json:"plan"`
	Round  int    `json:"round"`
	Load   string `json:"load"`
	Events int    `json:"changes"` // or rows of an initial read

	CPU        float64 `json:"cpu_s"`                         // of the phase, without the start of the process where Steady is set
	Process    float64 `json:"process_cpu_s"`                 // since the process started
	CompactCPU float64 `json:"compaction_cpu_s,omitempty"`    // of the compaction beside, in the phase
	PerEvent   float64 `json:"cpu_us_per_change"`             // both
	LastThird  float64 `json:"cpu_us_per_change_last_third"`  // of a paced phase
	Peak       float64 `json:"peak_rss_mb"`                   // of the process
	CompactRSS float64 `json:"compaction_peak_rss_mb"`        // of the compaction beside
	Wall       float64 `json:"wall_s"`                        // of the phase
	Made       float64 `json:"changes_made_in_s,omitempty"`   // of a paced phase
	First      float64 `json:"first_commit_s_from_the_start"` // of the process
	written
	latency
	rpcs
	Floor floor.Cost    `json:"floor,omitzero"`
	Log   floor.LogCost `json:"floor_log,omitzero"`
}

// floor is the processor time that the phase can't do without, 0 if it wasn't measured.
func (r *result) floor() float64 { return r.Log.CPU + r.Floor.Zstd + r.Floor.Write }

// runner runs one setting after the other.
type runner struct {
	plan
	tools
	src     *source
	storage string        // root of warehouses
	http    string        // of the name node
	limit   time.Duration // of whatever is waited for
	floors  bool
}

// job is the processes of a side on a warehouse.
type job struct {
	*watcher
	sink, compact *process
	startCPU      [2]float64
	start         time.Time
}

func (j *job) processes() []*process {
	if j.compact == nil {
		return []*process{j.sink}
	}
	return []*process{j.sink, j.compact}
}

func (j *job) cpu() (c [2]float64) {
	for i, p := range j.processes() {
		c[i] = p.cpu()
	}
	return c
}

func (j *job) stop() {
	for _, p := range j.processes() {
		p.stop(20 * time.Second)
	}
}

// begin starts to measure.
func (j *job) begin() { j.start, j.startCPU = time.Now(), j.cpu() }

// end takes the figures since begin.
func (j *job) end(r *result) {
	c := j.cpu()
	r.CPU, r.Process, r.Peak, r.Wall = c[0]-j.startCPU[0], c[0], j.sink.peak(), time.Since(j.start).Seconds()
	if j.compact != nil {
		r.CompactCPU, r.CompactRSS = c[1]-j.startCPU[1], j.compact.peak()
	}
	r.PerEvent = (r.CPU + r.CompactCPU) * 1e6 / float64(max(r.Events, 1))
}

// warehouse is where a run writes to.
func (r *runner) warehouse(s *setting, round int) string {
	name := fmt.Sprintf("%s-%s-%s-%d-%d", s.Phase, s.Side, s.Format, round, time.Now().Unix())
	return strings.TrimSuffix(r.storage, "/") + "/" + name
}

func (r *runner) storageConf() map[string]string {
	if r.hadoopConf == "" {
		return nil
	}
	return map[string]string{"hadoop-conf-dir": r.hadoopConf}
}

// run makes one run and gives its phases to done.
func (r *runner) run(ctx context.Context, s setting, round int, done func(*result) error) error {
	if err := r.src.load(r.Rows, r.Days, r.Seed); err != nil {
		return err
	}
	if err := r.src.settle(); err != nil {
		return err
	}
	warehouse := r.warehouse(&s, round)
	if !strings.Contains(warehouse, ":") {
		defer os.RemoveAll(warehouse)
		if err := os.MkdirAll(warehouse, 0o755); err != nil {
			return fmt.Errorf("making the warehouse: %w", err)
		}
	}
	res := result{setting: s, Plan: r.plan, Round: round, Load: load()}
	if s.Phase == "paced" {
		return r.paced(ctx, &s, warehouse, res, done)
	}
	return r.catchUp(ctx, &s, warehouse, res, done)
}

// launch starts a side's jobs. The compaction beside waits for the table.
func (r *runner) launch(ctx context.Context, s *setting, warehouse, name string, at from, seen int64) (*job, error) {
	p, err := r.sink(s, warehouse, name, at)
	if err != nil {
		return nil, err
	}
	j := &job{watcher: &watcher{warehouse: warehouse, conf: r.storageConf(), seen: seen}, sink: p, start: time.Now()}
	if !s.Compact {
		return j, nil
	}
	if err = j.there(ctx, r.limit, p); err == nil {
		j.compact, err = r.compaction(s, warehouse, name+"-compaction")
	}
	if err != nil {
		j.stop()
		return nil, err
	}
	return j, nil
}

// there waits until there is a table, as long as the job lives that makes it.
func (w *watcher) there(ctx context.Context, limit time.Duration, p *process) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		if _, err := w.open(ctx); err == nil || time.Now().After(deadline) {
			return err
		}
		if err := errors.Join(ctx.Err(), p.alive()); err != nil {
			return err
		}
	}
}

// initial waits until the rows of the load are to be seen.
func (r *runner) initial(ctx context.Context, j *job) (*table.Snapshot, error) {
	s, err := j.wait(ctx, r.limit, j.processes(), func(_ *table.Table, s *table.Snapshot) (bool, error) {
		return s.TotalRecordCount >= int64(r.Rows), nil
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for the initial read: %w", err)
	}
	return s, nil
}

// shown waits until a mark that is written now is to be seen.
func (r *runner) shown(ctx context.Context, j *job, day string) (*table.Snapshot, error) {
	if err := r.src.mark(day); err != nil {
		return nil, err
	}
	return r.seen(ctx, j, day)
}

func (r *runner) seen(ctx context.Context, j *job, day string) (*table.Snapshot, error) {
	s, err := j.wait(ctx, r.limit, j.processes(), has(ctx, day))
	if err != nil {
		return nil, fmt.Errorf("waiting for the mark %s: %w", day, err)
	}
	return s, nil
}

// paced follows changes that come at a rate.
func (r *runner) paced(ctx context.Context, s *setting, warehouse string, res result, done func(*result) error) error {
	j, err := r.launch(ctx, s, warehouse, s.Phase+"-"+s.Side, from{}, 0)
	if err != nil {
		return err
	}
	defer j.stop()
	if _, err := r.initial(ctx, j); err != nil {
		return err
	}
	if _, err := r.shown(ctx, j, startDay); err != nil { // it is in the log
		return err
	}
	samples := func() ([]sample, error) { return nil, nil }
	if r.http != "" {
		samples = nameNode(ctx, r.http)
	}
	before, err := r.filesBefore(&res, warehouse)
	if err != nil {
		return err
	}
	var at from
	if at.file, at.pos, err = r.src.position(); err != nil {
		return err
	}
	j.begin()
	var third [2]float64
	timer := time.AfterFunc(r.Length*2/3, func() { third = j.cpu() })
	res.Events, err = r.src.paced(r.Rate, r.Length)
	timer.Stop()
	until, late := time.Now(), j.cpu()
	res.Made = until.Sub(j.start).Seconds()
	counted, failed := samples()
	if err != nil || failed != nil {
		return fmt.Errorf("%w %w", err, failed)
	}
	if _, err := r.shown(ctx, j, endDay); err != nil {
		return err
	}
	j.end(&res)
	res.LastThird = (late[0] + late[1] - third[0] - third[1]) * 1e6 / (float64(res.Events) / 3)
	j.stop()
	var list []*table.Snapshot
	if res.written, list, err = count(ctx, j.t, j.start, until); err == nil {
		res.latency, err = latencies(ctx, j.t, list)
	}
	if err == nil {
		err = same(ctx, r.src.conn, j.t)
	}
	if err != nil {
		return err
	}
	if before != nil {
		if err := r.floor(&res, warehouse, before, at); err != nil {
			return err
		}
	}
	res.rpcs = between(counted, res.times)
	return done(&res)
}

// catchUp reads the table, and after a restart the changes that came meanwhile.
func (r *runner) catchUp(ctx context.Context, s *setting, warehouse string, res result, done func(*result) error) error {
	j, err := r.launch(ctx, s, warehouse, "initial-"+s.Side, from{}, 0)
	if err != nil {
		return err
	}
	defer func() { j.stop() }()
	read, err := r.initial(ctx, j)
	if err != nil {
		return err
	}
	first := res
	first.Phase, first.Events = initialRead, r.Rows
	if err := r.measured(ctx, j, &first, time.Time{}); err != nil {
		return err
	}
	j.stop()
	if err := done(&first); err != nil {
		return err
	}
	var at from
	if at.file, at.pos, err = r.src.position(); err == nil {
		err = r.src.changes(r.Events)
	}
	if err == nil {
		err = r.src.mark(endDay)
	}
	if err == nil {
		err = r.src.settle()
	}
	if err != nil {
		return err
	}
	before, err := r.filesBefore(&res, warehouse)
	if err != nil {
		return err
	}
	res.Events, res.Load = r.Events, load()
	latest, err := j.t.Latest(ctx)
	if err != nil {
		return err
	}
	if j, err = r.launch(ctx, s, warehouse, s.Phase+"-"+s.Side, at, latest.ID); err != nil {
		return err
	}
	if _, err := r.seen(ctx, j, endDay); err != nil {
		return err
	}
	if err := r.measured(ctx, j, &res, time.UnixMilli(max(read.TimeMillis, latest.TimeMillis))); err != nil {
		return err
	}
	j.stop()
	if err := same(ctx, r.src.conn, j.t); err != nil {
		return err
	}
	if before != nil {
		if err := r.floor(&res, warehouse, before, at); err != nil {
			return err
		}
	}
	return done(&res)
}

// filesBefore are the files there are before what is measured, if the floor is to be too.
func (r *runner) filesBefore(res *result, warehouse string) (map[string]bool, error) {
	if !r.floors || res.Side != ours || res.Compact || strings.Contains(warehouse, ":") {
		return nil, nil
	}
	names, err := floor.Files(warehouse, nil)
	if err != nil {
		return nil, fmt.Errorf("looking at the files: %w", err)
	}
	known := map[string]bool{}
	for _, n := range names {
		known[n] = true
	}
	return known, nil
}

// floor measures what ours could not do without since then: the log, and the files that it made.
func (r *runner) floor(res *result, warehouse string, before map[string]bool, at from) error {
	names, err := floor.Files(warehouse, before)
	if err == nil {
		res.Floor, err = floor.Of(names, r.scratch)
	}
	if err == nil {
		res.Log, err = floor.Log(r.addr, r.user, r.secret, at.file, uint32(at.pos))
	}
	if err != nil {
		return fmt.Errorf("measuring the floor: %w", err)
	}
	return nil
}

// measured takes the figures of a phase that began with its process. Processor time counts from the first record on, where the
// process tells when that was.
func (r *runner) measured(ctx context.Context, j *job, res *result, after time.Time) (err error) {
	j.sink.mu.Lock()
	j.startCPU[0], j.start = j.sink.firstCPU, j.sink.start
	j.sink.mu.Unlock()
	j.end(res)
	if res.written, _, err = count(ctx, j.t, after, time.Now()); err == nil && len(res.times) > 0 {
		res.First = float64(res.times[0]-j.sink.start.UnixMilli()) / 1e3
	}
	return err
}

// scratch makes a directory for logs and checkpoints.
func scratchDir(root string) (string, error) {
	dir, err := os.MkdirTemp(root, "paimon-go-flink-")
	if err != nil {
		return "", fmt.Errorf("making a directory: %w", err)
	}
	return filepath.Abs(dir)
}
