package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
)

// store is the figures of all runs so far, in a file of one JSON object a line. A run is written as soon as it has ended, so that
// a comparison that was broken off goes on where it was, and pairs that were measured apart are reported together.
type store struct {
	path string // "" for none
	all  []result
}

// runKey says which run of which pair a result is. A newer result of a run replaces an older one.
type runKey struct {
	pair, side string
	round      int
	warm       bool
	work       workload
}

func (r *result) key() runKey { return runKey{r.Pair, r.Side, r.Round, r.Warm, r.Work} }

// openStore reads what was measured before. A last line that was cut off is cut off for good.
func openStore(path string) (*store, error) {
	s := &store{path: path}
	if path == "" {
		return s, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading figures: %w", err)
	}
	if whole := bytes.LastIndexByte(b, '\n') + 1; whole < len(b) {
		b = b[:whole]
		if err := os.Truncate(path, int64(whole)); err != nil {
			return nil, fmt.Errorf("cutting a torn line off the figures: %w", err)
		}
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("figures of %s, line %d: %w", path, n, err)
		}
		s.keep(r)
	}
	return s, lines.Err()
}

func (s *store) keep(r result) {
	for i := range s.all {
		if s.all[i].key() == r.key() {
			s.all[i] = r
			return
		}
	}
	s.all = append(s.all, r)
}

// has tells whether a run was made.
func (s *store) has(k runKey) bool {
	for i := range s.all {
		if s.all[i].key() == k {
			return true
		}
	}
	return false
}

// add keeps a result, in the file too.
func (s *store) add(r result) error {
	r.Revision = revision()
	s.keep(r)
	if s.path == "" {
		return nil
	}
	line, err := json.Marshal(&r)
	if err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	return nil
}

// of are the results of some pairs, with any workload.
func (s *store) of(pairs map[string]bool) (out []result) {
	for i := range s.all {
		if pairs == nil || pairs[s.all[i].Pair] {
			out = append(out, s.all[i])
		}
	}
	return out
}

// revision is the commit that this program was built from, with a mark if the tree had changes.
func revision() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	var rev, mark string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			mark = "+"
		}
	}
	return rev + mark
}
