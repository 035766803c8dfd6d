package parquet

import (
	"fmt"
	"io"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

const (
	magic = "PAR1"
	// sliceRows and sliceBytes bound the rows that pass through all columns at once: between slices the row group may end.
	sliceRows  = 8192
	sliceBytes = 16 << 20
	// nestedRows is the most rows that are shredded at once.
	nestedRows = 1024
)

// writer writes one file.
type writer struct {
	out     io.Writer
	cfg     *config
	schema  *fileSchema
	comps   map[int32]*compressor
	chunks  []*chunk
	shred   shredder
	written int64 // bytes passed to out
	rows    int64 // of the file
	inGroup int64 // of the row group under way
	groups  []writtenGroup
	ratio   float64 // bytes on disk per raw byte, as seen so far
	err     error
	done    bool
}

// writtenGroup is what the footer and the page index need of a row group.
type writtenGroup struct {
	rows   int64
	chunks []writtenChunk
}

type writtenChunk struct {
	at, dataAt             int64 // of the chunk, and of its first data page
	size, uncompressed     int64
	levels, nulls          int64
	hasDict                bool
	dictPages, plainPages  int
	bounded                bool
	min, max               []byte
	columnIndex, pageIndex []byte
}

func newWriter(out io.Writer, spec *format.WriteSpec) (*writer, error) {
	cfg, err := newConfig(spec)
	if err != nil {
		return nil, err
	}
	schema, err := newFileSchema(spec.Type)
	if err != nil {
		return nil, err
	}
	w := &writer{out: out, cfg: cfg, schema: schema, comps: map[int32]*compressor{}, ratio: 0.5}
	for i, leaf := range schema.leaves {
		c := getChunk(leaf, cfg, w.compressor(dotted(leaf.path)))
		c.twin, c.column = spec.Twin, i
		if k := (trialKey{schema: spec.Type, column: i, level: cfg.zstdLevel}); c.comp.tries() {
			c.trial = trials.Of(k)
			k.dict = true
			c.dicts = trials.Of(k)
		}
		w.chunks = append(w.chunks, c)
	}
	w.shred.chunks = w.chunks
	w.write([]byte(magic))
	if w.err != nil {
		w.Abort()
		return nil, w.err
	}
	return w, nil
}

func (w *writer) codec(path string) int32 {
	if c, ok := w.cfg.codecOf[path]; ok {
		return c
	}
	return w.cfg.codec
}

func (w *writer) compressor(path string) *compressor {
	codec := w.codec(path)
	c := w.comps[codec]
	if c == nil {
		c = new(compressor)
		c.init(codec, w.cfg.zstdLevel)
		w.comps[codec] = c
	}
	return c
}

func (w *writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.out.Write(b)
	w.written += int64(n)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	w.err = err
}

// Write appends the rows of b.
func (w *writer) Write(b *row.Batch) error {
	if w.done {
		return fmt.Errorf("parquet: write after the file's end")
	}
	if w.err != nil {
		return w.err
	}
	if err := w.check(b); err != nil {
		return err
	}
	step := sliceRows
	if size := b.Bytes(); size > sliceBytes && b.N > 0 {
		step = max(1, min(step, int(int64(b.N)*sliceBytes/int64(size))))
	}
	for from := 0; from < b.N && w.err == nil; from += step {
		to := min(from+step, b.N)
		for i, n := range w.schema.roots {
			if err := w.column(n, &b.Cols[i], from, to); err != nil {
				// Some columns have the rows and some don't: the file can't go on.
				w.err = err
				return err
			}
		}
		w.inGroup += int64(to - from)
		if done, raw := w.buffered(); done+raw >= w.cfg.blockSize {
			w.flushGroup()
		}
	}
	return w.err
}

func (w *writer) check(b *row.Batch) error {
	if len(b.Cols) != len(w.schema.roots) {
		return fmt.Errorf("parquet: a batch of %d columns for a file of %d", len(b.Cols), len(w.schema.roots))
	}
	for i, n := range w.schema.roots {
		c := &b.Cols[i]
		if c.N != b.N || c.Type == nil || c.Type.Store() != n.typ.Store() {
			return fmt.Errorf("parquet: column %q of the batch has %d rows of %d or another type", n.name, c.N, b.N)
		}
	}
	return nil
}

func (w *writer) column(n *node, c *row.Column, from, to int) error {
	if n.leaf >= 0 {
		return w.chunks[n.leaf].writeFlat(c, from, to)
	}
	for ; from < to; from += nestedRows {
		if err := w.shred.write(n, c, from, min(from+nestedRows, to)); err != nil {
			return err
		}
	}
	return nil
}

// buffered returns what the row group has so far: finished pages and raw bytes.
func (w *writer) buffered() (finished, raw int64) {
	for _, c := range w.chunks {
		f, r := c.size()
		finished += f
		raw += r
	}
	return finished, raw
}

// Size returns the bytes written, the pages that wait, and a guess of the rest from how well pages were compressed so far.
func (w *writer) Size() int64 {
	var finished, uncompressed int64
	for _, c := range w.chunks {
		finished += int64(c.out.n)
		uncompressed += c.uncompressed
	}
	ratio := w.ratio
	if uncompressed > 0 {
		ratio = float64(finished) / float64(uncompressed)
	}
	size := w.written + finished
	for _, c := range w.chunks {
		size += c.guess(ratio)
	}
	return size
}

// flushGroup writes the row group under way.
func (w *writer) flushGroup() {
	if w.inGroup == 0 || w.err != nil {
		return
	}
	g := writtenGroup{rows: w.inGroup, chunks: make([]writtenChunk, 0, len(w.chunks))}
	var finished, uncompressed int64
	for _, c := range w.chunks {
		m, err := w.flushChunk(c)
		if err != nil {
			w.err = err
			return
		}
		finished += m.size
		uncompressed += m.uncompressed
		g.chunks = append(g.chunks, m)
		c.start()
	}
	w.ratio = float64(finished) / float64(uncompressed)
	w.groups = append(w.groups, g)
	w.rows += w.inGroup
	w.inGroup = 0
}

func (w *writer) flushChunk(c *chunk) (writtenChunk, error) {
	if err := c.flushPage(); err != nil {
		return writtenChunk{}, err
	}
	if c.totalRows != w.inGroup {
		return writtenChunk{}, fmt.Errorf("parquet: column %q has %d rows of %d", c.leaf.name, c.totalRows, w.inGroup)
	}
	m := writtenChunk{at: w.written, levels: c.totalLevels, nulls: c.totalNulls, dictPages: c.dictPages, plainPages: len(c.pages) - c.dictPages}
	if c.dictPages > 0 {
		d := c.enc.dict()
		s := scratchPool.Get().(*scratch)
		h := pageHeader{typ: pageDict, values: int32(d.entries), encoding: encPlainDict}
		packed, err := c.pack(&h, d.bytes, s)
		if err != nil {
			return m, err
		}
		w.write(s.thrift.b)
		w.write(packed)
		s.release()
		m.hasDict = true
	}
	m.dataAt = w.written
	c.out.drain(w.write)
	m.size, m.uncompressed = w.written-m.at, c.uncompressed
	if c.total.known() {
		m.min, m.max = c.total.appendMin(nil), c.total.appendMax(nil)
		m.bounded = len(m.min)+len(m.max) <= chunkBounds
	}
	m.columnIndex, m.pageIndex = c.columnIndex(), c.offsetIndex(m.dataAt)
	return m, w.err
}

// Close completes the file.
func (w *writer) Close() (format.Summary, error) {
	if w.done {
		return format.Summary{}, fmt.Errorf("parquet: the file was closed before")
	}
	w.flushGroup()
	w.writeFooter()
	err := w.err
	w.end()
	return format.Summary{Rows: w.rows, Bytes: w.written}, err
}

// Abort gives the writer's memory back.
func (w *writer) Abort() {
	if !w.done {
		w.end()
	}
}

func (w *writer) end() {
	w.done = true
	for _, c := range w.comps {
		c.release()
	}
	for _, c := range w.chunks {
		c.release()
	}
	w.chunks, w.shred = nil, shredder{}
}
