package compactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

const (
	// maxFollow is how many snapshots are followed one by one; what lies further back is listed anew.
	maxFollow = 200
	// listTries is how often the newest snapshot is listed again when it expired meanwhile.
	listTries = 5
)

// followed tells what a look for new snapshots brought.
type followed struct {
	snapshots     int   // new ones
	listed        bool  // everything was listed
	appendedBytes int64 // files that came at level 0
	appends       int   // snapshots of writers
}

// follow brings the state to the newest snapshot: by the deltas of those that are new, or by listing the newest one when
// there is no state yet or the way to it is interrupted, as by expiry or a rollback. Unless thorough, a table that was rolled
// back and written again up to the same id looks as if nothing had happened.
func (st *tableState) follow(ctx context.Context, t *table.Table, thorough bool) (followed, error) {
	if st.snapshot != nil && !thorough {
		same, err := t.Unchanged(ctx, st.snapshot)
		if same || err != nil {
			return followed{}, err
		}
	}
	if st.snapshot == nil {
		return st.list(ctx, t)
	}
	newer, err := t.After(ctx, st.snapshot, maxFollow)
	if err != nil {
		return followed{}, err
	}
	if newer == nil {
		return st.list(ctx, t)
	}
	f, err := st.followTo(ctx, t, newer)
	if errors.Is(err, errDiverged) || errors.Is(err, fs.ErrNotExist) {
		return st.list(ctx, t)
	}
	return f, err
}

// distrust makes the next look list everything: storage contradicts what is known.
func (st *tableState) distrust() { st.snapshot = nil }

// vanish empties the state of a table that has no snapshot.
func (st *tableState) vanish() followed {
	had := st.snapshot != nil
	st.snapshot = nil
	clear(st.buckets)
	clear(st.waiting)
	clear(st.parts)
	clear(st.vectors)
	st.indexManifest = ""
	return followed{listed: had}
}

// followTo applies the deltas of the snapshots after the known one.
func (st *tableState) followTo(ctx context.Context, t *table.Table, newer []*table.Snapshot) (f followed, err error) {
	for _, s := range newer {
		// The counts form a chain that a rollback or a table made anew under the name would break.
		if s.TotalRecordCount != st.snapshot.TotalRecordCount+s.DeltaRecordCount {
			return f, errDiverged
		}
		d := deltas{}
		for e, err := range t.ScanDelta(ctx, s) {
			if err != nil {
				return f, err
			}
			d.add(&e)
		}
		n, err := st.apply(s, d)
		if err == nil {
			if err = st.followIndex(ctx, t, s); err != nil {
				st.distrust() // the files are ahead of the index
			}
		}
		if err != nil {
			return f, err
		}
		f.snapshots++
		f.appendedBytes += n
		if s.CommitKind == table.CommitAppend {
			f.appends++
		}
	}
	return f, nil
}

// list reads all live files of the newest snapshot. That one never expires, but a newer one may come while we read it, and
// then this one and its manifests may go.
func (st *tableState) list(ctx context.Context, t *table.Table) (followed, error) {
	var err error
	for range listTries {
		var latest *table.Snapshot
		if latest, err = t.Latest(ctx); err != nil {
			return followed{}, err
		}
		if latest == nil {
			return st.vanish(), nil
		}
		if err = st.listAt(ctx, t, latest); err == nil {
			return followed{snapshots: 1, listed: true}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return followed{}, err
		}
	}
	return followed{}, fmt.Errorf("listing the files of %s: %w", t.Path(), err)
}

func (st *tableState) listAt(ctx context.Context, t *table.Table, s *table.Snapshot) error {
	fresh := newTableState()
	fresh.keep, fresh.newPart = st.keep, st.newPart
	d := deltas{}
	for e, err := range t.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			return err
		}
		if st.keeps(e.Partition, e.Bucket) {
			d.add(&e)
		}
	}
	if _, err := fresh.apply(s, d); err != nil {
		return err
	}
	if err := fresh.followIndex(ctx, t, s); err != nil {
		return err
	}
	for k, b := range fresh.buckets { // what isn't about files goes on
		b.written = wallMillis(b)
		if old := st.buckets[k]; old != nil {
			b.failed, b.retryAt, b.full, b.givenUp, b.broken = old.failed, old.retryAt, old.full, old.givenUp, old.broken
			b.written = max(b.written, old.written)
		}
	}
	for k, b := range fresh.waiting {
		if old := st.waiting[k]; old != nil {
			b.failed, b.retryAt, b.givenUp, b.broken = old.failed, old.retryAt, old.givenUp, old.broken
		}
	}
	*st = *fresh
	return nil
}

// wallMillis returns when the last level-0 file of a bucket was made by its writer's clock, which is good enough to tell hot
// buckets from cold ones.
func wallMillis(b *bucket) int64 {
	newest := int64(0)
	for i := range b.files {
		if f := &b.files[i]; f.Level == 0 {
			newest = max(newest, f.CreationMillis)
		}
	}
	return lsm.FromWallClock(newest, time.Local).UnixMilli()
}
