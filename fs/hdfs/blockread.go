package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// blockStream reads a part of a block from one DataNode.
type blockStream struct {
	conn    *dnConn
	packets *packetReader
	timeout time.Duration

	rest []byte // of the current packet
	at   int64  // offset in the block of the next byte
	end  int64  // where the part ends
}

func readRequest(b block, client string, off, n int64) enc {
	var e enc
	e.bytes(1, opHeader(b, client)).num(2, uint64(off)).num(3, uint64(n))
	return e
}

// openStream asks a DataNode for n bytes of a block.
func (d *connector) openStream(ctx context.Context, x node, b block, client string, off, n int64) (*blockStream, error) {
	d.pool.Store(&b.id.pool)
	c, err := d.borrow(ctx, x, b.token)
	if err != nil {
		return nil, err
	}
	s, err := d.startStream(c, b, client, off, n)
	if err != nil && c.reused { // the node may have closed it in the meantime
		_ = c.Close()
		if c, err = d.dial(ctx, x, b.token); err != nil {
			return nil, err
		}
		s, err = d.startStream(c, b, client, off, n)
	}
	if err != nil {
		_ = c.Close()
		return nil, &nodeError{x, err}
	}
	return s, nil
}

func (d *connector) startStream(c *dnConn, b block, client string, off, n int64) (*blockStream, error) {
	_ = c.SetDeadline(time.Now().Add(d.timeout))
	if err := c.request(opReadBlock, readRequest(b, client, off, n)); err != nil {
		return nil, err
	}
	a, err := c.answer()
	if err == nil {
		err = a.err()
	}
	if err != nil {
		return nil, err
	}
	p, err := newPacketReader(c.r, a)
	if err != nil {
		return nil, err
	}
	if a.offset < 0 || a.offset > off {
		return nil, fmt.Errorf("%w: block starts at %d instead of %d", errWire, a.offset, off)
	}
	s := &blockStream{conn: c, packets: p, timeout: d.timeout, at: a.offset, end: off + n}
	return s, s.skip(off - a.offset)
}

// skip drops bytes.
func (s *blockStream) skip(n int64) error {
	for n > 0 {
		if err := s.fetch(nil); err != nil {
			return err
		}
		k := min(n, int64(len(s.rest)))
		s.rest, s.at, n = s.rest[k:], s.at+k, n-k
	}
	return nil
}

// fetch makes sure that there are bytes in rest, which are the beginning of dst if they fit there.
func (s *blockStream) fetch(dst []byte) error {
	for len(s.rest) == 0 {
		if s.at >= s.end {
			return io.EOF
		}
		_ = s.conn.SetReadDeadline(time.Now().Add(s.timeout))
		h, data, err := s.packets.next(dst)
		if err != nil {
			return err
		}
		if len(data) > 0 && h.offset != s.at {
			return fmt.Errorf("%w: packet at %d instead of %d", errWire, h.offset, s.at)
		}
		if h.last && len(data) == 0 {
			return io.ErrUnexpectedEOF
		}
		s.rest = data
	}
	return nil
}

// read fills b, whose bytes must all be in the stream's part.
func (s *blockStream) read(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		if err := s.fetch(b[done:]); err != nil {
			return done, noEOF(err)
		}
		n := len(s.rest)
		if n > len(b)-done || &s.rest[0] != &b[done] {
			n = copy(b[done:], s.rest)
		}
		s.rest, s.at, done = s.rest[n:], s.at+int64(n), done+n
	}
	return done, nil
}

// finish tells the DataNode that all was well and keeps the connection if the part was read to its end.
func (s *blockStream) finish(d *connector) {
	if s.at < s.end {
		_ = s.conn.Close()
		return
	}
	for {
		_ = s.conn.SetDeadline(time.Now().Add(s.timeout))
		h, _, err := s.packets.next(nil)
		if err != nil {
			_ = s.conn.Close()
			return
		}
		if h.last {
			break
		}
	}
	var e enc
	e.num(1, dnChecksumOK)
	if _, err := s.conn.Write(e.delimited()); err != nil {
		_ = s.conn.Close()
		return
	}
	d.giveBack(s.conn)
}

// A DataNode waits for 4 s for another request on a connection.
const keepConn = 3 * time.Second

// borrow returns a connection that was kept, or a new one.
func (d *connector) borrow(ctx context.Context, x node, t token) (*dnConn, error) {
	addr := d.addr(x)
	d.mu.Lock()
	d.expire()
	for i := len(d.kept) - 1; i >= 0; i-- {
		if c := d.kept[i]; c.addr == addr {
			d.kept = append(d.kept[:i], d.kept[i+1:]...)
			d.mu.Unlock()
			c.reused = true
			return c, nil
		}
	}
	d.mu.Unlock()
	return d.dial(ctx, x, t)
}

func (d *connector) giveBack(c *dnConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	if d.closed || len(d.kept) >= 32 {
		_ = c.Close()
		return
	}
	c.until = time.Now().Add(keepConn)
	d.kept = append(d.kept, c)
	if d.reaper == nil {
		d.reaper = time.AfterFunc(keepConn+100*time.Millisecond, d.reap)
	}
}

func (d *connector) reap() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reaper = nil
	d.expire()
	if len(d.kept) > 0 && !d.closed {
		d.reaper = time.AfterFunc(keepConn+100*time.Millisecond, d.reap)
	}
}

// expire closes connections that the DataNode gives up soon. They are in the order of their ages.
func (d *connector) expire() {
	n := 0
	for n < len(d.kept) && time.Now().After(d.kept[n].until) {
		_ = d.kept[n].Close()
		n++
	}
	d.kept = append(d.kept[:0], d.kept[n:]...)
}

func (d *connector) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.reaper != nil {
		d.reaper.Stop()
	}
	for _, c := range d.kept {
		_ = c.Close()
	}
	d.kept = nil
}

// replicaError is a failure to read a block from all of its nodes.
type replicaError struct{ errs []error }

func (e *replicaError) Error() string {
	if len(e.errs) == 0 {
		return "no datanode has the block"
	}
	return errors.Join(e.errs...).Error()
}

func (e *replicaError) Unwrap() []error { return e.errs }
