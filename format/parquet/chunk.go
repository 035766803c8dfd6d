package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/internal/fastzstd"
)

// chunk writes one column of a row group. Finished pages wait, compressed, in out until the row group ends, because a file
// has its column chunks one after the other and the dictionary before the pages.
type chunk struct {
	leaf *node
	cfg  *config
	comp *compressor // shared by the chunks of a file that have the same codec
	twin *format.TwinSide
	// column is the chunk's number in the file, for its twin.
	column int
	trial  *fastzstd.Trial // of its pages; nil: there is one level only
	dicts  *fastzstd.Trial // of its dictionary
	enc    encoder
	stage  stager
	staged values  // by stage
	idx    []int32 // scratch: rows that are not null

	// The page under way.
	defs, reps []uint8
	full       int // definition levels not in defs, all at the maximum; defs is empty while it is used
	levels     int // values, nulls and empty lists included
	nulls      int
	rows       int
	raw        int // PLAIN size of its values
	page       bounds

	// The chunk so far.
	out          blocks
	pages        []pageInfo
	bounds       []byte // of the pages, cut for the page index
	total        bounds
	totalRows    int64
	totalLevels  int64
	totalNulls   int64
	uncompressed int64
	totalRaw     int64 // PLAIN size
	dictPages    int
	judgeAt      int                           // values of the page under way at which the dictionary is judged; 0: no more
	judged       struct{ values, entries int } // when it was last, or at the begin of the page
}

// pageInfo is what the page index says of a page.
type pageInfo struct {
	at, size       int   // in out, header included
	firstRow       int64 // within the row group
	nulls          int64
	known, allNull bool
	lo, hi, end    int // bounds[lo:hi] and bounds[hi:end]
}

// Chunks are pooled by the width of what they encode, so that their buffers and hash tables fit the next file's columns.
var chunkPools [pFixed + 1]sync.Pool

// maxPooledBytes is the most memory that one pooled object may keep.
const maxPooledBytes = 4 << 20

func getChunk(leaf *node, cfg *config, comp *compressor) *chunk {
	c, ok := chunkPools[leaf.phys].Get().(*chunk)
	if !ok {
		c = &chunk{enc: newEncoder(leaf.phys)}
	}
	c.leaf, c.cfg, c.comp, c.stage.leaf = leaf, cfg, comp, leaf
	c.page.kind = boundsKindOf(leaf)
	c.total.kind = c.page.kind
	c.start()
	return c
}

// start makes the chunk empty, for the next row group too.
func (c *chunk) start() {
	// Java's writer of format version 1 has no dictionaries for booleans and decimals of many digits.
	c.enc.reset(c.leaf, c.leaf.phys != pBoolean && c.leaf.phys != pFixed && c.cfg.useDict(dotted(c.leaf.path)))
	c.startPage()
	c.out.reset()
	c.pages, c.bounds = c.pages[:0], c.bounds[:0]
	c.total.reset()
	c.totalRows, c.totalLevels, c.totalNulls, c.uncompressed, c.totalRaw, c.dictPages = 0, 0, 0, 0, 0, 0
	c.judgeAt = firstTrial
	c.judged.values, c.judged.entries = 0, 0
}

func (c *chunk) startPage() {
	c.defs, c.reps = c.defs[:0], c.reps[:0]
	c.full, c.levels, c.nulls, c.rows, c.raw = 0, 0, 0, 0, 0
	c.page.reset()
}

func (c *chunk) release() {
	c.leaf, c.cfg, c.comp, c.twin, c.trial, c.dicts, c.stage.leaf = nil, nil, nil, nil, nil, nil, nil
	c.staged = values{} // whose memory is the caller's
	c.out.reset()
	if c.enc.capacity()+cap(c.stage.fixed)+8*cap(c.stage.i64)+4*cap(c.stage.i32)+4*cap(c.idx)+cap(c.defs)+cap(c.reps) <= maxPooledBytes {
		chunkPools[phys(c.enc, c.page.kind)].Put(c)
	}
}

// phys is the physical type whose pool a chunk belongs to.
func phys(e encoder, kind boundsKind) int {
	switch e := e.(type) {
	case *boolEncoder:
		return pBoolean
	case *numEncoder[int32]:
		if kind == boundsF32 {
			return pFloat
		}
		return pInt32
	case *numEncoder[int64]:
		if kind == boundsF64 {
			return pDouble
		}
		return pInt64
	case *bytesEncoder:
		if e.width > 0 {
			return pFixed
		}
	}
	return pByteArray
}

// A dictionary is judged when it has had firstTrial values, and at each doubling up to trialValues: a column in which two thirds of the last
// half of them were new (keys, sequence numbers, hashes; keys of a changelog, where updates have them twice) goes on in PLAIN form then, and
// before if all differ and as many draws without a repetition speak for more values than a dictionary may hold.
const (
	firstTrial  = 128
	trialValues = 2048
)

// writeFlat appends rows from to to of a column of the top level.
func (c *chunk) writeFlat(col *row.Column, from, to int) error {
	nullable := c.leaf.optional && col.HasNulls()
	if !c.leaf.optional && anyNull(col, from, to) {
		return fmt.Errorf("column %q: %w", c.leaf.name, format.ErrNull)
	}
	for from < to {
		n := rowsWithin(c.leaf, col, from, min(to, from+c.cfg.pageRows-c.rows), c.cfg.pageSize-c.raw)
		if d := c.enc.dict(); d.on && c.judgeAt > 0 {
			n = min(n, c.judgeAt-len(d.indexes))
		}
		end := from + n
		var idx []int32
		if nullable && anyNull(col, from, end) {
			idx = c.notNull(col, from, end)
			c.addNulls(col, from, n, n-len(idx))
		} else if len(c.defs) == 0 {
			c.full += n
		} else {
			c.defs = appendN(c.defs, 1, n)
		}
		c.staged = c.stage.stage(col, from, end, idx)
		c.put(&c.staged)
		c.rows += n
		c.levels += n
		if err := c.endSlice(); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// notNull lists the rows that are not null.
func (c *chunk) notNull(col *row.Column, from, to int) []int32 {
	idx := resize(c.idx, to-from)
	n := 0
	for i := from; i < to; i++ {
		idx[n] = int32(i)
		if !col.Nulls.Get(i) {
			n++
		}
	}
	c.idx = idx
	return idx[:n]
}

// addNulls appends the definition levels of n rows with nulls among them.
func (c *chunk) addNulls(col *row.Column, from, n, nulls int) {
	c.spell()
	at := len(c.defs)
	c.defs = grow(c.defs, n)[:at+n]
	for i := range n {
		c.defs[at+i] = 1
		if col.Nulls.Get(from + i) {
			c.defs[at+i] = 0
		}
	}
	c.nulls += nulls
}

// spell writes out the levels that were only counted.
func (c *chunk) spell() {
	if c.full > 0 {
		c.defs = appendN(c.defs, uint8(c.leaf.def), c.full)
		c.full = 0
	}
}

func appendN(b []byte, v byte, n int) []byte {
	at := len(b)
	b = grow(b, n)[:at+n]
	for i := range b[at:] {
		b[at+i] = v
	}
	return b
}

// anyNull reports whether a row from from to to is null.
func anyNull(col *row.Column, from, to int) bool {
	for w := from >> 6; w <= (to-1)>>6 && w < len(col.Nulls); w++ {
		bits := col.Nulls[w]
		if w == from>>6 {
			bits &= ^uint64(0) << (uint(from) & 63)
		}
		if w == (to-1)>>6 && to&63 != 0 {
			bits &= 1<<(uint(to)&63) - 1
		}
		if bits != 0 {
			return true
		}
	}
	return false
}

// writeNested appends entries of a column inside a list or ROW: their levels, and the value of each entry at the greatest
// definition level, which is row idx[k] of col for the k-th of them. The entries are whole rows.
func (c *chunk) writeNested(col *row.Column, defs, reps []uint8, idx []int32) error {
	maxDef := uint8(c.leaf.def)
	for len(defs) > 0 {
		// The longest run of whole rows that fits the page.
		n, vals, rows, raw := 0, 0, c.rows, c.raw
		for n < len(defs) {
			if reps[n] == 0 {
				if n > 0 && (raw >= c.cfg.pageSize || rows >= c.cfg.pageRows || c.judgeAt > 0 && vals >= c.judgeAt) {
					break
				}
				rows++
			}
			if defs[n] == maxDef {
				raw += c.valueSize(col, idx[vals])
				vals++
			}
			n++
		}
		c.spell()
		c.defs = append(c.defs, defs[:n]...)
		if c.leaf.rep > 0 {
			c.reps = append(c.reps, reps[:n]...)
		}
		if vals > 0 {
			c.staged = c.stage.stage(col, 0, 0, idx[:vals])
			c.put(&c.staged)
		}
		c.rows = rows
		c.levels += n
		c.nulls += n - vals
		if err := c.endSlice(); err != nil {
			return err
		}
		defs, reps, idx = defs[n:], reps[n:], idx[vals:]
	}
	return nil
}

func (c *chunk) valueSize(col *row.Column, i int32) int {
	switch c.leaf.phys {
	case pBoolean:
		return 1
	case pByteArray:
		return int(col.Off[i+1]-col.Off[i]) + 4
	case pInt32, pFloat:
		return 4
	case pInt64, pDouble:
		return 8
	}
	return countedWidth(c.leaf)
}

func (c *chunk) put(v *values) {
	c.enc.put(v)
	c.raw += plainSize(v, c.leaf)
	if c.page.kind != boundsNone {
		c.page.update(v)
	}
}

// endSlice judges the dictionary and ends the page when it is full.
func (c *chunk) endSlice() error {
	if d := c.enc.dict(); d.on {
		if n := len(d.indexes); c.judgeAt > 0 && n >= c.judgeAt && c.judge(d, n) {
			c.enc.fallBack()
		}
		if d.on && len(d.bytes) > c.cfg.dictSize {
			c.enc.fallBack()
		}
	}
	if c.raw >= c.cfg.pageSize || c.rows >= c.cfg.pageRows {
		return c.flushPage()
	}
	return nil
}

// judge tells whether n values have shown that the dictionary doesn't pay.
func (c *chunk) judge(d *dictionary, n int) bool {
	values, entries := n-c.judged.values, d.entries-c.judged.entries
	c.judged.values, c.judged.entries = n, d.entries
	if n >= trialValues {
		c.judgeAt = 0
		return entries*3 > values*2
	}
	c.judgeAt = 2 * n
	// Of m values, n drawn at random are likely to have a repetition as soon as n*n > 2*m.
	return c.dictPages == 0 && d.entries == n && n*len(d.bytes)/2 >= c.cfg.dictSize
}

// flushPage ends the page under way.
func (c *chunk) flushPage() error {
	if c.levels == 0 {
		return nil
	}
	s := scratchPool.Get().(*scratch)
	defer s.release()
	s.levels = c.appendLevels(s.levels[:0])
	d := c.enc.dict()
	body, encoding := s.body[:0], int32(encPlain)
	if d.on {
		encoding = encPlainDict
		body = append(body, s.levels...)
		body = append(body, byte(d.width()))
		body = appendHybrid(body, d.indexes, d.width())
		s.body = body
		// Before any page has used it, a dictionary that saves nothing is dropped (Java's FallbackValuesWriter).
		if c.dictPages == 0 && len(d.bytes)+len(body)-len(s.levels) >= c.raw {
			c.enc.fallBack()
		}
	}
	if d.on {
		c.dictPages++
		d.indexes = d.indexes[:0]
		c.judged.values, c.judged.entries = 0, d.entries
	} else {
		encoding = encPlain
		buf := c.enc.plain()
		if len(s.levels) <= headroom {
			from := headroom - len(s.levels)
			copy((*buf)[from:], s.levels)
			body = (*buf)[from:]
		} else {
			body = append(append(body[:0], s.levels...), (*buf)[headroom:]...)
			s.body = body
		}
		defer func() { *buf = (*buf)[:headroom] }()
	}
	h := pageHeader{typ: pageData, values: int32(c.levels), encoding: encoding,
		defEncoding: levelEncoding(c.leaf.def), repEncoding: levelEncoding(c.leaf.rep)}
	packed, err := c.pack(&h, body, s)
	if err != nil {
		return err
	}
	at := c.out.n
	c.out.append(s.thrift.b)
	c.out.append(packed)
	c.addPage(at)
	c.startPage()
	return nil
}

// pack compresses a page's body and makes its header, which is then in s.thrift.
func (c *chunk) pack(h *pageHeader, body []byte, s *scratch) ([]byte, error) {
	packed := body
	if c.comp.codec != codecNone {
		if packed = c.twin.Find(c.column, body); packed == nil {
			trial := c.trial
			if h.typ == pageDict {
				trial = c.dicts
			}
			var err error
			if s.packed, err = c.comp.appendTo(s.packed[:0], body, trial); err != nil {
				return nil, fmt.Errorf("compressing a page of column %q: %w", c.leaf.name, err)
			}
			packed = s.packed
			c.twin.Keep(c.column, body, packed)
		}
	}
	if len(body) > maxPage || len(packed) > maxPage {
		return nil, fmt.Errorf("a page of column %q has %d bytes: the format allows 2 GiB", c.leaf.name, len(body))
	}
	h.uncompressed, h.size = int32(len(body)), int32(len(packed))
	h.crc = crc32.ChecksumIEEE(packed)
	h.write(&s.thrift)
	c.uncompressed += int64(len(s.thrift.b) + len(body))
	return packed, nil
}

const maxPage = 1<<31 - 1

// levelEncoding is what parquet-mr says of levels; with a maximum of 0 there are none and the value means nothing.
func levelEncoding(limit int) int32 {
	if limit == 0 {
		return encBitPacked
	}
	return encRLE
}

// appendLevels appends the repetition and definition levels of the page, each after its length.
func (c *chunk) appendLevels(dst []byte) []byte {
	if c.leaf.rep > 0 {
		dst = withLength(dst, func(dst []byte) []byte { return appendHybrid(dst, c.reps, bitWidth(c.leaf.rep)) })
	}
	if c.leaf.def > 0 {
		dst = withLength(dst, func(dst []byte) []byte {
			if len(c.defs) == 0 {
				return appendRun(dst, uint32(c.leaf.def), c.full, bitWidth(c.leaf.def))
			}
			return appendHybrid(dst, c.defs, bitWidth(c.leaf.def))
		})
	}
	return dst
}

func withLength(dst []byte, f func([]byte) []byte) []byte {
	at := len(dst)
	dst = f(append(dst, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// addPage records the page that begins at at in out.
func (c *chunk) addPage(at int) {
	p := pageInfo{at: at, size: c.out.n - at, firstRow: c.totalRows, nulls: int64(c.nulls),
		allNull: c.nulls == c.levels, known: c.page.known()}
	p.lo = len(c.bounds)
	p.hi, p.end = p.lo, p.lo
	if p.known {
		c.bounds = c.page.appendMin(c.bounds)
		c.bounds = c.bounds[:p.lo+len(cutMin(c.page.kind, c.bounds[p.lo:]))]
		p.hi = len(c.bounds)
		c.bounds = cutMax(c.page.kind, c.page.appendMax(c.bounds), p.hi)
		p.end = len(c.bounds)
	}
	c.pages = append(c.pages, p)
	c.total.merge(&c.page)
	c.totalRows += int64(c.rows)
	c.totalLevels += int64(c.levels)
	c.totalNulls += int64(c.nulls)
	c.totalRaw += int64(c.raw)
}

// size is the bytes finished and the PLAIN bytes of the page under way.
func (c *chunk) size() (finished, raw int64) {
	return int64(c.out.n), int64(c.raw + len(c.enc.dict().bytes))
}

// guess is what the page under way and the dictionary will take: as much of their PLAIN size as for the pages before, or
// for the first page as much of the encoded size as other data of the file.
func (c *chunk) guess(ratio float64) int64 {
	d := c.enc.dict()
	dict := float64(len(d.bytes)) * ratio
	switch {
	case c.totalRaw > 0:
		return int64(dict + float64(c.raw)*float64(c.out.n)/float64(c.totalRaw))
	case d.on:
		return int64(dict + float64(len(d.indexes)*d.width()/8)*ratio)
	}
	return int64(float64(c.raw) * ratio)
}

// scratch is memory for one page at a time.
type scratch struct {
	levels, body, packed []byte
	thrift               thriftWriter
}

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) release() {
	if cap(s.levels)+cap(s.body)+cap(s.packed)+cap(s.thrift.b) <= maxPooledBytes {
		scratchPool.Put(s)
	}
}
