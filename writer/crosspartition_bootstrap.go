package writer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer/hashindex"
)

// BootstrapInfo describes how far the keys of a table are read, whose rows may move between partitions.
type BootstrapInfo struct {
	Keys     int64 // so far
	Rows     int64 // of the files to be read; records of a key count each
	Buckets  int
	Mapped   int64 // bytes of the index, in local files mapped into memory
	Duration time.Duration
	Done     bool
}

// bootstrapNews is how often the progress is told.
const bootstrapNews = 5 * time.Second

// crossBootstrap reads the keys of a table into an index.
type crossBootstrap struct {
	x      *crossPartition
	schema *table.Schema
	parts  *partitions
	listen func(BootstrapInfo)
	start  time.Time

	mu   sync.Mutex
	info BootstrapInfo // guarded by mu, as the index is
	news time.Time     // guarded by mu
}

// keyBucket is a bucket whose keys are read.
type keyBucket struct {
	partition string
	bucket    int32
	rows      int64
	deep      int64 // of them, above level 0
	newest    int64 // creation of its newest file, as it is dated
}

// bootstrap reads the keys of all rows that a reader sees, or will see when the table is compacted, and where they are.
func (x *crossPartition) bootstrap(ctx context.Context, s *table.Schema, parts *partitions, listen func(BootstrapInfo)) error {
	b := &crossBootstrap{x: x, schema: s, parts: parts, listen: listen, start: time.Now()}
	b.news = b.start
	snapshot, err := x.table.Latest(ctx)
	if err != nil {
		return err
	}
	if snapshot != nil {
		x.base.Store(snapshot.ID)
	}
	buckets, err := b.buckets(ctx, snapshot)
	if err != nil {
		return err
	}
	deep := int64(0)
	for i := range buckets {
		deep += buckets[i].deep
		b.info.Rows += buckets[i].rows
	}
	b.info.Buckets = len(buckets)
	if x.keys, err = hashindex.NewKeys(x.store, deep+deep/16); err != nil {
		return err
	}
	if err := b.run(ctx, snapshot, buckets); err != nil {
		return fmt.Errorf("reading the keys of the table: %w", err)
	}
	b.info.Done = true
	b.tell()
	return nil
}

// buckets lists the buckets to read, the largest first.
func (b *crossBootstrap) buckets(ctx context.Context, s *table.Snapshot) ([]keyBucket, error) {
	if s == nil {
		return nil, nil
	}
	type id struct {
		partition string
		bucket    int32
	}
	at := map[id]*keyBucket{}
	for e, err := range b.x.table.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			return nil, err
		}
		if e.Bucket < 0 {
			continue
		}
		k := at[id{string(e.Partition), e.Bucket}]
		if k == nil {
			k = &keyBucket{partition: string(e.Partition), bucket: e.Bucket}
			at[id{k.partition, k.bucket}] = k
		}
		k.rows += e.File.RowCount
		if e.File.Level > 0 {
			k.deep += e.File.RowCount
		}
		if at := e.File.CreationMillis; at >= 0 {
			k.newest = max(k.newest, at)
		} else {
			k.newest = math.MaxInt64 // not known
		}
	}
	oldest := int64(0)
	if o := b.x.table.Options(); o.Has(table.KeyCrossPartitionIndexTTL) {
		_, offset := b.start.Zone() // files are dated by a local clock
		oldest = b.start.Add(-o.Duration(table.KeyCrossPartitionIndexTTL)).UnixMilli() + int64(offset)*1000
	}
	var out []keyBucket
	for _, k := range at {
		if k.newest >= oldest {
			out = append(out, *k)
		}
	}
	slices.SortFunc(out, func(a, b keyBucket) int {
		return cmp.Or(cmp.Compare(b.rows, a.rows), strings.Compare(a.partition, b.partition), cmp.Compare(a.bucket, b.bucket))
	})
	return out, nil
}

// run shares the buckets among workers and waits for them.
func (b *crossBootstrap) run(ctx context.Context, s *table.Snapshot, buckets []keyBucket) error {
	n := min(len(buckets), max(1, b.x.table.Options().Int(table.KeyCrossPartitionBootstrapParallelism)), 2*runtime.GOMAXPROCS(0))
	shares, rows := make([]map[string]map[int32]bool, n), make([]int64, n)
	for i := range buckets {
		least := 0
		for w := range rows {
			if rows[w] < rows[least] {
				least = w
			}
		}
		k := &buckets[i]
		rows[least] += k.rows + 1
		if shares[least] == nil {
			shares[least] = map[string]map[int32]bool{}
		}
		if shares[least][k.partition] == nil {
			shares[least][k.partition] = map[int32]bool{}
		}
		shares[least][k.partition][k.bucket] = true
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, share := range shares {
		wg.Go(func() {
			if err := b.read(ctx, s, share); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// read reads the keys of some buckets.
func (b *crossBootstrap) read(ctx context.Context, s *table.Snapshot, share map[string]map[int32]bool) error {
	var at hashindex.Place
	var failed error
	o := lsm.ScanOptions{
		Schema: b.schema, Columns: b.schema.PrimaryKeys, AllLevels: true,
		Match: func(p []byte, bucket int32) bool { return share[string(p)][bucket] },
		Begin: func(p []byte, bucket int32) {
			b.mu.Lock()
			defer b.mu.Unlock()
			at.Bucket = bucket
			at.Partition, failed = b.x.number(b.parts.get(p))
		},
	}
	var ends []int
	var keys []byte
	var cols []*row.Column
	for batch, err := range lsm.Scan(ctx, b.x.table, s, o) {
		if err = cmp.Or(err, failed); err != nil {
			return err
		}
		cols, keys, ends = cols[:0], keys[:0], ends[:0]
		for c := range batch.Cols {
			cols = append(cols, &batch.Cols[c])
		}
		for i := range batch.N {
			keys = row.AppendBinaryRow(keys, cols, i)
			ends = append(ends, len(keys))
		}
		if i, other, err := b.add(keys, ends, at); err != nil {
			return err
		} else if i >= 0 {
			return b.duplicate(batch, i, at, other)
		}
	}
	return failed
}

// add takes keys into the index. It returns the number of one that is elsewhere already, -1 for none.
func (b *crossBootstrap) add(keys []byte, ends []int, at hashindex.Place) (int, hashindex.Place, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := 0
	for i, end := range ends {
		before, known, err := b.x.keys.Put(keys[from:end], at)
		if err != nil || known {
			return i, before, err
		}
		b.x.buckets.bootstrap(at)
		from = end
	}
	if now := time.Now(); now.Sub(b.news) >= bootstrapNews {
		b.news = now
		b.tell()
	}
	return -1, hashindex.Place{}, nil
}

func (b *crossBootstrap) tell() {
	if b.listen == nil {
		return
	}
	b.info.Keys, b.info.Mapped, b.info.Duration = b.x.keys.Len(), b.x.store.Mapped(), time.Since(b.start)
	b.listen(b.info)
}

func (b *crossBootstrap) duplicate(batch *row.Batch, i int, at, other hashindex.Place) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := func(p hashindex.Place) string {
		return fmt.Sprintf("bucket %d of %s", p.Bucket, cmp.Or(b.parts.describe(b.x.parts[p.Partition]), "the table"))
	}
	var key []string
	for c := range batch.Cols {
		key = append(key, fmt.Sprintf("%s=%s", b.schema.PrimaryKeys[c], row.AppendPartitionText(nil, &batch.Cols[c], i, false)))
	}
	return fmt.Errorf("%w: the key %s is in %s and in %s; most likely several jobs have written to the table, which only one may with bucket=-1",
		table.ErrCorrupt, strings.Join(key, ", "), name(other), name(at))
}
