package lsm

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// Levels is one bucket's live files as compaction sees them, newest data first (Java's mergetree.Levels):
//
//	level 0   [-----c-----]           one run a file, newest first; runs overlap
//	             [---b---]
//	          [-----a----]
//	level 4   [--d--] [-e-]           one run a level, files in key order that don't touch
//	level 5   [-f-][--g--][--h--]     the max level holds the oldest data
//
// Immutable, and so safe for concurrent use.
type Levels struct {
	runs      []SortedRun
	numLevels int
	level0    int
	size      int64
	vectors   map[string]*roaring.Bitmap // nil: they are not known
	strange   int                        // vectors of other files
}

// SortedRun is files whose key ranges don't touch, in key order. In level 0 each file is a run of its own.
type SortedRun struct {
	Level int
	Files []table.DataFile
}

// Size returns the bytes of the run's files.
func (r SortedRun) Size() int64 {
	var n int64
	for i := range r.Files {
		n += r.Files[i].Size
	}
	return n
}

// NewLevels builds the levels of one bucket's live files. The schema gives the types of the key. An error wraps
// table.ErrCorrupt when the files can't be those of one bucket: a file twice, or files of a level above 0 that overlap.
func NewLevels(files []table.DataFile, schema *table.Schema, o table.Options) (*Levels, error) {
	l := &Levels{numLevels: table.NumLevels(o)}
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, compareLevels)
	names := make(map[string]bool, len(sorted))
	for i := range sorted {
		f := &sorted[i]
		if names[f.Name] {
			return nil, fmt.Errorf("%w: file %s is there twice", table.ErrCorrupt, f.Name)
		}
		if f.Level < 0 {
			return nil, fmt.Errorf("%w: file %s has level %d", table.ErrCorrupt, f.Name, f.Level)
		}
		names[f.Name] = true
		l.size += f.Size
		l.numLevels = max(l.numLevels, f.Level+1)
		if f.Level == 0 {
			l.level0++
			l.runs = append(l.runs, SortedRun{Files: sorted[i : i+1 : i+1]})
		}
	}
	if l.numLevels < 2 {
		return nil, fmt.Errorf("%w: %s is %d; there are at least 2 levels", table.ErrOption, table.KeyNumLevels.Name, l.numLevels)
	}
	keys := keyTypes(schema)
	for from, to := l.level0, 0; from < len(sorted); from = to {
		for to = from + 1; to < len(sorted) && sorted[to].Level == sorted[from].Level; to++ {
		}
		run, err := runOf(sorted[from:to], keys)
		if err != nil {
			return nil, err
		}
		l.runs = append(l.runs, SortedRun{Level: sorted[from].Level, Files: run})
	}
	return l, nil
}

// compareLevels orders files by level, and those of level 0 newest first. Several writers of a bucket may give files the
// same sequence numbers: then any order will do, if it is always the same.
func compareLevels(a, b table.DataFile) int {
	if a.Level != b.Level || a.Level > 0 {
		return cmp.Compare(a.Level, b.Level)
	}
	return cmp.Or(cmp.Compare(b.MaxSeq, a.MaxSeq), cmp.Compare(a.MinSeq, b.MinSeq),
		cmp.Compare(a.CreationMillis, b.CreationMillis), cmp.Compare(a.Name, b.Name))
}

// CountRuns counts the sorted runs that a bucket's files make, in any order, and the files of level 0, each of which is one.
func CountRuns(files []table.DataFile) (runs, level0 int) {
	var levels uint64
	for i := range files {
		if l := files[i].Level; l == 0 {
			level0++
		} else if bit := uint64(1) << min(l, 63); levels&bit == 0 {
			levels |= bit
			runs++
		}
	}
	return runs + level0, level0
}

// NewestSchema is the greatest schema id of files, -1 for none.
func NewestSchema(files []table.DataFile) int64 {
	id := int64(-1)
	for i := range files {
		id = max(id, files[i].SchemaID)
	}
	return id
}

func keyTypes(s *table.Schema) []*row.Type {
	idx := s.KeyIndexes()
	types := make([]*row.Type, len(idx))
	for i, f := range idx {
		types[i] = &s.Fields[f].Type
	}
	return types
}

// runOf puts the files of a level above 0 into key order.
func runOf(files []table.DataFile, keys []*row.Type) ([]table.DataFile, error) {
	ranges, err := spans(files, keys)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(ranges, func(a, b span) int { return bytes.Compare(a.min, b.min) })
	run := make([]table.DataFile, len(ranges))
	for i, s := range ranges {
		if i > 0 && bytes.Compare(s.min, ranges[i-1].max) <= 0 {
			return nil, fmt.Errorf("%w: the key ranges of %s and %s overlap in level %d",
				table.ErrCorrupt, ranges[i-1].file.Name, s.file.Name, s.file.Level)
		}
		run[i] = *s.file
	}
	return run, nil
}

// Runs returns the sorted runs, newest data first: level 0 file by file, then the other levels that have files, ascending.
func (l *Levels) Runs() []SortedRun { return l.runs }

// NumSortedRuns returns how many runs a reader merges where keys meet.
func (l *Levels) NumSortedRuns() int { return len(l.runs) }

// NumLevels returns the number of levels: what the options say, or more if files lie deeper.
func (l *Levels) NumLevels() int { return l.numLevels }

// MaxLevel returns the deepest level that files may have.
func (l *Levels) MaxLevel() int { return l.numLevels - 1 }

// HighestNonEmpty returns the deepest level that has files, -1 when there are no files.
func (l *Levels) HighestNonEmpty() int {
	if len(l.runs) == 0 {
		return -1
	}
	return l.runs[len(l.runs)-1].Level
}

// DeepestLevel0 returns the number of files of level 0.
func (l *Levels) DeepestLevel0() int { return l.level0 }

// Size returns the bytes of all files.
func (l *Levels) Size() int64 { return l.size }
