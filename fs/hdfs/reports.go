package hdfs

import (
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/internal/backoff"
)

// reports guesses how long DataNodes take to report a block, so that the NameNode is seldom asked in vain: the guess grows towards
// what it took when it was too short, and shrinks slowly while it is enough.
type reports struct {
	guess atomic.Int64 // nanoseconds
}

const (
	reportFirst = 2 * time.Millisecond
	reportMost  = 200 * time.Millisecond
	reportAgain = 12 * time.Millisecond
)

func (r *reports) wait() time.Duration { return max(time.Duration(r.guess.Load()), reportFirst/4) }

// took learns of a block. vain is for how long it was certainly not reported, 0 if it was when it was first asked for.
func (r *reports) took(vain time.Duration) {
	g := r.wait()
	if vain == 0 {
		g -= g / 32
	} else {
		g = min(max(vain+vain/4, vain+2*reportFirst), 2*g) // one block that takes long is no rule
	}
	r.guess.Store(int64(min(g, reportMost)))
}

// pause is the time until the next try of a block that was not reported for so long. What is late is late by much more than the
// guess, so that asking again soon would only be in vain too.
func pause(vain time.Duration) time.Duration {
	return backoff.Delay(min(max(2*vain, reportAgain), time.Second), time.Second, 0)
}
