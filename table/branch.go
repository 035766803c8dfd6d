package table

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/fs"
)

// Reference is something that keeps files of a table: a snapshot, a tag or a changelog that outlives its snapshot, of the
// main branch or of another one. All branches share the directories of manifests and of data.
type Reference struct {
	Kind     ReferenceKind
	Branch   string // "" is the main branch
	Name     string // of a tag
	Path     string
	Snapshot *Snapshot
}

// ReferenceKind says what a Reference is.
type ReferenceKind string

// The kinds of references.
const (
	SnapshotReference  ReferenceKind = "snapshot"
	TagReference       ReferenceKind = "tag"
	ChangelogReference ReferenceKind = "changelog"
)

// String names the reference in messages.
func (r *Reference) String() string {
	text := fmt.Sprintf("%s %d", r.Kind, r.Snapshot.ID)
	if r.Kind == TagReference {
		text = fmt.Sprintf("tag %s of snapshot %d", r.Name, r.Snapshot.ID)
	}
	if r.Branch != "" {
		text += " of branch " + r.Branch
	}
	return text
}

const branchPrefix = "branch-"

// BranchPath returns where the metadata of a branch lies: schema, snapshot, tag, changelog and consumer are below it; "" is
// the main branch.
func (t *Table) BranchPath(branch string) string {
	if branch == "" {
		return t.path
	}
	return t.path + "/branch/" + branchPrefix + branch
}

// Branches returns the names of the branches, without the main one.
func (t *Table) Branches(ctx context.Context) ([]string, error) {
	var names []string
	dir := t.path + "/branch"
	for info, err := range t.fs.List(ctx, dir) {
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", dir, err)
		}
		if name, ok := strings.CutPrefix(info.Name, branchPrefix); ok && info.Dir {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// CheckBranch returns an ErrCorrupt when a branch has no schema: it is being made or removed, or damaged.
func (t *Table) CheckBranch(ctx context.Context, branch string) error {
	dir := t.BranchPath(branch) + "/schema"
	for info, err := range t.fs.List(ctx, dir) {
		if err != nil {
			return fmt.Errorf("listing %s: %w", dir, err)
		}
		if _, ok := numbered(info.Name, "schema-"); ok {
			return nil
		}
	}
	return fmt.Errorf("%w: branch %s has no schema in %s; remove the branch or repair it", ErrCorrupt, branch, dir)
}

// References returns all snapshots, tags and kept changelogs of a branch ("" is the main one), snapshots first, each kind by
// id. What vanishes meanwhile is left out.
func (t *Table) References(ctx context.Context, branch string) ([]Reference, error) {
	refs, err := t.numberedReferences(ctx, branch, SnapshotReference)
	if err != nil {
		return nil, err
	}
	root := t.BranchPath(branch)
	tags, err := t.tagsBelow(ctx, root)
	if err != nil {
		return nil, err
	}
	for i := range tags {
		refs = append(refs, Reference{
			Kind: TagReference, Branch: branch, Name: tags[i].Name, Path: root + "/tag/" + tagPrefix + tags[i].Name, Snapshot: tags[i].Snapshot,
		})
	}
	logs, err := t.numberedReferences(ctx, branch, ChangelogReference)
	return append(refs, logs...), err
}

// numberedReferences reads the files <kind>/<kind>-<id> of a branch.
func (t *Table) numberedReferences(ctx context.Context, branch string, kind ReferenceKind) ([]Reference, error) {
	dir := t.BranchPath(branch) + "/" + string(kind)
	ids, err := t.numberedIDs(ctx, dir, string(kind)+"-")
	if err != nil {
		return nil, err
	}
	var refs []Reference
	for _, id := range ids {
		path := fmt.Sprintf("%s/%s-%d", dir, kind, id)
		raw, err := readWhole(ctx, t.fs, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", kind, path, err)
		}
		s, err := parseSnapshot(path, raw)
		if err != nil {
			return nil, err
		}
		refs = append(refs, Reference{Kind: kind, Branch: branch, Path: path, Snapshot: s})
	}
	return refs, nil
}

// numberedIDs lists the numbers of the files <prefix><number> of a directory, ascending.
func (t *Table) numberedIDs(ctx context.Context, dir, prefix string) ([]int64, error) {
	var ids []int64
	for info, err := range t.fs.List(ctx, dir) {
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", dir, err)
		}
		if id, ok := numbered(info.Name, prefix); ok && !info.Dir {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
