package maintenance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// ExpireOptions say how much of the past is kept. What is nil or 0 is as the table's options have it.
type ExpireOptions struct {
	// RetainMax is how many are kept at most, RetainMin in any case.
	RetainMax, RetainMin *int
	// OlderThan: what was committed at this time or later is kept, beyond RetainMax excepted.
	OlderThan *time.Time
	// MaxDeletes is how many are removed at most.
	MaxDeletes int
	// DryRun removes nothing and names all.
	DryRun bool
	Limit  *Limiter

	clock *Clock // nil: one of its own
}

// retention is ExpireOptions with the table's options filled in.
type retention struct {
	most, least int64
	olderThan   int64 // milliseconds
	deletes     int64
}

func (o *ExpireOptions) retention(ctx context.Context, t *table.Table, most, least int, age time.Duration, limit int) (retention, error) {
	if o.RetainMax != nil {
		most = *o.RetainMax
	}
	if o.RetainMin != nil {
		least = *o.RetainMin
	}
	if o.MaxDeletes > 0 {
		limit = o.MaxDeletes
	}
	r := retention{most: int64(most), least: int64(least), deletes: int64(limit)}
	if least < 1 || most < least {
		return r, fmt.Errorf("%w: at most %d are to be kept, at least %d", table.ErrOption, most, least)
	}
	if o.OlderThan != nil {
		r.olderThan = o.OlderThan.UnixMilli()
		return r, nil
	}
	if o.clock == nil {
		o.clock = NewClock(nil)
	}
	now, err := o.clock.now(ctx, t, o.DryRun)
	r.olderThan = now.Add(-age).UnixMilli()
	return r, err
}

// changelogRetention returns the options changelog.*, which those of snapshots stand in for.
func changelogRetention(o table.Options) (maxNum, minNum int, age time.Duration) {
	maxNum, minNum, age = o.Int(table.KeySnapshotNumRetainedMax), o.Int(table.KeySnapshotNumRetainedMin), o.Duration(table.KeySnapshotTimeRetained)
	if o.Has(table.KeyChangelogNumRetainedMax) {
		maxNum = o.Int(table.KeyChangelogNumRetainedMax)
	}
	if o.Has(table.KeyChangelogNumRetainedMin) {
		minNum = o.Int(table.KeyChangelogNumRetainedMin)
	}
	if o.Has(table.KeyChangelogTimeRetained) {
		age = o.Duration(table.KeyChangelogTimeRetained)
	}
	return maxNum, minNum, age
}

// decoupled tells whether changelogs are kept longer than snapshots.
func decoupled(o table.Options) bool {
	maxNum, minNum, age := changelogRetention(o)
	return maxNum > o.Int(table.KeySnapshotNumRetainedMax) || minNum > o.Int(table.KeySnapshotNumRetainedMin) ||
		age > o.Duration(table.KeySnapshotTimeRetained)
}

// makesChangelogs tells whether commits write changelog files. Otherwise the files of level 0 are what changes are read from.
func makesChangelogs(o table.Options) bool { return o.Enum(table.KeyChangelogProducer) != "none" }

// chunk is how many snapshots go at once, so that a long past needs little memory.
const chunk = 50

// ExpireSnapshots removes old snapshots and what only they need. Snapshots that a consumer has not read stay, and so do files
// that a tag, another branch or a kept changelog needs. Where changelogs are kept longer than snapshots
// (changelog.num-retained.max and so on), each snapshot leaves changelog/changelog-<id> behind.
func ExpireSnapshots(ctx context.Context, t *table.Table, o ExpireOptions) (Report, error) {
	x := &snapshotExpiry{t: t, options: t.Options()}
	x.remover = newRemover(t, o.Limit, o.DryRun, &x.report)
	err := x.run(ctx, &o)
	return x.report.finish(o.DryRun), wrap(err, "expiring snapshots of", t)
}

type snapshotExpiry struct {
	t       *table.Table
	options table.Options
	remover *remover
	report  Report
}

func (x *snapshotExpiry) run(ctx context.Context, o *ExpireOptions) error {
	opt := x.options
	r, err := o.retention(ctx, x.t, opt.Int(table.KeySnapshotNumRetainedMax), opt.Int(table.KeySnapshotNumRetainedMin),
		opt.Duration(table.KeySnapshotTimeRetained), opt.Int(table.KeySnapshotExpireLimit))
	if err != nil {
		return err
	}
	ids, err := x.t.SnapshotIDs(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	h := holders{next: math.MaxInt64}
	if !opt.Bool(table.KeyConsumerChangelogOnly) {
		if h, err = holdersOf(ctx, x.t); err != nil {
			return err
		}
	}
	read := func(id int64) (*table.Snapshot, error) { return x.t.Snapshot(ctx, id) }
	end, err := r.end(ids[0], ids[len(ids)-1], h.next, ids, read)
	if err == nil {
		err = h.report(&x.report, r, ids, ids[0], ids[len(ids)-1], end, read)
	}
	if err != nil {
		return err
	}
	n, found := slices.BinarySearch(ids, end)
	if !found || n == 0 {
		return x.hintIfMissing(ctx, ids[0])
	}
	for from := 0; from < n; from += chunk {
		to := min(from+chunk, n)
		if more, err := x.expire(ctx, ids[from:to], ids[to]); err != nil || !more {
			return err
		}
	}
	return nil
}

// end returns the id up to which, itself excluded, all go: one of ids. Ids that the number alone condemns (below the maximum
// to be kept) go whatever their age; of the others the first one that is young enough stays, and all after it.
func (r retention) end(earliest, latest, bound int64, ids []int64, read func(int64) (*table.Snapshot, error)) (int64, error) {
	young := max(latest-r.most+1, earliest)
	end := min(latest-r.least+1, bound)
	if r.deletes < math.MaxInt64-earliest {
		end = min(end, earliest+r.deletes)
	}
	for _, id := range ids {
		if id >= end {
			return id, nil
		}
		if id < young {
			continue
		}
		s, err := read(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // someone else removes them too
		}
		if err != nil {
			return 0, err
		}
		if s.TimeMillis >= r.olderThan {
			return id, nil
		}
	}
	return end, nil
}

// hintIfMissing spares the next one who looks for the earliest snapshot a listing.
func (x *snapshotExpiry) hintIfMissing(ctx context.Context, earliest int64) error {
	if x.remover.dryRun || x.t.HasEarliestHint(ctx) {
		return nil
	}
	return x.t.HintEarliest(ctx, earliest)
}

// expire removes the snapshots of these ids, all there are below end. It reports false when somebody else removes them too and
// is further.
func (x *snapshotExpiry) expire(ctx context.Context, ids []int64, end int64) (bool, error) {
	last, err := x.t.Snapshot(ctx, end)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var gone []*table.Snapshot
	for _, id := range ids {
		s, err := x.t.Snapshot(ctx, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		gone = append(gone, s)
	}
	if len(gone) == 0 {
		return true, nil
	}
	p, err := x.plan(ctx, gone, last)
	if err != nil {
		return false, err
	}
	if err := p.remove(ctx, x.remover); err != nil {
		return false, err
	}
	return true, x.removeSnapshots(ctx, gone, end)
}

func (x *snapshotExpiry) plan(ctx context.Context, gone []*table.Snapshot, end *table.Snapshot) (*plan, error) {
	keepsLog := decoupled(x.options)
	p := newPlan(x.t)
	if err := x.candidates(ctx, p, gone, end, keepsLog); err != nil {
		return nil, err
	}
	// References are looked at last, so that one made meanwhile counts.
	if err := p.keepSnapshot(ctx, end); err != nil {
		return nil, err
	}
	if !keepsLog {
		if err := p.keepChangelogs(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.keepBranches(ctx); err != nil {
		return nil, err
	}
	tags, err := x.t.Tags(ctx)
	if err != nil {
		return nil, err
	}
	return p, p.keepTags(ctx, tagsBetween(tags, gone[0].ID, end.ID))
}

func (x *snapshotExpiry) candidates(ctx context.Context, p *plan, gone []*table.Snapshot, end *table.Snapshot, keepsLog bool) error {
	var stays func(*table.Entry) bool
	if keepsLog && !makesChangelogs(x.options) {
		// What writers wrote is what readers of changes read; its turn comes with the changelog.
		stays = func(e *table.Entry) bool { return e.File.Source != table.SourceCompact }
	}
	for _, s := range append(slices.Clone(gone[1:]), end) {
		if err := p.deletedIn(ctx, s, stays); err != nil {
			return err
		}
	}
	for _, s := range gone {
		if s.ChangelogManifestList != "" && !keepsLog {
			if err := p.addedIn(ctx, s.ChangelogManifestList, s.ChangelogListSize); err != nil {
				return err
			}
			if err := p.metadataOf(ctx, changelogList(s)); err != nil {
				return err
			}
		}
		if stays == nil {
			if err := p.metadataOf(ctx, dataLists(s)); err != nil {
				return err
			}
		}
		if err := p.indexesOf(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// tagsBetween returns the first tag of each snapshot that may share files with the snapshots from begin up to, not including,
// end: those among them, and the last one before. Tags are in order.
func tagsBetween(tags []table.Tag, begin, end int64) []table.Tag {
	var list []table.Tag
	for _, g := range tags {
		id := g.Snapshot.ID
		if id >= end {
			break
		}
		if id <= begin {
			list = list[:0]
		}
		if n := len(list); n == 0 || list[n-1].Snapshot.ID != id {
			list = append(list, g)
		}
	}
	return list
}

// removeSnapshots removes the snapshot files from the oldest on, when all that only they need is gone.
func (x *snapshotExpiry) removeSnapshots(ctx context.Context, gone []*table.Snapshot, end int64) error {
	if !x.remover.dryRun && decoupled(x.options) {
		if err := x.keepChangelogs(ctx, gone); err != nil {
			return err
		}
	}
	for _, s := range gone {
		if !x.remover.dryRun {
			if err := x.remover.limit.Wait(ctx); err != nil {
				return err
			}
			if err := x.t.RemoveSnapshot(ctx, s.ID); err != nil {
				return err
			}
		}
		x.report.Snapshots++
		x.remover.done(removal{path: x.t.SnapshotPath(s.ID)})
	}
	if x.remover.dryRun {
		return nil
	}
	return x.t.HintEarliest(ctx, end)
}

// keepChangelogs writes the changelogs that outlive these snapshots.
func (x *snapshotExpiry) keepChangelogs(ctx context.Context, gone []*table.Snapshot) error {
	for _, s := range gone {
		made, err := x.t.KeepChangelog(ctx, s)
		if err != nil {
			return err
		}
		if !made {
			continue
		}
		// Another expirer, faster than us, may have removed both the snapshot and the changelog that it had made of it.
		if _, err := x.t.Snapshot(ctx, s.ID); errors.Is(err, fs.ErrNotExist) {
			if err := x.t.RemoveChangelog(ctx, s.ID); err != nil {
				return err
			}
		}
	}
	return x.t.HintChangelogs(ctx, 0, gone[len(gone)-1].ID)
}
