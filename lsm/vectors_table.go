package lsm

import (
	"context"
	"fmt"
	"maps"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/paimon-go/paimon-go/table"
)

// ReadVectors reads the deletion vectors of a bucket from its index files: for each data file the positions of the rows that
// are no longer there. Index files of other types are skipped.
func ReadVectors(ctx context.Context, t *table.Table, partition []byte, bucket int32, files []table.IndexFile) (map[string]*roaring.Bitmap, error) {
	all := map[string]*roaring.Bitmap{}
	for i := range files {
		if files[i].Type != table.IndexDeletionVectors {
			continue
		}
		v, err := t.ReadVectors(ctx, partition, bucket, &files[i])
		if err != nil {
			return nil, err
		}
		maps.Copy(all, v)
	}
	return all, nil
}

// writeVectors writes the vectors of the bucket into a new file if they have changed: an empty one if none is left. Those of
// files that are no more go with the next change.
func (t *rewriteTask) writeVectors() error {
	if !t.vectors.modified && (t.levels.strange == 0 || len(t.inc.Before) == 0) {
		return nil
	}
	var list []table.FileVector
	for _, name := range t.vectors.files() {
		list = append(list, table.FileVector{File: name, Rows: t.vectors.now[name]})
	}
	f, err := t.table.CreateVectors(t.ctx, t.partition, t.bucket, list)
	if err != nil {
		return fmt.Errorf("writing deletion vectors: %w", err)
	}
	t.inc.NewIndex = append(t.inc.NewIndex, f)
	return nil
}
