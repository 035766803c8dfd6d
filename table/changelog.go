package table

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/paimon-go/paimon-go/fs"
)

const changelogPrefix = "changelog-"

func (t *Table) changelogDir() string { return t.path + "/changelog" }

func (t *Table) changelogPath(id int64) string {
	return t.changelogDir() + "/" + changelogPrefix + strconv.FormatInt(id, 10)
}

// EarliestChange returns the id of the earliest snapshot whose changes can be read, and those of all after it: that of a
// snapshot or of a changelog that outlived its snapshot. 0 when there is none.
func (t *Table) EarliestChange(ctx context.Context) (int64, error) {
	earliest, err := t.Earliest(ctx)
	if earliest == nil || err != nil {
		return 0, err
	}
	kept, err := t.ChangelogIDs(ctx)
	if err != nil {
		return 0, err
	}
	id := earliest.ID
	for i := len(kept) - 1; i >= 0; i-- {
		if kept[i] == id-1 {
			id--
		}
	}
	return id, nil
}

// SnapshotOrChangelog is Snapshot for readers of changes: of a snapshot that has expired it returns the changelog that is
// kept longer (changelog/changelog-<id>, where changelog retention exceeds that of snapshots). Only its delta and changelog
// manifest lists can still be read.
func (t *Table) SnapshotOrChangelog(ctx context.Context, id int64) (*Snapshot, error) {
	s, err := t.Snapshot(ctx, id)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	c, e := t.Changelog(ctx, id)
	if errors.Is(e, fs.ErrNotExist) {
		if earliest, e := t.EarliestChange(ctx); e == nil && id < earliest {
			err = fmt.Errorf("the changes of snapshot %d have expired, the earliest that can be read are those of snapshot %d: %w", id, earliest, err)
		}
		return nil, err
	}
	return c, e
}

// Changelog returns the changelog that was kept of an expired snapshot; the error wraps fs.ErrNotExist when there is none.
func (t *Table) Changelog(ctx context.Context, id int64) (*Snapshot, error) {
	path := t.changelogPath(id)
	raw, err := readWhole(ctx, t.fs, path)
	if err != nil {
		return nil, fmt.Errorf("reading changelog %s: %w", path, err)
	}
	s, err := parseSnapshot(path, raw)
	if err == nil && s.ID != id {
		return nil, fmt.Errorf("reading changelog %s: %w: its id is %d", path, ErrCorrupt, s.ID)
	}
	return s, err
}

// ChangelogPath returns where the changelog of an expired snapshot lies.
func (t *Table) ChangelogPath(id int64) string { return t.changelogPath(id) }

// ChangelogIDs lists the ids of the changelogs that outlived their snapshots, ascending.
func (t *Table) ChangelogIDs(ctx context.Context) ([]int64, error) {
	return t.numberedIDs(ctx, t.changelogDir(), changelogPrefix)
}

// KeepChangelog writes the changelog of a snapshot that is about to be removed, and reports false if it is there already.
func (t *Table) KeepChangelog(ctx context.Context, s *Snapshot) (bool, error) {
	data, err := s.encode()
	if err != nil {
		return false, err
	}
	path := t.changelogPath(s.ID)
	ok, err := t.fs.Publish(ctx, path, data)
	if err != nil {
		return false, fmt.Errorf("writing changelog %s: %w", path, err)
	}
	return ok, nil
}

// RemoveChangelog removes the file of a changelog, nothing that it refers to.
func (t *Table) RemoveChangelog(ctx context.Context, id int64) error {
	if err := t.fs.Remove(ctx, t.changelogPath(id)); err != nil {
		return fmt.Errorf("removing changelog %s: %w", t.changelogPath(id), err)
	}
	return nil
}

// HintChangelogs writes the hints of the changelogs' directory: the number of the earliest and of the latest one, each left
// as it is when 0 and removed when negative.
func (t *Table) HintChangelogs(ctx context.Context, earliest, latest int64) error {
	for name, id := range map[string]int64{hintEarliest: earliest, hintLatest: latest} {
		path := t.changelogDir() + "/" + name
		var err error
		switch {
		case id > 0:
			err = t.fs.Replace(ctx, path, strconv.AppendInt(nil, id, 10))
		case id < 0:
			err = t.fs.Remove(ctx, path)
		}
		if err != nil {
			return fmt.Errorf("writing the hint %s=%d: %w", path, id, err)
		}
	}
	return nil
}
