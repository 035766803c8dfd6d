package maintenance

import (
	"context"
	"sync"
	"time"
)

// Limiter spreads removals over time, as each costs a namenode of HDFS an operation that others wait for. A nil Limiter
// doesn't limit. Safe for concurrent use; several tables may share one.
type Limiter struct {
	pause time.Duration

	mu   sync.Mutex // guards next
	next time.Time
}

// NewLimiter returns a Limiter of this many removals a second, nil when that is not positive.
func NewLimiter(perSecond int64) *Limiter {
	if perSecond <= 0 {
		return nil
	}
	return &Limiter{pause: time.Second / time.Duration(perSecond)}
}

// Wait waits for the turn of one operation.
func (l *Limiter) Wait(ctx context.Context) error {
	if l == nil {
		return context.Cause(ctx)
	}
	l.mu.Lock()
	now := time.Now()
	if l.next.Before(now) {
		l.next = now
	}
	wait := l.next.Sub(now)
	l.next = l.next.Add(l.pause)
	l.mu.Unlock()
	if wait <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
