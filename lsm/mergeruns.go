package lsm

import (
	"bytes"
	"cmp"

	"github.com/paimon-go/paimon-go/internal/losertree"
)

// cursor steps through the records of one source of a merge in order: a sorted part in memory or a spilled run.
type cursor struct {
	prefix uint64
	rec    []byte
	seq    int64
	base   int64 // sequence number of ordinal 0

	part *Part
	ents []entry
	at   int // of ents: the next one

	run   *spillRun
	block int    // the next one to read
	buf   []byte // the block's records
	pos   int    // in buf: the next record
}

// next goes to the next record and reports false after the last.
func (c *cursor) next() (bool, error) {
	if c.part != nil {
		if c.at == len(c.ents) {
			return false, nil
		}
		e := &c.ents[c.at]
		c.at++
		c.prefix, c.rec, c.seq = e.prefix, c.part.record(e.off), c.base+int64(e.ordinal())
		return true, nil
	}
	if c.pos == len(c.buf) {
		if c.block == len(c.run.blocks) {
			return false, nil
		}
		var err error
		if c.buf, err = c.run.read(c.block, c.buf); err != nil {
			return false, err
		}
		c.block++
		c.pos = 0
	}
	c.rec = c.buf[c.pos:]
	c.pos += int(le32(c.rec[recordSize:]))
	c.prefix, c.seq = le64(c.rec[recordPrefix:]), c.base+int64(le32(c.rec[recordOrd:]))
	return true, nil
}

// recycles tells that next will overwrite the memory of the records that the cursor has given.
func (c *cursor) recycles() bool { return c.part == nil && c.pos == len(c.buf) }

// emitter takes the records of a merge. settle is called before the memory of records that were added changes.
type emitter interface {
	add(rec []byte, seq int64, newKey bool) error
	settle() error
}

// runMerger merges sources with a loser tree.
type runMerger struct {
	tree losertree.Tree
	hold []byte // copy of a record that outlives its block
}

// run merges the sources into out in the order of keys, user-defined sequence and sequence number. Without all, only the
// last record of each key is given. Sources that give only the last of a key must do so too.
func (m *runMerger) run(codec *recordCodec, sources []*cursor, all bool, out emitter) error {
	if len(sources) == 1 && sources[0].part != nil && !all {
		c := sources[0]
		for i := range c.ents {
			e := &c.ents[i]
			if err := out.add(c.part.record(e.off), c.base+int64(e.ordinal()), true); err != nil {
				return err
			}
		}
		return nil
	}
	m.tree.Reset(len(sources), func(a, b int) int {
		x, y := sources[a], sources[b]
		if codec.hasSort {
			if r := bytes.Compare(codec.sortKey(x.rec), codec.sortKey(y.rec)); r != 0 {
				return r
			}
		}
		return cmp.Compare(x.seq, y.seq)
	})
	for i, c := range sources {
		ok, err := c.next()
		if err != nil {
			return err
		}
		if ok {
			m.tree.Set(i, c.prefix)
		}
	}
	m.tree.Build()
	var (
		rec    []byte // the candidate: the newest record of its key so far
		prefix uint64
		seq    int64
		newKey bool
	)
	for w, ok := m.tree.Min(); ok; w, ok = m.tree.Min() {
		c := sources[w]
		same := rec != nil && c.prefix == prefix && codec.sameKey(c.rec, rec)
		if rec != nil && (all || !same) {
			if err := out.add(rec, seq, newKey); err != nil {
				return err
			}
		}
		newKey = !same
		rec, prefix, seq = c.rec, c.prefix, c.seq
		if c.recycles() {
			if err := out.settle(); err != nil {
				return err
			}
			m.hold = append(m.hold[:0], rec[:le32(rec[recordSize:])]...)
			rec = m.hold
		}
		more, err := c.next()
		if err != nil {
			return err
		}
		if more {
			m.tree.Advance(c.prefix)
		} else {
			m.tree.AdvanceDone()
		}
	}
	if rec != nil {
		return out.add(rec, seq, newKey)
	}
	return nil
}
