package maintenance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/internal/wallclock"
	"github.com/paimon-go/paimon-go/table"
)

// Clock tells the present, by which age is judged. A machine whose clock is days ahead would take all for old: rows and partitions
// would be dropped, tags and consumers removed, and files of commits that are being made taken for orphans. So the storage's
// clock, which is another machine's, is asked at first, and again when ours runs ahead of the time that passes. Safe for
// concurrent use.
type Clock struct {
	wall  func() time.Time
	guard *wallclock.Guard

	mu    sync.Mutex // guards what is below, and only one asks
	told  bool       // the storage has told its time
	asked time.Time  // when it was asked last
}

// NewClock returns a Clock over the wall clock; nil is time.Now.
func NewClock(wall func() time.Time) *Clock {
	if wall == nil {
		wall = time.Now
	}
	return &Clock{wall: wall, guard: wallclock.NewGuard(wall)}
}

const (
	// clocksApart is how far behind the storage's clock may be without being followed.
	clocksApart = time.Minute
	// askAgain is how often the storage is asked while our clock is ahead.
	askAgain = time.Hour
)

// Now returns the time, and asks the storage of a table when it has to: for the first time, and at most once an hour while our clock
// is ahead. It fails only while the storage has never told its time.
func (c *Clock) Now(ctx context.Context, t *table.Table) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told && (c.guard.Ahead() <= clocksApart || time.Since(c.asked) < askAgain) {
		return c.guard.Now(), nil
	}
	at, err := storageTime(ctx, t)
	if err != nil && !c.told {
		return time.Time{}, err
	}
	c.asked = time.Now()
	if err == nil && !at.IsZero() {
		if wall := c.wall(); wall.Sub(at) <= clocksApart {
			at = wall
		}
		c.guard.Set(at)
		c.told = true
	}
	return c.guard.Now(), nil
}

// Guess returns the time as far as it is known without asking.
func (c *Clock) Guess() time.Time { return c.guard.Now() }

// now is Now, or Guess in a dry run, as asking costs a file.
func (c *Clock) now(ctx context.Context, t *table.Table, dryRun bool) (time.Time, error) {
	if dryRun {
		return c.Guess(), nil
	}
	return c.Now(ctx, t)
}

// storageTime returns the time of the storage's clock: that of a file that is made for it and removed at once. It is zero when the
// table has no snapshot, as nothing is old then. What a crash leaves of it is hidden, and removed as an orphan.
func storageTime(ctx context.Context, t *table.Table) (time.Time, error) {
	s, err := t.Latest(ctx)
	if s == nil || err != nil {
		return time.Time{}, err
	}
	path := fs.Join(fs.Dir(t.SnapshotPath(s.ID)), ".clock."+uuid.NewString()+".tmp")
	at, err := touch(ctx, t.FS(), path)
	if err != nil {
		err = fmt.Errorf("asking the storage for its time by %s: %w", path, err)
	}
	return at, err
}

func touch(ctx context.Context, fsys fs.FileSystem, path string) (at time.Time, err error) {
	w, err := fsys.Create(ctx, path)
	if err != nil {
		return at, err
	}
	if err := w.Close(); err != nil {
		return at, err
	}
	info, err := fsys.Stat(ctx, path)
	rctx, cancel := fs.CleanUp(ctx)
	defer cancel()
	return info.ModTime, errors.Join(err, fsys.Remove(rctx, path))
}
