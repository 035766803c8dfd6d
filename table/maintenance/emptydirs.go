package maintenance

import (
	"context"
	"iter"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// removeEmptyDirs removes the directories of buckets in which files were removed, and then of their partitions, as far as
// they are empty: the storage refuses the others.
func removeEmptyDirs(ctx context.Context, t *table.Table, limit *Limiter, files iter.Seq[string]) error {
	dirs := map[string]bool{}
	for path := range files {
		if relative(t, path) != path {
			dirs[fs.Dir(path)] = true
		}
	}
	for range len(t.Schema().PartitionKeys) + 1 {
		above := map[string]bool{}
		for dir := range dirs {
			if err := limit.Wait(ctx); err != nil {
				return err
			}
			if t.FS().Remove(ctx, dir) == nil {
				above[fs.Dir(dir)] = true
			}
		}
		dirs = above
	}
	return context.Cause(ctx)
}
