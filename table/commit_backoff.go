package table

import (
	"math/rand/v2"
	"time"
)

// backoff is the pause before retry number n+1, as in Java: doubling, bounded, and up to a fifth longer by chance, so that
// writers that met once don't meet again.
func backoff(first, longest time.Duration, n int) time.Duration {
	wait := longest
	if n < 62 && first<<n>>n == first && first<<n < longest {
		wait = first << n
	}
	if wait <= 0 {
		return 0
	}
	return wait + time.Duration(rand.Int64N(int64(wait)/5+1))
}
