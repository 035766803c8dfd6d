package table

import (
	"context"
	"maps"

	"github.com/paimon-go/paimon-go/fs"
)

// Unchanged reports whether s, the newest snapshot that the caller knows, seems to be the newest still: it has no successor. It
// costs a look at a name, or nothing when this Table has seen a newer one. A table that was rolled back, removed or made anew
// looks unchanged too: Latest finds that out.
func (t *Table) Unchanged(ctx context.Context, s *Snapshot) (bool, error) {
	if seen := t.meta.lastSeen(); seen != nil && seen.ID > s.ID {
		return false, nil
	}
	next, err := t.exists(ctx, t.snapshotPath(s.ID+1))
	return err == nil && !next, err
}

// Seen returns the newest snapshot that this Table has met, by looking or by committing, nil when there is none. It costs nothing.
func (t *Table) Seen() *Snapshot {
	if c := t.meta.lastSeen(); c != nil {
		return c.Snapshot
	}
	return nil
}

// Dynamic returns the options that lie over those of the schema.
func (t *Table) Dynamic() Options { return t.dynamic.Clone() }

// On returns the table as seen through another file system that leads to the same files, such as one that counts calls.
// What t remembers of metadata is not taken along.
func (t *Table) On(fsys fs.FileSystem) *Table {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return &Table{fs: fsys, path: t.path, dynamic: t.dynamic, schema: t.schema, options: t.options, byID: maps.Clone(t.byID)}
}

// LimitCache bounds the memory that the table keeps of its metadata files; programs with many tables share less out to each.
func (t *Table) LimitCache(bytes int64) { t.meta.setLimit(bytes) }
