package writer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer/hashindex"
)

// dynamicBucket is the number of buckets of tables with dynamic buckets.
const dynamicBucket = -1

// idleEpochs is for how many checkpoints the index of a partition without rows is kept.
const idleEpochs = 16

// dynamic finds the buckets of keys in tables with dynamic buckets. What it knows of a partition is what its HASH files say, which are
// read when a row of it comes, and what it has assigned since. New keys are in the HASH files of the checkpoint that has their
// rows: whatever becomes of a commit, a writer that starts again knows the keys of all rows that are in the table. A commit that
// fails ends the writer, so there is nothing to be undone in memory.
//
// It belongs to the goroutine that calls Write, but for base, committed and what jobs read of the lists.
type dynamic struct {
	table *table.Table
	user  string
	store *hashindex.Store
	index *hashindex.Index
	lease *lease
	parts map[string]*keyed

	done atomic.Int64 // checkpoints up to the barrier with this number are committed
	keys atomic.Int64 // in the indexes that are loaded
	held atomic.Int64 // partitions of them

	buckets atomic.Int64 // of them

	mu    sync.Mutex
	names map[string]map[int32]string // guarded by mu; HASH files of the loaded partitions, as the commits so far leave them
}

// keyed is the index of a partition.
type keyed struct {
	part   *partition
	index  *hashindex.Partition
	used   int64            // number of the epoch that had rows of it last
	sealed int64            // number of the barrier that wrote keys of it last
	keys   int64            // counted in dynamic.keys: those at that barrier
	count  int64            // the same of buckets
	names  map[int32]string // of the files that it was read from, for dynamic.names
}

// newDynamic returns nil for a table whose buckets are not assigned by hash.
func newDynamic(ctx context.Context, t *table.Table, cfg *Config, g *generation, shards int, b *lsm.Budget) (*dynamic, error) {
	if g.numBuckets != dynamicBucket || g.schema.CrossPartition() {
		return nil, nil
	}
	o := t.Options()
	if o.Has(table.KeyBucketKey) {
		return nil, fmt.Errorf("%w: bucket-key can't be set where bucket is -1", table.ErrOption)
	}
	settings := hashindex.Settings{Target: o.Int64(table.KeyDynamicBucketTargetRowNum), Assigners: shards, Max: o.Int(table.KeyDynamicBucketMaxBuckets)}
	if o.Has(table.KeyDynamicBucketAssignerParallelism) {
		settings.Assigners = o.Int(table.KeyDynamicBucketAssignerParallelism)
	}
	if o.Has(table.KeyDynamicBucketInitialBuckets) {
		settings.Initial = o.Int(table.KeyDynamicBucketInitialBuckets)
	}
	d := &dynamic{table: t, user: cfg.CommitUser, parts: map[string]*keyed{}, names: map[string]map[int32]string{}}
	d.done.Store(-1)
	var err error
	d.store, err = hashindex.NewStore(cfg.SpillDirs, counted(b))
	if err != nil {
		return nil, err
	}
	d.index = hashindex.New(d.store, settings)
	if d.lease, err = takeLease(ctx, t, cfg.CommitUser, leaseTimes); err != nil {
		return nil, errors.Join(err, d.store.Close())
	}
	return d, nil
}

// counted returns what takes memory from a budget, and gives it back.
func counted(b *lsm.Budget) func(int64) {
	return func(n int64) {
		if n > 0 {
			b.Take(n)
		} else {
			b.Free(-n)
		}
	}
}

// assign returns the bucket of a key.
func (d *dynamic) assign(ctx context.Context, w *Writer, part *partition, hash int32) (int32, error) {
	k := part.keyed
	if k == nil {
		var err error
		if k, err = d.load(ctx, part); err != nil {
			return 0, err
		}
		d.take(k)
	}
	k.used = w.epoch
	id, err := k.index.Assign(ctx, hash)
	if err == nil {
		return id, nil
	}
	switch {
	case errors.Is(err, hashindex.ErrTooMany):
		err = fmt.Errorf("%w: %w", table.ErrOption, err)
	case !errors.Is(err, hashindex.ErrNotRead):
		w.fail(err) // the index may be in part what it should be
	}
	return 0, err
}

func (d *dynamic) file(partition []byte, bucket int32, f table.IndexFile) hashindex.File {
	return hashindex.File{Bucket: bucket, Rows: f.Rows, Open: func(ctx context.Context) (io.ReadCloser, error) {
		return d.table.OpenIndex(ctx, partition, bucket, &f)
	}}
}

// load reads the index of a partition.
func (d *dynamic) load(ctx context.Context, part *partition) (*keyed, error) {
	s, err := d.table.Latest(ctx)
	if err != nil {
		return nil, err
	}
	k := &keyed{part: part, sealed: -1}
	names := map[int32]string{}
	var files []hashindex.File
	if s != nil {
		for e, err := range d.table.IndexEntries(ctx, s, table.Filter{Partition: part.bytes}) {
			if err != nil {
				return nil, err
			}
			if e.File.Type == table.IndexHash {
				names[e.Bucket] = e.File.Name
				files = append(files, d.file(part.bytes, e.Bucket, e.File))
			}
		}
	}
	if k.index, err = d.index.Load(ctx, part.hash, files); err != nil {
		return nil, fmt.Errorf("reading the index of keys: %w", err)
	}
	k.names = names
	return k, nil
}

// take makes the index that load has read that of its partition.
func (d *dynamic) take(k *keyed) {
	d.mu.Lock()
	d.names[string(k.part.bytes)] = k.names
	d.mu.Unlock()
	k.names = nil
	d.parts[string(k.part.bytes)] = k
	k.part.keyed = k
	d.held.Add(1)
	d.count(k)
}

// prefetch loads the partitions of rows that are not loaded, if there are several, side by side, as after a start rows of all come at once. Its errors
// are told by assign, which tries again.
func (d *dynamic) prefetch(ctx context.Context, w *Writer, from, to int) {
	r := &w.router
	var missing []*partition
	for i := from; i < to; i++ {
		if i > from && r.same[i] || r.keep != nil && !r.keep[i] {
			continue
		}
		r.key = row.AppendSerializedRow(r.key[:0], r.cols, i)
		if part := w.parts.get(r.key); part.keyed == nil && !slices.Contains(missing, part) {
			missing = append(missing, part)
		}
	}
	if len(missing) < 2 {
		return
	}
	loaded := make([]*keyed, len(missing))
	jobs := make([]func() error, len(missing))
	for i, part := range missing {
		jobs[i] = func() (err error) {
			loaded[i], err = d.load(ctx, part)
			return err
		}
	}
	_ = inParallel(jobs, min(8, runtime.GOMAXPROCS(0)))
	for _, k := range loaded {
		if k != nil {
			d.take(k)
		}
	}
}

func (d *dynamic) count(k *keyed) {
	n := k.index.Keys()
	d.keys.Add(n - k.keys)
	k.keys = n
	n = k.index.Count()
	d.buckets.Add(n - k.count)
	k.count = n
}

// seal returns jobs that write the HASH files of buckets with new keys.
func (d *dynamic) seal(w *Writer, e *Pending) ([]job, error) {
	if d == nil {
		return nil, nil
	}
	var jobs []job
	for _, k := range d.parts {
		err := k.index.Changed(func(bucket int32, c *hashindex.Content) {
			k.sealed = e.number
			jobs = append(jobs, &hashJob{w, e, k.part, bucket, c})
		})
		if err != nil {
			w.fail(err)
			return nil, err
		}
		d.count(k)
	}
	return jobs, nil
}

// dropIdle gives up the indexes of partitions that had no rows lately and nothing that is not committed.
func (d *dynamic) dropIdle(epoch int64) {
	if d == nil {
		return
	}
	for name, k := range d.parts {
		if k.used > epoch-idleEpochs || k.sealed > d.done.Load() || k.keys != k.index.Keys() {
			continue
		}
		d.release(name, k)
	}
}

func (d *dynamic) release(name string, k *keyed) {
	k.index.Release()
	k.part.keyed = nil
	d.keys.Add(-k.keys)
	d.buckets.Add(-k.count)
	d.held.Add(-1)
	delete(d.parts, name)
	d.mu.Lock()
	delete(d.names, name)
	d.mu.Unlock()
}

// base returns what a commit of messages goes on from: all files of partitions with new keys, and those of the other buckets that
// have rows.
func (d *dynamic) base(messages []table.CommitMessage) (hashes, indexed map[string]map[int32]string) {
	if d == nil {
		return nil, nil
	}
	hashes, indexed = map[string]map[int32]string{}, map[string]map[int32]string{}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range messages {
		m := &messages[i]
		if len(m.Data.NewIndex) > 0 && hashes[string(m.Partition)] == nil {
			hashes[string(m.Partition)] = maps.Clone(d.names[string(m.Partition)])
		}
	}
	for i := range messages {
		m := &messages[i]
		names := d.names[string(m.Partition)]
		if _, all := hashes[string(m.Partition)]; all || names == nil {
			continue
		}
		if indexed[string(m.Partition)] == nil {
			indexed[string(m.Partition)] = map[int32]string{}
		}
		indexed[string(m.Partition)][m.Bucket] = names[m.Bucket]
	}
	return hashes, indexed
}

// committed notes that the messages of the epoch with this number are in the table.
func (d *dynamic) committed(number int64, messages []table.CommitMessage) {
	if d == nil {
		return
	}
	d.mu.Lock()
	for i := range messages {
		m := &messages[i]
		for k := range m.Data.NewIndex {
			if names := d.names[string(m.Partition)]; names != nil {
				names[m.Bucket] = m.Data.NewIndex[k].Name
			}
		}
	}
	d.mu.Unlock()
	d.done.Store(number)
}

// close gives all up. No job may run any more.
func (d *dynamic) close() {
	if d == nil {
		return
	}
	for name, k := range d.parts {
		d.release(name, k)
	}
	_ = d.store.Close() // scratch
	d.lease.release()
}

// hashJob writes the HASH file of a bucket.
type hashJob struct {
	w       *Writer
	epoch   *Pending
	part    *partition
	bucket  int32
	content *hashindex.Content
}

func (j *hashJob) run(*lsm.Flusher) {
	defer j.w.jobs.Done()
	f, err := j.w.table.CreateHashes(j.w.ctx, j.part.bytes, j.bucket, j.content)
	if err != nil {
		err = fmt.Errorf("writing the index of keys of bucket %d: %w", j.bucket, err)
	}
	j.epoch.mu.Lock()
	if j.epoch.err == nil {
		j.epoch.err = err
	}
	if err == nil {
		j.epoch.messages = append(j.epoch.messages, table.CommitMessage{
			Partition: j.part.bytes, Bucket: j.bucket, TotalBuckets: dynamicBucket, Data: table.DataIncrement{NewIndex: []table.IndexFile{f}},
		})
	}
	j.epoch.mu.Unlock()
	j.epoch.release()
}
