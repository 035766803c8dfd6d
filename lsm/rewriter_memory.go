package lsm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/format"
)

// A Rewrite divides its memory like this:
//
//	1/2   readers: what each file's reader holds, and four times a batch: two are on their way through a FileReader, and
//	      slices that grow are up to twice as large as what is in them
//	1/4   the writer: a row group of half of that, as dictionaries and pages under way take up to twice what is in them;
//	      with a changelog two writers share it
//	1/8   the batch that is merged or filtered before it is written, and the writer's blocks; with a changelog that of changes
//
// When the readers of a section's runs don't fit side by side, or are more than sort-spill-threshold, the smallest runs are first
// merged into runs on local disk, of which a small block each is in memory. Java copies each run beyond the threshold by itself.
const (
	leastBatch  = 32 << 10
	mostBatch   = 1 << 20
	batchCopies = 4
)

func (r *Rewriter) readShare() int64 { return r.cfg.Memory / 2 }

func (r *Rewriter) outBytes() int64 {
	n := r.cfg.Memory / 32
	if r.log {
		n /= 2
	}
	return min(max(n, leastBatch), 8<<20)
}

// input is a run of a section on its way into a merge.
type input struct {
	files  run
	size   int64 // in storage
	shadow bool
	held   int64 // bytes that a reader of it holds besides batches
	disk   *spilledKV
}

func (in *input) needs(batch int64) int64 { return in.held + batchCopies*batch }

// inputs lists the runs of a section, and the shadows, with a guess of what their readers hold.
func (m *sectionMerge) inputs(sec section, shadows []run) []*input {
	var out []*input
	for i, files := range slices.Concat([]run(sec), shadows) {
		in := &input{files: files, shadow: i >= len(sec)}
		for _, f := range files {
			in.size += f.file.Size
		}
		in.held = m.guess(in)
		out = append(out, in)
	}
	return out
}

func (m *sectionMerge) projectionOf(in *input) *projection {
	if in.shadow && (m.keep == keepOldest || m.onlyPlaces()) {
		return m.keys
	}
	return m.proj
}

// guess is what a reader of the run's largest file may hold, without looking at it.
func (m *sectionMerge) guess(in *input) int64 {
	const unpacked = 16 // times as large in memory, at most as a rule
	const column = 3 << 20
	f := in.largest()
	if strings.HasSuffix(f.file.Name, ".avro") {
		return 320 << 10
	}
	return min(f.file.Size*unpacked+64<<10, int64(len(m.projectionOf(in).cols)+2)*column)
}

func (in *input) largest() span {
	return slices.MaxFunc(in.files, func(a, b span) int { return cmp.Compare(a.file.Size, b.file.Size) })
}

// rows returns how many rows a batch of so many bytes may have, if memory is never less than storage. A reader finds out
// how large rows are from one batch to the next; this bounds the first.
func (in *input) rows(bytes int) int {
	var largest int64
	for _, f := range in.files {
		largest = max(largest, f.file.Size/max(f.file.RowCount, 1))
	}
	return int(min(max(int64(bytes)/max(largest, 1), 1), mergeRows))
}

// measure asks the largest file of each run what its reader holds.
func (m *sectionMerge) measure(ins []*input) error {
	for _, in := range ins {
		r, err := m.projectionOf(in).open(m.ctx, m.partition, m.bucket, in.largest().file, readSize{}, m.meter)
		if err != nil {
			return err
		}
		if p, ok := r.dec.(format.Footprinter); ok {
			in.held = p.Footprint()
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	return nil
}

// fit makes runs that don't fit into memory side by side, or are too many, into fewer ones, on local disk.
func (m *sectionMerge) fit(ins []*input) ([]*input, error) {
	if total(ins) > m.readShare() {
		if err := m.measure(ins); err != nil {
			return ins, err
		}
	}
	for m.cfg.Spill != nil && !m.cfg.Spill.Full() && (total(ins) > m.readShare() || m.tooMany(ins) > 0) {
		group, rest := m.group(ins)
		if len(group) == 0 {
			break
		}
		in, err := m.spill(group)
		if err != nil {
			return ins, err
		}
		if in == nil { // no room
			break
		}
		ins = append(rest, in)
	}
	return ins, nil
}

func total(ins []*input) int64 {
	var n int64
	for _, in := range ins {
		n += in.needs(leastBatch)
	}
	return n
}

// tooMany returns how many runs in storage there are beyond sort-spill-threshold. Files below the output, in which rows are looked
// up, don't count, as in Java.
func (m *sectionMerge) tooMany(ins []*input) int {
	n := 0
	for _, in := range ins {
		if in.disk == nil && !in.shadow {
			n++
		}
	}
	return n - m.maxReaders
}

// group picks the smallest runs, as many as are to be merged first and fit, none if that would help nothing. Those on disk
// come last.
func (m *sectionMerge) group(ins []*input) (group, rest []*input) {
	sorted := slices.Clone(ins)
	slices.SortStableFunc(sorted, func(a, b *input) int {
		return cmp.Or(compareBool(a.shadow, b.shadow), compareBool(a.disk != nil, b.disk != nil), cmp.Compare(a.size, b.size))
	})
	left, used := total(ins)+batchCopies*leastBatch, int64(0)
	n, many := 0, m.tooMany(ins)
	for ; n < len(sorted) && !sorted[n].shadow && (left > m.readShare() || n < many); n++ {
		need := sorted[n].needs(leastBatch)
		if n > 0 && used+need > m.readShare() || n == m.maxReaders && sorted[n].disk == nil {
			break
		}
		used += need
		left -= need
	}
	if used <= batchCopies*leastBatch && many <= 0 {
		return m.shadowGroup(ins)
	}
	return sorted[:n], sorted[n:]
}

// shadowGroup is group when only shadows are left to be merged: those with all columns, which take the most memory.
func (m *sectionMerge) shadowGroup(ins []*input) (group, rest []*input) {
	used := int64(batchCopies * leastBatch)
	for _, in := range ins {
		need := in.needs(leastBatch)
		if in.shadow && in.disk == nil && m.projectionOf(in) == m.proj && (len(group) == 0 || used+need <= m.readShare()) {
			group = append(group, in)
			used += need
		} else {
			rest = append(rest, in)
		}
	}
	return group, rest
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// batch returns how large the batches of these inputs may be.
func (m *sectionMerge) batch(ins []*input) int {
	left := m.readShare()
	for _, in := range ins {
		left -= in.held
	}
	return int(min(max(left/int64(batchCopies*len(ins)), leastBatch), mostBatch))
}

// seen keeps an eye on how large rows are.
func (m *sectionMerge) seen(kv *KeyValues) {
	if n := int64(kv.Len()); n > 0 {
		m.rowBytes = max(int64(kv.Rows.Bytes())/n+8, m.rowBytes-m.rowBytes/16)
	}
}

// outRows returns how many rows are merged at a time.
func (m *sectionMerge) outRows() int {
	return int(min(max(m.outBytes()/max(m.rowBytes, 1), 1), checkRows))
}

// spill merges runs into one on local disk, nil when there is no room. What the merge function makes of a key needs all of
// its records, so only the newest-wins merge leaves any out.
func (m *sectionMerge) spill(ins []*input) (*input, error) {
	mg := &merger{order: m.order, keep: keepAll, withLevels: m.lookup || m.way.compare, withPlaces: m.dv && ins[0].shadow}
	if m.keep == keepNewest && !m.ignore && !mg.withLevels {
		mg.keep = keepNewest
	}
	done, err := m.open(ins, mg)
	defer done()
	if err != nil {
		return nil, err
	}
	w := newSpillKV(m.cfg.Spill, mg.withLevels)
	w.places = mg.withPlaces
	kv := NewKeyValues(m.proj.rows)
	err = m.each(kv, func() error { return mg.next(kv, m.blockRows()) }, func() error { return w.write(kv, mg.levels, mg.places) })
	if err != nil {
		w.free()
		if isFull(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("merging %d runs first: %w", len(ins), err)
	}
	m.spilled = append(m.spilled, w)
	out := &input{disk: w, shadow: ins[0].shadow}
	for _, in := range ins {
		out.size += in.size
		if in.disk != nil {
			in.disk.free()
		}
	}
	return out, nil
}

// blockRows returns how many rows a block on disk has.
func (m *sectionMerge) blockRows() int {
	return int(min(max(leastBatch/max(m.rowBytes, 1), 1), checkRows))
}
