// Package wallclock guards decisions about age, after which things are gone, against wall clocks that jump ahead. Durations and ticks
// need no such thing: they are measured with the monotonic clock, which time.Now has along.
package wallclock

import (
	"sync"
	"time"
)

const (
	// tolerance is how far the clocks may be apart without being called so.
	tolerance = time.Minute
	// believeAfter is for how long the wall clock must have been ahead to be believed, where no other machine has told the time:
	// it is more likely then that it was wrong before.
	believeAfter = 24 * time.Hour
)

// Guard tells the time for decisions about age. It follows the wall clock, but not faster than time passes: what seems to be
// days old because the clock was set days ahead stays. A clock that goes back is followed at once: then things only stay for
// longer. Safe for concurrent use.
type Guard struct {
	wall func() time.Time

	mu    sync.Mutex // guards what is below
	since time.Time  // a monotonic time, at which it was
	at    time.Time  // this time of the wall clock
	apart time.Time  // when the wall clock was found ahead, monotonic; zero: it isn't
	told  bool       // at is another machine's
}

// NewGuard returns a Guard that believes the wall clock as it is now; nil is time.Now, and others are for tests.
func NewGuard(wall func() time.Time) *Guard {
	if wall == nil {
		wall = time.Now
	}
	g := &Guard{wall: wall}
	g.set(wall())
	return g
}

// Set makes the Guard go on from the time of another machine. From now on the wall clock is not believed by itself when it is ahead.
func (g *Guard) Set(at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set(at)
	g.told = true
}

func (g *Guard) set(at time.Time) { g.since, g.at, g.apart = time.Now(), at.Round(0), time.Time{} }

// Now returns the time by which age is to be judged.
func (g *Guard) Now() time.Time {
	now, _ := g.look()
	return now
}

// Ahead returns by how much the wall clock is ahead of the time that has passed, 0 when it isn't.
func (g *Guard) Ahead() time.Duration {
	_, ahead := g.look()
	return ahead
}

func (g *Guard) look() (time.Time, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wall, mono := g.wall().Round(0), time.Now()
	passed := g.at.Add(mono.Sub(g.since))
	ahead := wall.Sub(passed)
	switch {
	case ahead <= 0:
		g.apart = time.Time{}
		return wall, 0
	case ahead <= tolerance:
		g.apart = time.Time{}
		return passed, 0
	case g.apart.IsZero():
		g.apart = mono
	case !g.told && mono.Sub(g.apart) >= believeAfter:
		g.set(wall)
		return wall, 0
	}
	return passed, ahead
}
