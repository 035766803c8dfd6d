package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/paimon-go/paimon-go/fs"
)

// goneSearch bounds how many snapshots are looked through for the one that dropped a partition.
const goneSearch = 10_000

// otherIndex is the error of a commit to a partition whose HASH files are not those that the writer knows: others assign buckets there,
// unless the partition was dropped as the writer knew it and nothing came after. known are the names by bucket; of all buckets if so.
func (t *Table) otherIndex(ctx context.Context, s *Snapshot, partition string, known map[int32]string, all bool, cause error) error {
	by, err := t.droppedBy(ctx, s, partition, known, all)
	if err != nil {
		return fmt.Errorf("%w: looking for who changed the partition: %w", cause, err)
	}
	if by == nil {
		return cause
	}
	path, err := t.PartitionPath([]byte(partition))
	if err != nil || path == "" {
		path = "the table"
	}
	return fmt.Errorf("%w: snapshot %d of job %s has removed all of %s", ErrPartitionGone, by.ID, by.CommitUser, path)
}

// droppedBy returns the snapshot that took all files and HASH files of a partition away, nil unless it can be shown that this is all that
// has happened: the partition is empty now, an OVERWRITE took the last of its index, and what it took is what the writer knows.
func (t *Table) droppedBy(ctx context.Context, s *Snapshot, partition string, known map[int32]string, all bool) (*Snapshot, error) {
	if s == nil {
		return nil, nil
	}
	if now, err := t.hashNames(ctx, s, partition); err != nil || len(now) > 0 {
		return nil, err
	}
	for _, err := range t.Scan(ctx, s, Filter{Partition: []byte(partition)}) {
		return nil, err // there are files
	}
	for range goneSearch {
		before, err := t.Snapshot(ctx, s.ID-1)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		var had map[int32]string
		if before.IndexManifest != s.IndexManifest {
			if had, err = t.hashNames(ctx, before, partition); err != nil {
				return nil, err
			}
		}
		if len(had) == 0 {
			s = before
			continue
		}
		if s.CommitKind != CommitOverwrite || all && len(had) != named(known) {
			return nil, nil
		}
		for bucket, name := range known {
			if had[bucket] != name {
				return nil, nil
			}
		}
		return s, nil
	}
	return nil, nil
}

// hashNames returns the names of the HASH files of a partition by bucket.
func (t *Table) hashNames(ctx context.Context, s *Snapshot, partition string) (map[int32]string, error) {
	names := map[int32]string{}
	for e, err := range t.IndexEntries(ctx, s, Filter{Partition: []byte(partition)}) {
		if err != nil {
			return nil, err
		}
		if e.File.Type == IndexHash {
			names[e.Bucket] = e.File.Name
		}
	}
	return names, nil
}

func named(known map[int32]string) (n int) {
	for _, name := range known {
		if name != "" {
			n++
		}
	}
	return n
}
