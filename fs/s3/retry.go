package s3

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// slowest is the rate, in bytes a second, below which a try is given up.
const slowest = 128 << 10

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

var wallClock = clock{time.Now, func(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}}

// do runs a call until it succeeds or is of no more use. bytes is what one try has to move.
func (f *FS) do(ctx context.Context, call string, o object, bytes int64, try func(context.Context) error) error {
	r := f.retrier()
	for {
		err := ctx.Err()
		if err == nil {
			err = f.attempt(ctx, bytes, try)
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
func (f *FS) attempt(ctx context.Context, bytes int64, try func(context.Context) error) error {
	limit := f.cfg.CallTime + time.Duration(bytes)*time.Second/slowest
	actx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := try(actx)
	if err != nil && ctx.Err() == nil && actx.Err() != nil {
		return errTooLong // not with the cause, which looks like the end of the caller's time
	}
	return err
}
