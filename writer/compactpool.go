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

	mu     sync.Mutex
	ready  sync.Cond
	jobs   []*compactJob // guarded by mu
	closed bool          // guarded by mu
	done   sync.WaitGroup
}

// defaultCompactMemory is what a worker has if nothing is said.
const defaultCompactMemory = 128 << 20

// NewCompactionPool starts a pool of workers, 0 for half of the CPUs, which share memory, 0 for 128 MiB each. It must be closed
// after the writers that share it.
func NewCompactionPool(workers int, memory int64) *CompactionPool {
	if workers <= 0 {
		workers = max(1, runtime.GOMAXPROCS(0)/2)
	}
	if memory <= 0 {
		memory = int64(workers) * defaultCompactMemory
	}
	p := &CompactionPool{workers: workers, memory: memory}
	p.ready.L = &p.mu
	for range workers {
		p.done.Go(p.work)
	}
	return p
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

// Close waits until the jobs queued so far have run and the workers have ended.
func (p *CompactionPool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.ready.Broadcast()
	p.done.Wait()
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
