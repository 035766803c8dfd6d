package main

import (
	"context"
	"fmt"
	"io"
	stdfs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// state is the table that all compactions of a pair begin with.
type state struct {
	warehouse string
	files     map[string]bool // data files, by name
	inRows    int64           // of the files that a compaction takes
	inBytes   int64
	inFiles   int
	reason    string // why it takes them
}

// makeState writes the table: the base, which is compacted into the max level, and then files of level 0 that overlap.
func makeState(ctx context.Context, w workload, warehouse string) (*state, error) {
	path := table.TablePath(warehouse, "bench", "t")
	fsys, err := fs.For(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	t, err := table.Create(ctx, fsys, path, w.spec())
	if err != nil {
		return nil, err
	}
	if w.Base > 0 {
		base := w
		base.Interval = w.Base
		if err := writeRows(ctx, base, t, "base", 0, w.Base, nil); err != nil {
			return nil, err
		}
		if err := compactOnce(ctx, path, true, 1); err != nil {
			return nil, err
		}
	}
	if err := writeRows(ctx, w, t, "bench", w.Base, w.Base+w.Rows, nil); err != nil {
		return nil, err
	}
	st := &state{warehouse: warehouse, files: map[string]bool{}}
	units, err := pickUnits(ctx, t, w.Kind == kindFull)
	if err != nil {
		return nil, err
	}
	for i := range units {
		st.reason = units[i].Reason
		for j := range units[i].Files {
			f := &units[i].Files[j]
			st.inRows += f.RowCount
			st.inBytes += f.Size
			st.inFiles++
		}
	}
	s, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	for e, err := range t.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			return nil, err
		}
		st.files[e.File.Name] = true
	}
	return st, nil
}

// copyTo makes the same table elsewhere. Data files, which nobody changes, are shared.
func (s *state) copyTo(warehouse string) error {
	return filepath.WalkDir(s.warehouse, func(path string, d stdfs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.warehouse, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(warehouse, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(dst, 0o755)
		case strings.HasPrefix(d.Name(), "data-"):
			return os.Link(path, dst)
		}
		return copyFile(path, dst)
	})
}

func copyFile(src, dst string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(dst)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// pickUnits asks the strategy about all buckets.
func pickUnits(ctx context.Context, t *table.Table, full bool) ([]lsm.Unit, error) {
	type key struct {
		partition string
		bucket    int32
	}
	buckets := map[key][]table.DataFile{}
	s, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	for e, err := range t.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			return nil, err
		}
		k := key{string(e.Partition), e.Bucket}
		buckets[k] = append(buckets[k], e.File)
	}
	strategy, err := lsm.NewStrategy(t.Options())
	if err != nil {
		return nil, err
	}
	var units []lsm.Unit
	for _, files := range buckets {
		l, err := lsm.NewLevels(files, t.Schema(), t.Options())
		if err != nil {
			return nil, err
		}
		st := lsm.PickState{Levels: l, Now: time.Now()}
		u, ok := strategy.Pick(st)
		if full {
			u, ok = strategy.PickFull(st, nil)
		}
		if ok {
			units = append(units, u)
		}
	}
	return units, nil
}

// shape is the rows in each level of each bucket. Both sides must come to the same one.
func shape(ctx context.Context, path string) (map[string]int64, error) {
	t, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	s, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	rows := map[string]int64{}
	for e, err := range t.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			return nil, err
		}
		p, err := t.PartitionPath(e.Partition)
		if err != nil {
			return nil, err
		}
		rows[fmt.Sprintf("%s/bucket-%d level %d", p, e.Bucket, e.File.Level)] += e.File.RowCount
	}
	return rows, nil
}
