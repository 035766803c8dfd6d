package writer

import (
	"context"
	"fmt"
	"sync"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// generation is all that depends on the schema version that rows are written with. Immutable: what was sealed under one
// generation is flushed under it, whatever Alter does meanwhile.
type generation struct {
	schema     *table.Schema
	typ        *row.Type
	records    *lsm.Records
	partitions []int // columns of the partition keys
	buckets    []int // columns of the bucket key
	numBuckets int32
	bucketOf   row.BucketFunc
	notNull    []int
	defaults   []columnDefault
	rowkind    int // column of rowkind.field, -1: there is none
	dropDelete bool
	dropBefore bool
	input      bool  // changelog-producer=input
	changelog  bool  // there are changelog files: input, unless their compaction makes them (bucket=-2)
	paired     bool  // Config.PairedUpdates
	pack       bool  // paimon-go.changelog.pack=bucket-tick
	compared   []int // lsm.DeduplicatedColumns; nil: none
	engine     string
	traits     lsm.MergeTraits
	merges     *sync.Pool // of lsm.MergeFunc
	fanIn      int
	files      fileMaker
}

// fileMaker opens the files of a bucket: lsm.Files, or a fake in tests.
type fileMaker interface {
	open(ctx context.Context, partition []byte, bucket int32, twin *format.TwinSide) lsm.FileSink
	openChangelog(ctx context.Context, partition []byte, bucket int32, twin *format.TwinSide, s lsm.FileStore, whole bool) lsm.FileSink
}

type realFiles struct{ *lsm.Files }

func (f realFiles) open(ctx context.Context, partition []byte, bucket int32, twin *format.TwinSide) lsm.FileSink {
	w := f.NewWriter(ctx, partition, bucket, 0, lsm.Data, table.SourceAppend)
	w.Beside(twin)
	return w
}

func (f realFiles) openChangelog(ctx context.Context, partition []byte, bucket int32, twin *format.TwinSide, s lsm.FileStore, whole bool) lsm.FileSink {
	w := f.NewWriter(ctx, partition, bucket, 0, lsm.Changelog, table.SourceAppend)
	w.Beside(twin)
	w.In(s)
	if whole {
		w.Whole()
	}
	return w
}

// newGeneration derives it from a schema of t, and refuses tables that this writer can't write.
func newGeneration(t *table.Table, s *table.Schema, paired bool) (*generation, error) {
	o := t.Options()
	if len(s.PrimaryKeys) == 0 {
		return nil, fmt.Errorf("%s has no primary key: %w", t.Path(), table.ErrSchema)
	}
	if err := s.CheckWritable(o); err != nil {
		return nil, err
	}
	n := o.Int(table.KeyBucket)
	if n < 1 && n != dynamicBucket && n != postponed {
		return nil, fmt.Errorf("%w: bucket is %d; only tables with a number of buckets above 0, -1 or -2 can be written", table.ErrOption, n)
	}
	if err := checkCrossPartition(s, o); err != nil {
		return nil, err
	}
	merge, err := lsm.NewMergeFunc(s, o)
	if err != nil {
		return nil, err
	}
	g := &generation{
		schema:     s,
		typ:        s.RowType(),
		partitions: s.PartitionIndexes(),
		buckets:    s.BucketKeyIndexes(),
		numBuckets: int32(n),
		rowkind:    -1,
		dropDelete: o.Bool(table.KeyIgnoreDelete),
		dropBefore: o.Bool(table.KeyIgnoreUpdateBefore),
		engine:     o.Enum(table.KeyMergeEngine),
		input:      o.Enum(table.KeyChangelogProducer) == "input",
		paired:     paired,
		pack:       o.Enum(table.KeyChangelogPack) == "bucket-tick",
		fanIn:      o.Int(table.KeyLocalSortMaxNumFileHandles),
	}
	g.changelog = g.input && !g.postponed()
	g.setMerge(merge, o)
	g.records = lsm.NewRecords(lsm.BufferSpec{
		Type: g.typ, Keys: s.KeyIndexes(), Sequence: s.SequenceIndexes(),
		Descending: o.Get(table.KeySequenceFieldSortOrder) == "descending",
		PageSize:   int(min(o.Size(table.KeyPageSize), 16<<20)),
		KeepAll:    g.changelog || g.traits.Folds,
		Arrival:    g.postponed(),
	})
	if g.compared, err = lsm.DeduplicatedColumns(s, o); err != nil {
		return nil, err
	}
	var types []*row.Type
	for _, c := range g.buckets {
		types = append(types, &g.typ.Fields[c].Type)
	}
	if n > 0 {
		if g.bucketOf, err = row.NewBucketFunc(o.Get(table.KeyBucketFunctionType), types, n); err != nil {
			return nil, fmt.Errorf("%w: bucket-function.type: %w", table.ErrOption, err)
		}
	}
	if g.defaults, err = defaultsOf(g.typ); err != nil {
		return nil, err
	}
	for i := range g.typ.Fields {
		if !g.typ.Fields[i].Type.Nullable {
			g.notNull = append(g.notNull, i)
		}
	}
	if name := o.Get(table.KeyRowkindField); name != "" {
		if g.rowkind = s.FieldIndex(name); g.rowkind < 0 || g.typ.Fields[g.rowkind].Type.Store() != row.StoreBytes {
			return nil, fmt.Errorf("%w: rowkind.field names %s, which is no string column", table.ErrOption, name)
		}
	}
	if g.postponed() {
		return g, nil // its files are named after the commit user, see makeFiles
	}
	files, err := lsm.NewFiles(t, s)
	if err != nil {
		return nil, err
	}
	g.files = realFiles{files}
	return g, nil
}

// setMerge notes how records of a key are merged.
func (g *generation) setMerge(f lsm.MergeFunc, o table.Options) {
	g.traits = lsm.TraitsOf(f, o)
	if g.traits.UsesBefore {
		g.paired = false // to the merge function each -U and +U is a record of its own
	}
	if g.paired && !g.input {
		g.dropBefore = true
	}
	schema := g.schema
	g.merges = &sync.Pool{New: func() any {
		f, err := lsm.NewMergeFunc(schema, o)
		if err != nil {
			panic(err) // the same call has worked in newGeneration
		}
		return f
	}}
	g.merges.Put(f)
}

// changelogs is where changelog files are made.
func (w *Writer) changelogs() lsm.FileStore {
	if w.merged != nil {
		return w.merged
	}
	return w.table.FS()
}

// output returns how the rows of a bucket are written; c is nil but for a catch-up.
func (w *Writer) output(g *generation, b *bucket, c *catchUp) lsm.Output {
	out := lsm.Output{
		Data:       func(twin *format.TwinSide) lsm.FileSink { return g.files.open(w.ctx, b.part.bytes, b.id, twin) },
		DropBefore: g.paired,
		Spill:      w.spill,
		FanIn:      g.fanIn,
	}
	if c != nil {
		out.Spill = c.spill
	}
	if g.traits.Folds && !g.postponed() {
		out.Merge = g.merges.Get().(lsm.MergeFunc)
	}
	if g.changelog {
		out.Changelog = func(twin *format.TwinSide) lsm.FileSink {
			sink := g.files.openChangelog(w.ctx, b.part.bytes, b.id, twin, w.changelogs(), g.pack)
			if g.compared != nil {
				sink = lsm.NewRowDeduplicateSink(sink, g.schema, g.compared)
			}
			if c != nil {
				sink = lsm.NewCatchUpSink(sink, g.schema, c.rows(w.ctx, g, b))
			}
			return sink
		}
	}
	return out
}
