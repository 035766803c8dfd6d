package lsm

import (
	"context"
	"errors"
	"io"
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
	batch := sec.batchRows(checkRows)
	for _, r := range sec {
		readers = append(readers, m.reader(r, m.proj, batch))
	}
	if len(readers) == 1 {
		return m.copy(m.alive(readers[0].next))
	}
	sources := make([]*source, 0, len(readers))
	for i, r := range readers {
		sources = append(sources, &source{next: m.alive(r.next), kv: NewKeyValues(m.proj.rows), high: sec[i][0].file.Level > 0})
	}
	mg, err := m.merger(sources)
	if err != nil {
		return err
	}
	return m.copy(func(kv *KeyValues) error { return mg.next(kv, batch) })
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
