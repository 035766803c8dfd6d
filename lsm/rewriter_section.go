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
	way      mergeWay
	out      *RollingWriter // nil: the rows aren't wanted
	logOut   *RollingWriter // nil: the changes aren't
	kept     *KeyValues     // rows that are left when some are dropped
	idx      []int32
	rowBytes int64        // of a row in memory, about
	spilled  []*spilledKV // runs made for the section
}

// section merges the runs of one section, or copies the only one.
func (m *sectionMerge) section(sec section) error {
	shadows, err := m.shadows(sec)
	if err != nil {
		return err
	}
	compare := m.way.compare && (m.fresh(sec) || !m.full && m.keep == keepFolded)
	if len(sec) == 1 && !compare {
		r := m.reader(sec[0], m.proj, readSize{rows: checkRows, bytes: int(min(m.outBytes(), mostBatch))})
		defer r.close()
		return m.copy(m.alive(r.next))
	}
	defer func() {
		for _, s := range m.spilled {
			s.free()
		}
		m.spilled = nil
	}()
	ins, err := m.fit(m.inputs(sec, shadows))
	if err != nil {
		return err
	}
	if compare {
		return m.changed(ins)
	}
	mg := &merger{order: m.order, keep: m.keep, ignore: m.ignore}
	if m.lookup && m.keep == keepNewest && len(m.order.seqs) > 0 {
		mg.keep = keepFolded // the newest record is not that of the least level if lookup came later than a record
	}
	if mg.keep == keepFolded {
		if mg.merge, err = NewMergeFunc(m.schema, m.opts); err != nil {
			return err
		}
		if m.lookup {
			mg.lookup = &lookupFold{kv: NewKeyValues(m.proj.rows)}
		}
	}
	done, err := m.open(ins, mg)
	defer done()
	if err != nil {
		return err
	}
	return m.copy(func(kv *KeyValues) error { return mg.next(kv, m.outRows()) })
}

// open starts a merge of inputs; done ends its readers, after an error too.
func (m *sectionMerge) open(ins []*input, mg *merger) (done func(), err error) {
	bytes := m.batch(ins)
	var readers []*runReader
	for _, in := range ins {
		if in.disk != nil {
			s := m.diskSource(in.disk)
			s.shadow = in.shadow && mg.keep != keepAll
			mg.sources = append(mg.sources, s)
			continue
		}
		p, rows := m.projectionOf(in), in.rows(bytes)
		if p == m.keys {
			rows = mergeRows
		}
		r := m.reader(in.files, p, readSize{rows: rows, bytes: bytes})
		readers = append(readers, r)
		var s *source
		switch {
		case p == m.keys:
			s = r.source(r.next) // that a row has expired isn't to be seen in its key
			s.order = m.keyOrder()
		case m.dv && in.shadow:
			s = r.source(m.counted(r.next)) // one that has expired is to be deleted too
		default:
			s = r.source(m.alive(r.next))
		}
		if m.dv && in.shadow {
			r.number, s.place = m.numberOf, r.place
		}
		s.shadow = in.shadow && mg.keep != keepAll // shadows alone are spilled like others
		mg.sources = append(mg.sources, s)
	}
	return func() {
		for _, r := range readers {
			r.close()
		}
	}, mg.start() // which lets m see how large rows are
}

// mergeRows is the most rows of a source's block.
const mergeRows = 4096

// diskSource reads a spilled run.
func (m *sectionMerge) diskSource(w *spilledKV) *source {
	next, levels, places := w.reader()
	s := &source{kv: NewKeyValues(m.proj.rows), dups: true}
	s.next = func(kv *KeyValues) error {
		err := next(kv)
		m.seen(kv)
		if w.levels {
			s.levels = *levels
		}
		if w.places {
			s.places = *places
		}
		return err
	}
	return s
}

// shadows returns the files below the output in which keys of a section may be, one run a level. Only rows that come from
// level 0 are looked up: those above it were when they came there. The runs are merged like the others, so that each lookup
// is a step and the files are read once and no further than the section goes. Of first-row tables the key's columns do.
func (m *sectionMerge) shadows(sec section) ([]run, error) {
	if !m.way.compare || m.full || !sec.hasLevel0() {
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

func (m *sectionMerge) reader(files run, p *projection, batch readSize) *runReader {
	r := &runReader{ctx: m.ctx, proj: p, partition: m.partition, bucket: m.bucket, files: files, batch: batch, meter: m.meter}
	if m.dv {
		r.vectors = m.vectors.was
	}
	return r
}

// counted makes a reader count what it reads.
func (m *sectionMerge) counted(next func(*KeyValues) error) func(*KeyValues) error {
	return func(kv *KeyValues) error {
		if err := next(kv); err != nil {
			return err
		}
		m.stats.RowsRead += int64(kv.Len())
		m.seen(kv)
		return nil
	}
}

// alive makes a reader drop expired rows and count what it reads.
func (m *sectionMerge) alive(next func(*KeyValues) error) func(*KeyValues) error {
	var kept *KeyValues
	next = m.counted(next)
	return func(kv *KeyValues) error {
		if err := next(kv); err != nil {
			return err
		}
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
	return m.each(kv, func() error { return next(kv) }, func() error { return m.write(kv) })
}

// write writes merged rows.
func (m *sectionMerge) write(kv *KeyValues) error {
	if m.out == nil {
		return nil
	}
	if m.way.dropDelete {
		kv = m.adds(kv)
	}
	m.stats.RowsWritten += int64(kv.Len())
	return m.out.Write(kv)
}

// each calls next and then use until next says io.EOF. What single huge rows have made of kv is not kept.
func (m *sectionMerge) each(kv *KeyValues, next, use func() error) error {
	for {
		if m.ctx.Err() != nil {
			return context.Cause(m.ctx)
		}
		if err := next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := use(); err != nil {
			return err
		}
		if int64(kv.Rows.Bytes()) > 2*m.outBytes() {
			*kv, *m.kept = *NewKeyValues(m.proj.rows), *NewKeyValues(m.proj.rows)
		}
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
