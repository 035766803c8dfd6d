// Package floor measures what can't be saved of bringing a log into a table: reading the log without a look at more than the headers of
// its events (Log), compressing the bytes that were compressed (Zstd), and writing the bytes that were written (Write). Each does it
// bare, on one goroutine, and tells the processor time of the process meanwhile; nothing else should run in it.
package floor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Cost is what a table's files cost at least.
type Cost struct {
	Zstd  float64 `json:"zstd_cpu_s,omitempty"`
	Write float64 `json:"write_cpu_s,omitempty"` // with an fsync of each file
	Files int     `json:"files,omitempty"`
	Plain int64   `json:"plain_bytes,omitempty"`     // before compression
	Bytes int64   `json:"bytes,omitempty"`           // as written
	Size  float64 `json:"zstd_size_ratio,omitempty"` // of what bare zstd came to, to what the files have of it
}

// Files finds the data and changelog files below a directory that aren't in known.
func Files(dir string, known map[string]bool) (out []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		name := d.Name()
		if err != nil || d.IsDir() || known[path] || !strings.HasPrefix(name, "data-") && !strings.HasPrefix(name, "changelog-") {
			return err
		}
		out = append(out, path)
		return nil
	})
	return out, err
}

// Of measures files: their compression, and writing them into a directory below scratch.
func Of(files []string, scratch string) (Cost, error) {
	c, err := Zstd(files)
	if err == nil {
		c.Write, c.Bytes, err = Write(files, scratch)
	}
	c.Files = len(files)
	return c, err
}

// Write writes copies of files below scratch, durably, and removes them. Reading them doesn't count.
func Write(files []string, scratch string) (cpu float64, bytes int64, err error) {
	dir, err := os.MkdirTemp(scratch, "floor-")
	if err != nil {
		return 0, 0, fmt.Errorf("making a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	for i, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return 0, 0, fmt.Errorf("reading what was written: %w", err)
		}
		start := processorTime()
		if err := writeFile(filepath.Join(dir, fmt.Sprint(i)), b); err != nil {
			return 0, 0, fmt.Errorf("writing it again: %w", err)
		}
		cpu += processorTime() - start
		bytes += int64(len(b))
	}
	return cpu, bytes, nil
}

func writeFile(name string, b []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

func processorTime() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
