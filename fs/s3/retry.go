package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/paimon-go/paimon-go/internal/backoff"
)

const (
	// slowest is the rate, in bytes a second, that the last bytes of a request are given time for.
	slowest = 128 << 10
	// socketBytes may be left in the buffers of connections when the last byte of a body has been taken.
	socketBytes = 4 << 20
)

// retrier counts the tries of one call.
type retrier struct {
	f       *FS
	start   time.Time
	tries   int
	renewed bool
}

func (f *FS) retrier() *retrier { return &retrier{f: f, start: f.clock.now()} }

// progress starts anew, after a try that has brought a part of what is wanted.
func (r *retrier) progress() { r.start, r.tries = r.f.clock.now(), 0 }

// again waits before the next try; false when there is to be none: the error is not one that passes, the time is up, or the
// context has ended.
func (r *retrier) again(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	first, most, limit := 100*time.Millisecond, 8*time.Second, r.f.cfg.RetryFor
	switch classify(err) {
	case passing, conflict:
	case throttled:
		first, most = 500*time.Millisecond, 20*time.Second
	case unnamed:
		limit = min(limit, 15*time.Second)
	case expired:
		if r.f.renewable == nil || r.renewed {
			return false
		}
		r.f.renewable.Invalidate()
		r.renewed = true
	default:
		return false
	}
	wait := min(first<<min(r.tries, 20), most)
	wait = wait/2 + rand.N(wait/2+1)
	r.tries++
	left := limit - r.f.clock.now().Sub(r.start)
	return left > 0 && r.f.clock.sleep(ctx, min(wait, left)) == nil
}

// clock is time, which tests replace.
type clock struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
}

var wallClock = clock{time.Now, backoff.Sleep}

// do runs a call until it succeeds or is of no more use. size is how many bytes one try has to receive.
func (f *FS) do(ctx context.Context, call string, o object, size int64, once func(context.Context) error) error {
	return f.try(ctx, call, o, func() error { return f.attempt(ctx, size, once) })
}

func (f *FS) try(ctx context.Context, call string, o object, once func() error) error {
	for r := f.retrier(); ; {
		err := ctx.Err()
		if err == nil {
			err = once()
		}
		if err == nil {
			return nil
		}
		if !r.again(ctx, err) {
			return fail(ctx, call, o.path, err)
		}
	}
}

var errTooLong = errors.New("no answer in the time for one try")

// attempt runs one try in its time.
func (f *FS) attempt(ctx context.Context, size int64, once func(context.Context) error) error {
	limit := f.cfg.CallTime + time.Duration(size)*time.Second/time.Duration(f.slowest)
	actx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := once(actx)
	if err != nil && ctx.Err() == nil && actx.Err() != nil {
		return errTooLong // not with the cause, which looks like the end of the caller's time
	}
	return err
}

// send runs one try that sends data. It may take as long as it likes while the connection takes bytes, so that a slow
// store is waited for, and one that hangs is not.
func (f *FS) send(ctx context.Context, data []byte, once func(context.Context, io.ReadSeeker) error) error {
	sctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(f.cfg.CallTime, func() { cancel(errTooLong) })
	defer watch.Stop()
	rest := time.Duration(min(len(data), socketBytes)) * time.Second / time.Duration(f.slowest)
	err := once(sctx, &body{bytes.NewReader(data), func(left int) {
		if left > 0 {
			watch.Reset(f.cfg.CallTime)
		} else {
			watch.Reset(f.cfg.CallTime + rest)
		}
	}})
	if err != nil && ctx.Err() == nil && sctx.Err() != nil {
		return errTooLong
	}
	return err
}

// body tells when bytes are taken. It hides the reader's WriteTo, which would take all at once.
type body struct {
	data  *bytes.Reader
	taken func(left int)
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.data.Read(p)
	b.taken(b.data.Len())
	return n, err
}

func (b *body) Seek(off int64, whence int) (int64, error) { return b.data.Seek(off, whence) }
