package lsm

import (
	"fmt"

	"github.com/paimon-go/paimon-go/fs"
)

const (
	asyncBlockBytes = 256 << 10
	asyncBlocks     = 4
)

// asyncWriter writes to storage on a goroutine of its own, so that encoding goes on while a block travels. At most
// asyncBlocks blocks are under way; then Write waits. An error of the storage comes back from a later Write or from Close.
//
// The goroutine owns dst until ended is closed; free and full hand the blocks to and fro. Close ends it, or Abort,
// which may follow a Close that failed.
type asyncWriter struct {
	dst     fs.Writer
	block   []byte
	made    int
	stopped bool          // full is closed
	full    chan []byte   // closed by Close and Abort
	free    chan []byte   // holds every block
	ended   chan struct{} // closed by the goroutine
	err     error         // of the goroutine; read after ended
}

func newAsyncWriter(dst fs.Writer) *asyncWriter {
	w := &asyncWriter{dst: dst, full: make(chan []byte, asyncBlocks), free: make(chan []byte, asyncBlocks), ended: make(chan struct{})}
	go w.run()
	return w
}

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
	select {
	case w.block = <-w.free:
		return nil
	default:
	}
	if w.made < asyncBlocks {
		w.made++
		w.block = make([]byte, 0, asyncBlockBytes)
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
	select {
	case w.full <- w.block:
		w.block = nil
		return nil
	case <-w.ended:
		return w.err
	}
}

// stop ends the goroutine after it has written what it was given.
func (w *asyncWriter) stop() error {
	if !w.stopped {
		w.stopped = true
		close(w.full)
	}
	<-w.ended
	return w.err
}

func (w *asyncWriter) Close() error {
	var err error
	if len(w.block) > 0 {
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
