package compactor

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/internal/backoff"
)

// limiter lets through a number of units per second, and up to a second's worth at once. A nil limiter lets everything
// through. Safe for concurrent use.
type limiter struct {
	perSecond float64

	mu   sync.Mutex
	owed float64   // guarded by mu; units let through that time has not paid for yet, negative: saved up
	at   time.Time // guarded by mu; of owed
}

func newLimiter(perSecond int64) *limiter {
	if perSecond <= 0 {
		return nil
	}
	return &limiter{perSecond: float64(perSecond), owed: -float64(perSecond), at: time.Now()}
}

// wait lets n units through, after a while if there are too many. Who comes first goes first; a large n is let through once
// what came before is paid for.
func (l *limiter) wait(ctx context.Context, n int64) error {
	if l == nil {
		return ctx.Err()
	}
	if d := l.take(float64(n), time.Now()); d > 0 {
		return backoff.Sleep(ctx, d)
	}
	return ctx.Err()
}

func (l *limiter) take(n float64, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owed = max(l.owed-now.Sub(l.at).Seconds()*l.perSecond, -l.perSecond)
	l.at = now
	l.owed += n
	return time.Duration(l.owed / l.perSecond * float64(time.Second))
}

// limitedFS counts calls that cost a namenode something. Reading and writing bytes does not.
type limitedFS struct {
	fs.FileSystem
	ops *limiter
}

func (l *limitedFS) Create(ctx context.Context, path string) (fs.Writer, error) {
	if err := l.ops.wait(ctx, 2); err != nil { // opening and closing
		return nil, err
	}
	return l.FileSystem.Create(ctx, path)
}

func (l *limitedFS) Open(ctx context.Context, path string) (fs.Reader, error) {
	if err := l.ops.wait(ctx, 1); err != nil {
		return nil, err
	}
	return l.FileSystem.Open(ctx, path)
}

func (l *limitedFS) Stat(ctx context.Context, path string) (fs.Info, error) {
	if err := l.ops.wait(ctx, 1); err != nil {
		return fs.Info{}, err
	}
	return l.FileSystem.Stat(ctx, path)
}

func (l *limitedFS) List(ctx context.Context, dir string) iter.Seq2[fs.Info, error] {
	if err := l.ops.wait(ctx, 1); err != nil {
		return func(yield func(fs.Info, error) bool) { yield(fs.Info{}, err) }
	}
	return l.FileSystem.List(ctx, dir)
}

// Remove doesn't wait for a clean-up that isn't to be cancelled, or it would keep a shutdown waiting. Others pay for it.
func (l *limitedFS) Remove(ctx context.Context, path string) error {
	if ctx.Done() == nil {
		l.ops.take(1, time.Now())
		return l.FileSystem.Remove(ctx, path)
	}
	if err := l.ops.wait(ctx, 1); err != nil {
		return err
	}
	return l.FileSystem.Remove(ctx, path)
}

func (l *limitedFS) Publish(ctx context.Context, path string, data []byte) (bool, error) {
	// An error before the call must not look like an unknown outcome.
	if err := l.ops.wait(ctx, 3); err != nil {
		return false, fs.NotPublished(err)
	}
	return l.FileSystem.Publish(ctx, path, data)
}

func (l *limitedFS) Replace(ctx context.Context, path string, data []byte) error {
	if err := l.ops.wait(ctx, 3); err != nil {
		return err
	}
	return l.FileSystem.Replace(ctx, path, data)
}
