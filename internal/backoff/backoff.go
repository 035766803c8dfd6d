// Package backoff is how most of what is tried again here waits before (fs/s3 has delays of its own, spread wider): longer each time, within a bound, and a little by chance,
// so that those who failed together don't come back together.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Delay is the pause before retry number n+1: first, twice as long each time, longest at most, and up to a fifth longer by
// chance.
func Delay(first, longest time.Duration, n int) time.Duration {
	wait := longest
	if n < 62 && first<<n>>n == first && first<<n < longest {
		wait = first << n
	}
	if wait <= 0 {
		return 0
	}
	return wait + time.Duration(rand.Int64N(int64(wait)/5+1))
}

// Sleep waits, or returns why the context ended.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
