package format

import "bytes"

// Twin lets two files that are written beside each other, and have nearly the same rows in the same order, compress what is
// the same in both once. With changelog-producer=input a flush writes its rows into a data file and a changelog file, and as
// long as each key came once (in an initial read, say) their blocks or pages are equal, byte for byte.
//
// The n-th block of a column (of all rows, in a format without columns) in one file is held against the n-th in the other
// and used only when all plain bytes are equal, so the files are what they would be without it. Blocks are kept until the
// other file has come to them, 2 MB of plain bytes at most. Where the files have gone different ways, as from the first key
// with two records on, they soon don't look any more.
//
// The zero value is ready. Not safe for concurrent use: both files are written by one goroutine.
type Twin struct {
	sides   [2]TwinSide
	columns []twinColumn
	bytes   int   // plain bytes held
	found   int64 // of the pair
}

// TwinSide is one of the two files. A nil one stands alone.
type TwinSide struct {
	twin *Twin
	i    int
}

type twinColumn struct {
	blocks [2]int64     // that the files have come to
	held   []*twinBlock // of the file that is ahead, oldest first
	spare  []*twinBlock
	misses int // blocks in a row that were others
}

type twinBlock struct {
	number        int64
	plain, packed []byte
}

const (
	twinBytes  = 2 << 20 // most plain bytes held
	twinMisses = 4       // blocks in a row that are others, after which nobody looks any more
	twinSpare  = 2 << 20 // most memory of blocks that is kept for the next pair
)

// Sides begins a new pair of files. Both must be of one format, with the same columns, codecs and level.
func (t *Twin) Sides() (a, b *TwinSide) {
	kept := 0
	for i := range t.columns {
		c := &t.columns[i]
		t.drop(c, len(c.held))
		c.blocks, c.misses = [2]int64{}, 0
		for k, b := range c.spare {
			if kept += cap(b.plain) + cap(b.packed); kept > twinSpare {
				clear(c.spare[k:])
				c.spare = c.spare[:k]
				break
			}
		}
	}
	t.found = 0
	t.sides = [2]TwinSide{{t, 0}, {t, 1}}
	return &t.sides[0], &t.sides[1]
}

// Found is how many blocks of the pair were not compressed.
func (t *Twin) Found() int64 { return t.found }

func (t *Twin) column(i int) *twinColumn {
	for i >= len(t.columns) {
		t.columns = append(t.columns, twinColumn{})
	}
	return &t.columns[i]
}

// Find begins the next block of a column. It returns what the other file made of the same bytes, valid until the next call,
// or nil, upon which Keep is to be told what this file made of them.
func (s *TwinSide) Find(column int, plain []byte) (packed []byte) {
	if s == nil {
		return nil
	}
	t := s.twin
	c := t.column(column)
	n := c.blocks[s.i]
	c.blocks[s.i]++
	if n >= c.blocks[1-s.i] || c.misses >= twinMisses {
		return nil
	}
	behind := 0
	for behind < len(c.held) && c.held[behind].number < n {
		behind++
	}
	t.drop(c, behind)
	if len(c.held) == 0 || c.held[0].number != n {
		return nil // there was no room for it
	}
	if bytes.Equal(c.held[0].plain, plain) {
		c.misses = 0
		t.found++
		return c.held[0].packed
	}
	if c.misses++; c.misses == twinMisses {
		t.drop(c, len(c.held))
	}
	return nil
}

// Keep says what the block that Find was asked for last became. Both are copied.
func (s *TwinSide) Keep(column int, plain, packed []byte) {
	if s == nil {
		return
	}
	t := s.twin
	c := t.column(column)
	if c.blocks[s.i] <= c.blocks[1-s.i] || c.misses >= twinMisses || t.bytes+len(plain) > twinBytes {
		return
	}
	b := new(twinBlock)
	if k := len(c.spare); k > 0 {
		b, c.spare = c.spare[k-1], c.spare[:k-1]
	}
	b.number = c.blocks[s.i] - 1
	b.plain, b.packed = append(b.plain[:0], plain...), append(b.packed[:0], packed...)
	c.held = append(c.held, b)
	t.bytes += len(plain)
}

// drop forgets the n oldest blocks of a column.
func (t *Twin) drop(c *twinColumn, n int) {
	for _, b := range c.held[:n] {
		t.bytes -= len(b.plain)
		c.spare = append(c.spare, b)
	}
	k := copy(c.held, c.held[n:])
	clear(c.held[k:])
	c.held = c.held[:k]
}
