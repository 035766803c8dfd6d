package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/table"
)

// compact measures one compaction of a copy of the pair's table and looks at what came of it.
func (r *runner) compact(ctx context.Context, w workload, side string, round int, want content) (result, error) {
	res := result{Pair: w.name(), Side: side, Round: round, Work: w, Warm: r.warm}
	st, err := r.stateOf(ctx, w)
	if err != nil {
		return res, fmt.Errorf("making the table of %s: %w", w.name(), err)
	}
	warehouse := filepath.Join(r.scratch, w.name()+"-"+side)
	defer os.RemoveAll(warehouse)
	if err := st.copyTo(warehouse); err != nil {
		return res, fmt.Errorf("copying the table of %s: %w", w.name(), err)
	}
	path := table.TablePath(warehouse, "bench", "t")
	res.Load = load()
	process := r.compactOurs
	if side == sideJava {
		process = r.compactJava
	}
	if res.figures, err = process(ctx, w, st, warehouse, round); err != nil {
		return res, fmt.Errorf("%s of %s: %w", w.name(), side, err)
	}
	res.InRows, res.InBytes = st.inRows, st.inBytes
	res.RowsPerCPU = float64(st.inRows) / max(res.CPU, 1e-3)
	res.MBPerCPU = float64(st.inBytes) / 1e6 / max(res.CPU, 1e-3)
	if res.Files, res.Bytes, err = dataFiles(path, st.files); err != nil {
		return res, fmt.Errorf("looking at the files of %s: %w", side, err)
	}
	return res, r.checkCompacted(ctx, w, side, warehouse, want)
}

// checkCompacted checks that a compaction changed no row, and that both sides put the same rows into the same levels. One of
// ours in each pair is read by Java.
func (r *runner) checkCompacted(ctx context.Context, w workload, side, warehouse string, want content) error {
	path := table.TablePath(warehouse, "bench", "t")
	got, err := actual(ctx, path)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("after %s of %s there are %d rows with the checksum %x instead of %d with %x", w.name(), side, got.rows, got.checksum, want.rows, want.checksum)
	}
	is, err := shape(ctx, path)
	if err != nil {
		return err
	}
	if known := r.shapes[w.name()]; known == nil {
		r.shapes[w.name()] = is
	} else if !maps.Equal(known, is) {
		return fmt.Errorf("after %s of %s the levels have %v, and %v on another run", w.name(), side, is, known)
	}
	if key := w.name(); side == sideOurs && !r.checked[key] {
		if err := r.readByJava(ctx, warehouse, want); err != nil {
			return err
		}
		r.checked[key] = true
	}
	return nil
}

// stateOf makes the table of a pair the first time; that of the pair before is gone then.
func (r *runner) stateOf(ctx context.Context, w workload) (*state, error) {
	if r.state != nil && r.stateName == w.name() {
		return r.state, nil
	}
	if r.state != nil {
		if err := os.RemoveAll(r.state.warehouse); err != nil {
			return nil, err
		}
	}
	st, err := makeState(ctx, w, filepath.Join(r.scratch, w.name()+"-state"))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "%s: %d files, %d rows, %.1f MB to compact (%s)\n", w.name(), st.inFiles, st.inRows, float64(st.inBytes)/1e6, st.reason)
	r.state, r.stateName = st, w.name()
	return st, nil
}

func (r *runner) compactOurs(ctx context.Context, w workload, _ *state, warehouse string, round int) (figures, error) {
	return r.ours(ctx, w, warehouse, round, false)
}

// compactJava has Java compact the table. A warm one has compacted a copy before, in the same process.
func (r *runner) compactJava(ctx context.Context, w workload, st *state, warehouse string, _ int) (figures, error) {
	mode := "auto"
	if w.Kind == kindFull {
		mode = "full"
	}
	args := func(warehouse string) []string {
		return []string{"bench-compact", warehouse, "bench", "t", "--parallel", strconv.Itoa(w.Parallel), "--mode", mode}
	}
	if !r.warm {
		return figuresOf(r.command(ctx, args(warehouse)...))
	}
	other := warehouse + "-warm"
	defer os.RemoveAll(other)
	if err := st.copyTo(other); err != nil {
		return figures{}, err
	}
	return r.lastOf(r.command(ctx, "serve"), args(other), args(warehouse))
}

// lastOf gives commands to a serving oracle and returns the figures of the last.
func (r *runner) lastOf(cmd *exec.Cmd, commands ...[]string) (figures, error) {
	var f figures
	var in strings.Builder
	for _, c := range commands {
		words, err := json.Marshal(c)
		if err != nil {
			return f, err
		}
		in.Write(append(words, '\n'))
	}
	cmd.Stdin = strings.NewReader(in.String())
	out, err := output(cmd)
	if err != nil {
		return f, err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if n := len(lines); n != 2*len(commands) || lines[n-1] != `{"_rc":0}` {
		return f, fmt.Errorf("output %q", out)
	}
	return f, lastLine([]byte(lines[len(lines)-2]), &f)
}
