package table

import (
	"errors"
	"fmt"
	"maps"
)

// part is what becomes one snapshot.
type part struct {
	id         int64
	kind       CommitKind
	entries    []Entry
	changelog  []Entry
	watermark  *int64
	properties map[string]string
	indexes    indexChanges
	vectors    map[bucketKey]string // Vectors of the messages
	hashes     map[string]map[int32]string
	indexed    map[string]map[int32]string
	aloneSince *int64

	added, deleted int
	deltaRows      int64
	changelogRows  int64
}

// parts splits a committable into its snapshots.
func (c *Commit) parts(x *Committable) ([]*part, error) {
	o := c.t.Options()
	appended := &part{kind: CommitAppend, hashes: x.Hashes, indexed: x.Indexed, aloneSince: x.AloneSince}
	compacted := &part{kind: CommitCompact}
	add := func(p *part, m *CommitMessage, kind EntryKind, files []DataFile) error {
		for i := range files {
			e, err := newEntry(m, kind, &files[i], o)
			if err != nil {
				return err
			}
			p.add(e)
		}
		return nil
	}
	addChangelog := func(p *part, m *CommitMessage, files []DataFile) error {
		for i := range files {
			e, err := newEntry(m, Add, &files[i], o)
			if err != nil {
				return err
			}
			p.changelog = append(p.changelog, e)
			p.changelogRows += files[i].RowCount
		}
		return nil
	}
	addIndexes := func(p *part, m *CommitMessage, kind EntryKind, files []IndexFile) {
		for i := range files {
			p.indexes.entries = append(p.indexes.entries, IndexEntry{Kind: kind, Partition: m.Partition, Bucket: m.Bucket, File: files[i]})
		}
	}
	for i := range x.Messages {
		m := &x.Messages[i]
		addIndexes(appended, m, Delete, m.Data.DeletedIndex)
		addIndexes(appended, m, Add, m.Data.NewIndex)
		addIndexes(compacted, m, Delete, m.Compact.DeletedIndex)
		addIndexes(compacted, m, Add, m.Compact.NewIndex)
		if m.Vectors != nil {
			if compacted.vectors == nil {
				compacted.vectors = map[bucketKey]string{}
			}
			compacted.vectors[bucketKey{string(m.Partition), m.Bucket}] = *m.Vectors
		}
		err := errors.Join(
			add(appended, m, Add, m.Data.New),
			add(appended, m, Delete, m.Data.Deleted),
			addChangelog(appended, m, m.Data.Changelog),
			add(compacted, m, Delete, m.Compact.Before),
			add(compacted, m, Add, m.Compact.After),
			addChangelog(compacted, m, m.Compact.Changelog))
		if err != nil {
			return nil, err
		}
	}
	if appended.deleted > 0 || appended.indexes.have(IndexDeletionVectors) {
		appended.kind = CommitOverwrite
		appended.indexes.drop = x.DropIndexes
	}
	parts := []*part{appended, compacted}
	switch {
	case compacted.empty():
		parts = parts[:1]
	case appended.empty():
		parts = parts[1:]
	}
	for _, p := range parts {
		p.id, p.watermark = x.ID, x.Watermark
		p.properties = maps.Clone(x.Properties)
		if err := errors.Join(p.checkSelf(), p.indexes.checkSelf()); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

func (p *part) empty() bool {
	return len(p.entries) == 0 && len(p.changelog) == 0 && len(p.indexes.entries) == 0
}

func (p *part) add(e Entry) {
	p.entries = append(p.entries, e)
	if e.Kind == Add {
		p.added++
		p.deltaRows += e.File.RowCount
	} else {
		p.deleted++
		p.deltaRows -= e.File.RowCount
	}
}

// newEntry makes the entry of a file and refuses what no reader could use.
func newEntry(m *CommitMessage, kind EntryKind, f *DataFile, o Options) (Entry, error) {
	e := Entry{Kind: kind, Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: m.TotalBuckets, File: *f}
	if e.TotalBuckets == 0 {
		e.TotalBuckets = int32(o.Int(KeyBucket))
	}
	var bad string
	switch {
	case f.Name == "":
		bad = "it has no name"
	case f.Size <= 0 || f.RowCount < 0 || f.Level < 0:
		bad = fmt.Sprintf("%d bytes, %d rows, level %d", f.Size, f.RowCount, f.Level)
	case len(f.MinKey) == 0 || len(f.MaxKey) == 0:
		bad = "it has no key range"
	case len(m.Partition) == 0:
		bad = "it has no partition"
	case e.TotalBuckets > 0 && (e.Bucket < 0 || e.Bucket >= e.TotalBuckets):
		bad = fmt.Sprintf("bucket %d of %d", e.Bucket, e.TotalBuckets)
	case len(f.KeyStats.Min) == 0 || len(f.KeyStats.Max) == 0 || len(f.ValueStats.Min) == 0 || len(f.ValueStats.Max) == 0:
		bad = "its statistics are not rows"
	}
	if bad != "" {
		return e, fmt.Errorf("%s of bucket %d is no data file: %s", f.Name, m.Bucket, bad)
	}
	if kind == Delete && o.Bool(KeyManifestDeleteFileDropStats) {
		e.File.ValueStats, e.File.ValueStatsCols = EmptyStats(), []string{}
	}
	return e, nil
}

// checkSelf refuses a delta that names a file twice: readers keep entries in a map and would lose it.
func (p *part) checkSelf() error {
	seen := make(map[string]bool, len(p.entries))
	var id []byte
	for i := range p.entries {
		id = p.entries[i].appendIdentity(id[:0])
		if seen[string(id)] {
			return fmt.Errorf("%w: %s is in the commit twice", ErrConflict, p.entries[i].describe())
		}
		seen[string(id)] = true
	}
	return nil
}

// partitions returns the partitions that the part changes.
func (p *part) partitions() map[string]bool {
	set := map[string]bool{}
	for i := range p.entries {
		set[string(p.entries[i].Partition)] = true
	}
	return set
}
