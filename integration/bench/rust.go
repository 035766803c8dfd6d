package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

//go:embed rust/write.py
var rustWrite string

// rust has paimon-rust write the rows into a table that we make. It reads them as an Arrow stream that was made before.
func (r *runner) rust(ctx context.Context, w workload, warehouse string, _ int, genOnly bool) (figures, error) {
	if err := r.arrowRows(w); err != nil {
		return figures{}, fmt.Errorf("making rows: %w", err)
	}
	args := []string{"-c", rustWrite, warehouse, "bench", "t", r.rows, strconv.Itoa(w.Interval)}
	if genOnly {
		return figuresOf(exec.CommandContext(ctx, r.python, append(args, "--gen-only")...))
	}
	path := table.TablePath(warehouse, "bench", "t")
	fsys, err := fs.For(ctx, path, nil)
	if err != nil {
		return figures{}, err
	}
	if _, err := table.Create(ctx, fsys, path, w.spec()); err != nil {
		return figures{}, err
	}
	return figuresOf(exec.CommandContext(ctx, r.python, args...))
}

// arrowRows makes the stream of a pair the first time; that of the pair before is gone then. Formats have the same rows.
func (r *runner) arrowRows(w workload) error {
	if r.rowsName == w.Data {
		return nil
	}
	if r.rows != "" {
		_ = os.Remove(r.rows)
	}
	r.rows, r.rowsName = filepath.Join(r.scratch, "rows.arrow"), ""
	if err := writeArrow(w, r.rows); err != nil {
		return err
	}
	r.rowsName = w.Data
	return nil
}
