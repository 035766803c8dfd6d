package mysql

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
)

const (
	// readBuffer takes many events in one read of the connection.
	readBuffer = 256 << 10
	// keptBuffer is how much of what a large packet took is kept for the next one.
	keptBuffer = 16 << 20
	// fullPacket is the length of a packet that goes on in the next.
	fullPacket  = gomysql.MaxPayloadLen
	eventHeader = 19
)

// packets reads what a server sends after a command, for streams of very many small packets: nothing is allocated for one. It
// reads ahead, so that the connection is of no other use afterwards.
type packets struct {
	conn  net.Conn
	limit time.Duration // of silence
	armed time.Time     // when the read deadline was set
	seq   byte          // of the next packet
	buf   []byte
	r, w  int    // what is read but not taken
	total int    // bytes read since the start
	large []byte // a packet that buf can't hold
}

// newPackets reads packets from a connection, the first with number 1, as answers to a command have.
func newPackets(conn net.Conn, limit time.Duration) *packets {
	return &packets{conn: conn, limit: limit, seq: 1, buf: make([]byte, readBuffer)}
}

// next returns the payload of the next packet, put together if it came in several. It is valid until the next call.
func (p *packets) next() ([]byte, error) {
	if cap(p.large) > keptBuffer {
		p.large = nil
	}
	n, err := p.head()
	if err != nil {
		return nil, err
	}
	if n > len(p.buf) {
		return p.nextLarge(n)
	}
	if err := p.need(n); err != nil {
		return nil, err
	}
	b := p.buf[p.r : p.r+n]
	p.r += n
	return b, nil
}

// head takes the header of a packet and returns the length of the payload.
func (p *packets) head() (int, error) {
	if err := p.need(4); err != nil {
		return 0, err
	}
	h := p.buf[p.r : p.r+4]
	p.r += 4
	if h[3] != p.seq {
		return 0, malformed("packet number %d where %d is due", h[3], p.seq)
	}
	p.seq++
	return int(h[0]) | int(h[1])<<8 | int(h[2])<<16, nil
}

// need waits until n bytes are in the buffer, no more than it can hold.
func (p *packets) need(n int) error {
	if p.w-p.r >= n {
		return nil
	}
	p.w = copy(p.buf, p.buf[p.r:p.w]) // little, unless packets are nearly as large as the buffer
	p.r = 0
	for p.w < n {
		k, err := p.read(p.buf[p.w:])
		p.w += k
		if err != nil && p.w < n {
			return err
		}
	}
	return nil
}

// nextLarge reads the rest of a packet that is larger than the buffer, past its header. Only events are as large.
func (p *packets) nextLarge(n int) ([]byte, error) {
	p.large = p.large[:0]
	total := 0
	for {
		at := len(p.large)
		p.large = slices.Grow(p.large, n)[:at+n]
		k := copy(p.large[at:], p.buf[p.r:p.w])
		p.r += k
		for at += k; at < len(p.large); {
			k, err := p.read(p.large[at:])
			at += k
			if err != nil && at < len(p.large) {
				return nil, err
			}
		}
		if total == 0 {
			total = 1 + int(le.Uint32(p.large[10:])) // the size in an event's header
		}
		if len(p.large) > total { // never more memory than that
			return nil, malformed("a packet of %d bytes or more for an event of %d", len(p.large), total-1)
		}
		if n < fullPacket {
			return p.large, nil
		}
		var err error
		if n, err = p.head(); err != nil {
			return nil, err
		}
	}
}

// read reads from the connection. It fails when nothing comes for about the limit. The deadline is set now and then, since that
// costs as much as taking several events.
func (p *packets) read(b []byte) (int, error) {
	if now := time.Now(); now.Sub(p.armed) > p.limit/8 {
		p.armed = now
		if err := p.conn.SetReadDeadline(now.Add(p.limit)); err != nil {
			return 0, err
		}
	}
	n, err := p.conn.Read(b)
	p.total += n
	switch {
	case err == nil && n == 0:
		err = io.ErrNoProgress
	case errors.Is(err, io.EOF): // never io.EOF: that is the end of a source
		err = fmt.Errorf("the server closed the connection: %w", io.ErrUnexpectedEOF)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("nothing came from the server for %v: %w", p.limit, err)
	}
	return n, err
}

// serverError reads an ERR packet.
func serverError(b []byte) error {
	r := reader{b: b}
	r.u8()
	e := &gomysql.MyError{Code: r.u16()}
	if len(r.b) > 0 && r.b[0] == '#' {
		r.u8()
		e.State = string(r.take(5))
	}
	e.Message = string(r.b)
	if r.bad {
		return malformed("an error packet of %d bytes", len(b))
	}
	return e
}
