package parquet

import "encoding/binary"

// createdBy names the writer in the form that readers parse to know of bugs of old writers.
const createdBy = "paimon-go version 1.0.0"

// Boundary orders of the column index.
const (
	orderNone       = 0
	orderAscending  = 1
	orderDescending = 2
)

// columnIndex returns the column index of the chunk's pages, nil when there can be none: every page that isn't all null
// must have bounds.
func (c *chunk) columnIndex() []byte {
	for i := range c.pages {
		if p := &c.pages[i]; !p.known && !p.allNull {
			return nil
		}
	}
	var w thriftWriter
	w.reset()
	w.list(1, tTrue, len(c.pages))
	for i := range c.pages {
		w.elemBool(c.pages[i].allNull)
	}
	w.list(2, tBinary, len(c.pages))
	for i := range c.pages {
		w.elemBytes(c.bounds[c.pages[i].lo:c.pages[i].hi])
	}
	w.list(3, tBinary, len(c.pages))
	for i := range c.pages {
		w.elemBytes(c.bounds[c.pages[i].hi:c.pages[i].end])
	}
	w.i32(4, c.boundaryOrder())
	w.list(5, tI64, len(c.pages))
	for i := range c.pages {
		w.elemI64(c.pages[i].nulls)
	}
	w.end()
	return w.b
}

// boundaryOrder tells whether both bounds rise or fall from page to page, null pages left out.
func (c *chunk) boundaryOrder() int32 {
	up, down := true, true
	var last *pageInfo
	for i := range c.pages {
		p := &c.pages[i]
		if p.allNull {
			continue
		}
		if last != nil {
			lo := compareBounds(c.page.kind, c.bounds[last.lo:last.hi], c.bounds[p.lo:p.hi])
			hi := compareBounds(c.page.kind, c.bounds[last.hi:last.end], c.bounds[p.hi:p.end])
			up = up && lo <= 0 && hi <= 0
			down = down && lo >= 0 && hi >= 0
		}
		last = p
	}
	switch {
	case up:
		return orderAscending
	case down:
		return orderDescending
	}
	return orderNone
}

// offsetIndex returns the offset index of the chunk's pages, which begin at byte at of the file.
func (c *chunk) offsetIndex(at int64) []byte {
	var w thriftWriter
	w.reset()
	w.list(1, tStruct, len(c.pages))
	for i := range c.pages {
		p := &c.pages[i]
		w.beginElem()
		w.i64(1, at+int64(p.at))
		w.i32(2, int32(p.size))
		w.i64(3, p.firstRow)
		w.end()
	}
	w.end()
	return w.b
}

// place is where an index is in the file.
type place struct{ at, size int64 }

// writeFooter writes the page indexes, the footer, its length and the magic.
func (w *writer) writeFooter() {
	var columns, offsets []place
	for i := range w.groups {
		for j := range w.groups[i].chunks {
			m := &w.groups[i].chunks[j]
			columns = append(columns, place{w.written, int64(len(m.columnIndex))})
			if len(m.columnIndex) > 0 {
				w.write(m.columnIndex)
			}
		}
	}
	for i := range w.groups {
		for j := range w.groups[i].chunks {
			m := &w.groups[i].chunks[j]
			offsets = append(offsets, place{w.written, int64(len(m.pageIndex))})
			w.write(m.pageIndex)
		}
	}
	t := &thriftWriter{}
	t.reset()
	t.i32(1, 1) // format version
	t.list(2, tStruct, len(w.schema.elems))
	for i := range w.schema.elems {
		w.schema.elems[i].write(t, i == 0)
	}
	t.i64(3, w.rows)
	t.list(4, tStruct, len(w.groups))
	for i := range w.groups {
		n := len(w.schema.leaves)
		w.writeGroup(t, i, columns[i*n:], offsets[i*n:])
	}
	t.string(6, createdBy)
	t.list(7, tStruct, len(w.schema.leaves))
	for range w.schema.leaves {
		t.beginElem()
		t.empty(1) // the order of the type
		t.end()
	}
	t.end()
	t.b = binary.LittleEndian.AppendUint32(t.b, uint32(len(t.b)))
	w.write(append(t.b, magic...))
}

func (w *writer) writeGroup(t *thriftWriter, ordinal int, columns, offsets []place) {
	g := &w.groups[ordinal]
	var size, uncompressed int64
	t.beginElem()
	t.list(1, tStruct, len(g.chunks))
	for j := range g.chunks {
		m := &g.chunks[j]
		size += m.size
		uncompressed += m.uncompressed
		t.beginElem()
		t.i64(2, m.at)
		t.begin(3)
		w.writeChunk(t, w.schema.leaves[j], m)
		t.end()
		t.i64(4, offsets[j].at)
		t.i32(5, int32(offsets[j].size))
		if columns[j].size > 0 {
			t.i64(6, columns[j].at)
			t.i32(7, int32(columns[j].size))
		}
		t.end()
	}
	t.i64(2, uncompressed)
	t.i64(3, g.rows)
	t.i64(5, g.chunks[0].at)
	t.i64(6, size)
	if ordinal <= 1<<15-1 {
		t.i16(7, int16(ordinal))
	}
	t.end()
}

func (w *writer) writeChunk(t *thriftWriter, leaf *node, m *writtenChunk) {
	t.i32(1, leaf.phys)
	encodings := make([]int32, 0, 4)
	if leaf.def > 0 {
		encodings = append(encodings, encRLE)
	}
	if leaf.rep == 0 {
		encodings = append(encodings, encBitPacked)
	}
	if m.dictPages > 0 {
		encodings = append(encodings, encPlainDict)
	}
	if m.plainPages > 0 {
		encodings = append(encodings, encPlain)
	}
	t.list(2, tI32, len(encodings))
	for _, e := range encodings {
		t.elemI32(e)
	}
	t.list(3, tBinary, len(leaf.path))
	for _, p := range leaf.path {
		t.elemString(p)
	}
	t.i32(4, w.codec(dotted(leaf.path)))
	t.i64(5, m.levels)
	t.i64(6, m.uncompressed)
	t.i64(7, m.size)
	t.i64(9, m.dataAt)
	if m.hasDict {
		t.i64(11, m.at)
	}
	writeStatistics(t, leaf, m)
	stats := [3][3]int32{{pageDict, encPlainDict, 1}, {pageData, encPlainDict, int32(m.dictPages)}, {pageData, encPlain, int32(m.plainPages)}}
	n := 0
	for i := range stats {
		if stats[i][2] > 0 && (i > 0 || m.hasDict) {
			stats[n] = stats[i]
			n++
		}
	}
	t.list(13, tStruct, n)
	for _, s := range stats[:n] {
		t.beginElem()
		t.i32(1, s[0])
		t.i32(2, s[1])
		t.i32(3, s[2])
		t.end()
	}
}

func writeStatistics(t *thriftWriter, leaf *node, m *writtenChunk) {
	t.begin(12)
	kind := boundsKindOf(leaf)
	// The old fields are for the types whose order was always the same.
	old := m.bounded && kind != boundsBytes && kind != boundsText && kind != boundsFixed
	if old {
		t.bytes(1, m.max)
		t.bytes(2, m.min)
	}
	t.i64(3, m.nulls)
	if m.bounded {
		t.bytes(5, m.max)
		t.bytes(6, m.min)
	}
	t.end()
}
