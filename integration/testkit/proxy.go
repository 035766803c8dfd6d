//go:build integration

package testkit

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Proxy is an address in front of a server. Its connections can be cut, refused, slowed, and made to lose what passes.
type Proxy struct {
	Addr   string
	target string
	l      net.Listener
	mu     sync.Mutex // guards all below
	down   bool
	cuts   []int64 // bytes from the server after which the next large connections are cut
	conns  map[net.Conn]struct{}
	delay  time.Duration // of answers that come after a pause
	lose   [2]bool       // what comes from the client, from the server
	torn   map[net.Conn]struct{}
	wg     sync.WaitGroup
	limit  atomic.Int64 // bytes a second and connection
}

// NewProxy starts a proxy that ends with the test.
func NewProxy(t testing.TB, target string) *Proxy { return NewProxyAt(t, "127.0.0.1:0", target) }

// NewProxyAt starts a proxy at an address. All of 127.0.0.0/8 is loopback: 127.0.0.2 can have the port that the server has at
// 127.0.0.1.
func NewProxyAt(t testing.TB, listen, target string) *Proxy {
	l, err := net.Listen("tcp", listen)
	require.NoError(t, err)
	p := &Proxy{Addr: l.Addr().String(), target: target, l: l, conns: map[net.Conn]struct{}{}, torn: map[net.Conn]struct{}{}}
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
	for last := time.Now(); ; last = time.Now() {
		n, err := src.Read(buf)
		passed += int64(n)
		lost, delay := p.fault(fromServer, dst, src)
		if rate := p.limit.Load(); fromServer && rate > 0 {
			time.Sleep(time.Duration(int64(n) * int64(time.Second) / rate))
		}
		if fromServer && delay > 0 && time.Since(last) > 5*time.Millisecond {
			time.Sleep(delay)
		}
		if lost && err == nil {
			continue
		}
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
	for _, c := range []net.Conn{dst, src} {
		delete(p.conns, c)
		delete(p.torn, c)
	}
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

// fault says whether what just came is lost, and how long it takes.
func (p *Proxy) fault(fromServer bool, dst, src net.Conn) (lost bool, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lost = !fromServer && p.lose[0] || fromServer && p.lose[1]; lost {
		p.torn[dst], p.torn[src] = struct{}{}, struct{}{}
	}
	return lost, p.delay
}

// Down cuts all connections and refuses new ones.
func (p *Proxy) Down() {
	p.mu.Lock()
	p.down = true
	p.mu.Unlock()
	p.Cut()
}

// Cut cuts all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Slow delays answers; those that follow each other without a pause are delayed as one.
func (p *Proxy) Slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Limit lets so many bytes a second through from the server on each connection; 0 is no limit.
func (p *Proxy) Limit(rate int64) { p.limit.Store(rate) }

// LoseAnswers lets requests through and swallows what the server says: it does what it is told, and nobody hears of it.
func (p *Proxy) LoseAnswers() { p.swallow([2]bool{false, true}) }

// Swallow swallows both directions. Connections stay, and new ones are taken.
func (p *Proxy) Swallow() { p.swallow([2]bool{true, true}) }

func (p *Proxy) swallow(lose [2]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = lose
}

// Heal ends all faults. Connections that lost something are cut: they could not go on.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down, p.delay, p.lose = false, 0, [2]bool{}
	for c := range p.torn {
		_ = c.Close()
	}
}
