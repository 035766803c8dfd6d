package hdfs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"sync"

	"github.com/paimon-go/paimon-go/fs"
)

// Create starts a new file. Whether one exists is decided when the writer is closed: the NameNode is not asked twice. The context
// holds for the writer's whole life.
func (f *FS) Create(ctx context.Context, uri string) (fs.Writer, error) {
	path, err := f.start(ctx, "create", uri)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return &writer{f: f, ctx: ctx, cancel: cancel, path: path, spool: newSpool(f.spoolMemory, &f.chunks, f.spoolDir), done: make(chan struct{})}, nil
}

const (
	streamFrom = 2 << 20  // bytes from which on a file is sent while it grows; smaller ones are sent when they are closed
	aheadMost  = 64 << 20 // bytes that a writer may be ahead of the DataNodes
)

// writer keeps what is written in a spool, from which a goroutine sends it.
type writer struct {
	f      *FS
	ctx    context.Context
	cancel context.CancelCauseFunc
	path   string
	spool  *spool

	size    int64
	started bool
	done    chan struct{} // closed when written and err are set
	written written
	err     error

	mu    sync.Mutex
	ended bool
}

func (w *writer) Write(b []byte) (int, error) {
	if w.isEnded() {
		return 0, &opError{op: "write", path: w.f.uri + w.path, cause: iofs.ErrClosed}
	}
	if err := context.Cause(w.ctx); err != nil {
		return 0, &opError{op: "write", path: w.f.uri + w.path, cause: err}
	}
	if err := w.spool.append(b); err != nil {
		w.cancel(err)
		return 0, &opError{op: "write", path: w.f.uri + w.path, cause: err}
	}
	w.size += int64(len(b))
	if w.size >= streamFrom {
		w.start()
		if err := w.wait(); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// wait holds the writer back while the DataNodes are far behind, and returns early what makes the file impossible.
func (w *writer) wait() error {
	for {
		ahead, moved := w.spool.ahead()
		select {
		case <-w.done:
			if w.err == nil {
				return &opError{op: "write", path: w.f.uri + w.path, cause: errors.New("the file was ended early")}
			}
			return w.err
		default:
		}
		if ahead < aheadMost {
			return nil
		}
		select {
		case <-moved:
		case <-w.done:
		case <-w.ctx.Done():
			return &opError{op: "write", path: w.f.uri + w.path, cause: context.Cause(w.ctx)}
		}
	}
}

func (w *writer) start() {
	if w.started {
		return
	}
	w.started = true
	go func() {
		defer close(w.done)
		w.written, w.err = w.f.write(w.ctx, w.path, w.spool)
	}()
}

func (w *writer) isEnded() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// end tells whether this is the first call.
func (w *writer) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.ended
	w.ended = true
	return first
}

// Close makes the file visible, whole. ErrExist if there is one of that name.
func (w *writer) Close() error {
	if !w.end() {
		return &opError{op: "close", path: w.f.uri + w.path, cause: iofs.ErrClosed}
	}
	defer w.cancel(nil)
	defer w.spool.close()
	w.spool.end()
	w.start()
	<-w.done
	if w.err != nil {
		return w.err
	}
	won, err := w.f.reveal(w.ctx, w.written, w.path)
	if err == nil && !won {
		err = &opError{op: "create", path: w.f.uri + w.path, cause: fs.ErrExist}
	}
	if err != nil {
		return fmt.Errorf("closing %s: %w", w.f.uri+w.path, err)
	}
	return nil
}

// Abort leaves nothing behind.
func (w *writer) Abort() error {
	if !w.end() {
		return nil
	}
	defer w.spool.close()
	w.cancel(errAborted)
	if !w.started {
		return nil
	}
	<-w.done
	if w.err == nil {
		w.f.discard(context.WithoutCancel(w.ctx), w.written.tmp)
	}
	return nil
}

var errAborted = errors.New("the file was given up")
