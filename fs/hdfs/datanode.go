package hdfs

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The data transfer protocol: one operation is asked for on a connection, then packets flow. Written from its description
// in Hadoop's datatransfer.proto; the client library's version can't be reached from outside and does not survive the loss
// of a DataNode.

const (
	transferVersion = 28
	opWriteBlock    = 80
	opReadBlock     = 81

	dnSuccess    = 0
	dnChecksumOK = 6

	checksumNull   = 0
	checksumCRC32  = 1
	checksumCRC32C = 2
)

// dnConn is a connection to a DataNode.
type dnConn struct {
	net.Conn
	r      *bufio.Reader
	raw    *net.TCPConn // if what is written goes there as it is
	parts  [2][]byte    // of writeBoth
	list   net.Buffers  // of them
	joined []byte
	addr   string
	reused bool
	until  time.Time // when a kept one is closed
}

// nodeError is a failure that one DataNode is to blame for.
type nodeError struct {
	node node
	err  error
}

func (e *nodeError) Error() string {
	return fmt.Sprintf("datanode %s: %v", e.node, e.err)
}
func (e *nodeError) Unwrap() error { return e.err }

// errToken is an answer that a block token is no longer good.
var errToken = errors.New("the block token is not accepted")

// connector makes connections to DataNodes.
type connector struct {
	useHostname bool
	timeout     time.Duration
	mapAddr     func(string) string
	secure      func(ctx context.Context, c net.Conn, t token) (net.Conn, error) // nil on clusters without SASL

	pool atomic.Pointer[string] // the block pool of the last block, which every node of the cluster serves

	mu     sync.Mutex
	kept   []*dnConn // for the next read
	reaper *time.Timer
	closed bool
}

func (d *connector) addr(n node) string {
	host := n.ip
	if d.useHostname || host == "" {
		host = n.host
	}
	return net.JoinHostPort(host, strconv.Itoa(n.port))
}

func (d *connector) dial(ctx context.Context, n node, t token) (*dnConn, error) {
	addr := d.addr(n)
	to := addr
	if d.mapAddr != nil {
		to = d.mapAddr(addr)
	}
	c, err := (&net.Dialer{Timeout: d.timeout}).DialContext(ctx, "tcp", to)
	if err != nil {
		return nil, &nodeError{n, err}
	}
	if d.secure != nil {
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(d.timeout))
		s, err := d.secure(ctx, c, t)
		if !stop() && err == nil {
			err = endedBy(ctx, nil)
		}
		if err != nil {
			_ = c.Close()
			if fromNameNode(err) {
				return nil, err // it has given no key, which is no fault of the node's
			}
			return nil, &nodeError{n, fmt.Errorf("securing the connection: %w", err)}
		}
		c = s
	}
	return &dnConn{Conn: c, r: bufio.NewReaderSize(c, 8<<10), raw: rawConn(c), addr: addr}, nil
}

// rawConn is the connection below c if bytes go through it unchanged, else nil.
func rawConn(c net.Conn) *net.TCPConn {
	if p, ok := c.(*plainConn); ok {
		c = p.Conn
	}
	raw, _ := c.(*net.TCPConn)
	return raw
}

// writeBoth writes two parts as one, by one call of the system where that is possible.
func (c *dnConn) writeBoth(a, b []byte) error {
	if c.raw == nil || len(b) == 0 {
		if len(b) > 0 {
			c.joined = append(append(c.joined[:0], a...), b...)
			a = c.joined
		}
		_, err := c.Write(a)
		return err
	}
	c.parts = [2][]byte{a, b}
	c.list = c.parts[:]
	_, err := c.list.WriteTo(c.raw)
	return err
}

// request sends an operation. The version is two bytes, the operation one, then the message with its length.
func (c *dnConn) request(op byte, msg enc) error {
	b := append([]byte{0, transferVersion, op}, msg.delimited()...)
	_, err := c.Write(b)
	return err
}

// maxAnswer bounds what we read as one message of a DataNode.
const maxAnswer = 1 << 20

// message reads a message with its length in front.
func (c *dnConn) message() ([]byte, error) { return readMessage(c.r) }

func readMessage(r *bufio.Reader) ([]byte, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, noEOF(err)
	}
	if n > maxAnswer {
		return nil, fmt.Errorf("%w: message of %d bytes", errWire, n)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return b, noEOF(err)
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// opAnswer is a DataNode's first answer to an operation.
type opAnswer struct {
	status   uint64
	badLink  string // the node further down that couldn't be reached
	text     string
	checksum uint64
	perSum   int
	offset   int64 // where the packets begin
}

func (c *dnConn) answer() (opAnswer, error) {
	b, err := c.message()
	if err != nil {
		return opAnswer{}, err
	}
	return parseAnswer(b)
}

func parseAnswer(b []byte) (opAnswer, error) {
	var a opAnswer
	err := fields(b, func(f field) error {
		switch f.id {
		case 1:
			a.status = f.num
		case 2:
			a.badLink = string(f.raw)
		case 4:
			return fields(f.raw, func(f field) error {
				switch f.id {
				case 1:
					return fields(f.raw, func(f field) error {
						switch f.id {
						case 1:
							a.checksum = f.num
						case 2:
							a.perSum = int(f.num)
						}
						return nil
					})
				case 2:
					a.offset = int64(f.num)
				}
				return nil
			})
		case 5:
			a.text = string(f.raw)
		}
		return nil
	})
	return a, err
}

func (a opAnswer) err() error {
	switch {
	case a.status == dnSuccess:
		return nil
	case a.status == 5:
		return fmt.Errorf("%w: %s", errToken, a.text)
	case a.text != "":
		return fmt.Errorf("%s: %s", statusName(a.status), a.text)
	}
	return errors.New(statusName(a.status))
}

var statusNames = []string{"SUCCESS", "ERROR", "ERROR_CHECKSUM", "ERROR_INVALID", "ERROR_EXISTS", "ERROR_ACCESS_TOKEN",
	"CHECKSUM_OK", "ERROR_UNSUPPORTED", "OOB_RESTART", "OOB_RESERVED1", "OOB_RESERVED2", "OOB_RESERVED3", "IN_PROGRESS",
	"ERROR_BLOCK_PINNED"}

func statusName(s uint64) string {
	if s < uint64(len(statusNames)) {
		return statusNames[s]
	}
	return fmt.Sprint("status ", s)
}

// opHeader is the part that read and write have in common.
func opHeader(b block, client string) []byte {
	var base, head enc
	base.bytes(1, b.id.encode())
	if b.token.raw != nil {
		base.bytes(2, b.token.raw)
	}
	head.bytes(1, base).str(2, client)
	return head
}
