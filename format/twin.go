package format

import "bytes"

// Twin lets two files that are written beside each other, and have nearly the same rows in the same order, compress what is
// the same in both once. With changelog-producer=input a flush writes its rows into a data file and a changelog file, and as
// long as each key came once (in an initial read, say) their blocks or pages are equal, byte for byte.
//
// The n-th block of a column (of all rows, in a format without columns) in one file is held against the n-th in the other
// and used only when all plain bytes are equal, so what a file holds does not depend on it. Blocks are kept until the other
// file has come to them, with 2 MB of plain bytes at most. Where the files have gone different ways, as from the first key
// with two records on, they soon don't look any more.
//
// The zero value is ready. Not safe for concurrent use: both files are written by one goroutine.
type Twin struct {
	sides   [2]TwinSide
	columns []twinColumn
	bytes   int // plain bytes held
	spare   []*twinBlock
	spares  int   // bytes of spare
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
	misses int          // blocks in a row that were others
}

type twinBlock struct {
	number        int64
	plain, packed []byte
}

const (
	twinBytes  = 2 << 20 // most plain bytes held
	twinMisses = 4       // blocks in a row that are others, after which nobody looks any more
	twinSpare  = 2 << 20 // most memory of blocks that is kept for others
)

// Sides begins a new pair of files. Both must be of one format, with the same columns, codecs and level.
func (t *Twin) Sides() (a, b *TwinSide) {
	t.Release()
	t.found = 0
	t.sides = [2]TwinSide{{t, 0}, {t, 1}}
	return &t.sides[0], &t.sides[1]
}

// Release ends a pair. What is kept for the next one is at most 2 MB.
func (t *Twin) Release() {
	for i := range t.columns {
		c := &t.columns[i]
		t.drop(c, len(c.held))
		c.blocks, c.misses = [2]int64{}, 0
	}
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
	var same *twinBlock // nil: there was no room for it
	passed := 0
	for passed < len(c.held) && c.held[passed].number <= n {
		same = c.held[passed]
		passed++
	}
	if same == nil || same.number != n {
		t.drop(c, passed)
		return nil
	}
	if bytes.Equal(same.plain, plain) {
		packed = same.packed
		c.misses = 0
		t.found++
	} else if c.misses++; c.misses == twinMisses {
		passed = len(c.held)
	}
	t.drop(c, passed)
	return packed
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
	var b *twinBlock
	if k := len(t.spare); k > 0 {
		b = t.spare[k-1]
		t.spare[k-1] = nil
		t.spare = t.spare[:k-1]
		t.spares -= b.size()
	} else {
		b = new(twinBlock)
	}
	b.number = c.blocks[s.i] - 1
	b.plain, b.packed = append(b.plain[:0], plain...), append(b.packed[:0], packed...)
	c.held = append(c.held, b)
	t.bytes += len(plain)
}

func (b *twinBlock) size() int { return cap(b.plain) + cap(b.packed) }

// drop forgets the n oldest blocks of a column.
func (t *Twin) drop(c *twinColumn, n int) {
	for _, b := range c.held[:n] {
		t.bytes -= len(b.plain)
		if t.spares+b.size() <= twinSpare {
			t.spare = append(t.spare, b)
			t.spares += b.size()
		}
	}
	k := copy(c.held, c.held[n:])
	clear(c.held[k:])
	c.held = c.held[:k]
}
