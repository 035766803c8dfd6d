package table

import (
	"context"
	"fmt"
	"iter"
	"strconv"
)

// This file is what maintenance needs to go through the metadata files of snapshots that are about to vanish. Nothing that
// it reads is remembered, as it would push out what commits and scans come back to.

// ManifestPath returns where a manifest, manifest list or index manifest lies.
func (t *Table) ManifestPath(name string) string { return t.manifestPath(name) }

// StatisticsPath returns where a statistics file lies.
func (t *Table) StatisticsPath(name string) string { return t.path + "/statistics/" + name }

// SnapshotPath returns where a snapshot lies.
func (t *Table) SnapshotPath(id int64) string { return t.snapshotPath(id) }

// SnapshotIDs lists the ids of the snapshots there are, ascending.
func (t *Table) SnapshotIDs(ctx context.Context) ([]int64, error) { return t.snapshotIDs(ctx) }

// ExtraFilePath returns where an extra file of the data file at a path, such as its index, lies.
func ExtraFilePath(dataFilePath, name string) string { return extraFilePath(dataFilePath, name) }

// ReadManifestList returns the manifests of a manifest list; size nil: not recorded.
func (t *Table) ReadManifestList(ctx context.Context, name string, size *int64) ([]Manifest, error) {
	if v, ok := t.meta.get(name); ok {
		if list, ok := v.([]Manifest); ok {
			return list, nil
		}
	}
	want := int64(-1)
	if size != nil {
		want = *size
	}
	path := t.manifestPath(name)
	raw, err := t.readExact(ctx, path, want)
	if err != nil {
		return nil, err
	}
	return parseManifestList(path, raw)
}

// ReadManifest gives the entries of a manifest in order. An entry is valid until the next one; what its slices refer to is
// valid for ever.
func (t *Table) ReadManifest(ctx context.Context, m *Manifest) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		data, err := t.peekManifest(ctx, m)
		if err != nil {
			yield(nil, err)
			return
		}
		for e, err := range data.entries(nil) {
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (t *Table) peekManifest(ctx context.Context, m *Manifest) (*manifestData, error) {
	if v, ok := t.meta.get(m.Name); ok {
		if data, ok := v.(*manifestData); ok {
			return data, nil
		}
	}
	path := t.manifestPath(m.Name)
	raw, err := t.readExact(ctx, path, m.Size)
	if err != nil {
		return nil, err
	}
	return parseManifest(path, raw)
}

// DataRoot returns the directory below which the directories of partitions and buckets lie.
func (t *Table) DataRoot() string { return t.dataDir() }

// RemoveManifestFile removes a manifest, a manifest list or an index manifest, which nothing may refer to any more.
func (t *Table) RemoveManifestFile(ctx context.Context, name string) error {
	t.meta.drop(name)
	if err := t.fs.Remove(ctx, t.manifestPath(name)); err != nil {
		return fmt.Errorf("removing %s: %w", t.manifestPath(name), err)
	}
	return nil
}

// RemoveSnapshot removes the file of a snapshot, nothing that it refers to.
func (t *Table) RemoveSnapshot(ctx context.Context, id int64) error {
	if err := t.fs.Remove(ctx, t.snapshotPath(id)); err != nil {
		return fmt.Errorf("removing snapshot %s: %w", t.snapshotPath(id), err)
	}
	return nil
}

// HintEarliest tells readers which snapshot is the earliest one.
func (t *Table) HintEarliest(ctx context.Context, id int64) error {
	path := t.snapshotDir() + "/" + hintEarliest
	if err := t.fs.Replace(ctx, path, strconv.AppendInt(nil, id, 10)); err != nil {
		return fmt.Errorf("writing the hint %s=%d: %w", path, id, err)
	}
	t.hinted.Store(true)
	return nil
}

// HasEarliestHint tells whether there is, or was, a readable hint EARLIEST.
func (t *Table) HasEarliestHint(ctx context.Context) bool {
	if !t.hinted.Load() {
		_, ok := t.readHint(ctx, hintEarliest)
		t.hinted.Store(ok)
	}
	return t.hinted.Load()
}

// InPartitions limits a filter to these partitions, serialized BinaryRows.
func (f Filter) InPartitions(partitions map[string]bool) Filter {
	f.partitions = partitions
	return f
}
