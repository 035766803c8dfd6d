package lsm

import (
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// mergeWay is how sections are merged.
type mergeWay struct {
	dropDelete bool
	compare    bool // with the older records of keys
	rows       bool // the merged rows are written
	log        bool // and so is what changes
}

// way returns how sections are rewritten: with an eye on older records if some rows come from level 0 and are to be looked up,
// or come to the top level and are to be compared with what is there.
func (t *rewriteTask) way(secs []section) mergeWay {
	w := mergeWay{dropDelete: t.unit.DropDelete, rows: true}
	switch {
	case t.full:
		w.compare = t.unit.OutputLevel == t.topLevel
	case t.lookup:
		w.compare = t.unit.OutputLevel != 0 && slices.ContainsFunc(secs, section.hasLevel0)
	}
	w.log = w.compare && t.log
	return w
}

// move gives a file the output's level, which it hasn't (Java's ChangelogMergeTreeRewriter.upgrade). What comes to the top
// level, or from level 0, may be a change to the table; and what comes from level 0 is merged with what lies deeper unless it
// makes no difference. With deletion vectors it is looked up there in any case, and no retract gets above level 0.
func (t *rewriteTask) move(s span) error {
	f, level := s.file, t.unit.OutputLevel
	alone := []section{{run{s}}}
	switch {
	case t.full && level == t.topLevel:
		if err := t.merge(alone, mergeWay{compare: true, log: true}); err != nil {
			return err
		}
	case t.full || !t.lookup || f.Level != 0:
	case table.FileFormat(t.opts, 0) != table.FileFormat(t.opts, level), // lookups want the format of its level
		t.dv && (f.DeleteRows != 0 || t.expire != nil), // an expired row would stay beside the older one of its key
		level != t.topLevel && (t.keep != keepNewest || len(t.order.seqs) > 0):
		return t.merge(alone, mergeWay{compare: true, rows: true, log: t.log, dropDelete: t.dv})
	case t.log || t.dv:
		if err := t.merge(alone, mergeWay{compare: true, log: t.log}); err != nil {
			return err
		}
	}
	up := *f
	up.Level = level
	t.inc.Before = append(t.inc.Before, *f)
	t.inc.After = append(t.inc.After, up)
	t.stats.Upgraded++
	return nil
}

func (t *rewriteTask) rewrite(secs []section) error { return t.merge(secs, t.way(secs)) }

// merge writes the sections' rows into new files, and what they change.
func (t *rewriteTask) merge(secs []section, way mergeWay) error {
	m := &sectionMerge{rewriteTask: t, way: way, kept: NewKeyValues(t.proj.rows)}
	if way.rows {
		m.out = t.newWriter(Data, table.SourceCompact)
	}
	if way.log {
		m.logOut = t.newWriter(Changelog, table.SourceAppend)
	}
	for _, s := range secs {
		if err := m.section(s); err != nil {
			m.abort()
			return err
		}
	}
	after, changelog, err := m.end()
	if err != nil {
		return err
	}
	t.inc.After = append(t.inc.After, after...)
	t.inc.Changelog = append(t.inc.Changelog, changelog...)
	t.stats.FilesWritten += len(after)
	for _, s := range secs {
		for _, r := range s {
			for _, f := range r {
				if way.rows {
					t.inc.Before = append(t.inc.Before, *f.file)
					t.consumed(f.file)
				}
				t.stats.FilesRead++
			}
		}
	}
	return nil
}

func (t *rewriteTask) newWriter(kind FileKind, source table.FileSource) *RollingWriter {
	w := t.files.NewWriter(t.ctx, t.partition, t.bucket, t.unit.OutputLevel, kind, source)
	w.meter = t.meter
	return w
}

// end completes the files; on an error they are gone.
func (m *sectionMerge) end() (after, changelog []table.DataFile, err error) {
	if m.out != nil {
		if after, err = m.out.Close(); err != nil {
			m.abort()
			return nil, nil, err
		}
	}
	if m.logOut != nil {
		if changelog, err = m.logOut.Close(); err != nil {
			m.abort()
			return nil, nil, err
		}
	}
	return after, changelog, nil
}

func (m *sectionMerge) abort() {
	for _, w := range []*RollingWriter{m.out, m.logOut} {
		if w != nil {
			w.Abort()
		}
	}
}

// changed merges a section and compares.
func (m *sectionMerge) changed(ins []*input) error {
	rule := changeRule{deep: !m.full, top: m.topLevel, rows: m.way.rows, log: m.way.log, cols: m.logCols}
	c := newChangeMerger(merger{order: m.order, keep: m.keep, ignore: m.ignore}, rule, m.proj.rows)
	if m.lookup {
		c.lookup = new(lookupFold)
	}
	if m.dv {
		c.mark = m.markAt
		if m.expire != nil {
			c.gone = func(b *row.Batch, i int) bool { return m.expire.gone(b, i, m.now) }
		}
	}
	if m.keep == keepFolded {
		var err error
		if c.merge, err = NewMergeFunc(m.schema, m.opts); err != nil {
			return err
		}
	}
	done, err := m.open(ins, &c.merger)
	defer done()
	if err != nil {
		return err
	}
	kv, log := NewKeyValues(m.proj.rows), NewKeyValues(m.proj.rows)
	return m.each(kv, func() error { return c.next(kv, log, m.outRows()) }, func() error {
		if err := m.write(kv); err != nil || m.logOut == nil {
			return err
		}
		m.stats.ChangelogRows += int64(log.Len())
		if err := m.logOut.Write(log); err != nil {
			return err
		}
		if int64(log.Rows.Bytes()) > 2*m.outBytes() {
			*log = *NewKeyValues(m.proj.rows)
		}
		return nil
	})
}

// fresh tells whether rows of a section may be changes.
func (m *sectionMerge) fresh(sec section) bool {
	if !m.full {
		return sec.hasLevel0()
	}
	return slices.ContainsFunc(sec, func(r run) bool {
		return slices.ContainsFunc(r, func(f span) bool { return f.file.Level != m.topLevel })
	})
}
