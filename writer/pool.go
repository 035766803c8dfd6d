package writer

import (
	"sync"

	"github.com/paimon-go/paimon-go/lsm"
)

// Pool is the goroutines that sort, spill and write files, first come first served. Writers may share one. Its queue has no
// bound of its own: the memory that jobs hold is bounded by the budget, and their number by that of the buckets with rows.
type Pool struct {
	mu     sync.Mutex
	ready  sync.Cond
	jobs   []job // guarded by mu; from head on
	head   int   // guarded by mu
	closed bool  // guarded by mu
	done   sync.WaitGroup
}

// job is one piece of work; f is the worker's scratch memory.
type job interface{ run(f *lsm.Flusher) }

// NewPool starts a pool. It must be closed after the writers that share it.
func NewPool(workers int) *Pool {
	p := &Pool{}
	p.ready.L = &p.mu
	for range workers {
		p.done.Go(p.work)
	}
	return p
}

func (p *Pool) work() {
	var f lsm.Flusher
	for {
		p.mu.Lock()
		for p.head == len(p.jobs) && !p.closed {
			p.ready.Wait()
		}
		if p.head == len(p.jobs) {
			p.mu.Unlock()
			return
		}
		j := p.jobs[p.head]
		p.jobs[p.head] = nil
		if p.head++; p.head == len(p.jobs) {
			p.jobs, p.head = p.jobs[:0], 0
		}
		p.mu.Unlock()
		j.run(&f)
	}
}

// submit queues a job. It never blocks.
func (p *Pool) submit(j job) {
	p.mu.Lock()
	p.jobs = append(p.jobs, j)
	p.mu.Unlock()
	p.ready.Signal()
}

func (p *Pool) depth() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(len(p.jobs) - p.head)
}

// Close waits until the jobs queued so far have run and the workers have ended.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.ready.Broadcast()
	p.done.Wait()
}
