package lsm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
)

// sectionMerge merges sections, one after the other, into one run of files.
type sectionMerge struct {
	*rewriteTask
	out        *RollingWriter
	dropDelete bool
	kept       *KeyValues // rows that are left when some are dropped
	idx        []int32
}

// section merges the runs of one section, or copies the only one.
func (m *sectionMerge) section(sec section) error {
	var readers []*runReader
	defer func() {
		for _, r := range readers {
			r.close()
		}
	}()
	shadows, err := m.shadows(sec)
	if err != nil {
		return err
	}
	batch := sec.batchRows(checkRows)
	for _, r := range sec {
		readers = append(readers, m.reader(r, m.proj, batch))
	}
	if len(readers) == 1 && len(shadows) == 0 {
		return m.copy(m.alive(readers[0].next))
	}
	var sources []*source
	for _, r := range readers {
		sources = append(sources, r.source(m.alive(r.next)))
	}
	for _, files := range shadows {
		r := m.reader(files, m.keys, batch)
		readers = append(readers, r)
		src := r.source(r.next)
		src.order, src.shadow = m.keyOrder(), true
		sources = append(sources, src)
	}
	mg, err := m.merger(sources)
	if err != nil {
		return err
	}
	return m.copy(func(kv *KeyValues) error { return mg.next(kv, batch) })
}

// shadows returns the files below the output in which keys of a section may be, one run a level. Only rows that come from
// level 0 are looked up: those above it were when they came there. The runs are merged like the others, so that each lookup
// is a step and the files are read once, the key's columns and no further than the section goes.
func (m *sectionMerge) shadows(sec section) ([]run, error) {
	if !m.lookup || !sec.hasLevel0() {
		return nil, nil
	}
	lo, hi := sec.bounds()
	var out []run
	for _, r := range m.levels.Runs() {
		if r.Level <= m.unit.OutputLevel {
			continue
		}
		ranges, err := spans(r.Files, keyTypes(m.schema))
		if err != nil {
			return nil, err
		}
		var files run
		for _, s := range ranges {
			if bytes.Compare(s.min, hi) <= 0 && bytes.Compare(s.max, lo) >= 0 {
				files = append(files, s)
			}
		}
		if len(files) > 0 {
			out = append(out, files)
		}
	}
	return out, nil
}

// keyOrder is the order of rows that have the key's columns only.
func (m *sectionMerge) keyOrder() *order {
	o := new(order)
	for i := range m.keys.cols {
		o.keys = append(o.keys, i)
	}
	return o
}

func (s section) hasLevel0() bool {
	return slices.ContainsFunc(s, func(r run) bool { return slices.ContainsFunc(r, func(f span) bool { return f.file.Level == 0 }) })
}

// bounds returns the least and the greatest key of a section.
func (s section) bounds() (lo, hi []byte) {
	lo, hi = s[0][0].min, s[0].end()
	for _, r := range s[1:] {
		if bytes.Compare(r[0].min, lo) < 0 {
			lo = r[0].min
		}
		if bytes.Compare(r.end(), hi) > 0 {
			hi = r.end()
		}
	}
	return lo, hi
}

func (m *sectionMerge) reader(files run, p *projection, batch int) *runReader {
	return &runReader{ctx: m.ctx, proj: p, partition: m.partition, bucket: m.bucket, files: files, batch: batch, meter: m.meter}
}

func (m *sectionMerge) merger(sources []*source) (*merger, error) {
	mg := &merger{order: m.order, sources: sources, keep: m.keep, ignore: m.ignore}
	var err error
	if m.keep == keepFolded {
		mg.merge, err = NewMergeFunc(m.schema, m.table.Options())
	}
	return mg, err
}

// alive makes a reader drop expired rows and count what it reads.
func (m *sectionMerge) alive(next func(*KeyValues) error) func(*KeyValues) error {
	var kept *KeyValues
	return func(kv *KeyValues) error {
		if err := next(kv); err != nil {
			return err
		}
		m.stats.RowsRead += int64(kv.Len())
		if m.expire == nil {
			return nil
		}
		var all bool
		if m.idx, all = m.expire.live(kv.Rows, m.now, m.idx); all {
			return nil
		}
		if kept == nil {
			kept = NewKeyValues(m.proj.rows)
		}
		kept.gather(kv, m.idx)
		*kv, *kept = *kept, *kv
		return nil
	}
}

// copy writes all that next gives.
func (m *sectionMerge) copy(next func(*KeyValues) error) error {
	kv := NewKeyValues(m.proj.rows)
	for {
		if m.ctx.Err() != nil {
			return context.Cause(m.ctx)
		}
		if err := next(kv); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		out := kv
		if m.dropDelete {
			out = m.adds(kv)
		}
		if err := m.out.Write(out); err != nil {
			return err
		}
		m.stats.RowsWritten += int64(out.Len())
	}
}

// adds returns the rows that are no retracts.
func (m *sectionMerge) adds(kv *KeyValues) *KeyValues {
	m.idx = m.idx[:0]
	for i, k := range kv.Rows.Kinds {
		if !k.IsRetract() {
			m.idx = append(m.idx, int32(i))
		}
	}
	if len(m.idx) == kv.Len() {
		return kv
	}
	m.kept.gather(kv, m.idx)
	return m.kept
}
