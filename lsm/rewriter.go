package lsm

import (
	"context"
	"fmt"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// Rewriter executes the units that a Strategy picks: it merges the files of a bucket into new ones of a deeper level, or only
// says that a file lies deeper from now on where that is all it takes. It streams: memory depends on the configuration, not
// on the sizes and numbers of files. Safe for concurrent use.
type Rewriter struct {
	table  *table.Table
	schema *table.Schema
	opts   table.Options // as they were when the rewriter was made
	cfg    RewriterConfig
	files  *Files
	proj   *projection
	keys   *projection // the key's columns only
	order  *order
	keep   keep
	ignore bool

	smallFile  int64 // files below are merged with their neighbours
	rewriteAll bool  // compaction.force-rewrite-all-files
	lookup     bool  // a level holds all that lies deeper, for which level 0 is looked up in deeper levels
	full       bool  // changelog-producer=full-compaction
	dv         bool  // rows that lie deeper than the output are marked as deleted when their key is written anew
	log        bool  // compaction makes a changelog
	logCols    []int // columns that count in it (DeduplicatedColumns)
	topLevel   int   // as the options say, whatever levels a bucket has
	maxReaders int   // sort-spill-threshold
	expire     *recordExpiry
}

// RewriterConfig says what a Rewriter may use.
type RewriterConfig struct {
	// Memory is how many bytes one Rewrite may hold: readers, merge and writers together; 0 is 256 MiB. A row that is larger
	// than a share of it needs more.
	Memory int64
	// Spill takes runs that don't fit into Memory side by side; nil: they are merged all the same, in more memory.
	Spill *SpillStore
	// Throttle, which may be nil, is called with the bytes that were read or are about to be written. It may wait.
	Throttle func(ctx context.Context, bytes int64) error
	// Now tells the time by which rows get old, of a table with record-level.expire-time; nil: time.Now.
	Now func(ctx context.Context) (time.Time, error)
}

// RewriteStats is what a Rewrite did.
type RewriteStats struct {
	BytesRead, BytesWritten int64 // in storage
	RowsRead, RowsWritten   int64
	FilesRead, FilesWritten int
	Upgraded                int // files that only changed their level
	ChangelogRows           int64
}

const defaultRewriteMemory = 256 << 20

// NewRewriter returns the rewriter of a table. schema, a schema of t, is what output is written with; it must be as new as
// that of every input. Tables that can't be compacted right are refused with table.ErrOption or ErrUnsupported.
func NewRewriter(t *table.Table, schema *table.Schema, cfg RewriterConfig) (*Rewriter, error) {
	o := t.Options()
	if err := schema.CheckCompactable(o); err != nil {
		return nil, err
	}
	r := &Rewriter{
		table: t, schema: schema, opts: o, cfg: cfg, ignore: o.Bool(table.KeyIgnoreDelete),
		rewriteAll: o.Bool(table.KeyCompactionForceRewriteAllFiles), smallFile: smallFileSize(o), lookup: NeedLookup(o), dv: o.Bool(table.KeyDeletionVectorsEnabled),
		proj: allColumns(t, schema), keys: newProjection(t, schema, schema.KeyIndexes()), order: orderOf(schema, o),
	}
	var err error
	if r.maxReaders, err = table.SortSpillThreshold(o); err != nil {
		return nil, err
	}
	if r.cfg.Now == nil {
		r.cfg.Now = func(context.Context) (time.Time, error) { return time.Now(), nil }
	}
	if r.cfg.Memory <= 0 {
		r.cfg.Memory = defaultRewriteMemory
	}
	r.keep = keepOf(o)
	if _, err := NewMergeFunc(schema, o); err != nil && r.keep == keepFolded {
		return nil, err
	}
	if r.expire, err = newRecordExpiry(schema, o); err != nil {
		return nil, err
	}
	if err := r.setChangelog(schema, o); err != nil {
		return nil, err
	}
	share := r.cfg.Memory / 8
	if r.log {
		share /= 2
	}
	if r.files, err = newFiles(t, schema, share); err != nil {
		return nil, err
	}
	for level := range table.NumLevels(o) {
		for _, kind := range []FileKind{Data, Changelog} {
			if _, err := r.files.settingsOf(level, kind); err != nil {
				return nil, fmt.Errorf("files of level %d: %w", level, err)
			}
		}
	}
	return r, nil
}

// setChangelog finds out what changelog a compaction makes.
func (r *Rewriter) setChangelog(schema *table.Schema, o table.Options) (err error) {
	producer := o.Enum(table.KeyChangelogProducer)
	r.full = producer == "full-compaction"
	r.log = r.full || producer == "lookup"
	r.topLevel = table.NumLevels(o) - 1
	if r.full && r.keep == keepOldest {
		return fmt.Errorf("%w: merge-engine is first-row and %s is full-compaction, which don't go together", table.ErrOption,
			table.KeyChangelogProducer.Name)
	}
	r.logCols, err = DeduplicatedColumns(schema, o)
	return err
}

// orderOf returns the order of records with all columns of a schema.
func orderOf(s *table.Schema, o table.Options) *order {
	return &order{keys: s.KeyIndexes(), seqs: s.SequenceIndexes(), desc: o.Get(table.KeySequenceFieldSortOrder) == "descending"}
}

func keepOf(o table.Options) keep {
	switch o.Enum(table.KeyMergeEngine) {
	case "deduplicate":
		return keepNewest
	case "first-row":
		return keepOldest
	}
	return keepFolded
}

// smallFileSize is the size from which on a file that nothing overlaps isn't rewritten: as Paimon 1.4 when
// compaction.small-file-ratio, an option of 2.0, is not set.
func smallFileSize(o table.Options) int64 {
	target := table.TargetFileSize(o)
	if o.Has(table.KeyCompactionSmallFileRatio) {
		return int64(float64(target) * o.Float(table.KeyCompactionSmallFileRatio))
	}
	return target / 10 * 7
}

// Rewrite executes a unit of a bucket whose levels are given. The increment is empty when there is nothing to do. On an error
// every file that was made has been removed. It wraps table.ErrSchema when an input is newer than the rewriter's schema.
func (r *Rewriter) Rewrite(ctx context.Context, partition []byte, bucket int32, levels *Levels, u Unit) (table.CompactIncrement, RewriteStats, error) {
	t := &rewriteTask{
		Rewriter: r, ctx: ctx, partition: partition, bucket: bucket, levels: levels, unit: u,
		meter: &meter{throttle: r.cfg.Throttle},
	}
	var err error
	if r.expire != nil {
		t.now, err = r.cfg.Now(ctx)
	}
	if err == nil {
		err = t.run()
	}
	t.stats.BytesRead, t.stats.BytesWritten = t.meter.read.Load(), t.meter.written.Load()
	if err != nil {
		r.Remove(ctx, partition, bucket, t.inc)
		return table.CompactIncrement{}, t.stats, fmt.Errorf("compacting bucket %d to level %d: %w", bucket, u.OutputLevel, err)
	}
	return t.inc, t.stats, nil
}

// Remove deletes the files that an increment made, because it won't be committed. Files that only changed their level stay.
// What storage doesn't let go is an orphan, which a cleaner finds.
func (r *Rewriter) Remove(ctx context.Context, partition []byte, bucket int32, inc table.CompactIncrement) {
	ctx, cancel := fs.CleanUp(ctx)
	defer cancel()
	dir, err := r.table.BucketPath(partition, bucket)
	if err != nil {
		return // then nothing was made either
	}
	before := make(map[string]bool, len(inc.Before))
	for i := range inc.Before {
		before[inc.Before[i].Name] = true
	}
	for i := range inc.NewIndex {
		if path, err := r.table.IndexFilePath(partition, bucket, &inc.NewIndex[i]); err == nil {
			_ = r.table.FS().Remove(ctx, path)
		}
	}
	for _, made := range [][]table.DataFile{inc.After, inc.Changelog} {
		for i := range made {
			if !before[made[i].Name] {
				_ = r.table.FS().Remove(ctx, fs.Join(dir, made[i].Name)) // an orphan at worst
			}
		}
	}
}

// Expired reports whether the statistics of a file show records that are past record-level.expire-time.
func (r *Rewriter) Expired(f *table.DataFile, now time.Time) bool {
	return r.expire != nil && r.expire.file(r.table, f, now)
}
