package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// window is how many packets may be under way without an answer. Java's client has 80 of 64 KiB.
const window = 32

// errStalled means that a pipeline has made no progress, and it isn't known by whose fault.
var errStalled = errors.New("the datanodes have stopped answering")

// pipeline writes one block to its DataNodes: the first one gets the packets and passes them on, and an answer comes back for each
// packet when all have it.
type pipeline struct {
	conn    *dnConn
	block   block
	timeout time.Duration
	release func() bool

	buf    []byte
	seq    int64
	offset int64

	inflight chan int64
	acked    chan struct{} // closed when the reader of answers has ended
	mu       sync.Mutex
	err      error // why it has ended
}

// openPipeline connects to a block's DataNodes, which may be silent for as long as patience. An error wraps a nodeError where it is known who is to blame.
func (d *connector) openPipeline(ctx context.Context, b block, client string, patience time.Duration) (*pipeline, error) {
	first := b.nodes[0]
	d.pool.Store(&b.id.pool)
	c, err := d.dial(ctx, first, b.token)
	if err != nil {
		return nil, err
	}
	p := &pipeline{conn: c, block: b, timeout: patience, inflight: make(chan int64, window), acked: make(chan struct{})}
	p.release = context.AfterFunc(ctx, func() { _ = c.Close() })
	if err := p.setUp(client); err != nil {
		p.release()
		_ = c.Close()
		if ctx.Err() != nil {
			err = endedBy(ctx, err)
		}
		return nil, err
	}
	go p.readAcks()
	return p, nil
}

func (p *pipeline) setUp(client string) error {
	_ = p.conn.SetDeadline(time.Now().Add(p.timeout))
	first := p.block.nodes[0]
	if err := p.conn.request(opWriteBlock, writeRequest(p.block, client)); err != nil {
		return &nodeError{first, err}
	}
	a, err := p.conn.answer()
	if err != nil {
		if isTimeout(err) {
			return errStalled // the first one waits for the next, or doesn't answer itself
		}
		return &nodeError{first, err}
	}
	if err := a.err(); err != nil {
		if i := p.linkIndex(a.badLink); i >= 0 {
			return &nodeError{p.block.nodes[i], fmt.Errorf("not reachable from the one before: %w", err)}
		}
		return &nodeError{first, err}
	}
	return p.conn.SetDeadline(time.Time{})
}

// linkIndex finds a node by the address by which the one before it knows it.
func (p *pipeline) linkIndex(addr string) int {
	if addr == "" {
		return -1
	}
	for i, n := range p.block.nodes {
		port := fmt.Sprint(n.port)
		if addr == net.JoinHostPort(n.ip, port) || addr == net.JoinHostPort(n.host, port) {
			return i
		}
	}
	return -1
}

func writeRequest(b block, client string) enc {
	const setupCreate = 6
	var sum, e enc
	sum.num(1, checksumCRC32C).num(2, chunkSize)
	e.bytes(1, opHeader(b, client))
	for _, n := range b.nodes[1:] {
		e.bytes(2, n.raw)
	}
	e.num(4, setupCreate).num(5, uint64(len(b.nodes)-1)).num(6, uint64(b.id.numBytes)).num(7, 0).num(8, 0).bytes(9, sum)
	if b.types != nil {
		e.num(11, b.types[0])
		for _, t := range b.types[1:] {
			e.num(12, t)
		}
		e.str(16, b.storages[0])
		for _, s := range b.storages[1:] {
			e.str(17, s)
		}
	}
	return e
}

// send passes on at most packetData bytes, a multiple of chunkSize except at the end of the block.
func (p *pipeline) send(data []byte) error {
	return p.packet(packetHead{offset: p.offset, seq: p.seq}, data)
}

func (p *pipeline) packet(h packetHead, data []byte) error {
	select {
	case p.inflight <- h.seq:
	case <-p.acked:
		return p.reason()
	}
	h.data = len(data)
	p.buf = appendFront(p.buf[:0], h, data)
	if err := p.write(p.buf, data); err != nil {
		return err
	}
	p.seq++
	p.offset += int64(len(data))
	return nil
}

// DataNodes give up a pipeline on which nothing came for a minute.
const heartbeatEvery = 20 * time.Second

// heartbeat keeps the DataNodes from giving up while there is nothing to write.
func (p *pipeline) heartbeat() error {
	return p.write(appendFront(nil, packetHead{seq: heartbeatSeq}, nil), nil)
}

func (p *pipeline) write(front, data []byte) error {
	_ = p.conn.SetWriteDeadline(time.Now().Add(p.timeout))
	if err := p.conn.writeBoth(front, data); err != nil {
		return p.fail(p.blame(err))
	}
	return nil
}

// finish ends the block and waits until all DataNodes have it.
func (p *pipeline) finish(sync bool) error {
	err := p.packet(packetHead{offset: p.offset, seq: p.seq, last: true, sync: sync}, nil)
	if err != nil {
		p.abort()
		return err
	}
	close(p.inflight)
	<-p.acked
	p.release()
	_ = p.conn.Close()
	return p.reason()
}

// abort gives the block up. It may be called after a failure of send, not after finish.
func (p *pipeline) abort() {
	_ = p.fail(net.ErrClosed)
	p.release()
	close(p.inflight)
	<-p.acked
}

// fail closes the connection and returns the first error.
func (p *pipeline) fail(err error) error {
	p.mu.Lock()
	if p.err == nil {
		p.err = err
	}
	err = p.err
	p.mu.Unlock()
	_ = p.conn.Close()
	return err
}

func (p *pipeline) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// blame tells whose fault an error of the connection to the first node is: silence may be that of any node.
func (p *pipeline) blame(err error) error {
	if isTimeout(err) {
		return errStalled
	}
	return &nodeError{p.block.nodes[0], err}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// readAcks reads an answer for each packet, in their order.
func (p *pipeline) readAcks() {
	defer close(p.acked)
	for seq := range p.inflight {
		if err := p.readAck(seq); err != nil {
			_ = p.fail(err)
			return
		}
	}
}

func (p *pipeline) readAck(seq int64) error {
	for {
		_ = p.conn.SetReadDeadline(time.Now().Add(p.timeout))
		b, err := p.conn.message()
		if err != nil {
			return p.blame(err)
		}
		a, err := parseAck(b)
		if err != nil {
			return &nodeError{p.block.nodes[0], err}
		}
		for i := len(a.replies) - 1; i >= 0; i-- {
			if s := a.replies[i]; s != dnSuccess && i < len(p.block.nodes) {
				return &nodeError{p.block.nodes[i], errors.New(statusName(s))}
			}
		}
		switch a.seq {
		case heartbeatSeq:
			continue
		case seq:
			return nil
		}
		return &nodeError{p.block.nodes[0], fmt.Errorf("%w: answer to packet %d instead of %d", errWire, a.seq, seq)}
	}
}

// isConnection tells whether an error is of the network or the process at its other end, and not of the block.
func isConnection(err error) bool {
	var t net.Error
	return errors.As(err, &t) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
