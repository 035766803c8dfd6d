package lsm

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/paimon-go/paimon-go/format/row"
)

// MergeTree is the write side of one bucket: rows go in with Append, and Seal takes out what came since the last Seal, to
// be flushed to level 0 by any goroutine while the tree goes on. It has a single owner goroutine and no locks.
//
// Rows lie row-major in pages as records (recordCodec). A bucket begins with a small page, so that ten thousand of them
// don't take a page of full size each. When memory runs short, SealPart puts the rows so far aside as a part, for the
// pool to spill; a flush merges the parts, so that a bucket gets one run of level-0 files a Seal and not one a part.
type MergeTree struct {
	shared *Buffers
	buf    *Part   // being filled, nil when there are no rows
	used   uint32  // bytes used of the last page of buf
	parts  []*Part // put aside since the last Seal, oldest first
}

// BufferSpec says what the rows of a table are and how they are to be buffered.
type BufferSpec struct {
	Type       *row.Type
	Keys       []int // columns of the trimmed primary key
	Sequence   []int // columns of sequence.field
	Descending bool  // sequence.field.sort-order
	PageSize   int   // bytes; rounded down to a power of two, at least 1 KiB
	KeepAll    bool  // spilled runs keep every record, not only the last of a key (input changelog, other merge functions)
	// Arrival: all records are kept in the order of their arrival and without sequence numbers, as table.PostponeBucket wants it. Keys
	// and sequences mean nothing then.
	Arrival bool
}

// Records is a BufferSpec made ready. Immutable; all buffers of a table share one.
type Records struct {
	codec    *recordCodec
	pageSize int
	keepAll  bool
}

// NewRecords makes a spec ready.
func NewRecords(spec BufferSpec) *Records {
	if spec.Arrival {
		spec.Keys, spec.Sequence = nil, nil
	}
	r := &Records{
		codec:    newRecordCodec(spec.Type, spec.Keys, spec.Sequence, spec.Descending),
		pageSize: 1 << (bits.Len(uint(max(spec.PageSize, minPage))) - 1),
		keepAll:  spec.KeepAll || spec.Arrival,
	}
	if spec.Arrival {
		r.codec.arrival, r.codec.prefix = true, prefixNone
	}
	return r
}

// Buffers is what the merge trees of one owner goroutine share: memory and scratch. Not safe for concurrent use.
type Buffers struct {
	*Records
	budget *Budget
	enc    *encoder
	active int64
}

// Part is a sealed run of rows of a bucket in the order of their arrival. Immutable but for its state (spill.go).
type Part struct {
	codec *recordCodec
	shift uint // log2 of the records' units in a page
	pages [][]byte
	fill  []uint32 // bytes used of each page
	base  int64    // sequence number of the first row
	rows  uint32
	bytes int64 // taken from budget
	all   bool  // BufferSpec.KeepAll

	budget *Budget
	state  partState
}

// entryBytes is what a row costs in a flush besides its record: an entry to sort. It is taken from the budget with the row.
const entryBytes = 16

// ErrTooLarge is wrapped when one row is larger than any row may be.
var ErrTooLarge = errors.New("row is too large")

// NewBuffers returns the shared part of merge trees whose memory counts in budget.
func NewBuffers(r *Records, budget *Budget) *Buffers {
	return &Buffers{Records: r, budget: budget, enc: newEncoder(r.codec)}
}

// ActiveBytes returns the memory of all trees that is not sealed.
func (s *Buffers) ActiveBytes() int64 { return s.active }

// NewMergeTree returns an empty tree.
func (s *Buffers) NewMergeTree() *MergeTree { return &MergeTree{shared: s} }

// Bytes returns the memory that SealPart would put aside.
func (m *MergeTree) Bytes() int64 {
	if m.buf == nil {
		return 0
	}
	return m.buf.bytes
}

// Empty tells whether there is nothing to seal.
func (m *MergeTree) Empty() bool { return m.buf == nil && len(m.parts) == 0 }

// Append copies rows of b, in this order, and gives them the sequence numbers from seq on. It returns how many it took:
// fewer than asked when memory ran short. Sequence numbers must go up by one from row to row until the next SealPart or
// Seal.
func (m *MergeTree) Append(b *row.Batch, rows []int32, seq int64) (int, error) {
	return m.append(b, rows, seq, false)
}

// AppendOne is Append of one row that is taken even beyond the budget, when nothing is left that could be freed.
func (m *MergeTree) AppendOne(b *row.Batch, r int32, seq int64) error {
	_, err := m.append(b, []int32{r}, seq, true)
	return err
}

func (m *MergeTree) append(b *row.Batch, rows []int32, seq int64, force bool) (int, error) {
	enc, taken := m.shared.enc, 0
	for taken < len(rows) {
		tile := rows[taken:min(taken+tileRows, len(rows))]
		if !enc.prepare(b, tile) {
			return taken, fmt.Errorf("one of %d rows has more than %d bytes: %w", len(tile), maxRecord, ErrTooLarge)
		}
		for k := 0; k < len(tile); {
			if !m.room(enc.size[k:len(tile)], seq+int64(taken+k), force) {
				return taken + k, nil
			}
			p, from := m.buf, k
			page, off := p.pages[len(p.pages)-1], m.used
			for k < len(tile) && off+enc.size[k] <= uint32(len(page)) {
				enc.offs[k] = off
				off += enc.size[k]
				k++
			}
			enc.write(page, b, tile, from, k, p.rows)
			m.used = off
			p.fill[len(p.fill)-1] = off
			p.rows += uint32(k - from)
			index := entryBytes * int64(k-from)
			p.bytes += index
			m.shared.active += index
			m.shared.budget.Take(index)
		}
		taken += len(tile)
	}
	return taken, nil
}

// room makes sure that the last page has room for a record of size sizes[0]; a new page is made with the other sizes in
// view. seq is the sequence number of that record.
func (m *MergeTree) room(sizes []uint32, seq int64, force bool) bool {
	p := m.buf
	if p != nil && p.rows > maxRows-tileRows {
		return false // SealPart must begin a new one
	}
	var pages int
	if p != nil {
		pages = len(p.pages)
		if m.used+sizes[0] <= uint32(len(p.pages[pages-1])) {
			return true
		}
	}
	s := m.shared
	size := uint32(minPage)
	if pages > 0 {
		size = min(4*uint32(len(p.pages[pages-1])), uint32(s.pageSize))
	}
	if sizes[0] > uint32(s.pageSize) {
		size = sizes[0]
	} else {
		var want uint32
		for _, n := range sizes {
			if want += n; want >= uint32(s.pageSize) {
				break
			}
		}
		for size < want && size < uint32(s.pageSize) {
			size *= 4
		}
		size = min(size, uint32(s.pageSize))
	}
	for !s.budget.TryTake(int64(size)) {
		// The smallest page that does may still be had.
		if small := (sizes[0] + minPage - 1) / minPage * minPage; small < size && small <= uint32(s.pageSize) {
			size = small
			continue
		}
		if !force {
			return false
		}
		s.budget.Take(int64(size))
		break
	}
	if p == nil {
		p = &Part{codec: s.codec, budget: s.budget, base: seq, all: s.keepAll, shift: uint(bits.TrailingZeros(uint(s.pageSize / 8)))}
		m.buf = p
	}
	p.pages = append(p.pages, newPage(int(size)))
	p.fill = append(p.fill, 0)
	p.bytes += int64(size)
	s.active += int64(size)
	m.used = 0
	return true
}

// SealPart puts the rows that are in memory aside and returns them, to be spilled; nil when there are none. They belong
// to the next Seal all the same.
func (m *MergeTree) SealPart() *Part {
	p := m.buf
	if p == nil {
		return nil
	}
	m.shared.active -= p.bytes
	m.shared.budget.Seal(p.bytes)
	m.buf = nil
	m.parts = append(m.parts, p)
	return p
}

// Seal takes out all rows since the last one, nil when there are none.
func (m *MergeTree) Seal() *Sealed {
	m.SealPart()
	if len(m.parts) == 0 {
		return nil
	}
	s := &Sealed{parts: m.parts}
	m.parts = nil
	return s
}

// record returns the record at a place in memory, and what follows it in its page.
func (p *Part) record(off uint32) []byte {
	return p.pages[off>>p.shift][(off&(1<<p.shift-1))*8:]
}

// free gives the memory back.
func (p *Part) free() {
	for _, page := range p.pages {
		freePage(page)
	}
	p.pages, p.fill = nil, nil
	p.budget.Seal(-p.bytes)
	p.budget.Free(p.bytes)
	p.bytes = 0
}

// Pages of these sizes are kept for reuse; the collector takes what is not used for a while.
const minPage = 1 << 10

var pagePools [8]sync.Pool // of 1 KiB << i

func newPage(size int) []byte {
	if i := pageClass(size); i >= 0 {
		if p, ok := pagePools[i].Get().(*byte); ok {
			return unsafePage(p, size)
		}
	}
	return make([]byte, size)
}

func freePage(page []byte) {
	if i := pageClass(len(page)); i >= 0 {
		pagePools[i].Put(&page[0])
	}
}

func pageClass(size int) int {
	i := bits.TrailingZeros(uint(size)) - bits.TrailingZeros(minPage)
	if i < 0 || i >= len(pagePools) || size != minPage<<i {
		return -1
	}
	return i
}

// unsafePage is the page of size bytes that begins at p: a pool of pointers to the first byte stores no slice headers.
func unsafePage(p *byte, size int) []byte { return unsafe.Slice(p, size) }
