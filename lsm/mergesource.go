package lsm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"sort"

	"github.com/paimon-go/paimon-go/format/row"
)

// order says how records of one key space compare: by key, then by the user-defined sequence, then by sequence number.
// Columns are positions in the batches at hand.
type order struct {
	keys []int
	seqs []int // of sequence.field
	desc bool  // sequence.field.sort-order
}

// source is one sorted run on its way into a merge: its block of rows at hand, each with bytes whose order is that of the
// records but for the sequence number. Records of one source come in order.
type source struct {
	next   func(*KeyValues) error // fills a block and may set level; io.EOF after the last
	kv     *KeyValues
	dups   bool   // a key may come more than once
	level  int    // where the rows of the block at hand lie
	levels []int8 // the same row by row; nil: all at level
	shadow bool   // older data below the output: it is looked at and not copied
	place  func(i int) place
	places []place // the same row by row
	order  *order  // positions in the blocks of this source; nil: the merge's

	at     int
	keys   []byte   // row i has start(i) to last[i], the first mid[i]-start(i) of it are the key's
	last   []uint32 // of the user-defined sequence
	mid    []uint32 // the same slice as last when there is no user-defined sequence
	prefix []uint64 // the first 8 bytes, padded with zeros: no key is the beginning of another
	cols   []*row.Column
}

// fill gets the next block that has rows; false at the end.
func (s *source) fill(o *order) (bool, error) {
	if s.at = 0; s.order != nil {
		o = s.order
	}
	for {
		err := s.next(s.kv)
		if errors.Is(err, io.EOF) {
			s.kv.Reset()
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if s.kv.Len() > 0 {
			break
		}
	}
	s.cols = s.cols[:0]
	for _, k := range o.keys {
		s.cols = append(s.cols, &s.kv.Rows.Cols[k])
	}
	n := s.kv.Len()
	if len(o.seqs) == 0 {
		s.keys, s.last = row.AppendKeys(s.keys[:0], s.last[:0], s.cols, 0, n)
		s.mid = s.last
	} else {
		s.keys, s.last, s.mid = s.keys[:0], s.last[:0], s.mid[:0]
		for i := range n {
			s.keys = row.AppendKey(s.keys, s.cols, i)
			s.mid = append(s.mid, uint32(len(s.keys)))
			for _, c := range o.seqs {
				s.keys = row.AppendSortField(s.keys, &s.kv.Rows.Cols[c], i, o.desc)
			}
			s.last = append(s.last, uint32(len(s.keys)))
		}
	}
	s.prefix = s.prefix[:0]
	from := uint32(0)
	for _, to := range s.last {
		s.prefix = append(s.prefix, prefixOf(s.keys[from:to]))
		from = to
	}
	return true, nil
}

func (s *source) levelOf(i int) int {
	if s.levels != nil {
		return int(s.levels[i])
	}
	return s.level
}

// placeOf tells where row i is stored; 0 when nobody wants to know.
func (s *source) placeOf(i int) place {
	switch {
	case s.places != nil:
		return s.places[i]
	case s.place != nil:
		return s.place(i)
	}
	return 0
}

// counts is 1 for a source whose rows are wanted.
func (s *source) counts() int {
	if s.shadow {
		return 0
	}
	return 1
}

func prefixOf(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var p uint64
	for i, v := range b {
		p |= uint64(v) << (56 - 8*i)
	}
	return p
}

func (s *source) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return s.last[i-1]
}

func (s *source) key(i int) []byte { return s.keys[s.start(i):s.mid[i]] }

// compare orders row i of s and row j of t among all records.
func (s *source) compare(i int, t *source, j int) int {
	if c := cmp.Compare(s.prefix[i], t.prefix[j]); c != 0 {
		return c
	}
	if c := bytes.Compare(s.keys[s.start(i):s.last[i]], t.keys[t.start(j):t.last[j]]); c != 0 {
		return c
	}
	return cmp.Compare(s.kv.Seq[i], t.kv.Seq[j])
}

// before returns how many of the next n rows of s, of which the first does, come before row j of t.
func (s *source) before(n int, t *source, j int) int {
	if s.compare(s.at+n-1, t, j) < 0 {
		return n
	}
	lo, step := 1, 1
	for lo+step < n && s.compare(s.at+lo+step-1, t, j) < 0 {
		lo += step
		step *= 2
	}
	hi := min(lo+step, n)
	return lo + sort.Search(hi-lo, func(k int) bool { return s.compare(s.at+lo+k, t, j) >= 0 })
}
