package lsm

import (
	"errors"
	"fmt"
	"sync"

	"github.com/paimon-go/paimon-go/fs"
)

const (
	asyncBlockBytes = 256 << 10
	asyncBlocks     = 4
)

// blockPool holds blocks between files: a new one of this size would cost more than a small file's rows.
var blockPool = sync.Pool{New: func() any { return new([asyncBlockBytes]byte) }}

// asyncWriter writes to storage on a goroutine of its own, so that encoding goes on while a block travels. At most
// asyncBlocks blocks are under way; then Write waits. An error of the storage comes back from a later Write or from Close.
// A file of less than a block needs no goroutine and has none.
//
// The goroutine begins with the first full block and owns dst until ended is closed; free and full hand the blocks to and
// fro. Close ends it, or Abort, which may follow a Close that failed.
type asyncWriter struct {
	dst     fs.Writer
	block   []byte // being filled, or nil
	blocks  [asyncBlocks]*[asyncBlockBytes]byte
	made    int           // of blocks
	stopped bool          // by Close or Abort
	full    chan []byte   // closed by Close and Abort; nil before the goroutine begins
	free    chan []byte   // holds every block
	ended   chan struct{} // closed by the goroutine
	err     error         // of the goroutine; read after ended
}

var errStopped = errors.New("the file has been closed before")

func newAsyncWriter(dst fs.Writer) *asyncWriter { return &asyncWriter{dst: dst} }

func (w *asyncWriter) run() {
	defer close(w.ended)
	for b := range w.full {
		if w.err = writeAll(w.dst, b); w.err != nil {
			return
		}
		w.free <- b[:0]
	}
}

func (w *asyncWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if w.block == nil {
			if err := w.take(); err != nil {
				return 0, err
			}
		}
		k := copy(w.block[len(w.block):cap(w.block)], p)
		w.block, p = w.block[:len(w.block)+k], p[k:]
		if len(w.block) == cap(w.block) {
			if err := w.send(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// take gets an empty block.
func (w *asyncWriter) take() error {
	if w.stopped {
		return errStopped
	}
	select {
	case w.block = <-w.free:
		return nil
	default:
	}
	if w.made < asyncBlocks {
		w.blocks[w.made] = blockPool.Get().(*[asyncBlockBytes]byte)
		w.block = w.blocks[w.made][:0]
		w.made++
		return nil
	}
	select {
	case w.block = <-w.free:
		return nil
	case <-w.ended:
		return w.err
	}
}

func (w *asyncWriter) send() error {
	if w.full == nil {
		w.full, w.free, w.ended = make(chan []byte, asyncBlocks), make(chan []byte, asyncBlocks), make(chan struct{})
		go w.run()
	}
	select {
	case w.full <- w.block:
		w.block = nil
		return nil
	case <-w.ended:
		return w.err
	}
}

// stop ends the goroutine after it has written what it was given, and gives the blocks back.
func (w *asyncWriter) stop() error {
	if w.full != nil {
		if !w.stopped {
			close(w.full)
		}
		<-w.ended
	}
	for i, b := range w.blocks[:w.made] {
		blockPool.Put(b)
		w.blocks[i] = nil
	}
	w.block, w.made, w.stopped = nil, 0, true
	return w.err
}

func (w *asyncWriter) Close() error {
	var err error
	switch {
	case len(w.block) == 0:
	case w.full == nil:
		w.err = writeAll(w.dst, w.block)
	default:
		err = w.send()
	}
	if e := w.stop(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return w.dst.Close()
}

func (w *asyncWriter) Abort() error {
	_ = w.stop() // what could not be written is not wanted either
	return w.dst.Abort()
}

func writeAll(w fs.Writer, b []byte) error {
	n, err := w.Write(b)
	if err == nil && n != len(b) {
		err = fmt.Errorf("storage took %d of %d bytes: %w", n, len(b), fs.ErrTransient)
	}
	return err
}
