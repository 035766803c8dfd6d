package lsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/internal/losertree"
)

// order says how records of one key space compare: by key, then by the user-defined sequence, then by sequence number.
// Columns are positions in the batches at hand.
type order struct {
	keys []int
	seqs []int // of sequence.field
	desc bool  // sequence.field.sort-order
}

// source is one sorted run on its way into a merge: its block of rows at hand, each with bytes whose order is that of the
// records. Records of one source have ascending, unique keys.
type source struct {
	next func(*KeyValues) error // fills a block; io.EOF after the last
	kv   *KeyValues
	at   int
	keys []byte
	end  []uint32 // end[i]: where the key of row i ends in keys; its sequences follow up to start of row i+1
	from []uint32 // from[i]: where row i starts in keys
}

// fill gets the next block that has rows; false at the end.
func (s *source) fill(o *order) (bool, error) {
	s.at = 0
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
	keys := make([]*row.Column, len(o.keys))
	for i, k := range o.keys {
		keys[i] = &s.kv.Rows.Cols[k]
	}
	s.keys, s.end, s.from = s.keys[:0], s.end[:0], s.from[:0]
	for i := range s.kv.Len() {
		s.from = append(s.from, uint32(len(s.keys)))
		s.keys = row.AppendKey(s.keys, keys, i)
		s.end = append(s.end, uint32(len(s.keys)))
		for _, c := range o.seqs {
			s.keys = row.AppendSortField(s.keys, &s.kv.Rows.Cols[c], i, o.desc)
		}
		s.keys = binary.BigEndian.AppendUint64(s.keys, uint64(s.kv.Seq[i])^1<<63)
	}
	s.from = append(s.from, uint32(len(s.keys)))
	return true, nil
}

func (s *source) key(i int) []byte { return s.keys[s.from[i]:s.end[i]] }

// full returns the bytes that order row i among all records.
func (s *source) full(i int) []byte { return s.keys[s.from[i]:s.from[i+1]] }

func (s *source) prefix(i int) uint64 { return binary.BigEndian.Uint64(s.full(i)) } // at least the 8 of the sequence

// merger merges sources and keeps one record of each key: the newest (deduplicate), or the oldest (first-row). A record
// keeps its kind and sequence number, retracts included.
type merger struct {
	order   *order
	sources []*source
	first   bool // keep the oldest
	ignore  bool // ignore-delete: a retract doesn't replace another record
	tree    losertree.Tree
	last    []byte // key of the record that was taken last
	begun   bool

	// Records taken but not yet copied: rows lo to hi of source pending. The last of them may still be replaced.
	pending *source
	lo, hi  int
}

func (m *merger) start() error {
	m.tree.Reset(len(m.sources), func(a, b int) int {
		x, y := m.sources[a], m.sources[b]
		return bytes.Compare(x.full(x.at)[8:], y.full(y.at)[8:])
	})
	for i, s := range m.sources {
		ok, err := s.fill(m.order)
		if err != nil {
			return err
		}
		if ok {
			m.tree.Set(i, s.prefix(0))
		} else {
			m.tree.SetDone(i)
		}
	}
	m.tree.Build()
	m.begun = true
	return nil
}

// next resets dst and fills it with about limit records; io.EOF when there are none left.
func (m *merger) next(dst *KeyValues, limit int) error {
	dst.Reset()
	if !m.begun {
		if err := m.start(); err != nil {
			return err
		}
	}
	before := -1
	for {
		w, ok := m.tree.Min()
		if !ok {
			break
		}
		s := m.sources[w]
		same := m.last != nil && bytes.Equal(m.last, s.key(s.at))
		if !same && dst.Len()+m.hi-m.lo >= limit {
			break
		}
		n := 1
		if w == before {
			n = min(m.lead(w), max(1, limit-dst.Len()-(m.hi-m.lo)))
		}
		before = w
		m.take(dst, s, n, same)
		if err := m.step(dst, s, n); err != nil {
			return err
		}
	}
	m.flush(dst)
	if dst.Len() == 0 {
		return io.EOF
	}
	return nil
}

// lead returns how many rows of w, the tree's winner, come before the head of every other source.
func (m *merger) lead(w int) int {
	s := m.sources[w]
	left := s.kv.Len() - s.at
	c, ok := m.tree.Challenger()
	if !ok {
		return left
	}
	other := m.sources[c]
	head := other.full(other.at)
	if bytes.Compare(s.full(s.kv.Len()-1), head) < 0 {
		return left
	}
	n := 1
	for n < left && bytes.Compare(s.full(s.at+n), head) < 0 {
		n++
	}
	return n
}

// take accepts n rows of s; the first has the key of the record taken before when same is set.
func (m *merger) take(dst *KeyValues, s *source, n int, same bool) {
	from, to := s.at, s.at+n
	if same {
		if m.first || m.ignore && s.kv.Rows.Kinds[from].IsRetract() {
			from++
		} else if m.hi > m.lo {
			m.hi--
		} else {
			dst.truncate(dst.Len() - 1)
		}
	}
	if from < to {
		if m.pending != s || m.hi != from || m.lo == m.hi {
			m.flush(dst)
			m.pending, m.lo = s, from
		}
		m.hi = to
	}
	m.last = append(m.last[:0], s.key(to-1)...)
}

// flush copies what is pending.
func (m *merger) flush(dst *KeyValues) {
	if m.hi > m.lo {
		dst.AppendRange(m.pending.kv, m.lo, m.hi)
	}
	m.pending, m.lo, m.hi = nil, 0, 0
}

// step moves s, the tree's winner, past n rows.
func (m *merger) step(dst *KeyValues, s *source, n int) error {
	s.at += n
	if s.at == s.kv.Len() {
		if m.pending == s {
			m.flush(dst)
		}
		ok, err := s.fill(m.order)
		if err != nil {
			return err
		}
		if !ok {
			m.tree.AdvanceDone()
			return nil
		}
	}
	m.tree.Advance(s.prefix(s.at))
	return nil
}
