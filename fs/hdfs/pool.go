package hdfs

import (
	"context"
	"slices"
	"sync"
	"time"

	hdfs "github.com/colinmarc/hdfs/v2"
)

// The NameNode closes connections that were idle for 20 s or so; a call on such a one has an unknown outcome, so we are the
// first to close. Java's client does so after 10 s.
const idleTime = 8 * time.Second

// pool lends connections, each to one caller at a time.
type pool struct {
	options func() (hdfs.ClientOptions, error) // per connection: credentials may have changed
	timeout time.Duration
	mapAddr func(string) string
	slots   chan struct{}

	mu     sync.Mutex
	idle   []*conn
	reaper *time.Timer
	closed bool
	active string // NameNode that answered last, tried first
}

func newPool(size int, timeout time.Duration, options func() (hdfs.ClientOptions, error)) *pool {
	return &pool{options: options, timeout: timeout, slots: make(chan struct{}, size)}
}

// get lends a connection; the caller gives it back or drops it.
func (p *pool) get(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, active, err := p.take()
	if c != nil || err != nil {
		if err != nil {
			<-p.slots
		}
		return c, err
	}
	c, err = p.connect(ctx, active)
	if err != nil {
		<-p.slots
		return nil, err
	}
	return c, nil
}

func (p *pool) take() (*conn, string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, "", errClosed
	}
	p.reap()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return c, "", nil
	}
	return nil, p.active, nil
}

func (p *pool) connect(ctx context.Context, active string) (*conn, error) {
	opts, err := p.options()
	if err != nil {
		return nil, err
	}
	if i := slices.Index(opts.Addresses, active); i > 0 {
		opts.Addresses = slices.Clone(opts.Addresses)
		opts.Addresses[0], opts.Addresses[i] = opts.Addresses[i], opts.Addresses[0]
	}
	return dial(ctx, opts, newDialer(p.timeout, p.mapAddr))
}

// put gives a connection back that worked.
func (p *pool) put(c *conn) {
	<-p.slots
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.close()
		return
	}
	p.active = c.dialer.address()
	c.used = time.Now()
	p.idle = append(p.idle, c)
	if p.reaper == nil {
		p.reaper = time.AfterFunc(idleTime, p.reapLater)
	}
}

// drop closes a connection that failed.
func (p *pool) drop(c *conn) {
	<-p.slots
	c.close()
}

func (p *pool) reapLater() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaper = nil
	if p.closed {
		return
	}
	p.reap()
	if len(p.idle) > 0 {
		p.reaper = time.AfterFunc(idleTime, p.reapLater)
	}
}

// reap closes what was idle for long. The idle ones are in the order of their last use.
func (p *pool) reap() {
	n := 0
	for n < len(p.idle) && time.Since(p.idle[n].used) > idleTime {
		p.idle[n].close()
		n++
	}
	p.idle = slices.Delete(p.idle, 0, n)
}

// forget closes the idle connections, whose NameNode may have lost its role.
func (p *pool) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.reaper != nil {
		p.reaper.Stop()
	}
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
}
