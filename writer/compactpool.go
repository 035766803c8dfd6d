package writer

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/internal/backoff"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// CompactionPool is the goroutines that compact inside of writers, with the memory that they may use together. Writers may share
// one. The bucket with the most sorted runs comes first.
type CompactionPool struct {
	memory  int64
	workers int
	budget  *lsm.Budget // nil: nobody counts the memory
	held    int64       // taken from budget

	mu     sync.Mutex
	ready  sync.Cond
	jobs   []*compactJob // guarded by mu
	closed bool          // guarded by mu
	done   sync.WaitGroup
}

const (
	// workerMemory is what a worker has if nothing is said, and there is enough.
	workerMemory = 128 << 20
	// leastCompactMemory is the least for all workers: files that are compacted in less would have row groups of a few pages.
	leastCompactMemory = 16 << 20
)

// NewCompactionPool starts a pool of workers, 0 for half of the CPUs, which share memory; 0: a quarter of the budget, at most
// 128 MiB each and at least 16 MiB. The pool holds that memory in the budget until it is closed, which must be after the writers that
// share it. Half of the budget at most is for pools; only where that is less than 16 MiB the rest of those is beside it. A nil
// budget has no bounds.
func NewCompactionPool(workers int, memory int64, budget *lsm.Budget) (*CompactionPool, error) {
	if workers <= 0 {
		workers = max(1, runtime.GOMAXPROCS(0)/2)
	}
	p := &CompactionPool{workers: workers, memory: memory, budget: budget}
	if memory <= 0 {
		p.memory = int64(workers) * workerMemory
		if budget != nil {
			p.memory = max(min(p.memory, budget.Limit()/4), leastCompactMemory)
		}
	}
	if budget != nil {
		p.held = p.memory
		if half := budget.Limit() / 2; half < leastCompactMemory {
			p.held = min(p.held, half)
		}
		if !budget.Reserve(p.held) {
			return nil, fmt.Errorf("%w: compactions are to have %d MiB, and have half of the memory for rows and compactions together at most, which is %d MiB",
				table.ErrOption, p.memory>>20, budget.Limit()>>20)
		}
	}
	p.ready.L = &p.mu
	for range workers {
		p.done.Go(p.work)
	}
	return p, nil
}

// CheckMemory refuses, as table.ErrOption, memory for compactions that a writer of a table with these options can't have. Open does
// too; this is for those who change the table before they open a writer.
func CheckMemory(o table.Options, cfg Config) error {
	if !Compacts(o) || cfg.Compactions != nil {
		return nil
	}
	p, err := cfg.compactionPool(cfg.tableBudget(o))
	if err == nil {
		p.Close()
	}
	return err
}

// compactionPool starts workers for one writer.
func (c *Config) compactionPool(rows *lsm.Budget) (*CompactionPool, error) {
	p, err := NewCompactionPool(c.CompactionWorkers, c.CompactionMemory, rows)
	if err != nil {
		return nil, fmt.Errorf("%w; raise %s, or let the writers of a process share a pool", err, table.KeyWriteBufferSize.Name)
	}
	return p, nil
}

// share is the memory of one compaction.
func (p *CompactionPool) share() int64 { return max(p.memory/int64(p.workers), 1<<20) }

// Memory returns what all compactions together may use.
func (p *CompactionPool) Memory() int64 { return p.memory }

func (p *CompactionPool) submit(j *compactJob) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs = append(p.jobs, j)
	p.ready.Signal()
}

func (p *CompactionPool) work() {
	for {
		p.mu.Lock()
		for len(p.jobs) == 0 && !p.closed {
			p.ready.Wait()
		}
		if len(p.jobs) == 0 {
			p.mu.Unlock()
			return
		}
		first := slices.MinFunc(p.jobs, func(a, b *compactJob) int { return cmp.Compare(b.runs, a.runs) })
		p.jobs = slices.DeleteFunc(p.jobs, func(j *compactJob) bool { return j == first })
		p.mu.Unlock()
		first.run()
	}
}

// withdraw gives up the jobs of a writer that wait: others may keep the workers busy for long.
func (p *CompactionPool) withdraw(c *compactions) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs = slices.DeleteFunc(p.jobs, func(j *compactJob) bool {
		if j.c == c {
			c.stats.queued.Add(-1)
			c.jobs.Done()
		}
		return j.c == c
	})
}

// Close waits until the jobs queued so far have run and the workers have ended.
func (p *CompactionPool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.ready.Broadcast()
	p.done.Wait()
	if p.budget != nil {
		p.budget.Release(p.held)
	}
}

// compactJob is one compaction of a bucket.
type compactJob struct {
	c       *compactions
	b       *compacted
	tools   *tools
	levels  *lsm.Levels
	vectors table.IndexFile
	unit    lsm.Unit
	runs    int
	seq     int64 // commit of the newest flush that it has seen
	full    bool
}

func (j *compactJob) run() {
	c, start := j.c, time.Now()
	defer c.jobs.Done()
	c.stats.queued.Add(-1)
	c.stats.running.Add(1)
	inc, stats, err := j.rewrite()
	c.stats.running.Add(-1)
	c.stats.read.Add(stats.BytesRead)
	c.stats.written.Add(stats.BytesWritten)
	c.stats.rows.Add(stats.RowsWritten)
	c.mu.Lock()
	obsolete, err := j.end(&inc, err)
	c.mu.Unlock()
	c.changed.Broadcast()
	c.poke()
	c.remove(j.b, obsolete)
	if err == nil {
		c.stats.done.Add(1)
	} else if c.ctx.Err() == nil && !errors.Is(err, errVoid) {
		c.stats.failed.Add(1)
	}
	if f := c.tell.CompactionEnd; f != nil {
		f(CompactionInfo{
			Partition: []byte(j.b.key.partition), Bucket: j.b.key.bucket, Reason: j.unit.Reason, OutputLevel: j.unit.OutputLevel,
			Runs: j.runs, Files: len(j.unit.Files), RewriteStats: stats, Duration: time.Since(start), Err: err,
		})
	}
}

func (j *compactJob) rewrite() (inc table.CompactIncrement, stats lsm.RewriteStats, err error) {
	c, k, levels := j.c, j.b.key, j.levels
	if j.vectors.Name != "" {
		v, err := lsm.ReadVectors(c.ctx, c.table, []byte(k.partition), k.bucket, []table.IndexFile{j.vectors})
		if err != nil {
			return inc, stats, fmt.Errorf("deletion vectors of bucket %d: %w", k.bucket, err)
		}
		levels = levels.WithVectors(v)
	}
	return j.tools.rewriter.Rewrite(c.ctx, []byte(k.partition), k.bucket, levels, j.unit)
}

// end gives the bucket free and takes what was made, or returns it when it is void. mu is held.
func (j *compactJob) end(inc *table.CompactIncrement, err error) (obsolete *table.CompactIncrement, _ error) {
	c, b := j.c, j.b
	b.running = false
	obsolete = &table.CompactIncrement{}
	defer c.enqueue(b)
	if err == nil && b.vectors.Name != j.vectors.Name {
		obsolete, err = inc, errVoid
	}
	if err == nil && b.known {
		if files, ok := applied(b.files, inc); ok {
			b.files = files
		} else {
			obsolete, err = inc, errVoid
		}
	}
	b.done = max(b.done, j.seq)
	if j.full {
		b.full = false
	}
	if err != nil {
		if !errors.Is(err, errVoid) {
			b.retryAt = time.Now().Add(backoff.Delay(firstRetry, lastRetry, b.failed))
			b.failed++
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errVoid) {
			c.mistrust(b) // somebody has compacted it and the files are gone
		}
		return obsolete, err
	}
	b.failed, b.gentle, b.retryAt = 0, 0, time.Time{}
	if len(inc.Before)+len(inc.After)+len(inc.Changelog)+len(inc.NewIndex) > 0 {
		*obsolete = b.took(inc, j.full)
	} else if j.full {
		b.fresh = false
	}
	return obsolete, nil
}

const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)
