package maintenance

import (
	"context"
	"errors"
	"slices"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// ExpireChangelogs removes old changelogs that outlived their snapshots, and what only they need. Those that a consumer has
// not read stay, and so does the latest one. With deleteAll all go, whatever their age.
func ExpireChangelogs(ctx context.Context, t *table.Table, o ExpireOptions, deleteAll bool) (Report, error) {
	x := &changelogExpiry{t: t}
	x.remover = newRemover(t, o.Limit, o.DryRun, &x.report)
	err := x.run(ctx, &o, deleteAll)
	return x.report.finish(o.DryRun), wrap(err, "expiring changelogs of", t)
}

// errOvertaken: somebody else expires changelogs too, and is further.
var errOvertaken = errors.New("another expirer is further")

type changelogExpiry struct {
	t       *table.Table
	remover *remover
	report  Report
}

func (x *changelogExpiry) run(ctx context.Context, o *ExpireOptions, deleteAll bool) error {
	snapshots, err := x.t.SnapshotIDs(ctx)
	if err != nil || len(snapshots) == 0 {
		return err
	}
	earliest, latest := snapshots[0], snapshots[len(snapshots)-1]
	ids, err := x.t.ChangelogIDs(ctx)
	if err != nil {
		return err
	}
	// A changelog whose snapshot is still there was about to be made: its files are those of the snapshot.
	if n, _ := slices.BinarySearch(ids, earliest); n < len(ids) {
		ids = ids[:n]
	}
	if len(ids) == 0 {
		return nil
	}
	gone := ids
	if !deleteAll {
		if gone, err = x.expired(ctx, o, ids, latest); err != nil {
			return err
		}
	}
	for from := 0; from < len(gone); from += chunk {
		to := min(from+chunk, len(gone))
		var next int64 // the changelog after them, if any
		if to < len(ids) {
			next = ids[to]
		}
		err := x.expire(ctx, gone[from:to], next)
		if errors.Is(err, errOvertaken) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if x.remover.dryRun || len(gone) == 0 {
		return nil
	}
	if len(gone) == len(ids) {
		return x.t.HintChangelogs(ctx, -1, -1)
	}
	return x.t.HintChangelogs(ctx, ids[len(gone)], 0)
}

// expired returns those of ids that are to go: a number of the first ones, never the last.
func (x *changelogExpiry) expired(ctx context.Context, o *ExpireOptions, ids []int64, latest int64) ([]int64, error) {
	opt := x.t.Options()
	most, least, age := changelogRetention(opt)
	r, err := o.retention(ctx, x.t, most, least, age, opt.Int(table.KeySnapshotExpireLimit))
	if err != nil {
		return nil, err
	}
	h, err := holdersOf(ctx, x.t)
	if err != nil {
		return nil, err
	}
	last := ids[len(ids)-1] // it stays
	read := func(id int64) (*table.Snapshot, error) { return x.t.Changelog(ctx, id) }
	end, err := r.end(ids[0], latest, min(h.next, last), ids, read)
	if err != nil {
		return nil, err
	}
	n, _ := slices.BinarySearch(ids, end)
	return ids[:n], h.report(&x.report, r, ids[:len(ids)-1], ids[0], latest, end, read)
}

// expire removes the changelogs of these ids; next is the one after them, 0 for none.
func (x *changelogExpiry) expire(ctx context.Context, ids []int64, next int64) error {
	var gone []*table.Snapshot
	for _, id := range ids {
		s, err := x.t.Changelog(ctx, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		gone = append(gone, s)
	}
	if len(gone) == 0 {
		return nil
	}
	p, err := x.plan(ctx, gone, next)
	if err != nil {
		return err
	}
	if err := p.remove(ctx, x.remover); err != nil {
		return err
	}
	for _, s := range gone {
		if !x.remover.dryRun {
			if err := x.remover.limit.Wait(ctx); err != nil {
				return err
			}
			if err := x.t.RemoveChangelog(ctx, s.ID); err != nil {
				return err
			}
		}
		x.report.Changelogs++
		x.remover.done(removal{path: x.t.ChangelogPath(s.ID)})
	}
	return nil
}

func (x *changelogExpiry) plan(ctx context.Context, gone []*table.Snapshot, next int64) (*plan, error) {
	p := newPlan(x.t)
	for _, s := range gone {
		var err error
		if s.ChangelogManifestList != "" {
			if err = p.addedIn(ctx, s.ChangelogManifestList, s.ChangelogListSize); err == nil {
				err = p.metadataOf(ctx, changelogList(s))
			}
		} else {
			// Files that its commit deleted were kept for the changelogs before, where those are what writers wrote. The lists
			// are gone, and files with them, where commits write changelog files.
			if err = p.deletedIn(ctx, s, nil); err == nil {
				err = p.metadataOf(ctx, dataLists(s))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if next > 0 {
		// Manifests are used by snapshots in a row, so that what later changelogs use too, the next one does.
		s, err := x.t.Changelog(ctx, next)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errOvertaken
		}
		if err != nil {
			return nil, err
		}
		if err := p.keepLists(ctx, append(dataLists(s), changelogList(s)...), true); err != nil {
			return nil, err
		}
	}
	earliest, err := x.t.Earliest(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.keepBranches(ctx); err != nil {
		return nil, err
	}
	tags, err := x.t.Tags(ctx)
	if err != nil {
		return nil, err
	}
	end := next
	if earliest != nil {
		if err := p.keepSnapshot(ctx, earliest); err != nil {
			return nil, err
		}
		if end == 0 {
			end = earliest.ID
		}
	}
	// What the first one's commit deleted is that of the snapshot before, and of a tag before.
	return p, p.keepTags(ctx, tagsBetween(tags, gone[0].ID-1, end))
}
