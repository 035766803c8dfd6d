package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// store is the figures of all runs so far, in a file of one JSON object a line. A comparison that was broken off goes on where it was.
type store struct {
	path string // "" for none
	all  []*result
}

// runKey says which run a result is of. A newer result replaces an older one.
type runKey struct {
	setting
	plan  plan
	round int
}

func (r *result) key() runKey { return runKey{r.setting, r.Plan, r.Round} }

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
	n := 0
	for line := range bytes.Lines(b) {
		n++
		r := new(result)
		if err := json.Unmarshal(line, r); err != nil {
			return nil, fmt.Errorf("figures of %s, line %d: %w", path, n, err)
		}
		s.keep(r)
	}
	return s, nil
}

func (s *store) keep(r *result) {
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
	for _, r := range s.all {
		if r.key() == k {
			return true
		}
	}
	return false
}

// add keeps a result, in the file too.
func (s *store) add(r *result) error {
	s.keep(r)
	if s.path == "" {
		return nil
	}
	line, err := json.Marshal(r)
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

// of are the results of the settings that were asked for.
func (s *store) of(settings []setting) (out []*result) {
	want := map[setting]bool{}
	for _, c := range settings {
		want[c] = true
		if c.Phase == "catchup" {
			c.Phase = initialRead
			want[c] = true
		}
	}
	for _, r := range s.all {
		if want[r.setting] {
			out = append(out, r)
		}
	}
	return out
}
