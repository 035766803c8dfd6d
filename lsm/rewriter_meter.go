package lsm

import (
	"context"
	"sync/atomic"

	"github.com/paimon-go/paimon-go/fs"
)

// meter counts the bytes that an operation moves from and to storage, and lets a throttle slow it down. A nil meter does
// nothing. Safe for concurrent use.
type meter struct {
	read, written atomic.Int64
	throttle      func(ctx context.Context, bytes int64) error
}

func (m *meter) reader(ctx context.Context, r fs.Reader) fs.Reader {
	if m == nil {
		return r
	}
	return &meteredReader{r, m, ctx}
}

func (m *meter) writer(ctx context.Context, w fs.Writer) fs.Writer {
	if m == nil {
		return w
	}
	return &meteredWriter{w, m, ctx}
}

func (m *meter) count(ctx context.Context, n *atomic.Int64, bytes int) error {
	n.Add(int64(bytes))
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if m.throttle == nil {
		return nil
	}
	return m.throttle(ctx, int64(bytes))
}

type meteredReader struct {
	fs.Reader
	m   *meter
	ctx context.Context // of the operation that the reader is a part of
}

func (r *meteredReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.Reader.ReadAt(b, off)
	if e := r.m.count(r.ctx, &r.m.read, n); e != nil {
		return 0, e
	}
	return n, err
}

type meteredWriter struct {
	fs.Writer
	m   *meter
	ctx context.Context // of the operation that the writer is a part of
}

func (w *meteredWriter) Write(b []byte) (int, error) {
	if err := w.m.count(w.ctx, &w.m.written, len(b)); err != nil {
		return 0, err
	}
	return w.Writer.Write(b)
}
