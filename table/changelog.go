package table

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/paimon-go/paimon-go/fs"
)

// SnapshotOrChangelog is Snapshot for readers of changes: of a snapshot that has expired it returns the changelog that is
// kept longer (changelog/changelog-<id>, where changelog retention exceeds that of snapshots). Only its delta and changelog
// manifest lists can still be read.
func (t *Table) SnapshotOrChangelog(ctx context.Context, id int64) (*Snapshot, error) {
	s, err := t.Snapshot(ctx, id)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	path := t.path + "/changelog/changelog-" + strconv.FormatInt(id, 10)
	raw, e := readWhole(ctx, t.fs, path)
	if errors.Is(e, fs.ErrNotExist) {
		return nil, err
	}
	if e != nil {
		return nil, fmt.Errorf("reading changelog %s: %w", path, e)
	}
	if s, err = parseSnapshot(path, raw); err == nil && s.ID != id {
		return nil, fmt.Errorf("reading changelog %s: %w: its id is %d", path, ErrCorrupt, s.ID)
	}
	return s, err
}
