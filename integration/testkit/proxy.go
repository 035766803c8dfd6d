//go:build integration

package testkit

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Proxy is an address in front of a server whose connections can be cut.
type Proxy struct {
	Addr   string
	target string
	l      net.Listener
	mu     sync.Mutex // guards all below
	down   bool
	cuts   []int64 // bytes from the server after which the next large connections are cut
	conns  map[net.Conn]struct{}
	wg     sync.WaitGroup
}

// NewProxy starts a proxy that ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{Addr: l.Addr().String(), target: target, l: l, conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.Down()
		p.wg.Wait()
	})
	return p
}

func (p *Proxy) accept() {
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		down := p.down
		p.mu.Unlock()
		if down {
			_ = c.Close()
			continue
		}
		s, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = c.Close()
			continue
		}
		p.mu.Lock()
		p.conns[c], p.conns[s] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { p.pass(s, c, false) })
		p.wg.Go(func() { p.pass(c, s, true) })
	}
}

// pass copies until an end, then ends both.
func (p *Proxy) pass(dst, src net.Conn, fromServer bool) {
	buf := make([]byte, 32<<10)
	var passed int64
	for {
		n, err := src.Read(buf)
		passed += int64(n)
		if fromServer && p.cut(passed) {
			break
		}
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = dst.Close(), src.Close()
	p.mu.Lock()
	delete(p.conns, dst)
	delete(p.conns, src)
	p.mu.Unlock()
}

func (p *Proxy) cut(passed int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.cuts) == 0 || passed < p.cuts[0] {
		return false
	}
	p.cuts = p.cuts[1:]
	return true
}

// CutAfter cuts a connection, one for each of the given numbers in turn, when so many bytes came from the server on it.
func (p *Proxy) CutAfter(bytes ...int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = bytes
}

// Cuts is the number of cuts that have not happened yet.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.cuts)
}

// Down cuts all connections and refuses new ones.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for c := range p.conns {
		_ = c.Close()
	}
}
