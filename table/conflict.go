package table

import (
	"context"
	"fmt"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
)

// bucketKey is a bucket of a partition.
type bucketKey struct {
	partition string
	bucket    int32
}

// checkConflicts tests whether a part can still be applied to the table at a snapshot (Java's ConflictDetection): files that
// it deletes are there, files that it adds are not, buckets keep their number, and files of a level above 0 don't overlap.
// Nothing is kept for the next attempt, as manifests come from memory.
func (t *Table) checkConflicts(ctx context.Context, s *Snapshot, p *part) error {
	check := newConflictCheck(p)
	if s != nil {
		list, err := t.manifests(ctx, s)
		if err != nil {
			return err
		}
		f := Filter{partitions: check.partitions, watch: check.watch, buckets: check.buckets}
		if list, err = f.prune(t.Schema(), list); err != nil {
			return err
		}
		for e, err := range t.liveEntries(ctx, list, &f) {
			if err != nil {
				return err
			}
			check.base(&e)
		}
	}
	if err := check.delta(); err != nil {
		return err
	}
	if check.bucketsDiffer && p.kind != CommitOverwrite {
		if err := t.checkTotalBuckets(ctx, s, check); err != nil {
			return err
		}
	}
	if err := check.overlaps(t.Schema()); err != nil {
		return err
	}
	return t.checkVectors(ctx, s, check)
}

// checkVectors refuses a compaction that went on from other deletion vectors than the table has now: it would undo what
// somebody else deleted, or delete rows that somebody has moved to another file.
func (t *Table) checkVectors(ctx context.Context, s *Snapshot, c *conflictCheck) error {
	if len(c.part.vectors) == 0 {
		return nil
	}
	now := map[bucketKey]string{}
	for e, err := range t.IndexEntries(ctx, s, Filter{partitions: c.partitions, buckets: c.buckets}) {
		if err != nil {
			return err
		}
		if e.File.Type == IndexDeletionVectors {
			now[bucketKey{string(e.Partition), e.Bucket}] = e.File.Name
		}
	}
	for k, base := range c.part.vectors {
		if now[k] != base {
			return fmt.Errorf("%w: bucket %d has the deletion vectors %q instead of %q", ErrConflict, k.bucket, now[k], base)
		}
	}
	type file struct {
		bucketKey
		name string
	}
	live := map[file]bool{}
	for _, e := range c.live {
		live[file{bucketKey{string(e.Partition), e.Bucket}, e.File.Name}] = true
	}
	for i := range c.part.indexes.entries {
		e := &c.part.indexes.entries[i]
		k := bucketKey{string(e.Partition), e.Bucket}
		if _, checked := c.part.vectors[k]; !checked || e.Kind == Delete {
			continue
		}
		for _, v := range e.File.Vectors {
			if !live[file{k, v.File}] {
				return fmt.Errorf("%w: %s, of which rows are deleted, is not in the table any more", ErrConflict, v.File)
			}
		}
	}
	return nil
}

// checkHashes refuses to go on from other index files than the writer assigned buckets by.
func (t *Table) checkHashes(ctx context.Context, s *Snapshot, p *part) error {
	partitions := make(map[string]bool, len(p.hashes)+len(p.indexed))
	for partition := range p.hashes {
		partitions[partition] = true
	}
	for partition := range p.indexed {
		partitions[partition] = true
	}
	if len(partitions) == 0 {
		return nil
	}
	now := map[bucketKey]string{}
	for e, err := range t.IndexEntries(ctx, s, Filter{partitions: partitions}) {
		if err != nil {
			return err
		}
		if e.File.Type != IndexHash {
			continue
		}
		now[bucketKey{string(e.Partition), e.Bucket}] = e.File.Name
		if names, all := p.hashes[string(e.Partition)]; all && names[e.Bucket] != e.File.Name {
			return t.foreignWriter(string(e.Partition), e.Bucket, e.File.Name, names[e.Bucket])
		}
	}
	for partition, buckets := range p.indexed {
		for bucket, base := range buckets {
			if name := now[bucketKey{partition, bucket}]; name != base {
				return t.otherIndex(ctx, s, partition, buckets, false, t.foreignWriter(partition, bucket, name, base))
			}
		}
	}
	for partition, buckets := range p.hashes {
		for bucket, base := range buckets {
			if base != "" && now[bucketKey{partition, bucket}] == "" {
				return t.otherIndex(ctx, s, partition, buckets, true, t.foreignWriter(partition, bucket, "", base))
			}
		}
	}
	return nil
}

func (t *Table) foreignWriter(partition string, bucket int32, now, base string) error {
	at := fmt.Sprintf("bucket %d", bucket)
	if path, err := t.PartitionPath([]byte(partition)); err == nil && path != "" {
		at += " of " + path
	}
	return fmt.Errorf("%w: the keys of %s are in the index file %q, this writer knows of %q", ErrForeignWriter, at, now, base)
}

// discardDuplicates takes files out of a part that are live at a snapshot already, and reports whether there were any.
func (t *Table) discardDuplicates(ctx context.Context, s *Snapshot, p *part) (bool, error) {
	check := newConflictCheck(p)
	for e, err := range t.Scan(ctx, s, Filter{partitions: check.partitions, buckets: check.buckets}) {
		if err != nil {
			return false, err
		}
		check.base(&e)
	}
	entries := p.entries
	*p = part{id: p.id, kind: p.kind, changelog: p.changelog, changelogRows: p.changelogRows, watermark: p.watermark, properties: p.properties,
		indexes: p.indexes, vectors: p.vectors, hashes: p.hashes, indexed: p.indexed, aloneSince: p.aloneSince}
	var id []byte
	for i := range entries {
		id = entries[i].appendIdentity(id[:0])
		if entries[i].Kind == Delete || check.live[string(id)] == nil {
			p.add(entries[i])
		}
	}
	return len(p.entries) < len(entries), nil
}

type conflictCheck struct {
	part       *part
	partitions map[string]bool
	buckets    map[bucketKey]bool
	live       map[string]*Entry // by identity, files in the changed buckets

	totalBuckets  map[string]int32 // by changed partition, of any entry ever
	bucketsDiffer bool
}

func newConflictCheck(p *part) *conflictCheck {
	c := &conflictCheck{
		part: p, partitions: p.partitions(), buckets: map[bucketKey]bool{}, live: map[string]*Entry{},
		totalBuckets: map[string]int32{},
	}
	for i := range p.entries {
		e := &p.entries[i]
		c.buckets[bucketKey{string(e.Partition), e.Bucket}] = true
		c.watch(&entryHead{e.Kind, e.Partition, e.Bucket, e.TotalBuckets})
	}
	for k := range p.vectors {
		c.partitions[k.partition], c.buckets[k] = true, true
	}
	return c
}

// watch sees the head of every entry of the changed partitions. Entries that are no longer live may differ in the number of
// buckets, so a difference only asks for a closer look.
func (c *conflictCheck) watch(h *entryHead) {
	if h.totalBuckets <= 0 {
		return
	}
	if n, ok := c.totalBuckets[string(h.partition)]; !ok {
		c.totalBuckets[string(h.partition)] = h.totalBuckets
	} else if n != h.totalBuckets {
		c.bucketsDiffer = true
	}
}

func (c *conflictCheck) base(e *Entry) {
	live := *e
	c.live[string(e.appendIdentity(nil))] = &live
}

// delta applies the part to the live files.
func (c *conflictCheck) delta() error {
	var id []byte
	for i := range c.part.entries {
		e := &c.part.entries[i]
		id = e.appendIdentity(id[:0])
		there := c.live[string(id)] != nil
		switch {
		case e.Kind == Add && there:
			return fmt.Errorf("%w: %s is in the table already", ErrConflict, e.describe())
		case e.Kind == Add:
			c.live[string(id)] = e
		case !there:
			return fmt.Errorf("%w: %s is not in the table any more", ErrConflict, e.describe())
		default:
			delete(c.live, string(id))
		}
	}
	return nil
}

// checkTotalBuckets compares the numbers of buckets of all live files of the changed partitions.
func (t *Table) checkTotalBuckets(ctx context.Context, s *Snapshot, c *conflictCheck) error {
	total := map[string]int32{}
	check := func(e *Entry) error {
		if e.TotalBuckets <= 0 {
			return nil
		}
		n, ok := total[string(e.Partition)]
		if ok && n != e.TotalBuckets {
			return fmt.Errorf("%w: partition %x has files for %d buckets and for %d", ErrConflict, e.Partition, n, e.TotalBuckets)
		}
		total[string(e.Partition)] = e.TotalBuckets
		return nil
	}
	for e, err := range t.Scan(ctx, s, Filter{partitions: c.partitions}) {
		if err == nil {
			err = check(&e)
		}
		if err != nil {
			return err
		}
	}
	for i := range c.part.entries {
		if err := check(&c.part.entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// overlaps refuses overlapping files in a level above 0 of a changed bucket.
func (c *conflictCheck) overlaps(s *Schema) error {
	type run struct {
		bucketKey
		level int
	}
	runs := map[run][]*Entry{}
	for _, e := range c.live {
		if e.File.Level > 0 {
			k := run{bucketKey{string(e.Partition), e.Bucket}, e.File.Level}
			runs[k] = append(runs[k], e)
		}
	}
	for _, files := range runs {
		a, b, err := overlap(s, files)
		if err != nil {
			return err
		}
		if a != nil {
			return fmt.Errorf("%w: the key ranges of %s and %s overlap in level %d of bucket %d", ErrConflict,
				a.File.Name, b.File.Name, a.File.Level, a.Bucket)
		}
	}
	return nil
}

// keyTypes returns the types of the trimmed primary key.
func (s *Schema) keyTypes() []*row.Type {
	idx := s.KeyIndexes()
	types := make([]*row.Type, len(idx))
	for i, f := range idx {
		types[i] = &s.Fields[f].Type
	}
	return types
}

// overlap returns two of the files whose key ranges overlap, nil when there are none.
func overlap(s *Schema, files []*Entry) (a, b *Entry, err error) {
	if len(files) < 2 {
		return nil, nil, nil
	}
	types := s.keyTypes()
	keys := partitionBatch(types) // two rows a file: min, max
	for _, e := range files {
		for _, key := range [][]byte{e.File.MinKey, e.File.MaxKey} {
			if err := row.DecodeSerializedRow(key, types, keys); err != nil {
				return nil, nil, fmt.Errorf("key range of %s: %w: %w", e.File.Name, ErrCorrupt, err)
			}
		}
	}
	order := make([]int, len(files))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return compareRows(keys, 2*i, 2*j) })
	for i := 1; i < len(order); i++ {
		if before, after := order[i-1], order[i]; compareRows(keys, 2*before+1, 2*after) >= 0 {
			return files[before], files[after], nil
		}
	}
	return nil, nil, nil
}

func compareRows(b *row.Batch, i, j int) int {
	for c := range b.Cols {
		if r := row.CompareValues(&b.Cols[c], i, &b.Cols[c], j); r != 0 {
			return r
		}
	}
	return 0
}
