package hdfs

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	badFor     = 30 * time.Second // until a node that failed is looked at again
	badForMost = 5 * time.Minute
)

// nodes remembers which DataNodes failed, so that the next blocks go elsewhere at once: the NameNode gives a dead node out for ten
// minutes. A node comes back after it has answered a probe.
type nodes struct {
	probe   func(ctx context.Context, n node) error
	ctx     context.Context // ends the probes
	trouble *trouble
	wg      sync.WaitGroup

	mu  sync.Mutex
	bad map[string]*badNode // by uuid
}

type badNode struct {
	node    node
	until   time.Time
	lasts   time.Duration
	probing bool
	out     bool // not to be used; false after a good probe, kept for lasts
}

func newNodes(ctx context.Context, probe func(context.Context, node) error, t *trouble) *nodes {
	return &nodes{probe: probe, ctx: ctx, trouble: t, bad: map[string]*badNode{}}
}

// mark notes a failure. A node that fails again soon after it came back is left out for longer.
func (n *nodes) mark(x node, why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.bad[x.uuid]
	if b == nil {
		b = &badNode{lasts: badFor}
		n.bad[x.uuid] = b
	} else if !b.out {
		b.lasts = min(2*b.lasts, badForMost)
	}
	if !b.out {
		n.trouble.log().Warn("a datanode is left out until it answers again", "datanode", x.String(), "for", b.lasts, "error", why)
	}
	b.node, b.out, b.until = x, true, time.Now().Add(b.lasts)
}

// isBad tells whether a node is to be left out.
func (n *nodes) isBad(x node) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.bad[x.uuid]
	return b != nil && b.out
}

// exclude returns the nodes to leave out, as the NameNode wants them.
func (n *nodes) exclude() [][]byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	var raw [][]byte
	for id, b := range n.bad {
		switch {
		case b.out:
			raw = append(raw, b.node.raw)
			if time.Now().After(b.until) && !b.probing {
				b.probing = true
				n.wg.Go(func() { n.look(id, b) })
			}
		case time.Now().After(b.until):
			delete(n.bad, id)
		}
	}
	return raw
}

// look probes a node whose time is over.
func (n *nodes) look(id string, b *badNode) {
	n.mu.Lock()
	x := b.node
	n.mu.Unlock()
	err := n.probe(n.ctx, x)
	n.mu.Lock()
	defer n.mu.Unlock()
	b.probing = false
	b.until = time.Now().Add(b.lasts)
	if b.out && err == nil {
		n.trouble.log().Info("a datanode answers again", "datanode", x.String())
	}
	b.out = err != nil
}

// forgive lets all nodes take blocks again, for when no others are left.
func (n *nodes) forgive() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range n.bad {
		b.out = false
	}
}

// suspects probes the nodes of a pipeline that has stalled, marks those that don't answer and tells whether there was one.
func (n *nodes) suspects(ctx context.Context, list []node) bool {
	found := make([]error, len(list))
	var wg sync.WaitGroup
	for i, x := range list {
		wg.Go(func() { found[i] = n.probe(ctx, x) })
	}
	wg.Wait()
	any := false
	for i, x := range list {
		if found[i] != nil && ctx.Err() == nil {
			n.mark(x, found[i])
			any = true
		}
	}
	return any
}

const probeTime = 4 * time.Second

// probe asks a DataNode for a block that nobody has, in the pool that it serves: it would wait 20 s for one that it doesn't know. Any answer will do, also that it closes the connection; a stopped process
// still has its connections accepted by the operating system, so connecting alone tells nothing.
func (d *connector) probe(ctx context.Context, n node) error {
	patience := min(probeTime, d.timeout)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	plain := &connector{useHostname: d.useHostname, timeout: patience, mapAddr: d.mapAddr}
	c, err := plain.dial(ctx, n, token{})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	_ = c.SetDeadline(time.Now().Add(patience))
	b := block{id: extendedBlock{blockID: 1, stamp: 1}}
	if pool := d.pool.Load(); pool != nil {
		b.id.pool = *pool
	}
	if err := c.request(opReadBlock, readRequest(b, "probe", 0, 1)); err != nil {
		return &nodeError{n, err}
	}
	if _, err = c.r.ReadByte(); err == nil || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	if ctx.Err() != nil {
		err = net.ErrClosed
	}
	return &nodeError{n, err}
}

// order returns nodes that failed lately after the others.
func (f *FS) order(list []node) []node {
	var good, bad []node
	for _, x := range list {
		if f.nodes.isBad(x) {
			bad = append(bad, x)
		} else {
			good = append(good, x)
		}
	}
	return append(good, bad...)
}
