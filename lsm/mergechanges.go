package lsm

import (
	"bytes"
	"io"

	"github.com/paimon-go/paimon-go/format/row"
)

// changeRule says what a merge compares to know what changes, and what it gives.
type changeRule struct {
	// deep: the older record of a key is the one of the least level above 0, which holds all that lies deeper; a record of
	// level 0 is new (Java's LookupChangelogMergeFunctionWrapper). Otherwise it is the one of level top, and every other is new
	// (FullChangelogMergeFunctionWrapper).
	deep bool
	top  int

	rows bool  // the merged rows are wanted
	log  bool  // and what changes
	cols []int // columns in which an update must differ to be a change; nil: each is one
}

// changeMerger merges sources as merger does, with the changes that this brings to a table without the newer records:
//
//	level 0  [k1 v4] [k2 -D] [k3 v6]     rows   k1 v4, k2 -D, k3 v6
//	level 4          [k2 v2]             log    -U k1 v1, +U k1 v4, -D k2 v2, +I k3 v6
//	level 5  [k1 v1]                     level 5, below the output, is a shadow
//
// Rows of a key that no other source has come over in ranges. Of the others it is noted where they lie, until the key ends.
type changeMerger struct {
	merger // its sources, tree and picks
	rule   changeRule

	group []keyRecord // of the key that was seen last
	logs  []pick
	kinds []logKind // of logs
	nlogs int       // rows of logs

	// mark deletes the older record of a key that a shadow has, of tables with deletion vectors; nil: it stays. gone tells of a
	// record that has expired and is only to be deleted.
	mark func(place)
	gone func(b *row.Batch, i int) bool

	saved, spare *KeyValues // records of the key whose blocks are gone
	folds        *KeyValues // what the merge function has made
}

// keyRecord is a record of the key at hand. Its block is a source's or, after the sources', saved.
type keyRecord struct {
	src, row int32
	level    int8
	shadow   bool
	place    place // of a shadow's, when it may have to be deleted
}

// logKind is the kind that rows of a log get.
type logKind uint8

const asItIs logKind = 255 // the row's own

func newChangeMerger(m merger, rule changeRule, t *row.Type) *changeMerger {
	return &changeMerger{merger: m, rule: rule, saved: NewKeyValues(t), spare: NewKeyValues(t), folds: NewKeyValues(t)}
}

// srcSaved and srcFolds are where picks find them.
func (c *changeMerger) srcSaved() int32 { return int32(len(c.sources)) }
func (c *changeMerger) srcFolds() int32 { return int32(len(c.sources)) + 1 }

// next resets dst and log and fills them with what about limit records make; io.EOF when there are none left.
func (c *changeMerger) next(dst, log *KeyValues, limit int) error {
	dst.Reset()
	log.Reset()
	if len(c.kvs) == len(c.sources) {
		c.kvs = append(c.kvs, c.saved, c.folds)
	}
	before := -1
	for {
		w, ok := c.tree.Min()
		if !ok {
			break
		}
		s := c.sources[w]
		same := len(c.group) > 0 && bytes.Equal(c.last, s.key(s.at))
		room := limit - max(dst.Len()+c.picked, log.Len()+c.nlogs)
		if !same {
			if err := c.endKey(); err != nil {
				return err
			}
			if c.real == 0 || room <= 0 {
				break
			}
		}
		n := 1
		if w == before || s.shadow {
			n = c.lead(w)
		}
		if !s.shadow {
			n = min(n, max(1, room))
		}
		before = w
		if err := c.take(w, n, same); err != nil {
			return err
		}
		if err := c.step(dst, log, w, n); err != nil {
			return err
		}
	}
	if err := c.endKey(); err != nil {
		return err
	}
	c.flush(dst, log)
	if dst.Len()+log.Len() == 0 {
		return io.EOF
	}
	return nil
}

// take accepts the next n rows of source w; the first has the key of the record seen before when same is set.
func (c *changeMerger) take(w, n int, same bool) error {
	s := c.sources[w]
	from, to := s.at, s.at+n
	if same {
		c.group = append(c.group, c.recordOf(w, from))
		if from++; from == to {
			return nil
		}
		if err := c.endKey(); err != nil {
			return err
		}
	}
	if !s.shadow {
		for from < to-1 {
			end := to - 1
			if s.levels != nil {
				for end = from + 1; end < to-1 && s.levels[end] == s.levels[from]; end++ {
				}
			}
			if err := c.alone(int32(w), from, end, s.levelOf(from)); err != nil {
				return err
			}
			from = end
		}
	}
	c.group = append(c.group, c.recordOf(w, to-1))
	c.last = append(c.last[:0], s.key(to-1)...)
	return nil
}

func (c *changeMerger) recordOf(w, i int) keyRecord {
	s := c.sources[w]
	r := keyRecord{src: int32(w), row: int32(i), level: int8(s.levelOf(i)), shadow: s.shadow}
	if s.shadow && c.mark != nil {
		r.place = s.placeOf(i)
	}
	return r
}

// step moves w, the tree's winner, past n rows.
func (c *changeMerger) step(dst, log *KeyValues, w, n int) error {
	s := c.sources[w]
	s.at += n
	if s.at < s.kv.Len() {
		c.tree.Advance(s.prefix[s.at])
		return nil
	}
	c.flush(dst, log)
	c.save(int32(w))
	ok, err := s.fill(c.order)
	if err != nil {
		return err
	}
	if ok {
		c.tree.Advance(s.prefix[0])
		return nil
	}
	c.tree.AdvanceDone()
	c.real -= s.counts()
	return nil
}

// save copies the records of the key at hand out of a block that goes, and what was saved before.
func (c *changeMerger) save(w int32) {
	c.spare.Reset()
	for i := range c.group {
		r := &c.group[i]
		kv := c.kvs[r.src]
		if kv == nil || r.src != w && r.src != c.srcSaved() {
			continue // of a key's columns only: the level is all that counts
		}
		c.spare.AppendRange(kv, int(r.row), int(r.row)+1)
		r.src, r.row = c.srcSaved(), int32(c.spare.Len()-1)
	}
	c.saved, c.spare = c.spare, c.saved
	c.kvs[c.srcSaved()] = c.saved
}

// flush copies what was picked.
func (c *changeMerger) flush(dst, log *KeyValues) {
	c.merger.flush(dst)
	if len(c.logs) > 0 {
		at := log.Len()
		c.copyPicks(log, c.logs, c.nlogs)
		for i, p := range c.logs {
			n := int(p.hi - p.lo)
			if k := c.kinds[i]; k != asItIs {
				for j := range n {
					log.Rows.Kinds[at+j] = row.Kind(k)
				}
			}
			at += n
		}
		c.logs, c.kinds, c.nlogs = c.logs[:0], c.kinds[:0], 0
	}
	c.folds.Reset()
}

// put picks rows for the output.
func (c *changeMerger) put(src int32, from, to int) {
	if c.rule.rows {
		c.pick(int(src), from, to)
	}
}

// note picks rows for the log.
func (c *changeMerger) note(k logKind, src int32, from, to int) {
	c.nlogs += to - from
	if n := len(c.logs); n > 0 && c.kinds[n-1] == k {
		if p := &c.logs[n-1]; p.source == src && p.hi == int32(from) {
			p.hi = int32(to)
			return
		}
	}
	c.logs = append(c.logs, pick{src, int32(from), int32(to)})
	c.kinds = append(c.kinds, k)
}

// fresh tells whether a record of a level is one that the table hadn't, as far as a reader of the changelog knows.
func (c *changeMerger) fresh(level int) bool {
	if c.rule.deep {
		return level == 0
	}
	return level != c.rule.top
}
