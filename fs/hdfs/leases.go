package hdfs

import (
	"context"
	"sync"
	"time"
)

// The NameNode lets others take a file whose writer was silent for a minute, and gives the file up after 20 minutes. Nobody else
// wants a hidden file, so one call a minute while a file is open is plenty, and a short write needs none.
const renewEvery = time.Minute

// leases renews the lease on all files that are open for writing.
type leases struct {
	renew func(context.Context) error
	ctx   context.Context
	wg    sync.WaitGroup

	mu    sync.Mutex
	open  int
	timer *time.Timer
}

// hold counts an open file until the function that it returns is called.
func (l *leases) hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	if l.timer == nil && l.ctx.Err() == nil {
		l.timer = time.AfterFunc(renewEvery, l.tick)
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open--
	})
}

func (l *leases) tick() {
	l.mu.Lock()
	l.timer = nil
	if l.open == 0 || l.ctx.Err() != nil {
		l.mu.Unlock()
		return
	}
	l.timer = time.AfterFunc(renewEvery, l.tick)
	l.wg.Add(1)
	l.mu.Unlock()
	defer l.wg.Done()
	_ = l.renew(l.ctx) // a file whose lease is lost fails when it is closed, and is written again
}

func (l *leases) close() {
	l.mu.Lock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	l.wg.Wait()
}
