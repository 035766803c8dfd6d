package lsm

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/paimon-go/paimon-go/table"
)

// partState is what became of a part. Whoever claims it first, the worker that spills it or the flush that needs it, is
// the one who reads and frees its memory; the others wait for done, which comes before all else here.
type partState struct {
	claimed atomic.Bool
	done    chan struct{} // made by Queue, closed by Spill
	run     *spillRun
	inc     table.DataIncrement // instead of a run: files at level 0
	err     error
}

func (p *Part) claim() bool { return p.state.claimed.CompareAndSwap(false, true) }

// Queue announces that Spill will be called for the part.
func (p *Part) Queue() { p.state.done = make(chan struct{}) }

// Bytes returns the memory that the part holds.
func (p *Part) Bytes() int64 { return p.bytes }

// Spilled is what a call of Spill did.
type Spilled struct {
	Rows   int64
	Memory int64 // bytes freed
	Disk   int64 // bytes written to local disk
	Files  int   // files written to level 0 instead
}

// Spill frees the part's memory: it sorts the rows and writes them to out.Spill as a run that the flush of its bucket will
// merge, or, when there is no store or no room in it, to level 0. It does nothing when the flush was first. Its error is
// that of the flush too.
func (p *Part) Spill(ctx context.Context, f *Flusher, out Output) (Spilled, error) {
	if !p.claim() {
		return Spilled{}, nil
	}
	defer close(p.state.done)
	info := Spilled{Rows: int64(p.rows), Memory: p.bytes}
	defer p.free()
	if p.state.err = context.Cause(ctx); p.state.err != nil {
		return Spilled{}, p.state.err
	}
	f.use(p.codec)
	f.addPart(p)
	if out.Spill != nil && !out.Spill.Full() {
		run, err := f.writeRun(ctx, p.codec, out.Spill, p.all)
		if err == nil {
			p.state.run = run
			info.Disk = run.bytes
			return info, nil
		}
		if !errors.Is(err, ErrSpillFull) {
			p.state.err = err
			return Spilled{}, err
		}
		f.addPart(p)
	}
	p.state.inc, p.state.err = f.writeFiles(ctx, p.codec, out, p.all)
	info.Files = len(p.state.inc.New)
	return info, p.state.err
}

// writeRun merges the sources into one spilled run.
func (f *Flusher) writeRun(ctx context.Context, codec *recordCodec, store *SpillStore, all bool) (*spillRun, error) {
	defer f.release()
	run := &spillRun{store: store, base: math.MaxInt64}
	for _, c := range f.cursors {
		run.base = min(run.base, c.base)
	}
	e := &f.spill
	e.ctx, e.run, e.buf = ctx, run, e.buf[:0]
	err := f.merge(codec, all, e)
	if err == nil {
		err = e.flush()
	}
	e.ctx, e.run = nil, nil
	if cap(e.buf) > 4*blockBytes {
		e.buf, e.packed = nil, nil
	}
	if err != nil {
		run.free()
		return nil, err
	}
	return run, nil
}

// reduce merges the smallest runs, at most fan, into one, so that fewer remain.
func (f *Flusher) reduce(ctx context.Context, codec *recordCodec, runs []*spillRun, all bool, fan int) ([]*spillRun, error) {
	slices.SortFunc(runs, func(a, b *spillRun) int { return cmp.Compare(a.bytes, b.bytes) })
	n := min(fan, len(runs)-fan+1)
	for _, r := range runs[:n] {
		f.addRun(r)
	}
	run, err := f.writeRun(ctx, codec, runs[0].store, all)
	if err != nil {
		return runs, err
	}
	for _, r := range runs[:n] {
		r.free()
	}
	return append(runs[n:], run), nil
}

// spillEmitter collects records into blocks of a run.
type spillEmitter struct {
	ctx    context.Context
	run    *spillRun
	buf    []byte
	packed []byte
}

func (e *spillEmitter) add(rec []byte, seq int64, _ bool) error {
	ord := seq - e.run.base
	if ord < 0 || ord > math.MaxUint32 {
		return fmt.Errorf("sequence number %d is too far from %d for one spilled run", seq, e.run.base)
	}
	size := int(le32(rec[recordSize:]))
	if len(e.buf) > 0 && len(e.buf)+size > blockBytes {
		if err := e.flush(); err != nil {
			return err
		}
	}
	at := len(e.buf)
	e.buf = append(e.buf, rec[:size]...)
	binary.LittleEndian.PutUint32(e.buf[at+recordOrd:], uint32(ord))
	return nil
}

// settle has nothing to do: add copies.
func (e *spillEmitter) settle() error { return nil }

func (e *spillEmitter) flush() error {
	if len(e.buf) == 0 {
		return nil
	}
	if e.ctx.Err() != nil {
		return fmt.Errorf("spilling: %w", context.Cause(e.ctx))
	}
	var err error
	e.packed, err = e.run.append(e.buf, e.packed)
	e.buf = e.buf[:0]
	return err
}
