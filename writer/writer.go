package writer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	// The formats that every table needs.
	_ "github.com/paimon-go/paimon-go/format/avro"
	_ "github.com/paimon-go/paimon-go/format/parquet"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// Writer writes rows to one table. Its methods may be called from several goroutines, but they work one after the other:
// rows come in the order of the calls of Write. Stats and Err wait for nobody.
type Writer struct {
	table      *table.Table
	cfg        Config
	committer  committer
	force      bool        // commit.force-create-snapshot
	budget     *lsm.Budget // of this table
	spill      *lsm.SpillStore
	catchSpill *lsm.SpillStore // guarded by mu; made by the first CatchUp
	merged     *mergedFiles    // nil: changelog files are files
	inline     *compactions    // nil: others compact
	upkeep     *upkeep         // nil: others expire
	pool       *Pool
	ownPool    bool
	shards     []*shard
	counters   counters
	ctx        context.Context // of everything in the background; ended by Close
	cancel     context.CancelCauseFunc
	running    sync.WaitGroup // shards
	jobs       sync.WaitGroup // in the pool
	commits    sync.WaitGroup // the committer
	detach     func()
	spare      chan *sharedBatch
	inFlight   atomic.Int64 // batches that shards have not copied yet
	failure    atomic.Pointer[error]

	checkpoints chan *checkpoint // to the committer
	slots       chan struct{}    // one for each checkpoint that is not committed yet

	mu      sync.Mutex // held by Write, Barrier, Checkpoint, Alter, Wait and Close; guards what is below
	gen     *generation
	okType  *row.Type // type of a batch that was found fit
	parts   *partitions
	dynamic *dynamic        // nil: buckets are not found by hash
	cross   *crossPartition // nil: keys stay in their partitions
	router  router
	epoch   int64     // number of barriers so far
	touched []*bucket // with rows in this epoch
	idle    []*bucket // those of the one before
	rows    int64     // since the last checkpoint, those that options drop too: their position is to be kept
	carry   []*Pending
	last    *Pending // epoch, of bucket=-2
	lastID  int64
	closed  bool
}

// committer is what makes snapshots: *table.Commit.
type committer interface {
	Commit(ctx context.Context, x table.Committable) (*table.Snapshot, error)
}

// Open starts a writer of t. It reads the sequence numbers of the latest snapshot, and finds what cannot be written: an
// option or merge engine that is not supported is an error that wraps table.ErrOption. ctx is for opening only; Close
// ends what runs in the background.
func Open(ctx context.Context, t *table.Table, cfg Config) (*Writer, error) {
	if cfg.CommitUser == "" {
		cfg.CommitUser = uuid.NewString()
	}
	gen, err := newGenerationOf(t, t.Schema(), &cfg)
	if err != nil {
		return nil, fmt.Errorf("opening a writer of %s: %w", t.Path(), err)
	}
	inline, err := newCompactions(t, gen.schema, &cfg)
	if err != nil {
		return nil, fmt.Errorf("opening a writer of %s: %w", t.Path(), err)
	}
	cfg.inline = inline
	listener := cfg.Listener.Commit
	if inline != nil {
		listener = inline.listener(listener)
	}
	c := t.NewCommit(cfg.CommitUser, &listener)
	if cfg.Resume != nil {
		c.Resume(cfg.Resume.SnapshotID, cfg.Resume.Identifier)
	}
	w, err := open(ctx, t, cfg, gen, c)
	if err != nil {
		inline.free()
		return nil, fmt.Errorf("opening a writer of %s: %w", t.Path(), err)
	}
	return w, nil
}

func open(ctx context.Context, t *table.Table, cfg Config, gen *generation, c committer) (*Writer, error) {
	o, inline := t.Options(), cfg.inline
	shards := cfg.shards(o.Int(table.KeySinkParallelism))
	w := &Writer{
		table: t, cfg: cfg, committer: c, gen: gen, force: o.Bool(table.KeyCommitForceCreateSnapshot), inline: inline,
		spare:       make(chan *sharedBatch, 2*queueLength),
		checkpoints: make(chan *checkpoint, cfg.inFlight()+1),
		slots:       make(chan struct{}, cfg.inFlight()),
		lastID:      -1 << 63,
	}
	w.parts = &partitions{
		table: t, user: cfg.CommitUser, numBuckets: gen.numBuckets, shards: int32(shards),
		m: map[string]*partition{}, own: map[int64]bool{}, creations: newCreations(gen.numBuckets),
	}
	left := inline.leftovers(w.parts)
	if err := w.parts.restore(ctx); err != nil {
		return nil, err
	}
	if inline != nil {
		w.budget = inline.rows
	} else {
		w.budget = cfg.tableBudget(o)
	}
	if gen.changelog && o.Bool(table.KeyPrecommitCompact) {
		w.merged = newMergedFiles(t, w.budget)
	}
	var err error
	if w.spill, err = newSpillStore(o, &cfg, gen.pack); err != nil {
		return nil, err
	}
	if w.dynamic, err = newDynamic(ctx, t, &cfg, gen, shards, w.budget); err != nil {
		return nil, err
	}
	if w.cross, err = newCrossPartition(ctx, t, &cfg, gen, shards, w.parts, w.budget); err != nil {
		return nil, err
	}
	w.ctx, w.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if w.pool = cfg.Pool; w.pool == nil {
		w.pool, w.ownPool = NewPool(cfg.flushWorkers()), true
	}
	for range shards {
		s := newShard(w, gen)
		w.shards = append(w.shards, s)
		w.running.Go(s.run)
	}
	if inline != nil {
		inline.start(w.ctx, left())
		w.startUpkeep()
	}
	w.commits.Go(w.commitAll)
	w.detach = w.budget.Attach(w.activeBytes, w.pressLargest)
	return w, nil
}

// newSpillStore returns where rows are spilled to, nil when they are not. always is for what must not be flushed early.
func newSpillStore(o table.Options, cfg *Config, always bool) (*lsm.SpillStore, error) {
	if !o.Bool(table.KeyWriteBufferSpillable) && !always {
		return nil, nil
	}
	var limit int64
	if o.Has(table.KeyWriteBufferSpillMaxDiskSize) && !always {
		limit = max(o.Size(table.KeyWriteBufferSpillMaxDiskSize), 1)
	}
	compression := "" // the fastest: nobody else reads it
	if o.Has(table.KeySpillCompression) {
		compression = o.Get(table.KeySpillCompression)
	}
	return lsm.NewSpillStore(cfg.SpillDirs, compression, o.Int(table.KeySpillCompressionZstdLevel), limit)
}

// Err returns the error that ended the writer, nil while it works.
func (w *Writer) Err() error {
	if p := w.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// fail makes err the end of the writer unless there is one. A commit under way is not disturbed; it is what fails, or it
// is awaited by Close.
func (w *Writer) fail(err error) {
	if !errors.Is(err, errClosed) {
		w.failure.CompareAndSwap(nil, &err)
	}
}

// usable is what every method begins with. mu is held.
func (w *Writer) usable() error {
	if w.closed {
		return errClosed
	}
	return w.Err()
}

// Write takes the rows of b, which must have the table's columns in their order, and a kind for each row. It copies them,
// so b may be reused. It waits only for memory.
//
// A batch that cannot be written (a null in a NOT NULL column, wrong types) changes nothing. If ctx ends while it waits,
// the rows may have been taken in part, and the writer fails.
func (w *Writer) Write(ctx context.Context, b *row.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if b.N == 0 {
		return nil
	}
	if err := w.checkRows(b); err != nil {
		return fmt.Errorf("writing to %s: %w", w.table.Path(), err)
	}
	dropped, err := w.write(ctx, b)
	if err != nil {
		if w.cross != nil {
			w.fail(err) // it takes rows to be where they were to go
		}
		return err
	}
	w.rows += int64(b.N)
	w.counters.rows.Add(int64(b.N))
	w.counters.dropped.Add(int64(dropped))
	return nil
}

// write hands rows that can be written to the shards, and returns how many options drop. mu is held.
func (w *Writer) write(ctx context.Context, b *row.Batch) (dropped int, err error) {
	if w.cross != nil {
		if b, err = w.cross.resolve(w, b); err != nil {
			return 0, fmt.Errorf("writing to %s: %w", w.table.Path(), err)
		}
		dropped = w.cross.dropped
	}
	if err := w.find(ctx, b); err != nil {
		return 0, fmt.Errorf("writing to %s: %w", w.table.Path(), err)
	}
	if len(w.router.found) == 0 {
		return dropped + b.N, nil
	}
	if err := w.gen.checkRetracts(w, b); err != nil {
		return 0, err
	}
	sb, err := w.copy(ctx, b)
	if err != nil {
		return 0, err
	}
	w.route(sb)
	return dropped + b.N - len(sb.rows), w.send(ctx, sb)
}

// Barrier ends an epoch: the rows so far are sealed, and flushed while later rows go on into fresh memory. It returns at
// once. It is for callers that commit elsewhere; Checkpoint does both. Of what they commit nothing is compacted here, whatever
// write-only says: only who makes a snapshot knows when files are in it. Run a dedicated compaction beside them.
func (w *Writer) Barrier(ctx context.Context, id int64) (*Pending, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return nil, err
	}
	if w.dynamic != nil || w.cross != nil {
		return nil, fmt.Errorf("%w: a table with dynamic buckets is committed by Checkpoint", table.ErrOption)
	}
	e, err := w.barrier(ctx, id, true)
	if err == nil {
		e.before, w.carry, w.rows = w.carry, nil, 0
	}
	return e, err
}

// barrier sends a barrier to the shards. last says that a commit comes next. mu is held.
func (w *Writer) barrier(ctx context.Context, id int64, last bool) (*Pending, error) {
	e := &Pending{w: w, id: id, number: w.epoch, start: time.Now(), done: make(chan struct{})}
	if w.parts.creations != nil {
		e.prev, w.last = w.last, e
	}
	var hashes []job
	if last {
		var err error
		if hashes, err = w.dynamic.seal(w, e); err != nil {
			return nil, err
		}
	}
	e.pending.Store(int64(len(w.shards) + len(hashes)))
	for _, s := range w.shards {
		if err := w.post(ctx, s, message{epoch: e}); err != nil {
			return nil, err
		}
	}
	for _, j := range hashes {
		w.submit(j)
	}
	w.epoch++
	w.cross.count()
	w.parts.fresh = false
	w.dynamic.dropIdle(w.epoch)
	w.dropIdle()
	return e, nil
}

// Checkpoint makes the rows so far one snapshot with this identifier and these properties. It returns once the rows are
// sealed, without waiting for files or the commit, which happen in the background; but when Config.InFlight checkpoints are
// not committed yet it waits for one of them. Commits happen in the order of calls; identifiers must ascend.
//
// When no rows came since the last checkpoint there is no snapshot, unless commit.force-create-snapshot is set or a compaction is
// to be committed (Due). Rows that
// options drop (ignore-delete) do make one, without files: its properties say how far the source is read. A commit or
// flush that fails ends the writer: every later call returns its error, and so do Wait and Close.
func (w *Writer) Checkpoint(ctx context.Context, id int64, properties map[string]string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if id <= w.lastID {
		return fmt.Errorf("checkpoint %d comes after checkpoint %d; identifiers must ascend", id, w.lastID)
	}
	if w.rows == 0 && !w.force && !w.inline.due(id) {
		return nil
	}
	select {
	case w.slots <- struct{}{}:
	default:
		start := time.Now()
		select {
		case w.slots <- struct{}{}:
			w.stalled("checkpoint", start)
		case <-ctx.Done():
			return fmt.Errorf("waiting for an earlier checkpoint: %w", context.Cause(ctx))
		}
		if err := w.Err(); err != nil {
			<-w.slots
			return err
		}
	}
	e, err := w.barrier(ctx, id, true)
	if err != nil {
		<-w.slots
		return err
	}
	w.lastID = id
	e.before, w.carry, w.rows = w.carry, nil, 0
	w.checkpoints <- &checkpoint{id: id, props: properties, epoch: e}
	return nil
}

// Flush seals the rows so far and waits until they are in files, which the next Checkpoint commits.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if w.rows == 0 {
		return nil
	}
	e, err := w.barrier(ctx, 0, false)
	if err != nil {
		return err
	}
	w.carry = append(w.carry, e)
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Wait waits until all checkpoints so far are committed, and returns the error that ended the writer, if one has.
func (w *Writer) Wait(ctx context.Context) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	done := make(chan struct{})
	select {
	case w.checkpoints <- &checkpoint{waiter: done}:
	case <-ctx.Done():
		w.mu.Unlock()
		return context.Cause(ctx)
	}
	w.mu.Unlock()
	select {
	case <-done:
		return w.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Alter changes the table's schema and goes on with the new one: rows before it are flushed under the old schema, without
// waiting, and are part of the next checkpoint; batches after it must have the new columns (Type). When the change is
// refused, the writer goes on as before.
func (w *Writer) Alter(ctx context.Context, changes ...table.SchemaChange) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	s, err := w.table.Alter(ctx, changes...)
	if err != nil {
		return err
	}
	if s.ID == w.gen.schema.ID {
		return nil
	}
	gen, err := newGenerationOf(w.table, s, &w.cfg)
	if err == nil && gen.numBuckets != w.gen.numBuckets {
		err = fmt.Errorf("%w: the number of buckets cannot change under a writer", table.ErrOption)
	}
	if err == nil && w.inline != nil {
		err = w.inline.use(s)
	}
	if err != nil {
		w.fail(err)
		return err
	}
	if w.rows > 0 {
		e, err := w.barrier(ctx, 0, false)
		if err != nil {
			return err
		}
		w.carry = append(w.carry, e)
	}
	for _, sh := range w.shards {
		if err := w.post(ctx, sh, message{gen: gen}); err != nil {
			return err
		}
	}
	w.gen, w.okType = gen, nil
	return nil
}

// Due tells whether a checkpoint with this identifier has something to do though no rows came: a compaction is to be committed,
// or to be done (full-compaction.delta-commits).
func (w *Writer) Due(id int64) bool { return w.inline.due(id) }

// Type returns the ROW type that batches must have now.
func (w *Writer) Type() *row.Type {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gen.typ
}

// Schema returns the schema that rows are written with now.
func (w *Writer) Schema() *table.Schema {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gen.schema
}

// Close waits for the checkpoints under way and ends the writer. Rows after the last checkpoint are dropped. When ctx ends,
// what is under way is cancelled, and awaited. It returns the error that ended the writer, if one has.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	stop := context.AfterFunc(ctx, func() { w.cancel(context.Cause(ctx)) })
	defer stop()
	for _, s := range w.shards {
		close(s.queue)
	}
	close(w.checkpoints)
	w.commits.Wait()
	w.cancel(errClosed) // spills of rows that nobody wants
	w.running.Wait()
	w.jobs.Wait()
	w.dynamic.close()
	w.cross.close()
	w.inline.close()
	w.upkeep.close()
	if w.ownPool {
		w.pool.Close()
	}
	for _, e := range w.carry { // flushed for a checkpoint that never came
		messages, _ := e.collect()
		w.remove(messages)
	}
	w.detach()
	for _, s := range []*lsm.SpillStore{w.spill, w.catchSpill} {
		if s != nil {
			_ = s.Close() // scratch
		}
	}
	return w.Err()
}
