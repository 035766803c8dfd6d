package lsm

import (
	"errors"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
)

var errFirstRowRetract = errors.New("merge-engine first-row doesn't take retracts (-U, -D); the table has some, and ignore-delete is not set")

// alone gives rows of a level, each the only record of its key.
func (c *changeMerger) alone(src int32, from, to, level int) error {
	switch {
	case c.keep == keepOldest:
		return c.firstRows(src, from, to, level)
	case c.keep == keepFolded && c.rule.deep: // where Java has no shortcut for a single record
		for i := from; i < to; i++ {
			c.merge.Reset()
			if err := c.merge.Add(c.kvs[src], i); err != nil {
				return err
			}
			at, ok, err := c.folded()
			if err != nil {
				return err
			}
			if ok {
				c.put(c.srcFolds(), at, at+1)
				c.added(c.srcFolds(), at, at+1, level)
			}
		}
		return nil
	}
	c.put(src, from, to)
	c.added(src, from, to, level)
	return nil
}

// folded has the merge function append its outcome to folds; false when there is none.
func (c *changeMerger) folded() (at int, ok bool, err error) {
	at = c.folds.Len()
	err = c.merge.Result(c.folds)
	return at, c.folds.Len() > at, err
}

// added logs rows that nothing older lies under.
func (c *changeMerger) added(src int32, from, to, level int) {
	if !c.rule.log || !c.fresh(level) {
		return
	}
	kinds := c.kvs[src].Rows.Kinds
	for from < to {
		if kinds[from].IsRetract() {
			from++
			continue
		}
		end := from + 1
		for end < to && !kinds[end].IsRetract() {
			end++
		}
		c.note(logKind(row.Insert), src, from, end)
		from = end
	}
}

// firstRows is alone for first-row.
func (c *changeMerger) firstRows(src int32, from, to, level int) error {
	kinds := c.kvs[src].Rows.Kinds
	for i := from; i < to; i++ {
		if kinds[i].IsRetract() {
			if !c.ignore {
				return errFirstRowRetract
			}
			continue
		}
		c.put(src, i, i+1)
		if c.rule.log && level == 0 {
			c.note(asItIs, src, i, i+1)
		}
	}
	return nil
}

// endKey settles the key at hand.
func (c *changeMerger) endKey() error {
	g := c.group
	c.group = c.group[:0]
	if c.mark != nil && len(g) > 1 {
		g = c.replace(g)
	}
	if len(g) == 1 {
		if r := g[0]; !r.shadow {
			return c.alone(r.src, int(r.row), int(r.row)+1, int(r.level))
		}
		return nil
	}
	real, fresh := false, false
	for _, r := range g {
		real = real || !r.shadow
		fresh = fresh || !r.shadow && c.fresh(int(r.level))
	}
	if !real {
		return nil
	}
	if c.keep == keepOldest {
		return c.firstRow(g)
	}
	base, high := c.older(g)
	result, ok, err := c.outcome(g, high)
	if err != nil || !ok {
		return err
	}
	c.put(result.src, int(result.row), int(result.row)+1)
	if c.rule.log && fresh {
		c.compare(g, base, result)
	}
	return nil
}

// replace marks the record that a key has below the output as deleted, for the key is written above from now on, and leaves
// the records that count. A key with a record above level 0 among the inputs has none that isn't marked. Where the shadows have
// no values the newest record wins anyway.
func (c *changeMerger) replace(g []keyRecord) []keyRecord {
	hit, real, high := -1, false, false
	for i, r := range g {
		if !r.shadow {
			real = true
			high = high || r.level > 0
		} else if hit < 0 || r.level < g[hit].level {
			hit = i
		}
	}
	if !real || high || hit < 0 {
		return g
	}
	r := g[hit]
	c.mark(r.place)
	if kv := c.kvs[r.src]; kv != nil && (c.gone == nil || !c.gone(kv.Rows, int(r.row))) {
		return g
	}
	return slices.DeleteFunc(g, func(r keyRecord) bool { return r.shadow })
}

// older returns which record the key had before, and which one the fold takes of those above level 0; -1 for none, and -2
// when it takes all.
func (c *changeMerger) older(g []keyRecord) (base, high int) {
	base, high = -1, -1
	for i, r := range g {
		if r.level > 0 && (high < 0 || r.level < g[high].level) {
			high = i
		}
		if int(r.level) == c.rule.top {
			base = i
		}
	}
	switch {
	case c.rule.deep:
		return high, high
	case c.lookup != nil:
		return base, high
	}
	return base, -2
}

// outcome merges the records of a key.
func (c *changeMerger) outcome(g []keyRecord, high int) (keyRecord, bool, error) {
	if c.keep == keepFolded {
		c.merge.Reset()
	}
	last := -1
	for i, r := range g {
		if r.level > 0 && high != -2 && i != high {
			continue
		}
		if c.keep == keepFolded {
			if err := c.merge.Add(c.kvs[r.src], int(r.row)); err != nil {
				return keyRecord{}, false, err
			}
		} else if !c.ignore || !c.retract(r) {
			last = i
		}
	}
	if c.keep == keepFolded {
		at, ok, err := c.folded()
		return keyRecord{src: c.srcFolds(), row: int32(at)}, ok, err
	}
	if last < 0 {
		return keyRecord{}, false, nil
	}
	return g[last], true, nil
}

func (c *changeMerger) retract(r keyRecord) bool { return c.kvs[r.src].Rows.Kinds[r.row].IsRetract() }

// firstRow settles a key with several records: it is new when none of them lies above level 0 and no shadow has it.
func (c *changeMerger) firstRow(g []keyRecord) error {
	first, high, deep := -1, false, false
	for i, r := range g {
		switch {
		case r.shadow:
			deep = true
			continue
		case c.retract(r):
			if !c.ignore {
				return errFirstRowRetract
			}
			continue
		case first < 0:
			first = i
		}
		high = high || r.level > 0
	}
	if first < 0 || deep && !high {
		return nil
	}
	src, i := g[first].src, int(g[first].row)
	c.put(src, i, i+1)
	if c.rule.log && !high {
		c.note(asItIs, src, i, i+1)
	}
	return nil
}

// compare logs what became of a key's older record.
func (c *changeMerger) compare(g []keyRecord, base int, result keyRecord) {
	gone := c.retract(result)
	was := base >= 0 && !c.retract(g[base])
	note := func(k row.Kind, r keyRecord) { c.note(logKind(k), r.src, int(r.row), int(r.row)+1) }
	switch {
	case !was && !gone:
		note(row.Insert, result)
	case was && gone:
		note(row.Delete, g[base])
	case was && !c.equal(g[base], result):
		note(row.UpdateBefore, g[base])
		note(row.UpdateAfter, result)
	}
}

// equal tells whether the columns that count are the same.
func (c *changeMerger) equal(a, b keyRecord) bool {
	if c.rule.cols == nil {
		return false
	}
	x, y := c.kvs[a.src].Rows, c.kvs[b.src].Rows
	for _, k := range c.rule.cols {
		if row.CompareValues(&x.Cols[k], int(a.row), &y.Cols[k], int(b.row)) != 0 {
			return false
		}
	}
	return true
}
