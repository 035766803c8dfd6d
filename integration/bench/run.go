package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/integration/bench/floor"
	"github.com/paimon-go/paimon-go/table"
)

// runner starts the processes of both sides.
type runner struct {
	scratch  string
	oracle   string // of integration/java
	python   string // with paimon-rust's wheel
	javaOpts string
	self     string
	profile  string // where profiles of our side go, "" for none
	warm     bool   // Java compacts a copy first
	checked  map[string]bool
	shapes   map[string]map[string]int64 // of the tables after compaction, by pair

	state     *state // of the pair under way, if it is one of compactions
	stateName string
	rows      string // Arrow stream of the rows of the pair under way, for paimon-rust
	rowsName  string
}

// result is one run of one side.
type result struct {
	Pair  string   `json:"pair"`
	Side  string   `json:"side"` // ours, java or rust
	Round int      `json:"round"`
	Work  workload `json:"workload"`
	figures
	GenCPU     float64    `json:"generator_cpu_s,omitempty"`
	InRows     int64      `json:"input_rows,omitempty"` // of a compaction
	InBytes    int64      `json:"input_bytes,omitempty"`
	Warm       bool       `json:"warm,omitempty"`
	RowsPerCPU float64    `json:"rows_per_cpu_s"` // without the generator; those of the input of a compaction
	MBPerCPU   float64    `json:"mb_per_cpu_s,omitempty"`
	Floor      floor.Cost `json:"floor,omitzero"` // of a writer's files, measured beside
	Load       string     `json:"load"`           // of the machine, before the run
	Revision   string     `json:"revision,omitempty"`
}

const (
	sideOurs = "ours"
	sideJava = "java"
	sideRust = "rust" // paimon-rust by its Python wheel; writers only
)

// run measures one side once, reads what it wrote back, and removes it.
func (r *runner) run(ctx context.Context, w workload, side string, round int, want content) (result, error) {
	if w.compacts() {
		return r.compact(ctx, w, side, round, want)
	}
	warehouse := filepath.Join(r.scratch, w.name()+"-"+side)
	defer os.RemoveAll(warehouse)
	path := table.TablePath(warehouse, "bench", "t")
	res := result{Pair: w.name(), Side: side, Round: round, Work: w, Load: load()}
	process := map[string]func(context.Context, workload, string, int, bool) (figures, error){sideOurs: r.ours, sideJava: r.java, sideRust: r.rust}[side]
	var known map[string]bool
	if w.Existing > 0 {
		st, err := r.existing(ctx, w, warehouse)
		if err != nil {
			return res, err
		}
		known = st.files
	}
	var (
		gen figures
		err error
	)
	if w.Kind != kindTick { // which sleeps
		if gen, err = process(ctx, w, warehouse, round, true); err != nil {
			return res, fmt.Errorf("generator of %s: %w", side, err)
		}
	}
	if res.figures, err = process(ctx, w, warehouse, round, false); err != nil {
		return res, fmt.Errorf("%s of %s: %w", w.name(), side, err)
	}
	res.GenCPU = gen.CPU * w.counted()
	rows := w.Rows - w.Uncounted
	if res.Rows > 0 {
		rows = int(res.Rows)
	}
	res.RowsPerCPU = float64(rows) / max(res.CPU-res.GenCPU, 1e-3)
	if res.Files, res.Bytes, err = dataFiles(warehouse, known); err != nil {
		return res, fmt.Errorf("looking at the files of %s: %w", side, err)
	}
	if w.Kind == kindWriter && side == sideOurs {
		names, err := floor.Files(warehouse, nil)
		if err == nil {
			res.Floor, err = floor.Of(names, r.scratch)
		}
		if err != nil {
			return res, fmt.Errorf("measuring the floor of %s: %w", w.name(), err)
		}
	}
	if w.Kind == kindTick { // how many rows there were hangs on memory
		w.Rows = rows
		if want, err = expected(w); err != nil {
			return res, err
		}
	}
	got, err := grown(ctx, w, path)
	if err != nil {
		return res, err
	}
	if got != want {
		return res, fmt.Errorf("%s of %s wrote %d rows with the checksum %x instead of %d with %x", w.name(), side, got.rows, got.checksum, want.rows, want.checksum)
	}
	if key := w.name(); side == sideOurs && w.Kind == kindWriter && !r.checked[key] {
		if err := r.readByJava(ctx, warehouse, want); err != nil {
			return res, err
		}
		r.checked[key] = true
	}
	return res, nil
}

func (r *runner) ours(ctx context.Context, w workload, warehouse string, round int, genOnly bool) (figures, error) {
	work, err := json.Marshal(w)
	if err != nil {
		return figures{}, err
	}
	args := []string{"-ours", string(work), "-table", table.TablePath(warehouse, "bench", "t")}
	if genOnly {
		args = append(args, "-gen-only")
	} else if r.profile != "" {
		args = append(args, "-profile", fmt.Sprintf("%s-%s-%d.pprof", r.profile, w.name(), round))
	}
	return figuresOf(exec.CommandContext(ctx, r.self, args...))
}

func (r *runner) java(ctx context.Context, w workload, warehouse string, _ int, genOnly bool) (figures, error) {
	args := []string{
		"bench-write", warehouse, "bench", "t",
		"--rows", strconv.Itoa(w.Rows), "--keys", strconv.Itoa(w.Keys), "--buckets", strconv.Itoa(w.Buckets),
		"--partitions", strconv.Itoa(w.Partitions), "--commit-interval-rows", strconv.Itoa(w.Interval),
		"--data", w.Data, "--data-len", strconv.Itoa(w.DataLen), "--seed", strconv.FormatInt(w.Seed, 10),
		"--parallel", strconv.Itoa(w.Parallel), "--gen-only", strconv.FormatBool(genOnly),
	}
	for k, v := range w.options() {
		if k != "bucket" {
			args = append(args, "--option", k+"="+v)
		}
	}
	return figuresOf(r.command(ctx, args...))
}

func (r *runner) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.oracle, args...)
	cmd.Env = append(os.Environ(), "ORACLE_JAVA_OPTS="+r.javaOpts)
	return cmd
}

// readByJava has Java read our table.
func (r *runner) readByJava(ctx context.Context, warehouse string, want content) error {
	out, err := output(r.command(ctx, "read", warehouse, "bench", "t", "--checksum"))
	if err != nil {
		return err
	}
	var got struct {
		Rows     int64
		Checksum string
	}
	if err := lastLine(out, &got); err != nil {
		return err
	}
	if got.Rows != want.rows || got.Checksum != fmt.Sprintf("%016x", want.checksum) {
		return fmt.Errorf("the table that Java reads has %s instead of %d rows with the checksum %x", bytes.TrimSpace(out), want.rows, want.checksum)
	}
	return nil
}

func figuresOf(cmd *exec.Cmd) (figures, error) {
	var f figures
	out, err := output(cmd)
	if err == nil {
		err = lastLine(out, &f)
	}
	return f, err
}

func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

func lastLine(out []byte, v any) error {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], v); err != nil {
		return fmt.Errorf("output %q: %w", out, err)
	}
	return nil
}

func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}
