package lsm

import (
	"context"
	"fmt"
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// rewriteTask is one Rewrite under way.
type rewriteTask struct {
	*Rewriter
	ctx       context.Context // of this one Rewrite
	partition []byte
	bucket    int32
	levels    *Levels
	unit      Unit
	now       time.Time
	meter     *meter

	vectors  *vectorSet // of tables with deletion vectors
	numbered []string   // files whose rows may be marked

	candidate []section // to be merged into one run of files
	inc       table.CompactIncrement
	stats     RewriteStats
}

// run walks along the key axis (Java's MergeTreeCompactTask): what overlaps is merged, and so are small files with what lies
// beside them; a large file that nothing overlaps only moves to the output's level.
//
//	sections  |a b| |c|  |D|  |e|  |F|       small files in lower case
//	output    [merged]   [D]  [e]  [F]       e alone isn't worth the work
func (t *rewriteTask) run() error {
	for i := range t.unit.Files {
		if f := &t.unit.Files[i]; f.SchemaID > t.schema.ID {
			return fmt.Errorf("%w: %s was written with schema %d, and rows of it would lose what is new in schema %d",
				table.ErrSchema, f.Name, f.SchemaID, t.schema.ID)
		}
	}
	if err := t.openVectors(); err != nil {
		return err
	}
	if err := t.walk(); err != nil || !t.dv {
		return err
	}
	return t.writeVectors()
}

func (t *rewriteTask) walk() error {
	ranges, err := spans(t.unit.Files, keyTypes(t.schema))
	if err != nil {
		return err
	}
	if t.unit.FileRewrite {
		for _, s := range ranges {
			if err := t.rewrite([]section{{run{s}}}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, sec := range sections(ranges) {
		if len(sec) > 1 {
			t.candidate = append(t.candidate, sec)
			continue
		}
		for _, s := range sec[0] {
			if s.file.Size < t.smallFile {
				t.candidate = append(t.candidate, section{run{s}})
				continue
			}
			if err := t.settle(); err != nil {
				return err
			}
			if err := t.upgrade(s); err != nil {
				return err
			}
		}
	}
	return t.settle()
}

// settle does what is to be done with the candidates.
func (t *rewriteTask) settle() error {
	c := t.candidate
	t.candidate = nil
	switch {
	case len(c) == 0:
		return nil
	case len(c) == 1 && len(c[0]) == 1:
		for _, s := range c[0][0] {
			if err := t.upgrade(s); err != nil {
				return err
			}
		}
		return nil
	}
	return t.rewrite(c)
}

// upgrade moves a file to the output's level, by rewriting it if there is something to be done with its rows.
func (t *rewriteTask) upgrade(s span) error {
	f, level := s.file, t.unit.OutputLevel
	switch {
	case level == t.levels.MaxLevel() && f.DeleteRows != 0, // -1 is unknown
		t.rewriteAll, t.Expired(f, t.now):
		return t.rewrite([]section{{run{s}}})
	case f.Level == level:
		return nil
	}
	return t.move(s)
}
