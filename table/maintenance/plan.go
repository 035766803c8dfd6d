package maintenance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// plan is what may go: candidates, from which all that some reference needs is taken out again. Only names of candidates are
// held, however large the table is.
//
//	candidates   what expiring snapshots name: files that a later commit deleted, manifests, lists
//	keep…        takes out what the snapshot after them, tags, branches and kept changelogs refer to
//	remove       data files, then what lists name, then the lists
type plan struct {
	t    *table.Table
	data map[string]*dataFile // data and changelog files by bare name
	meta map[string]removal   // manifests, index and statistics files by name
	tops map[string]removal   // manifest lists and index manifests by name: they go after what they list
	kept []string             // why something stays

	lists map[string][]table.Manifest // short ones, by name: those of deltas, which are needed more than once
}

type dataFile struct {
	path      string
	size      int64
	extras    []string
	inside    bool  // of a merged changelog file, which another entry names: there is nothing at the path
	deletedBy int64 // the snapshot whose commit deleted it
}

func newPlan(t *table.Table) *plan {
	return &plan{
		t: t, data: map[string]*dataFile{}, meta: map[string]removal{}, tops: map[string]removal{}, lists: map[string][]table.Manifest{},
	}
}

// shortList is up to how many manifests a list is remembered.
const shortList = 8

// list reads a manifest list.
func (p *plan) list(ctx context.Context, l listOf) ([]table.Manifest, error) {
	if known, ok := p.lists[l.name]; ok {
		return known, nil
	}
	manifests, err := p.t.ReadManifestList(ctx, l.name, l.size)
	if err == nil && len(manifests) <= shortList {
		p.lists[l.name] = manifests
	}
	return manifests, err
}

// unreadable tells an error that reading again wouldn't cure, so that the files in question just stay: the file is gone, as
// after a run that was cut short, or damaged. Any other error ends the work.
func unreadable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, table.ErrCorrupt)
}

func (p *plan) note(format string, args ...any) {
	p.kept = append(p.kept, fmt.Sprintf(format, args...))
}

// deletedIn adds the files that the commit of a snapshot deleted. A file that it added too was lifted to another level. With
// stays, those for which it holds are left out. A manifest that can't be read leaves all files of the snapshot where they are.
func (p *plan) deletedIn(ctx context.Context, s *table.Snapshot, stays func(*table.Entry) bool) error {
	deleted := map[string]*dataFile{}
	added := map[string]bool{}
	delta := listOf{s.DeltaManifestList, s.DeltaManifestListSize}
	if manifests, err := p.list(ctx, delta); err == nil && len(p.data) == 0 &&
		!slices.ContainsFunc(manifests, func(m table.Manifest) bool { return m.Deleted > 0 }) {
		return nil // there is nothing to add, nor to take out
	}
	err := p.eachEntry(ctx, delta, func(e *table.Entry) error {
		switch {
		case e.Kind == table.Add:
			added[e.File.Name] = true
		case stays != nil && stays(e):
		default:
			f, err := p.file(e)
			if err != nil {
				return err
			}
			f.deletedBy = s.ID
			deleted[e.File.Name] = f
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // a run that was cut short had removed the files before
	case err != nil && unreadable(err):
		p.note("files that snapshot %d deleted: %v", s.ID, err)
		return nil
	case err != nil:
		return err
	}
	maps.Copy(p.data, deleted)
	for name := range added {
		delete(p.data, name) // lifted, or deleted by an earlier one of these commits and now back
	}
	return nil
}

// addedIn adds the files that a changelog's list names.
func (p *plan) addedIn(ctx context.Context, list string, size *int64) error {
	err := p.eachEntry(ctx, listOf{list, size}, func(e *table.Entry) error {
		if e.Kind != table.Add {
			return nil
		}
		f, err := p.file(e)
		if err == nil {
			p.data[e.File.Name] = f
		}
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && unreadable(err):
		p.note("changelog files: %v", err)
		return nil
	}
	return err
}

func (p *plan) file(e *table.Entry) (*dataFile, error) {
	path, err := p.t.DataFilePath(e.Partition, e.Bucket, &e.File)
	if err != nil {
		return nil, err
	}
	f := &dataFile{path: path, size: e.File.Size, extras: slices.Clone(e.File.ExtraFiles)}
	if part, ok, err := p.t.MergedPart(e.Partition, e.Bucket, &e.File); err == nil && ok {
		f.inside = part.Path != path
	}
	return f, nil
}

// eachEntry goes through the entries of the manifests of a list.
func (p *plan) eachEntry(ctx context.Context, l listOf, f func(*table.Entry) error) error {
	manifests, err := p.list(ctx, l)
	if err != nil {
		return err
	}
	for i := range manifests {
		for e, err := range p.t.ReadManifest(ctx, &manifests[i]) {
			if err == nil {
				err = f(e)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// listOf is a manifest list of a snapshot.
type listOf struct {
	name string
	size *int64
}

func dataLists(s *table.Snapshot) []listOf {
	return []listOf{{s.BaseManifestList, s.BaseManifestListSize}, {s.DeltaManifestList, s.DeltaManifestListSize}}
}

func changelogList(s *table.Snapshot) []listOf {
	if s.ChangelogManifestList == "" {
		return nil
	}
	return []listOf{{s.ChangelogManifestList, s.ChangelogListSize}}
}

// metadataOf adds lists and the manifests in them. One that can't be read is gone with what it listed.
func (p *plan) metadataOf(ctx context.Context, lists []listOf) error {
	for _, l := range lists {
		manifests, err := p.list(ctx, l)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil && unreadable(err):
			p.note("manifests of %s: %v", l.name, err)
		case err != nil:
			return err
		}
		for i := range manifests {
			m := &manifests[i]
			p.meta[m.Name] = removal{path: p.t.ManifestPath(m.Name), size: m.Size, manifest: m.Name}
		}
		r := removal{path: p.t.ManifestPath(l.name), manifest: l.name}
		if l.size != nil {
			r.size = *l.size
		}
		p.tops[l.name] = r
	}
	return nil
}

// indexesOf adds the index files and statistics of a snapshot.
func (p *plan) indexesOf(ctx context.Context, s *table.Snapshot) error {
	if s.Statistics != "" {
		p.meta[s.Statistics] = removal{path: p.t.StatisticsPath(s.Statistics)}
	}
	if s.IndexManifest == "" {
		return nil
	}
	if _, known := p.tops[s.IndexManifest]; known {
		return nil
	}
	files, err := p.t.IndexFiles(ctx, s.IndexManifest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && unreadable(err):
		p.note("index files: %v", err)
		return nil
	case err != nil:
		return err
	}
	for i := range files {
		f := &files[i]
		for _, path := range p.t.IndexFilePaths(f) {
			p.meta[path] = removal{path: path, size: f.File.Size}
		}
	}
	p.tops[s.IndexManifest] = removal{path: p.t.ManifestPath(s.IndexManifest), manifest: s.IndexManifest}
	return nil
}

// remove removes what is left in the plan, data first. Files outside the table's directory, which another storage may hold,
// are no reason to stop.
func (p *plan) remove(ctx context.Context, r *remover) error {
	for _, why := range p.kept {
		r.report.kept(why)
	}
	if err := r.all(ctx, p.dataRemovals()); err != nil {
		return err
	}
	for _, f := range p.data {
		if f.inside {
			r.report.Bytes += f.size
		}
	}
	if p.t.Options().Bool(table.KeySnapshotCleanEmptyDirectories) && !r.dryRun {
		if err := removeEmptyDirs(ctx, p.t, r.limit, p.dataPaths()); err != nil {
			return err
		}
	}
	if err := r.all(ctx, maps.Values(p.meta)); err != nil {
		return err
	}
	return r.all(ctx, maps.Values(p.tops))
}

func (p *plan) dataRemovals() iter.Seq[removal] {
	return func(yield func(removal) bool) {
		for _, f := range p.data {
			if f.inside {
				continue
			}
			outside := relative(p.t, f.path) == f.path
			if !yield(removal{path: f.path, size: f.size, tolerant: outside}) {
				return
			}
			for _, x := range f.extras {
				if !yield(removal{path: table.ExtraFilePath(f.path, x), tolerant: outside}) {
					return
				}
			}
		}
	}
}

func (p *plan) dataPaths() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, f := range p.data {
			if !yield(f.path) {
				return
			}
		}
	}
}
