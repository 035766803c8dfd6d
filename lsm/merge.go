package lsm

import (
	"bytes"
	"errors"
	"io"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/internal/losertree"
)

// keep says what a merge makes of the records of one key, which it sees from the oldest to the newest.
type keep uint8

const (
	keepNewest keep = iota // deduplicate
	keepOldest             // first-row
	keepFolded             // whatever a merge function makes of them
	keepAll                // nothing is merged; runs are only made one
)

// merger merges sources into records in order of their keys. With one source at work rows come over in ranges, whatever the
// merge engine: a key with a single record stays as it is, kind and sequence number, retracts included, as in Java
// (ReducerMergeFunctionWrapper). Records that were taken wait in picks, until their sources read on:
//
//	source 0  [k1 k2 k3 k7]      picks  0:k1-k3, 1:k5-k6, 0:k7
//	source 1  [k3 k5 k6 k7]             k3 and k7 were taken from source 1 first and given back, as 0's are newer
//
// The last record taken may thus still be replaced, or become the first one of a fold.
type merger struct {
	order   *order
	sources []*source
	keep    keep
	ignore  bool      // ignore-delete: a retract doesn't replace another record
	merge   MergeFunc // of keepFolded
	lookup  *lookupFold

	tree  losertree.Tree
	last  []byte // key of the record that was seen last
	known bool   // there is one
	begun bool
	real  int // sources with rows left that are no shadows

	withLevels bool   // keep levels
	levels     []int8 // of the rows of the batch that next gave
	withPlaces bool   // keep places
	places     []place

	picks  []pick
	picked int           // rows of them
	kvs    []*KeyValues  // the sources' blocks; nil for one that has not all columns
	cols   []*row.Column // scratch

	// What is known of the key of the record that was seen last.
	held    bool // the last record taken, in picks or else in the batch being filled, is its outcome so far
	folding bool // the merge function has its records
	level   int  // of the record that was taken last
	high    bool // it has a record above level 0
	deep    bool // a shadow has it
}

// pick is rows lo to hi of a source's block, to be copied.
type pick struct{ source, lo, hi int32 }

func (m *merger) start() error {
	m.tree.Reset(len(m.sources), func(a, b int) int {
		x, y := m.sources[a], m.sources[b]
		return x.compare(x.at, y, y.at)
	})
	for i, s := range m.sources {
		if m.kvs = append(m.kvs, s.kv); s.order != nil {
			m.kvs[i] = nil
		}
		ok, err := s.fill(m.order)
		if err != nil {
			return err
		}
		if ok {
			m.tree.Set(i, s.prefix[0])
			m.real += s.counts()
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
	m.levels, m.places = m.levels[:0], m.places[:0]
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
		same := m.known && bytes.Equal(m.last, s.key(s.at))
		if !same {
			if err := m.endKey(dst); err != nil {
				return err
			}
			if m.real == 0 || dst.Len()+m.picked >= limit {
				break
			}
		}
		n := 1
		if w == before || s.shadow {
			n = m.lead(w)
		}
		if !s.shadow {
			n = min(n, max(1, limit-dst.Len()-m.picked))
		}
		before = w
		if err := m.take(dst, w, n, same); err != nil {
			return err
		}
		if err := m.step(dst, w, n); err != nil {
			return err
		}
	}
	if err := m.endKey(dst); err != nil {
		return err
	}
	m.flush(dst)
	if dst.Len() == 0 {
		return io.EOF
	}
	return nil
}

// lead returns how many rows of w, the tree's winner, come before the head of every other source. But for the first, none of
// them has the key of the row before.
func (m *merger) lead(w int) int {
	s := m.sources[w]
	n := s.kv.Len() - s.at
	if c, ok := m.tree.Challenger(); ok {
		other := m.sources[c]
		n = s.before(n, other, other.at)
	}
	if s.dups {
		for i := 1; i < n; i++ {
			if bytes.Equal(s.key(s.at+i-1), s.key(s.at+i)) {
				return i
			}
		}
	}
	return n
}

// take accepts the next n rows of source w; the first has the key of the record seen before when same is set.
func (m *merger) take(dst *KeyValues, w, n int, same bool) error {
	s := m.sources[w]
	from, to := s.at, s.at+n
	if same {
		if err := m.join(dst, w, from); err != nil {
			return err
		}
		if from++; from == to {
			return nil
		}
		if err := m.endKey(dst); err != nil {
			return err
		}
	}
	m.level = s.levelOf(to - 1)
	m.held, m.high, m.deep = !s.shadow, !s.shadow && m.level > 0, s.shadow
	if !s.shadow {
		m.pick(w, from, to)
	}
	m.last, m.known = append(m.last[:0], s.key(to-1)...), true
	return nil
}

// join accepts row i of source w, which has the key of the record seen before.
func (m *merger) join(dst *KeyValues, w, i int) error {
	s := m.sources[w]
	switch {
	case s.shadow:
		m.deep = true
		if m.keep == keepOldest && !m.high {
			m.drop(dst)
		}
		return nil
	case m.keep == keepAll:
		m.pick(w, i, i+1)
		return nil
	case m.keep == keepFolded && (m.held || m.folding):
		return m.fold(dst, s, i)
	case m.keep == keepOldest:
		return m.joinOldest(dst, w, i)
	case m.ignore && s.kv.Rows.Kinds[i].IsRetract():
		if m.heldRetract(dst) {
			m.drop(dst) // of retracts alone nothing is left
		}
		return nil
	}
	m.drop(dst)
	m.pick(w, i, i+1)
	m.held = true
	return nil
}

// joinOldest is first-row. A key that a deeper level has is dropped, unless a record was there already when it came to be.
func (m *merger) joinOldest(dst *KeyValues, w, i int) error {
	s := m.sources[w]
	retract, was := s.kv.Rows.Kinds[i].IsRetract(), m.heldRetract(dst)
	if (retract || was) && !m.ignore {
		return errors.New("merge-engine first-row doesn't take retracts (-U, -D); the table has some, and ignore-delete is not set")
	}
	if was {
		m.drop(dst)
	}
	if retract {
		return nil
	}
	m.high = m.high || s.levelOf(i) > 0
	if !m.held && (!m.deep || m.high) {
		m.pick(w, i, i+1)
		m.held = true
	}
	return nil
}

// heldRetract reports whether the outcome so far is a retract.
func (m *merger) heldRetract(dst *KeyValues) bool {
	if !m.held {
		return false
	}
	if n := len(m.picks); n > 0 {
		p := m.picks[n-1]
		return m.sources[p.source].kv.Rows.Kinds[p.hi-1].IsRetract()
	}
	return dst.Rows.Kinds[dst.Len()-1].IsRetract()
}

// drop gives the outcome so far back.
func (m *merger) drop(dst *KeyValues) {
	if !m.held {
		return
	}
	m.held = false
	n := len(m.picks)
	if n == 0 {
		dst.truncate(dst.Len() - 1)
		return
	}
	m.picked--
	if p := &m.picks[n-1]; p.hi-p.lo > 1 {
		p.hi--
	} else {
		m.picks = m.picks[:n-1]
	}
}

// fold gives row i of s to the merge function, after the record that is held if this is the key's second.
func (m *merger) fold(dst *KeyValues, s *source, i int) error {
	if !m.folding {
		m.merge.Reset()
		kv, at := dst, dst.Len()-1
		if n := len(m.picks); n > 0 {
			p := m.picks[n-1]
			kv, at = m.sources[p.source].kv, int(p.hi-1)
		}
		if err := m.addTo(kv, at, m.level); err != nil {
			return err
		}
		m.drop(dst)
		m.folding = true
	}
	return m.addTo(s.kv, i, s.levelOf(i))
}

func (m *merger) addTo(kv *KeyValues, i, level int) error {
	if m.lookup != nil {
		m.lookup.add(kv, i, level)
		return nil
	}
	return m.merge.Add(kv, i)
}

// endKey appends the outcome of a fold.
func (m *merger) endKey(dst *KeyValues) error {
	if !m.folding {
		return nil
	}
	m.folding = false
	m.flush(dst)
	if m.lookup != nil {
		if err := m.lookup.fold(m.merge); err != nil {
			return err
		}
	}
	return m.merge.Result(dst)
}

// step moves w, the tree's winner, past n rows.
func (m *merger) step(dst *KeyValues, w, n int) error {
	s := m.sources[w]
	s.at += n
	if s.at == s.kv.Len() {
		m.flush(dst)
		ok, err := s.fill(m.order)
		if err != nil {
			return err
		}
		if !ok {
			m.tree.AdvanceDone()
			m.real -= s.counts()
			return nil
		}
	}
	m.tree.Advance(s.prefix[s.at])
	return nil
}
