package compactor

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// candidate is a compaction that a table would like to have done.
type candidate struct {
	loop   *tableLoop
	key    bucketKey
	part   *partition
	total  int32
	levels *lsm.Levels
	unit   lsm.Unit
	// vectors is the index file with the bucket's deletion vectors that the levels go with, nameless when there is none; nil when
	// the table has none at all.
	vectors *table.IndexFile
	move    *move // in place of levels and unit: it gives rows their buckets
	t       *table.Table
	rw      rewriter // writes with the schema that was the newest when the candidate was made
	job     Job
	need    float64   // runs over the trigger of the table: 1 is due
	hot     bool      // written lately
	since   time.Time // when the table first wanted it
}

// dispatcher hands candidates to workers. Tables offer what they want done; a worker takes what is most urgent of all. A
// bucket that was taken is not given out again until its table settles it.
type dispatcher struct {
	mu     sync.Mutex
	queues map[*tableLoop]*queue // guarded by mu
	wake   chan struct{}         // guarded by mu; closed and replaced when there may be something to take
	closed bool                  // guarded by mu
	now    func() time.Time
}

// queue is what one table wants.
type queue struct {
	wanted  []*candidate
	taken   map[bucketKey]bool // given out and not settled
	running int
	served  time.Time // when a job of the table was given out last
}

func newDispatcher() *dispatcher {
	return &dispatcher{queues: map[*tableLoop]*queue{}, wake: make(chan struct{}), now: time.Now}
}

func (d *dispatcher) queueLocked(l *tableLoop) *queue {
	q := d.queues[l]
	if q == nil {
		q = &queue{taken: map[bucketKey]bool{}, served: d.now()}
		d.queues[l] = q
	}
	return q
}

// offer replaces what a table wants.
func (d *dispatcher) offer(l *tableLoop, wanted []*candidate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	q := d.queueLocked(l)
	q.wanted = q.wanted[:0]
	for _, c := range wanted {
		if !q.taken[c.key] {
			q.wanted = append(q.wanted, c)
		}
	}
	if len(q.wanted) > 0 {
		d.wakeLocked()
	}
}

func (d *dispatcher) wakeLocked() {
	close(d.wake)
	d.wake = make(chan struct{})
}

// take waits for a candidate and returns the most urgent one; nil when the dispatcher is closed or ctx ends.
func (d *dispatcher) take(ctx context.Context) *candidate {
	for {
		d.mu.Lock()
		c, wake, closed := d.bestLocked(), d.wake, d.closed
		d.mu.Unlock()
		if c != nil || closed {
			return c
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil
		}
	}
}

func (d *dispatcher) bestLocked() *candidate {
	if d.closed {
		return nil
	}
	now := d.now()
	var best *candidate
	var bestQueue *queue
	bestScore, at := 0.0, 0
	for _, q := range d.queues {
		fair := q.fairness(now)
		for i, c := range q.wanted {
			score := c.urgency() * fair
			if best == nil || score > bestScore || score == bestScore && before(c, best) {
				best, bestQueue, bestScore, at = c, q, score, i
			}
		}
	}
	if best == nil {
		return nil
	}
	bestQueue.wanted = append(bestQueue.wanted[:at], bestQueue.wanted[at+1:]...)
	bestQueue.taken[best.key] = true
	bestQueue.running++
	bestQueue.served = now
	return best
}

// urgency is how much a reader of the bucket would gain: more runs are worse, and what was written lately is read most.
func (c *candidate) urgency() float64 {
	u := 1 + c.need
	if c.hot {
		u *= 2
	}
	return u
}

// fairness favours tables that have not been served for long, and few workers at once, so that one with a large backlog
// doesn't keep the others waiting.
func (q *queue) fairness(now time.Time) float64 {
	const second = 10 * time.Second // of waiting, which weigh as much as the backlog itself
	return (1 + max(0, now.Sub(q.served).Seconds())/second.Seconds()) / float64(1+q.running)
}

// before makes the order of equal candidates a fixed one.
func before(a, b *candidate) bool {
	switch {
	case !a.since.Equal(b.since):
		return a.since.Before(b.since)
	case a.job.Table != b.job.Table:
		return a.job.Table < b.job.Table
	case a.key.partition != b.key.partition:
		return a.key.partition < b.key.partition
	}
	return a.key.bucket < b.key.bucket
}

// ended says that the worker of a candidate is free again; the bucket stays taken.
func (d *dispatcher) ended(c *candidate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queueLocked(c.loop).running--
}

// settle says that the table knows what became of the bucket's job, so that it may be given out again.
func (d *dispatcher) settle(c *candidate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.queueLocked(c.loop).taken, c.key)
}

// given returns the buckets of a table that were given out and not settled, and how many wait to be.
func (d *dispatcher) given(l *tableLoop) (taken map[bucketKey]bool, waiting int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.queueLocked(l)
	return maps.Clone(q.taken), len(q.wanted)
}

// load returns how many jobs of a table are with workers and how many wait for one.
func (d *dispatcher) load(l *tableLoop) (running, waiting int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.queues[l]
	if q == nil {
		return 0, 0
	}
	return q.running, len(q.wanted)
}

// forget drops what a table wants.
func (d *dispatcher) forget(l *tableLoop) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q := d.queues[l]; q != nil {
		q.wanted = nil
	}
}

// remove drops a table all of whose jobs have ended.
func (d *dispatcher) remove(l *tableLoop) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.queues, l)
}

// close lets no more be taken.
func (d *dispatcher) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.wakeLocked()
}
