package lsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/table"
)

// Sealed is what one bucket took between two Seals of its merge tree. Exactly one of Flush and Discard ends it.
type Sealed struct {
	parts []*Part
}

// FileSink takes the sorted records of a run of files; *RollingWriter is one.
type FileSink interface {
	Write(kv *KeyValues) error // kv may be reused afterwards
	Close() ([]table.DataFile, error)
	Abort()
}

// Output says where and how the records of a bucket are written.
type Output struct {
	// Data opens the run of level-0 data files. The twin is for RollingWriter.Beside; nil when there is no changelog.
	Data func(*format.TwinSide) FileSink
	// Changelog opens the run of changelog files that every record goes to, before merging; nil: there is none.
	Changelog func(*format.TwinSide) FileSink
	// Merge folds the records of a key; nil: the last one stays, which is done without looking at values.
	Merge MergeFunc
	// DropBefore keeps -U records out of the data files. They are for the changelog: the +U behind it replaces the row.
	DropBefore bool
	// Spill holds intermediate merges of spilled runs.
	Spill *SpillStore
	// FanIn is the most spilled runs that are merged at once (local-sort.max-num-file-handles).
	FanIn int
}

// Flusher is the scratch memory of one worker that flushes and spills, for any number of tables. Not safe for concurrent
// use.
type Flusher struct {
	codec   *recordCodec // that the scratch is for
	sorter  recordSorter
	entries [][]entry
	cursors []*cursor
	spare   []*cursor
	merger  runMerger
	files   fileEmitter
	spill   spillEmitter
}

// Flush writes the rows to level 0, merged, and frees their memory. It first waits for parts that are being spilled by
// another worker. When it fails, the increment has the files that were written to level 0 before for want of memory and
// disk: they are there and should be removed.
func (s *Sealed) Flush(ctx context.Context, f *Flusher, out Output) (table.DataIncrement, error) {
	if s.parts[0].codec.arrival {
		return s.flushInOrder(ctx, f, out)
	}
	mem, runs, inc, err := s.take()
	defer func() {
		for _, p := range mem {
			p.free()
		}
		for _, r := range runs {
			r.free()
		}
	}()
	if err != nil || len(mem)+len(runs) == 0 {
		return inc, err
	}
	codec, all := s.parts[0].codec, s.parts[0].all
	f.use(codec)
	for len(runs) > max(out.FanIn, 2) {
		next, err := f.reduce(ctx, codec, runs, all, max(out.FanIn, 2))
		if errors.Is(err, ErrSpillFull) {
			break // merging them all at once needs more memory and no disk
		}
		if err != nil {
			return inc, err
		}
		runs = next
	}
	for _, r := range runs {
		f.addRun(r)
	}
	for _, p := range mem {
		f.addPart(p)
	}
	more, err := f.writeFiles(ctx, codec, out, all)
	inc.New = append(inc.New, more.New...)
	inc.Changelog = append(inc.Changelog, more.Changelog...)
	return inc, err
}

// take claims the parts that still lie in memory and collects what became of the others.
func (s *Sealed) take() (mem []*Part, runs []*spillRun, inc table.DataIncrement, err error) {
	for _, p := range s.parts {
		if p.claim() {
			mem = append(mem, p)
			continue
		}
		<-p.state.done
		err = cmp.Or(err, p.state.err)
		if p.state.run != nil {
			runs = append(runs, p.state.run)
		}
		inc.New = append(inc.New, p.state.inc.New...)
		inc.Changelog = append(inc.Changelog, p.state.inc.Changelog...)
	}
	return mem, runs, inc, err
}

// Discard frees the rows without writing them. The increment has the files that were written to level 0 before for want of
// memory and disk, which should be removed.
func (s *Sealed) Discard() table.DataIncrement {
	mem, runs, inc, _ := s.take() // an error has been reported by Spill
	for _, p := range mem {
		p.free()
	}
	for _, r := range runs {
		r.free()
	}
	return inc
}

// use makes the scratch fit for the records of a codec.
func (f *Flusher) use(c *recordCodec) {
	if f.codec != c {
		f.codec = c
		f.files.out, f.files.raw = NewKeyValues(c.typ), NewKeyValues(c.typ)
		f.files.reducer.first, f.files.last.held = NewKeyValues(c.typ), NewKeyValues(c.typ)
	}
	f.cursors = f.cursors[:0]
}

// addPart makes a part that lies in memory a source of the merge.
func (f *Flusher) addPart(p *Part) {
	i := len(f.cursors)
	if len(f.entries) <= i {
		f.entries = append(f.entries, make([][]entry, i+1-len(f.entries))...)
	}
	ents := f.sorter.sort(f.entries[i][:0], p)
	if f.entries[i] = ents; cap(ents) > keepEntries {
		f.entries[i] = nil // too much to keep
	}
	if !p.all {
		ents = lastOfKey(ents, p)
	}
	c := f.newCursor()
	c.part, c.ents, c.base = p, ents, p.base
	f.cursors = append(f.cursors, c)
}

// addRun makes a spilled run a source of the merge.
func (f *Flusher) addRun(r *spillRun) {
	c := f.newCursor()
	c.run, c.base = r, r.base
	f.cursors = append(f.cursors, c)
}

func (f *Flusher) newCursor() *cursor {
	if n := len(f.spare); n > 0 {
		c := f.spare[n-1]
		f.spare = f.spare[:n-1]
		*c = cursor{buf: c.buf[:0]}
		return c
	}
	return new(cursor)
}

// release takes the sources back.
func (f *Flusher) release() {
	for _, c := range f.cursors {
		if len(f.spare) < 16 {
			c.part, c.ents, c.run, c.rec = nil, nil, nil, nil
			f.spare = append(f.spare, c)
		}
	}
	f.cursors = f.cursors[:0]
	f.files.release()
}

// writeFiles merges the sources into level-0 files and, if asked, changelog files.
func (f *Flusher) writeFiles(ctx context.Context, codec *recordCodec, out Output, all bool) (inc table.DataIncrement, err error) {
	defer f.release()
	e := &f.files
	e.ctx, e.codec, e.all = ctx, codec, all && !codec.arrival
	e.changelog, e.last.dropBefore = nil, out.DropBefore
	e.reducer.merge, e.reducer.keys, e.reducer.dropBefore = out.Merge, codec.keys, out.DropBefore
	if out.Changelog != nil {
		data, changelog := e.twin.Sides()
		e.data, e.changelog = out.Data(data), out.Changelog(changelog)
	} else {
		e.data = out.Data(nil)
	}
	err = f.merge(codec, all, e)
	if err == nil {
		err = e.finish()
	}
	if err == nil {
		inc.New, err = e.data.Close()
	} else {
		e.data.Abort()
	}
	if e.changelog != nil {
		if err == nil {
			if inc.Changelog, err = e.changelog.Close(); err != nil {
				e.data.Abort()
			}
		} else {
			e.changelog.Abort()
		}
	}
	if err != nil {
		return table.DataIncrement{}, err
	}
	return inc, nil
}

// How much is decoded at a time and written at a time. Sinks look at the size of a file every 1000 rows at most. Data files
// follow so closely behind a changelog that its last blocks are still held (format.Twin).
const (
	decodeRows  = 250
	decodeBytes = 1 << 20
	writeRows   = 1000
	writeBytes  = 8 << 20
	twinLag     = 1 << 20
)

// fileEmitter turns records into batches and hands them to sinks.
type fileEmitter struct {
	ctx             context.Context
	codec           *recordCodec
	data, changelog FileSink
	twin            format.Twin // of data and changelog
	all             bool        // records come unmerged; else one a key
	reducer         reducer
	last            lastRecord // in its place when there is no merge function

	recs   [][]byte
	seqs   []int64
	newKey []bool
	bytes  int // of recs
	pend   int // bytes decoded and not written
	raw    *KeyValues
	out    *KeyValues
}

func (e *fileEmitter) add(rec []byte, seq int64, newKey bool) error {
	e.recs = append(e.recs, rec)
	e.seqs = append(e.seqs, seq)
	if e.all {
		e.newKey = append(e.newKey, newKey)
	}
	e.bytes += int(le32(rec[recordSize:]))
	if len(e.recs) == decodeRows || e.bytes >= decodeBytes {
		return e.settle()
	}
	return nil
}

// settle decodes what was added, so that nothing refers to the sources' memory any more.
func (e *fileEmitter) settle() error {
	if len(e.recs) == 0 {
		return nil
	}
	if err := e.ctx.Err(); err != nil {
		return fmt.Errorf("flushing: %w", context.Cause(e.ctx))
	}
	if e.all {
		e.raw.Reset()
		e.codec.decode(e.raw, e.recs, e.seqs)
		if e.changelog != nil {
			if err := e.changelog.Write(e.raw); err != nil {
				return err
			}
		}
		if err := e.fold(); err != nil {
			return err
		}
	} else {
		if e.codec.arrival {
			for i := range e.seqs {
				e.seqs[i] = unknownSeq
			}
		}
		e.codec.decode(e.out, e.recs, e.seqs)
	}
	e.pend += e.bytes
	clear(e.recs)
	e.recs, e.seqs, e.newKey, e.bytes = e.recs[:0], e.seqs[:0], e.newKey[:0], 0
	if e.out.Len()+decodeRows > writeRows || e.pend >= writeBytes || e.changelog != nil && e.pend >= twinLag {
		return e.write()
	}
	return nil
}

// fold merges what was decoded into out.
func (e *fileEmitter) fold() error {
	if e.reducer.merge == nil {
		e.last.add(e.raw, e.newKey, e.out)
		return nil
	}
	for i, newKey := range e.newKey {
		if err := e.reducer.add(e.raw, i, newKey, e.out); err != nil {
			return err
		}
	}
	return nil
}

func (e *fileEmitter) write() error {
	if e.out.Len() == 0 {
		return nil
	}
	err := e.data.Write(e.out)
	e.out.Reset()
	if e.pend > 4*writeBytes { // what single huge rows have grown is not kept
		e.out, e.raw = NewKeyValues(e.codec.typ), NewKeyValues(e.codec.typ)
		if e.reducer.n == 0 {
			e.reducer.first = NewKeyValues(e.codec.typ)
		}
	}
	e.pend = 0
	return err
}

func (e *fileEmitter) finish() error {
	if err := e.settle(); err != nil {
		return err
	}
	if e.all {
		e.last.finish(e.out)
		if err := e.reducer.finish(e.out); err != nil {
			return err
		}
	}
	return e.write()
}

// release forgets all but the memory for the next run.
func (e *fileEmitter) release() {
	clear(e.recs[:cap(e.recs)])
	e.recs, e.seqs, e.newKey, e.bytes, e.pend = e.recs[:0], e.seqs[:0], e.newKey[:0], 0, 0
	e.out.Reset()
	e.reducer.reset()
	e.last.held.Reset()
	e.twin.Release()
	e.data, e.changelog, e.ctx = nil, nil, nil
}
