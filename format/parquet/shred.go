package parquet

import (
	"fmt"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

// slots are the entries of a column of one nesting, column by column (Dremel's record shredding without records): entry i
// has levels def[i] and rep[i]; at[i] is the row of the column that it stands for, or -1 where a null or an empty list
// further out has ended it.
type slots struct {
	def, rep []uint8
	at       []int32
}

// shredder turns nested columns into levels and values of their leaves. Slots are kept by depth and reused.
type shredder struct {
	free   []*slots
	chunks []*chunk // by leaf
	idx    []int32
}

func (s *shredder) get(n int) *slots {
	var x *slots
	if k := len(s.free); k > 0 {
		x, s.free = s.free[k-1], s.free[:k-1]
	} else {
		x = new(slots)
	}
	x.def, x.rep, x.at = grow(x.def[:0], n), grow(x.rep[:0], n), grown(x.at[:0], n)
	return x
}

func (s *shredder) put(x *slots) { s.free = append(s.free, x) }

// write shreds rows from to to of a column of the top level.
func (s *shredder) write(n *node, c *row.Column, from, to int) error {
	x := s.get(to - from)
	defer s.put(x)
	for i := from; i < to; i++ {
		x.def, x.rep, x.at = append(x.def, 0), append(x.rep, 0), append(x.at, int32(i))
	}
	return s.node(n, c, x)
}

// node takes x, the entries of n, over and writes its leaves.
func (s *shredder) node(n *node, c *row.Column, x *slots) error {
	hasNulls := c.HasNulls()
	if n.optional {
		for i, at := range x.at {
			if at < 0 {
				continue
			}
			if hasNulls && c.Nulls.Get(int(at)) {
				x.at[i] = -1
			} else {
				x.def[i]++
			}
		}
	} else if hasNulls {
		for _, at := range x.at {
			if at >= 0 && c.Nulls.Get(int(at)) {
				return fmt.Errorf("column %q: %w", dotted(n.path), format.ErrNull)
			}
		}
	}
	switch {
	case n.leaf >= 0:
		idx := grown(s.idx[:0], len(x.at))
		for _, at := range x.at {
			if at >= 0 {
				idx = append(idx, at)
			}
		}
		s.idx = idx
		return s.chunks[n.leaf].writeNested(c, x.def, x.rep, idx)
	case n.isList():
		if len(c.Kids) != len(n.kids) {
			return fmt.Errorf("column %q has %d parts, not %d", dotted(n.path), len(c.Kids), len(n.kids))
		}
		return s.list(n, c, x)
	}
	if len(c.Kids) != len(n.kids) {
		return fmt.Errorf("column %q has %d fields, not %d", dotted(n.path), len(c.Kids), len(n.kids))
	}
	return s.kids(n, c, x)
}

// kids writes each kid from its own copy of the entries.
func (s *shredder) kids(n *node, c *row.Column, x *slots) error {
	for i, kid := range n.kids {
		y := x
		if i < len(n.kids)-1 {
			y = s.get(len(x.at))
			y.def, y.rep, y.at = append(y.def, x.def...), append(y.rep, x.rep...), append(y.at, x.at...)
		}
		err := s.node(kid, &c.Kids[i], y)
		if y != x {
			s.put(y)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list makes an entry of each element; a null or empty list stays one entry.
func (s *shredder) list(n *node, c *row.Column, x *slots) error {
	y := s.get(len(x.at))
	defer s.put(y)
	def, rep := uint8(n.elemDef()), uint8(n.elemRep())
	for i, at := range x.at {
		if at < 0 || c.Off[at] == c.Off[at+1] {
			y.def, y.rep, y.at = append(y.def, x.def[i]), append(y.rep, x.rep[i]), append(y.at, -1)
			continue
		}
		r := x.rep[i]
		for j := c.Off[at]; j < c.Off[at+1]; j++ {
			y.def, y.rep, y.at = append(y.def, def), append(y.rep, r), append(y.at, int32(j))
			r = rep
		}
	}
	return s.kids(n, c, y)
}
