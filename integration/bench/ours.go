package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	_ "github.com/paimon-go/paimon-go/fs/local" // warehouses are directories
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// figures are what one process tells of its run. Java's program has the same names.
type figures struct {
	Wall       float64 `json:"wall_s"`
	CPU        float64 `json:"cpu_s"`         // from the opening of the table to the end
	ProcessCPU float64 `json:"process_cpu_s"` // since the process started
	PeakMB     float64 `json:"peak_rss_mb"`
	Files      int     `json:"files_on_disk"`
	Bytes      int64   `json:"bytes_on_disk"`
	Rows       int64   `json:"rows_written,omitempty"` // where it isn't the workload's
	ticked
}

// batchRows is how many rows the generator hands to the writer at once, about what a binlog reader does.
const batchRows = 1024

// batchBytes bounds batches of large rows.
const batchBytes = 4 << 20

// runOurs is the process of our side: it does the workload with the table at path and prints its figures. genOnly makes
// the rows and drops them.
func runOurs(ctx context.Context, w workload, path string, genOnly bool, profile string) error {
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return fmt.Errorf("profiling: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("profiling: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	cpu, wall := cpuSeconds(), time.Now()
	begin := func() { cpu, wall = cpuSeconds(), time.Now() }
	var (
		err  error
		tick ticked
		rows int64
	)
	switch {
	case genOnly:
		err = dropRows(w)
	case w.Kind == kindTick:
		tick, rows, err = tickTable(ctx, w, path)
	case w.Tables > 0:
		err = writeTables(ctx, w, path, begin)
	case w.Existing > 0:
		err = writeExisting(ctx, w, path)
	case w.compacts():
		err = compactOnce(ctx, path, w.Kind == kindFull, w.Parallel)
	default:
		err = writeTable(ctx, w, path, begin)
	}
	if err != nil {
		return err
	}
	f := figures{Wall: time.Since(wall).Seconds(), CPU: cpuSeconds() - cpu, PeakMB: peakMB(), ticked: tick, Rows: rows}
	f.ProcessCPU = cpuSeconds()
	return json.NewEncoder(os.Stdout).Encode(f)
}

// writeTable writes the rows of a workload, without its base, into a new table.
func writeTable(ctx context.Context, w workload, path string, begin func()) error {
	fsys, err := fs.For(ctx, path, nil)
	if err != nil {
		return err
	}
	t, err := table.Create(ctx, fsys, path, w.spec())
	if err != nil {
		return err
	}
	return writeRows(ctx, w, t, "bench", 0, w.Rows, begin)
}

// writeRows writes the rows [from, to), with a commit each interval, as a commit user that is new to the table. It calls begin when those
// that don't count are committed, if there are such.
func writeRows(ctx context.Context, w workload, t *table.Table, user string, from, to int, begin func()) error {
	wr, err := writer.Open(ctx, t, writer.Config{CommitUser: user, Shards: w.Parallel, FlushWorkers: w.Parallel})
	if err != nil {
		return err
	}
	id := int64(0)
	out := func(b *row.Batch) error { return wr.Write(ctx, b) }
	commit := func() error {
		id++
		if err := wr.Checkpoint(ctx, id, nil); err != nil || id > 1 || w.Uncounted == 0 {
			return err
		}
		defer begin()
		return wr.Wait(ctx)
	}
	if err := w.generate(t.Schema(), from, to, out, commit); err != nil {
		return err
	}
	if err := wr.Wait(ctx); err != nil {
		return err
	}
	return wr.Close(ctx)
}

func dropRows(w workload) error {
	s, err := table.NewSchema(w.spec())
	if err != nil {
		return err
	}
	return w.generate(s, 0, w.Rows, func(*row.Batch) error { return nil }, func() error { return nil })
}

// generate makes the rows [from, to).
func (w workload) generate(s *table.Schema, from, to int, out func(*row.Batch) error, commit func() error) error {
	g, b := newGenerator(w), row.NewBatch(s.RowType())
	for ; from < to; from += w.Interval {
		end := min(from+w.Interval, to)
		for i := from; i < end; {
			b.Reset()
			for stop := min(i+batchRows, end); i < stop && b.N*w.DataLen < batchBytes; i++ {
				g.appendRow(b, i)
			}
			if err := out(b); err != nil {
				return err
			}
		}
		if err := commit(); err != nil {
			return err
		}
	}
	return nil
}

// cpuSeconds returns the processor time of all threads so far.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peakMB returns the peak resident set. It isn't what getrusage says: that one has the parent's before exec in it.
func peakMB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.Lines(string(status)) {
			if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kb, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")), 64)
				return kb / 1024
			}
		}
	}
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Maxrss) / 1024
}
