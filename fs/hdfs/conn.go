package hdfs

import (
	"context"
	"errors"
	"net"
	"reflect"
	"sync"
	"time"
	"unsafe"

	hdfs "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// conn is one connection to the NameNode, for one call at a time.
//
// The client library connects, authenticates and finds the active NameNode. Its own operations replace the target of a
// rename, renew leases each second whether a file is open or not, and can't exclude a DataNode, so we use its connection
// only: this file gets at it by reflection. TestLibraryVersion fails when the library changes, so that somebody looks.
type conn struct {
	exec   executor
	dialer *dialer
	used   time.Time // when it was put back
}

type executor interface {
	Execute(method string, req, resp proto.Message) error
}

// dial connects to the NameNode that is active or may be. The library's client must not be closed by its own method
// afterwards: its lease renewal has been ended here.
func dial(ctx context.Context, opts hdfs.ClientOptions, d *dialer) (*conn, error) {
	opts.NamenodeDialFunc = func(_ context.Context, network, addr string) (net.Conn, error) {
		return d.dial(network, addr) // later ones are for others than who gave ctx
	}
	stop := context.AfterFunc(ctx, d.close)
	client, err := hdfs.NewClient(opts)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		d.close()
		return nil, err
	}
	exec, done, err := internals(client)
	if err != nil {
		d.close()
		return nil, err
	}
	close(done)
	return &conn{exec: exec, dialer: d}, nil
}

// internals returns the client's NameNode connection and the channel that ends its lease renewal.
func internals(client *hdfs.Client) (executor, chan struct{}, error) {
	nn, ok := unexported(reflect.ValueOf(client).Elem(), "namenode")
	if !ok {
		return nil, nil, errLibrary
	}
	exec, ok := nn.Interface().(executor)
	if !ok || nn.Kind() != reflect.Pointer {
		return nil, nil, errLibrary
	}
	d, ok := unexported(nn.Elem(), "done")
	if !ok {
		return nil, nil, errLibrary
	}
	done, ok := d.Interface().(chan struct{})
	if !ok {
		return nil, nil, errLibrary
	}
	return exec, done, nil
}

var errLibrary = errors.New("github.com/colinmarc/hdfs/v2 is not the version that this program was made for")

func unexported(v reflect.Value, name string) (reflect.Value, bool) {
	f := v.FieldByName(name)
	if !f.IsValid() || !f.CanAddr() {
		return reflect.Value{}, false
	}
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem(), true
}

// call sends one request and returns the answer. An Empty message keeps the fields that it doesn't know, so it carries any
// request or answer as bytes. After an error that is no answer of the NameNode's the connection is of no more use.
func (c *conn) call(ctx context.Context, method string, req []byte) ([]byte, error) {
	in, out := &emptypb.Empty{}, &emptypb.Empty{}
	in.ProtoReflect().SetUnknown(req)
	stop := context.AfterFunc(ctx, c.dialer.close)
	err := c.exec.Execute(method, in, out)
	if !stop() && err != nil && ctx.Err() != nil {
		return nil, endedBy(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	return out.ProtoReflect().GetUnknown(), nil
}

func (c *conn) close() { c.dialer.close() }

// dialer makes the connections of one conn and bounds each of their reads and writes: the library sets no time limit, and
// after a failed read it would take a late answer for that of its next call, so a connection that failed closes itself.
type dialer struct {
	timeout time.Duration
	mapAddr func(addr string) string
	life    context.Context // until close
	end     context.CancelFunc

	mu     sync.Mutex
	conns  []net.Conn
	closed bool
	last   string // address connected to last
}

func newDialer(timeout time.Duration, mapAddr func(string) string) *dialer {
	d := &dialer{timeout: timeout, mapAddr: mapAddr}
	d.life, d.end = context.WithCancel(context.Background())
	return d
}

func (d *dialer) dial(network, addr string) (net.Conn, error) {
	to := addr
	if d.mapAddr != nil {
		to = d.mapAddr(addr)
	}
	c, err := (&net.Dialer{Timeout: d.timeout}).DialContext(d.life, network, to)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if d.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	d.last = addr
	d.conns = append(d.conns, c)
	return &bounded{Conn: c, timeout: d.timeout}, nil
}

func (d *dialer) close() {
	d.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, c := range d.conns {
		_ = c.Close()
	}
	d.conns = nil
}

// address is the one that answered last.
func (d *dialer) address() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// bounded is a connection each of whose reads and writes has a time limit.
type bounded struct {
	net.Conn
	timeout time.Duration
}

func (c *bounded) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	if err != nil {
		_ = c.Close()
	}
	return n, err
}

func (c *bounded) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	if err != nil {
		_ = c.Close()
	}
	return n, err
}

// SetDeadline does nothing: the limits are ours.
func (c *bounded) SetDeadline(time.Time) error { return nil }
