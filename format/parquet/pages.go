package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/paimon-go/paimon-go/format/row"
)

const (
	// window is how much of a column chunk is read ahead for page headers and small pages.
	window = 64 << 10
	// maxHeader bounds a page header, which may have statistics with long values.
	maxHeader = 16 << 20
	// levelRun is the most entries whose levels are decoded at once.
	levelRun = 1024
)

// verifyPages says whether pages are held against their checksums. Tests turn it off to get damage into the decoders.
var verifyPages = true

// leafReader reads the pages of one leaf, chunk by chunk.
type leafReader struct {
	name           string
	typ            *row.Type
	phys           int32
	width          int
	maxDef, maxRep int
	src            io.ReaderAt

	maxBytes, maxEntries int // of a batch, about

	// The column chunk.
	codec    int32
	pos, end int64
	win      []byte // bytes read ahead, from pos on
	winBuf   []byte
	left     int64 // entries not yet in a page
	began    bool
	dict     row.Column // the dictionary, converted to the column's type
	hasDict  bool

	// The page.
	pageLeft int // entries whose levels are not yet decoded
	defLv    hybridReader
	repLv    hybridReader
	vals     decoder
	body     []byte
	packed   []byte

	// Entries whose levels are decoded but not yet taken.
	defs, reps []uint8
	from       int

	// Entries and values of the batch, for a leaf inside a list or ROW.
	bDefs, bReps []uint8
	bVals        row.Column
}

var readBuffers = sync.Pool{New: func() any { return new([3][]byte) }}

func newLeafReader(b *bound, src io.ReaderAt) *leafReader {
	r := &leafReader{name: b.name, typ: b.typ, phys: b.phys, width: b.width, maxDef: b.def, maxRep: b.rep, src: src,
		maxBytes: batchBytes, maxEntries: batchEntries}
	bufs := readBuffers.Get().(*[3][]byte)
	r.winBuf, r.body, r.packed = bufs[0], bufs[1], bufs[2]
	r.dict.Init(b.typ)
	r.bVals.Init(b.typ)
	return r
}

func (r *leafReader) release() {
	if cap(r.winBuf)+cap(r.body)+cap(r.packed) <= maxPooledBytes {
		readBuffers.Put(&[3][]byte{r.winBuf, r.body, r.packed})
	}
	r.winBuf, r.body, r.packed, r.win = nil, nil, nil, nil
}

// open starts on a column chunk.
func (r *leafReader) open(m *chunkMeta, size int64) error {
	start := m.dataOffset
	if m.hasDict && m.dictOffset > 0 && m.dictOffset < start {
		start = m.dictOffset
	}
	switch {
	case !m.hasMeta || m.externalFile:
		return corrupt("column %q has no metadata in the footer", r.name)
	case m.typ != r.phys:
		return corrupt("column %q is type %d in its chunk and %d in the schema", r.name, m.typ, r.phys)
	case start < 4 || m.size < 0 || m.size > size || start > size-m.size || m.values < 0:
		return corrupt("column %q lies at %d with %d bytes in a file of %d", r.name, start, m.size, size)
	}
	if _, ok := maxRatio[m.codec]; !ok {
		if m.codec == codecLZO || m.codec == codecBrotli {
			return fmt.Errorf("parquet: column %q: codec %d is %w", r.name, m.codec, errUnsupported)
		}
		return corrupt("column %q: codec %d is unknown", r.name, m.codec)
	}
	r.codec, r.pos, r.end, r.left = m.codec, start, start+m.size, m.values
	r.win, r.began, r.hasDict, r.pageLeft = nil, false, false, 0
	r.defs, r.reps, r.from = r.defs[:0], r.reps[:0], 0
	return nil
}

// readAt reads len(b) bytes at off; a file that ends before is damaged.
func readAt(src io.ReaderAt, b []byte, off int64) error {
	n, err := src.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return corrupt("the file ends at %d, before %d: %w", off+int64(n), off+int64(len(b)), io.ErrUnexpectedEOF)
	}
	return err
}

// ahead makes the window hold n bytes, or what is left of the chunk.
func (r *leafReader) ahead(n int) error {
	if n = int(min(int64(n), r.end-r.pos)); len(r.win) >= n {
		return nil
	}
	size := int(min(int64(max(n, window)), r.end-r.pos))
	keep := len(r.win)
	buf := r.winBuf
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	copy(buf, r.win)
	r.winBuf, r.win = buf, nil
	if err := readAt(r.src, buf[keep:], r.pos+int64(keep)); err != nil {
		return err
	}
	r.win = buf
	return nil
}

func (r *leafReader) skip(n int) {
	r.pos += int64(n)
	r.win = r.win[min(n, len(r.win)):]
}

// header reads the next page header.
func (r *leafReader) header(h *pageHeader) error {
	for want := 512; ; want *= 8 {
		if err := r.ahead(want); err != nil {
			return err
		}
		n, err := h.read(r.win)
		if err == nil {
			r.skip(n)
			return nil
		}
		if !errors.Is(err, errShort) || int64(len(r.win)) == r.end-r.pos || want > maxHeader {
			return corrupt("column %q at %d: page header: %w", r.name, r.pos, err)
		}
	}
}

// nextPage makes the next data page current. The chunk must have entries left.
func (r *leafReader) nextPage() error {
	for {
		if r.pos >= r.end {
			return corrupt("column %q ends with %d values missing", r.name, r.left)
		}
		at := r.pos
		var h pageHeader
		if err := r.header(&h); err != nil {
			return err
		}
		if h.size < 0 || int64(h.size) > r.end-r.pos || h.uncompressed < 0 || h.values < 0 || !h.hasBody && h.typ != pageIndex {
			return corrupt("column %q at %d: page header tells sizes %d and %d and %d values", r.name, at, h.size, h.uncompressed, h.values)
		}
		if h.typ != pageData && h.typ != pageDataV2 && (h.typ != pageDict || r.began) {
			if h.typ == pageDict {
				return corrupt("column %q at %d: a second dictionary", r.name, at)
			}
			r.skip(int(h.size))
			continue
		}
		packed, err := r.bytes(int(h.size))
		if err != nil {
			return err
		}
		if h.hasCRC && verifyPages && crc32.ChecksumIEEE(packed) != h.crc {
			return corrupt("column %q at %d: the page's checksum is wrong", r.name, at)
		}
		r.began = true
		switch h.typ {
		case pageDict:
			err = r.readDict(&h, packed)
		case pageData:
			err = r.readV1(&h, packed)
		default:
			err = r.readV2(&h, packed)
		}
		switch {
		case errors.Is(err, errUnsupported):
			return fmt.Errorf("parquet: column %q at %d: %w", r.name, at, err)
		case err != nil:
			return corrupt("column %q at %d: %w", r.name, at, err)
		}
		if h.typ != pageDict && r.pageLeft > 0 {
			return nil
		}
	}
}

// bytes takes the next n bytes of the chunk, valid until the next page: all of a page is decoded before that.
func (r *leafReader) bytes(n int) ([]byte, error) {
	if n <= len(r.win) || n <= window/4 {
		if err := r.ahead(n); err != nil {
			return nil, err
		}
		b := r.win[:n:n]
		r.skip(n)
		return b, nil
	}
	r.packed = resize(r.packed, n)
	k := copy(r.packed, r.win)
	if err := readAt(r.src, r.packed[k:], r.pos+int64(k)); err != nil {
		return nil, err
	}
	r.skip(n)
	return r.packed, nil
}

var errPageSize = errors.New("the page header tells an impossible size")

// inflate decompresses into the page's buffer.
func (r *leafReader) inflate(packed []byte, size int) ([]byte, error) {
	if size < 0 || int64(size) > int64(len(packed))*maxRatio[r.codec]+64 {
		return nil, errPageSize
	}
	if r.codec == codecNone {
		if size != len(packed) {
			return nil, errPageSize
		}
		return packed, nil
	}
	if size == 0 && len(packed) == 0 {
		return nil, nil
	}
	r.body = resize(r.body, size)
	return r.body, decompress(r.codec, r.body, packed)
}

func (r *leafReader) readDict(h *pageHeader, packed []byte) error {
	body, err := r.inflate(packed, int(h.uncompressed))
	if err != nil {
		return err
	}
	if h.encoding != encPlain && h.encoding != encPlainDict {
		return fmt.Errorf("dictionary in encoding %d", h.encoding)
	}
	if r.phys != pBoolean && int(h.values) > len(body) {
		return errPageSize
	}
	r.dict.Reset()
	d := decoder{r: r}
	d.plain(body)
	if n, err := d.read(&r.dict, int(h.values), maxColumnBytes); err != nil || n != int(h.values) {
		return errors.Join(err, errors.New("dictionary is cut off"))
	}
	r.hasDict = true
	return nil
}

var errLevels = errors.New("levels are cut off")

func (r *leafReader) readV1(h *pageHeader, packed []byte) error {
	body, err := r.inflate(packed, int(h.uncompressed))
	if err != nil {
		return err
	}
	take := func(lv *hybridReader, limit int, encoding int32) error {
		if limit == 0 {
			return nil
		}
		if encoding != encRLE {
			return fmt.Errorf("levels in encoding %d", encoding)
		}
		if len(body) < 4 {
			return errLevels
		}
		n := binary.LittleEndian.Uint32(body)
		if uint64(n) > uint64(len(body)-4) {
			return errLevels
		}
		lv.reset(body[4:4+n], bitWidth(limit))
		body = body[4+n:]
		return nil
	}
	if err := take(&r.repLv, r.maxRep, h.repEncoding); err != nil {
		return err
	}
	if err := take(&r.defLv, r.maxDef, h.defEncoding); err != nil {
		return err
	}
	return r.startPage(h, body)
}

func (r *leafReader) readV2(h *pageHeader, packed []byte) error {
	levels := int64(h.repLen) + int64(h.defLen)
	if h.repLen < 0 || h.defLen < 0 || levels > int64(len(packed)) || levels > int64(h.uncompressed) {
		return errLevels
	}
	body, size := packed[levels:], int(h.uncompressed)-int(levels)
	if !h.uncompressedValues && r.codec != codecNone {
		var err error
		if body, err = r.inflate(body, size); err != nil {
			return err
		}
	}
	r.repLv.reset(packed[:h.repLen], bitWidth(r.maxRep))
	r.defLv.reset(packed[h.repLen:levels], bitWidth(r.maxDef))
	return r.startPage(h, body)
}

func (r *leafReader) startPage(h *pageHeader, body []byte) error {
	if int64(h.values) > r.left {
		return errors.New("more values than the footer tells")
	}
	r.left -= int64(h.values)
	r.pageLeft = int(h.values)
	r.vals = decoder{r: r, idx: r.vals.idx, delta: r.vals.delta, prefix: r.vals.prefix[:0]}
	return r.vals.start(h, body)
}

// fill decodes levels of more entries when none are at hand. It returns false at the end of the chunk.
func (r *leafReader) fill() (bool, error) {
	if r.from < len(r.defs) {
		return true, nil
	}
	for r.pageLeft == 0 {
		if r.left == 0 {
			return false, nil
		}
		if err := r.nextPage(); err != nil {
			return false, err
		}
	}
	n := min(r.pageLeft, levelRun)
	r.pageLeft -= n
	r.from = 0
	r.defs, r.reps = resize(r.defs, n), resize(r.reps, n)
	if err := readLevels(&r.defLv, r.defs, r.maxDef); err != nil {
		return false, corrupt("column %q: definition levels: %w", r.name, err)
	}
	if err := readLevels(&r.repLv, r.reps, r.maxRep); err != nil {
		return false, corrupt("column %q: repetition levels: %w", r.name, err)
	}
	return true, nil
}

func readLevels(lv *hybridReader, dst []uint8, limit int) error {
	if limit == 0 {
		clear(dst)
		return nil
	}
	if err := readHybrid(lv, dst); err != nil {
		return err
	}
	for _, v := range dst {
		if int(v) > limit {
			return errors.New("a level is too high")
		}
	}
	return nil
}

// flat appends up to n rows of a column of the top level, fewer when the chunk ends or dst has enough bytes.
func (r *leafReader) flat(dst *row.Column, n int) (int, error) {
	rows := 0
	for rows < n && (rows == 0 || len(dst.Bytes) < r.maxBytes) {
		more, err := r.fill()
		if err != nil || !more {
			return rows, err
		}
		defs := r.defs[r.from:min(len(r.defs), r.from+n-rows)]
		k, err := r.values(dst, defs, r.maxBytes)
		if err != nil {
			return rows, err
		}
		r.from += k
		rows += k
	}
	return rows, nil
}

// values appends the entries of defs, each a row, until dst has limit bytes, and returns how many.
func (r *leafReader) values(dst *row.Column, defs []uint8, limit int) (int, error) {
	full := len(defs)
	if r.maxDef > 0 {
		full = 0
		for _, d := range defs {
			if int(d) == r.maxDef {
				full++
			}
		}
	}
	base := dst.N
	got, err := r.vals.read(dst, full, limit)
	if err != nil {
		return 0, corrupt("column %q: %w", r.name, err)
	}
	if full == len(defs) {
		return got, nil
	}
	if got < full { // the entries up to the last value read
		n := 0
		for k := 0; k < got; n++ {
			if int(defs[n]) == r.maxDef {
				k++
			}
		}
		defs = defs[:n]
	}
	spread(dst, base, defs, uint8(r.maxDef))
	return len(defs), nil
}

// rows reads whole rows of a leaf inside a list or ROW into the batch: n of them, or fewer where the chunk ends or, when
// bounded is set, where there are enough entries.
func (r *leafReader) rows(n int, bounded bool) (int, error) {
	r.bDefs, r.bReps = r.bDefs[:0], r.bReps[:0]
	r.bVals.Reset()
	rows := 0
	for {
		more, err := r.fill()
		if err != nil {
			return rows, err
		}
		if !more {
			return rows, nil
		}
		k := 0
		stop := false
		for _, rep := range r.reps[r.from:] {
			if rep == 0 {
				if rows == n || bounded && rows > 0 && (len(r.bDefs)+k > r.maxEntries || len(r.bVals.Bytes) > r.maxBytes) {
					stop = true
					break
				}
				rows++
			} else if rows == 0 {
				return 0, corrupt("column %q: a row begins within a list", r.name)
			}
			k++
		}
		defs := r.defs[r.from : r.from+k]
		r.bDefs = append(r.bDefs, defs...)
		r.bReps = append(r.bReps, r.reps[r.from:r.from+k]...)
		full := 0
		for _, d := range defs {
			if int(d) == r.maxDef {
				full++
			}
		}
		got, err := r.vals.read(&r.bVals, full, maxColumnBytes)
		if err != nil {
			return rows, corrupt("column %q: %w", r.name, err)
		}
		if got != full {
			return rows, fmt.Errorf("parquet: column %q has rows of more than 4 GiB", r.name)
		}
		r.from += k
		if stop {
			return rows, nil
		}
	}
}
