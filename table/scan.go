package table

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/paimon-go/paimon-go/fs"
)

// Filter limits a scan to some entries. The zero value is all. Each condition is one on the identity of a file, so that an
// entry that adds a file and the one that deletes it are wanted both or neither.
type Filter struct {
	Partition []byte // serialized BinaryRow; nil: all partitions
	Bucket    *int32
	Level     *int

	partitions map[string]bool    // nil: all
	buckets    map[bucketKey]bool // nil: all
	// watch sees the head of each entry that passes partitions, before buckets are looked at.
	watch func(*entryHead)
}

// OfBuckets returns a filter of some buckets: the numbers by partition, whose key is the serialized BinaryRow.
func OfBuckets(buckets map[string][]int32) Filter {
	f := Filter{partitions: make(map[string]bool, len(buckets)), buckets: map[bucketKey]bool{}}
	for p, ids := range buckets {
		f.partitions[p] = true
		for _, id := range ids {
			f.buckets[bucketKey{p, id}] = true
		}
	}
	return f
}

// OfPartitions returns a filter of some partitions, serialized BinaryRows.
func OfPartitions(partitions map[string]bool) Filter { return Filter{partitions: partitions} }

// wants reports whether the head of an entry passes. Levels are looked at by wantsFile.
func (f *Filter) wants(h *entryHead) bool {
	if f.Bucket != nil && *f.Bucket != h.bucket {
		return false
	}
	if f.Partition != nil && string(f.Partition) != string(h.partition) {
		return false
	}
	if f.partitions != nil && !f.partitions[string(h.partition)] {
		return false
	}
	if f.watch != nil {
		f.watch(h)
	}
	return f.buckets == nil || f.buckets[bucketKey{string(h.partition), h.bucket}]
}

func (f *Filter) wantsFile(e *Entry) bool { return f.Level == nil || *f.Level == e.File.Level }

// prune returns the manifests that may have entries that the filter wants.
func (f *Filter) prune(s *Schema, list []Manifest) ([]Manifest, error) {
	wanted := f.partitions
	if f.Partition != nil {
		wanted = map[string]bool{string(f.Partition): true}
	}
	var pruner *partitionPruner
	if wanted != nil {
		var err error
		if pruner, err = newPartitionPruner(s.partitionTypes(), wanted); err != nil {
			return nil, err
		}
	}
	kept := make([]Manifest, 0, len(list))
	for i := range list {
		m := &list[i]
		switch {
		case f.Bucket != nil && m.Buckets.excludes(int64(*f.Bucket)):
		case f.Level != nil && m.Levels.excludes(int64(*f.Level)):
		case pruner != nil && !pruner.mayHave(&m.PartitionStats):
		default:
			kept = append(kept, *m)
		}
	}
	return kept, nil
}

// Scan gives the files that are live at a snapshot, as the ADD entries they came by; nothing for a nil snapshot. The order is
// that in which they were added, as far as manifests keep it.
//
// Only the identities of deleted files are gathered before the first entry is given, so a scan of a large table needs
// little memory.
func (t *Table) Scan(ctx context.Context, s *Snapshot, f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if s == nil {
			return
		}
		list, err := t.manifests(ctx, s)
		if err == nil {
			list, err = f.prune(t.Schema(), list)
		}
		if err != nil {
			yield(Entry{}, t.scanError(ctx, s, err))
			return
		}
		for e, err := range t.liveEntries(ctx, list, &f) {
			if err != nil {
				err = t.scanError(ctx, s, err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// scanError tells a table that has lost a manifest from a snapshot that expired meanwhile, which takes its manifests along.
func (t *Table) scanError(ctx context.Context, s *Snapshot, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if _, serr := t.fs.Stat(ctx, t.snapshotPath(s.ID)); serr == nil {
			return fmt.Errorf("scanning snapshot %d: %w: %w", s.ID, ErrCorrupt, err)
		}
	}
	return fmt.Errorf("scanning snapshot %d: %w", s.ID, err)
}

// liveEntries gives the ADD entries of manifests that no later DELETE of theirs takes out.
func (t *Table) liveEntries(ctx context.Context, list []Manifest, f *Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		deletes, err := t.deletes(ctx, list, f)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		var id []byte
		for n, data := range t.numbered(ctx, list) {
			if data.err != nil {
				yield(Entry{}, data.err)
				return
			}
			at := 0
			for e, err := range data.entries(f.wants) {
				if err != nil {
					yield(Entry{}, err)
					return
				}
				at++
				if e.Kind != Add || !f.wantsFile(e) {
					continue
				}
				if len(deletes) > 0 {
					id = e.appendIdentity(id[:0])
					if last, ok := deletes[string(id)]; ok && last.after(position{n, at}) {
						continue
					}
				}
				if !yield(*e, nil) {
					return
				}
			}
		}
	}
}

// position is where an entry is: its manifest's number and its own among those that the filter wants.
type position struct{ manifest, entry int }

func (p position) after(o position) bool {
	return p.manifest > o.manifest || p.manifest == o.manifest && p.entry > o.entry
}

// deletes returns the identities of the files that DELETE entries take out, with the last position of such an entry.
func (t *Table) deletes(ctx context.Context, list []Manifest, f *Filter) (map[string]position, error) {
	var with []Manifest
	var numbers []int
	for i := range list {
		if list[i].Deleted > 0 {
			with, numbers = append(with, list[i]), append(numbers, i)
		}
	}
	deletes := map[string]position{}
	var id []byte
	for n, data := range t.numbered(ctx, with) {
		if data.err != nil {
			return nil, data.err
		}
		at := 0
		for e, err := range data.entries(f.wants) {
			if err != nil {
				return nil, err
			}
			at++
			if e.Kind == Delete && f.wantsFile(e) {
				id = e.appendIdentity(id[:0])
				deletes[string(id)] = position{numbers[n], at}
			}
		}
	}
	return deletes, nil
}

// numberedManifest is a manifest's content or the error met.
type numberedManifest struct {
	*manifestData
	err error
}

// numbered is eachManifest with the number of the manifest.
func (t *Table) numbered(ctx context.Context, list []Manifest) iter.Seq2[int, numberedManifest] {
	return func(yield func(int, numberedManifest) bool) {
		n := 0
		for data, err := range t.eachManifest(ctx, list) {
			if !yield(n, numberedManifest{data, err}) {
				return
			}
			n++
		}
	}
}

// ScanDelta gives the entries that a snapshot's commit made, deletions too, in their order.
func (t *Table) ScanDelta(ctx context.Context, s *Snapshot) iter.Seq2[Entry, error] {
	return t.scanList(ctx, s.ID, s.DeltaManifestList, s.DeltaManifestListSize)
}

// ScanChangelog gives the changelog files of a snapshot's commit.
func (t *Table) ScanChangelog(ctx context.Context, s *Snapshot) iter.Seq2[Entry, error] {
	if s.ChangelogManifestList == "" {
		return func(func(Entry, error) bool) {}
	}
	return t.scanList(ctx, s.ID, s.ChangelogManifestList, s.ChangelogListSize)
}

func (t *Table) scanList(ctx context.Context, id int64, name string, size *int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		fail := func(err error) { yield(Entry{}, fmt.Errorf("scanning snapshot %d: %w", id, err)) }
		list, err := t.readList(ctx, name, size)
		if err != nil {
			fail(err)
			return
		}
		for data, err := range t.eachManifest(ctx, list) {
			if err != nil {
				fail(err)
				return
			}
			for e, err := range data.entries(nil) {
				if err != nil {
					fail(err)
					return
				}
				if !yield(*e, nil) {
					return
				}
			}
		}
	}
}
