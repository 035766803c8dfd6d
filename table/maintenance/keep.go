package maintenance

import (
	"context"
	"errors"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// keepLive takes out the data files that are live at a snapshot.
func (p *plan) keepLive(ctx context.Context, s *table.Snapshot) error {
	if len(p.data) == 0 {
		return nil
	}
	for e, err := range p.t.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			return err
		}
		delete(p.data, e.File.Name)
	}
	return nil
}

// keepAdded takes out the files that the manifests of a list add. A list that is gone names nothing that could be read.
func (p *plan) keepAdded(ctx context.Context, l listOf) error {
	if len(p.data) == 0 {
		return nil
	}
	err := p.eachEntry(ctx, l, func(e *table.Entry) error {
		if e.Kind == table.Add {
			delete(p.data, e.File.Name)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// keepLists takes out lists and the manifests in them. With missing, a list may be gone.
func (p *plan) keepLists(ctx context.Context, lists []listOf, missing bool) error {
	for _, l := range lists {
		delete(p.tops, l.name)
		manifests, err := p.list(ctx, l)
		if missing && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range manifests {
			delete(p.meta, manifests[i].Name)
		}
	}
	return nil
}

// keepIndexes takes out the index files and statistics of a snapshot. With missing, the index manifest may be gone.
func (p *plan) keepIndexes(ctx context.Context, s *table.Snapshot, missing bool) error {
	delete(p.meta, s.Statistics)
	if s.IndexManifest == "" {
		return nil
	}
	delete(p.tops, s.IndexManifest)
	files, err := p.t.IndexFiles(ctx, s.IndexManifest)
	if missing && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range files {
		for _, path := range p.t.IndexFilePaths(&files[i]) {
			delete(p.meta, path)
		}
	}
	return nil
}

// keepMetadata takes out all metadata files that reading a snapshot needs; those of its changelog are another matter.
func (p *plan) keepMetadata(ctx context.Context, s *table.Snapshot) error {
	if err := p.keepLists(ctx, dataLists(s), false); err != nil {
		return err
	}
	return p.keepIndexes(ctx, s, false)
}

// keepTags takes out what tags need. Each element of tags is the first tag of its snapshot, ascending. A tag that can't be
// read keeps all that it could need.
func (p *plan) keepTags(ctx context.Context, tags []table.Tag) error {
	for i := range tags {
		s := tags[i].Snapshot
		if err := p.keepLive(ctx, s); err != nil {
			if !unreadable(err) {
				return err
			}
			p.note("files of tag %s: %v", tags[i].Name, err)
			for name, f := range p.data {
				if f.deletedBy > s.ID && (i+1 == len(tags) || f.deletedBy <= tags[i+1].Snapshot.ID) {
					delete(p.data, name)
				}
			}
		}
		if err := p.keepMetadata(ctx, s); err != nil {
			if !unreadable(err) {
				return err
			}
			p.note("manifests because of tag %s: %v", tags[i].Name, err)
			p.dropMetadata()
		}
	}
	return nil
}

// dropMetadata leaves all metadata files where they are.
func (p *plan) dropMetadata() {
	clear(p.meta)
	clear(p.tops)
}

// keepChangelog takes out what a changelog that outlives its snapshot needs: the files of its changelog list or, when the
// table makes none, those that its commit added.
func (p *plan) keepChangelog(ctx context.Context, s *table.Snapshot) error {
	lists := changelogList(s)
	if lists == nil {
		lists = dataLists(s)[1:]
	}
	for _, l := range lists {
		if err := p.keepAdded(ctx, l); err != nil {
			return err
		}
	}
	if err := p.keepLists(ctx, dataLists(s), true); err != nil {
		return err
	}
	return p.keepLists(ctx, changelogList(s), true)
}

// keepChangelogs does so for all changelogs of the main branch.
func (p *plan) keepChangelogs(ctx context.Context) error {
	ids, err := p.t.ChangelogIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		s, err := p.t.Changelog(ctx, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = p.keepChangelog(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keepBranches takes out what the other branches need. A snapshot's files are those of the branch's earliest one and those
// that commits since have added.
func (p *plan) keepBranches(ctx context.Context) error {
	names, err := p.t.Branches(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		refs, err := p.t.References(ctx, name)
		if err != nil {
			return err
		}
		var before int64 // the last one whose files are all taken out, 0: none
		for i := range refs {
			whole, err := p.keepReference(ctx, &refs[i], before)
			if err != nil {
				return err
			}
			before = 0
			if whole && refs[i].Kind == table.SnapshotReference {
				before = refs[i].Snapshot.ID
			}
		}
	}
	return nil
}

// keepReference takes out what a reference of another branch needs, and tells whether it could be read. All that snapshot
// before needs has been taken out, if that isn't 0.
func (p *plan) keepReference(ctx context.Context, r *table.Reference, before int64) (bool, error) {
	s := r.Snapshot
	if r.Kind == table.ChangelogReference {
		return true, p.keepChangelog(ctx, s)
	}
	for _, l := range changelogList(s) {
		if err := p.keepAdded(ctx, l); err != nil {
			return false, err
		}
	}
	if err := p.keepLists(ctx, append(dataLists(s), changelogList(s)...), true); err != nil {
		return false, err
	}
	if err := p.keepIndexes(ctx, s, true); err != nil {
		return false, err
	}
	if r.Kind == table.SnapshotReference && before > 0 && s.ID == before+1 {
		return true, p.keepAdded(ctx, dataLists(s)[1])
	}
	err := p.keepLive(ctx, s)
	if errors.Is(err, fs.ErrNotExist) {
		p.note("%s can't be read, files that only it may need are not kept: %v", r, err)
		return false, nil
	}
	return err == nil, err
}

// keepSnapshot takes out the metadata of a snapshot that stays. If it can't be read, all metadata stays.
func (p *plan) keepSnapshot(ctx context.Context, s *table.Snapshot) error {
	err := p.keepMetadata(ctx, s)
	if err != nil && unreadable(err) {
		p.note("manifests, because of snapshot %d: %v", s.ID, err)
		p.dropMetadata()
		return nil
	}
	return err
}
