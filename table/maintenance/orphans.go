package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// OrphanOptions say which files nobody waits for.
type OrphanOptions struct {
	// OlderThan: files changed at this time or later may belong to a commit that is being made, and stay. The zero value is a
	// day ago, by the storage's clock if that is behind.
	OlderThan time.Time
	DryRun    bool
	Limit     *Limiter
}

// orphanAge is the age at which a file that nothing refers to is an orphan, if nothing else is said.
const orphanAge = 24 * time.Hour

// RemoveOrphanFiles removes the files that no snapshot, tag or kept changelog of any branch refers to: data files in the
// directories of buckets, manifests, index and statistics files, and in the directories of snapshots and changelogs what is
// left of their making. Files are compared by their bare name. Of schemas, tags, consumers and streaming jobs (the directory
// paimon-go) temporary files go. Files that lie anywhere else are not looked at, those of data-file.external-paths among them.
//
// When a reference can't be read, nothing is removed.
func RemoveOrphanFiles(ctx context.Context, t *table.Table, o OrphanOptions) (Report, error) {
	x := &orphans{t: t, before: o.OlderThan, found: map[string]removal{}, seen: map[string]bool{}}
	x.remover = newRemover(t, o.Limit, o.DryRun, &x.report)
	err := x.start(ctx)
	if err == nil {
		err = x.run(ctx)
	}
	return x.report.finish(o.DryRun), wrap(err, "removing orphaned files of", t)
}

type orphans struct {
	t       *table.Table
	before  time.Time
	remover *remover
	report  Report

	leftovers []removal          // in the directories of snapshots and changelogs
	found     map[string]removal // old files by bare name; what is used is taken out
	seen      map[string]bool    // lists and manifests that have been read
}

func (x *orphans) start(ctx context.Context) error {
	if !x.before.IsZero() {
		return nil
	}
	now, err := NewClock(nil).now(ctx, x.t, x.remover.dryRun)
	x.before = now.Add(-orphanAge)
	return err
}

func (x *orphans) run(ctx context.Context) error {
	branches, err := x.t.Branches(ctx)
	if err != nil {
		return err
	}
	for _, b := range branches {
		if err := x.t.CheckBranch(ctx, b); err != nil {
			return err
		}
	}
	branches = append([]string{""}, branches...)
	// Candidates first: what a commit adds meanwhile is none, and what refers to them is looked up later.
	if err := x.find(ctx, branches); err != nil {
		return err
	}
	if len(x.found) > 0 {
		if err := x.keep(ctx, branches); err != nil {
			return err
		}
	}
	if err := x.remover.all(ctx, x.removals()); err != nil {
		return err
	}
	if x.remover.dryRun {
		return nil
	}
	return removeEmptyDirs(ctx, x.t, x.remover.limit, x.emptied())
}

func (x *orphans) removals() func(func(removal) bool) {
	return func(yield func(removal) bool) {
		for _, f := range x.leftovers {
			if !yield(f) {
				return
			}
		}
		maps.Values(x.found)(yield)
	}
}

// emptied gives the paths of the data files that were removed.
func (x *orphans) emptied() func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, f := range x.found {
			if strings.HasPrefix(fs.Base(fs.Dir(f.path)), "bucket-") && !yield(f.path) {
				return
			}
		}
	}
}

// find lists the files that may be orphans.
func (x *orphans) find(ctx context.Context, branches []string) error {
	for _, dir := range []string{"manifest", "index", "statistics"} {
		if err := x.candidates(ctx, fs.Join(x.t.Path(), dir)); err != nil {
			return err
		}
	}
	if err := x.buckets(ctx, x.t.DataRoot(), len(x.t.Schema().PartitionKeys)); err != nil {
		return err
	}
	for _, b := range branches {
		for _, kind := range []string{"snapshot", "changelog"} {
			if err := x.leftover(ctx, fs.Join(x.t.BranchPath(b), kind), kind+"-"); err != nil {
				return err
			}
		}
		for _, kind := range []string{"schema", "tag", "consumer"} {
			if err := x.temporary(ctx, fs.Join(x.t.BranchPath(b), kind)); err != nil {
				return err
			}
		}
	}
	return x.temporary(ctx, fs.Join(x.t.Path(), "paimon-go"))
}

func (x *orphans) old(f fs.Info) bool { return !f.Dir && f.ModTime.Before(x.before) }

func (x *orphans) candidates(ctx context.Context, dir string) error {
	for f, err := range x.t.FS().List(ctx, dir) {
		if err != nil {
			return fmt.Errorf("listing %s: %w", dir, err)
		}
		if x.old(f) {
			r := removal{path: fs.Join(dir, f.Name), size: f.Size}
			if fs.Dir(r.path) == x.t.Path()+"/manifest" {
				r.manifest = f.Name
			}
			x.found[f.Name] = r
		}
	}
	return nil
}

// buckets goes down as many levels as there are partition keys, through directories such as dt=2024-01-31.
func (x *orphans) buckets(ctx context.Context, dir string, levels int) error {
	var below []string
	for f, err := range x.t.FS().List(ctx, dir) {
		if err != nil {
			return fmt.Errorf("listing %s: %w", dir, err)
		}
		if f.Dir && (levels > 0 && strings.Contains(f.Name, "=") || levels == 0 && strings.HasPrefix(f.Name, "bucket-")) {
			below = append(below, fs.Join(dir, f.Name))
		}
	}
	for _, d := range below {
		var err error
		if levels == 0 {
			err = x.candidates(ctx, d)
		} else {
			err = x.buckets(ctx, d, levels-1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leftover finds what is in a directory of snapshots or changelogs beside those and the hints, such as temporary files of
// writers that died.
func (x *orphans) leftover(ctx context.Context, dir, prefix string) error {
	for f, err := range x.t.FS().List(ctx, dir) {
		if err != nil {
			return fmt.Errorf("listing %s: %w", dir, err)
		}
		if x.old(f) && !strings.HasPrefix(f.Name, prefix) && f.Name != "EARLIEST" && f.Name != "LATEST" {
			x.leftovers = append(x.leftovers, removal{path: fs.Join(dir, f.Name), size: f.Size})
		}
	}
	return nil
}

// temporary finds the temporary files of a directory, left by programs that died before they gave them their name.
func (x *orphans) temporary(ctx context.Context, dir string) error {
	for f, err := range x.t.FS().List(ctx, dir) {
		if err != nil {
			return fmt.Errorf("listing %s: %w", dir, err)
		}
		if x.old(f) && strings.HasPrefix(f.Name, ".") && strings.HasSuffix(f.Name, ".tmp") {
			x.leftovers = append(x.leftovers, removal{path: fs.Join(dir, f.Name), size: f.Size})
		}
	}
	return nil
}

// keep takes out what references need.
func (x *orphans) keep(ctx context.Context, branches []string) error {
	for _, b := range branches {
		refs, err := x.t.References(ctx, b)
		if err != nil {
			return err
		}
		for i := range refs {
			if err := x.keepReference(ctx, &refs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *orphans) keepReference(ctx context.Context, r *table.Reference) error {
	s := r.Snapshot
	// Of a kept changelog and of a tag some lists are gone by rights.
	err := x.keepLists(ctx, changelogList(s), true)
	if err == nil {
		err = x.keepLists(ctx, dataLists(s), r.Kind == table.ChangelogReference)
	}
	if err == nil {
		err = x.keepIndexes(ctx, s, r.Kind == table.ChangelogReference)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, e := x.t.FS().Stat(ctx, r.Path); errors.Is(e, fs.ErrNotExist) {
			return nil // it has gone meanwhile, and what it alone needed went with it
		}
		return fmt.Errorf("%s is incomplete, so nothing is removed; an expiry that was cut short is finished by the next one: %w", r, err)
	}
	return fmt.Errorf("%s can't be read, so nothing is removed: %w", r, err)
}

func (x *orphans) keepIndexes(ctx context.Context, s *table.Snapshot, missing bool) error {
	delete(x.found, s.Statistics)
	delete(x.found, s.IndexManifest)
	if s.IndexManifest == "" || x.seen[s.IndexManifest] {
		return nil
	}
	files, err := x.t.IndexFiles(ctx, s.IndexManifest)
	if err != nil && !(missing && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	for i := range files {
		delete(x.found, files[i].File.Name)
	}
	x.seen[s.IndexManifest] = true
	return nil
}

// keepLists takes out manifests and all the files they name, deleted ones too: another snapshot may need those yet.
func (x *orphans) keepLists(ctx context.Context, lists []listOf, missing bool) error {
	for _, l := range lists {
		delete(x.found, l.name)
		if x.seen[l.name] {
			continue
		}
		manifests, err := x.t.ReadManifestList(ctx, l.name, l.size)
		if missing && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range manifests {
			if err := x.keepManifest(ctx, &manifests[i]); err != nil && !(missing && errors.Is(err, fs.ErrNotExist)) {
				return err
			}
		}
		x.seen[l.name] = true
	}
	return nil
}

func (x *orphans) keepManifest(ctx context.Context, m *table.Manifest) error {
	delete(x.found, m.Name)
	if x.seen[m.Name] {
		return nil
	}
	for e, err := range x.t.ReadManifest(ctx, m) {
		if err != nil {
			return err
		}
		delete(x.found, e.File.Name)
		if part, ok, err := x.t.MergedPart(e.Partition, e.Bucket, &e.File); ok && err == nil {
			delete(x.found, fs.Base(part.Path)) // by any of the parts that lie in it
		}
		for _, extra := range e.File.ExtraFiles {
			delete(x.found, extra)
		}
	}
	x.seen[m.Name] = true
	return nil
}
