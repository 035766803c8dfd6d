package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/internal/wallclock"
	"github.com/paimon-go/paimon-go/table"
)

// present is the time by which age is judged. A machine whose clock is days ahead would take all for old: partitions would be
// dropped, tags and consumers removed, and files of commits that are being made taken for orphans. So the storage's clock, which
// is another machine's, is asked at first, and later jumps are not followed (wallclock.Guard). Not safe for concurrent use.
type present struct {
	guard *wallclock.Guard
	asked bool
}

func newPresent() *present { return &present{guard: wallclock.NewGuard(nil)} }

// clocksApart is how far behind the storage's clock may be without being followed.
const clocksApart = time.Minute

// now returns the time. A dry run doesn't ask the storage, which costs a file.
func (p *present) now(ctx context.Context, t *table.Table, dryRun bool) (time.Time, error) {
	if !p.asked && !dryRun {
		at, err := storageTime(ctx, t)
		if err != nil {
			return time.Time{}, err
		}
		if !at.IsZero() {
			p.asked = true
			if p.guard.Now().Sub(at) > clocksApart {
				p.guard.Set(at)
			}
		}
	}
	return p.guard.Now(), nil
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
