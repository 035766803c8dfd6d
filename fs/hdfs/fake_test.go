package hdfs

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// fakeCluster is a NameNode with DataNodes in this process, as far as we use them, with faults. What real ones do is tested by the
// integration tests; here it is what we do when answers are lost, late, or refuse.
type fakeCluster struct {
	t    *testing.T
	name net.Listener
	data []*fakeNode
	wg   sync.WaitGroup

	mu     sync.Mutex
	files  map[string]*fakeFile
	lastID uint64
	conns  map[net.Conn]bool
	fault  func(method string, n int) fault // n counts the calls of all methods
	calls  int
	seen   []string
	req    []byte // of the call that fault is asked about
}

type fakeFile struct {
	id     uint64
	dir    bool
	open   bool
	blocks []extendedBlock
}

func (f *fakeFile) size() (n int64) {
	for _, b := range f.blocks {
		n += b.numBytes
	}
	return n
}

// fault is what happens to a call.
type fault struct {
	lose  bool   // it isn't done, and the connection ends
	mute  bool   // it is done, and the connection ends
	class string // this exception is the answer
	text  string
}

func startFake(t *testing.T, dataNodes int) *fakeCluster {
	c := &fakeCluster{t: t, files: map[string]*fakeFile{"/": {id: 1, dir: true}}, lastID: 1, conns: map[net.Conn]bool{}}
	c.name = c.listen(c.serveName)
	for i := range dataNodes {
		n := &fakeNode{c: c, index: i, blocks: map[uint64][]byte{}}
		n.l = c.listen(n.serve)
		c.data = append(c.data, n)
	}
	t.Cleanup(c.stop)
	return c
}

func (c *fakeCluster) listen(serve func(net.Conn)) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(c.t, err)
	c.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.conns[conn] = true
			c.mu.Unlock()
			c.wg.Go(func() {
				serve(conn)
				_ = conn.Close()
				c.mu.Lock()
				delete(c.conns, conn)
				c.mu.Unlock()
			})
		}
	})
	return l
}

func (c *fakeCluster) stop() {
	_ = c.name.Close()
	for _, n := range c.data {
		_ = n.l.Close()
	}
	c.mu.Lock()
	for conn := range c.conns {
		_ = conn.Close()
	}
	c.mu.Unlock()
	c.wg.Wait()
}

// open makes a file system of the cluster.
func (c *fakeCluster) open(t *testing.T, change ...func(*Config)) *FS {
	cfg := Config{URI: "hdfs://" + c.name.Addr().String(), User: "tester", RetryFor: 10 * time.Second, CallTimeout: 5 * time.Second, DataTimeout: 5 * time.Second, SpoolDir: t.TempDir()}
	for _, f := range change {
		f(&cfg)
	}
	f, err := New(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// setFault makes faults from now on; n counts from 0 again.
func (c *fakeCluster) setFault(f func(method string, n int) fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault, c.calls, c.seen = f, 0, nil
}

func (c *fakeCluster) serveName(conn net.Conn) {
	r := bufio.NewReader(conn)
	if _, err := r.Discard(7); err != nil {
		return
	}
	for {
		var head [4]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(r, frame); err != nil {
			return
		}
		var parts [][]byte
		for len(frame) > 0 {
			p, n := protowire.ConsumeBytes(frame)
			parts, frame = append(parts, p), frame[n:]
		}
		var id uint64
		_ = fields(parts[0], func(f field) error {
			if f.id == 3 {
				id = f.num
			}
			return nil
		})
		if len(parts) < 3 {
			continue // the connection's context
		}
		method, _, _ := child(parts[1], 1)
		if !c.answer(conn, uint64(protowire.DecodeZigZag(id)), string(method), parts[2]) {
			return
		}
	}
}

func (c *fakeCluster) answer(conn net.Conn, id uint64, method string, req []byte) bool {
	c.mu.Lock()
	var x fault
	c.req = req
	if c.fault != nil {
		x = c.fault(method, c.calls)
	}
	c.calls++
	c.seen = append(c.seen, method)
	var resp []byte
	if x.class == "" && !x.lose {
		resp, x.class = c.do(method, req)
		if f := c.files[text(req, 1)]; x.class == javaMissing && f != nil && f.dir {
			x.text = "Path is not a file: " + text(req, 1)
		}
		if x.class == javaIO {
			x.text = "File x could only be written to 0 of the 1 minReplication nodes."
		}
	}
	c.mu.Unlock()
	if x.lose || x.mute {
		return false
	}
	var h enc
	h.num(1, id)
	if x.class != "" {
		h.num(2, 1).str(4, x.class).str(5, first(x.text, x.class+": told to"))
	} else {
		h.num(2, 0)
	}
	out := h.delimited()
	if x.class == "" {
		out = append(out, enc(resp).delimited()...)
	}
	_, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(out))), out...))
	return err == nil
}

const (
	javaMissing = "java.io.FileNotFoundException"
	javaBusy    = "org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException"
	javaExists  = "org.apache.hadoop.fs.FileAlreadyExistsException"
	javaStandby = "org.apache.hadoop.ipc.StandbyException"
	javaSafe    = "org.apache.hadoop.hdfs.server.namenode.SafeModeException"
	javaDenied  = "org.apache.hadoop.security.AccessControlException"
	javaQuota   = "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException"
	javaLease   = "org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException"
	javaEmpty   = "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"
	javaNoDir   = "org.apache.hadoop.fs.ParentNotDirectoryException"
	javaIO      = "java.io.IOException"
)

func text(req []byte, id protowire.Number) string { b, _, _ := child(req, id); return string(b) }

func number(req []byte, id protowire.Number) (v uint64) {
	_ = fields(req, func(f field) error {
		if f.id == id {
			v = f.num
		}
		return nil
	})
	return v
}

// do is the NameNode's work, under its lock.
func (c *fakeCluster) do(method string, req []byte) (resp enc, class string) {
	path := text(req, 1)
	f := c.files[path]
	switch method {
	case "getServerDefaults":
		var d enc
		d.num(1, 4<<20).num(2, 512).num(3, 64<<10).num(4, uint64(len(c.data))).num(5, 4096)
		resp.bytes(1, d)
	case "getFileInfo":
		if f != nil {
			resp.bytes(1, encodeStatus("", f))
		}
	case "getListing":
		if f != nil {
			resp.bytes(1, c.listing(path, text(req, 2)))
		}
	case "getBlockLocations":
		if f == nil || f.dir {
			return nil, javaMissing
		}
		resp.bytes(1, c.locations(f))
	case "create":
		return c.create(path, number(req, 4)&2 != 0)
	case "addBlock":
		return c.addBlock(f, req)
	case "complete":
		return c.complete(f, req)
	case "rename2":
		return nil, c.rename(path, text(req, 2), number(req, 3) != 0)
	case "delete":
		if f != nil && f.dir && len(c.children(path)) > 0 {
			return nil, javaEmpty
		}
		delete(c.files, path)
		resp.flag(1, f != nil)
	case "renewLease":
	default:
		return nil, "org.apache.hadoop.ipc.RpcNoSuchMethodException"
	}
	return resp, ""
}

const kindOfFile = 2

func encodeStatus(name string, f *fakeFile) enc {
	var e enc
	kind := uint64(kindOfFile)
	if f.dir {
		kind = kindDir
	}
	e.num(1, kind).str(2, name).num(3, uint64(f.size())).num(7, 1_700_000_000_000).num(13, f.id)
	return e
}

func (c *fakeCluster) children(path string) []string {
	var out []string
	for p := range c.files {
		if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(path, "/")+"/"); ok && rest != "" && !strings.Contains(rest, "/") {
			out = append(out, rest)
		}
	}
	sort.Strings(out)
	return out
}

// listing gives two names at a time.
func (c *fakeCluster) listing(path, after string) enc {
	var e enc
	names := c.children(path)
	names = names[sort.Search(len(names), func(i int) bool { return names[i] > after }):]
	for _, n := range names[:min(2, len(names))] {
		e.bytes(1, encodeStatus(n, c.files[strings.TrimSuffix(path, "/")+"/"+n]))
	}
	e.num(2, uint64(max(len(names)-2, 0)))
	return e
}

func (c *fakeCluster) locations(f *fakeFile) enc {
	var e enc
	e.num(1, uint64(f.size()))
	var off int64
	for _, b := range f.blocks {
		var nodes []*fakeNode
		for _, n := range c.data {
			if n.has(b.blockID) {
				nodes = append(nodes, n)
			}
		}
		e.bytes(2, encodeBlock(b, off, nodes))
		off += b.numBytes
	}
	e.flag(3, f.open)
	return e
}

func encodeBlock(b extendedBlock, off int64, nodes []*fakeNode) enc {
	var e enc
	e.bytes(1, b.encode()).num(2, uint64(off))
	for _, n := range nodes {
		var id, info enc
		id.str(1, "127.0.0.1").str(2, "localhost").str(3, n.uuid()).num(4, uint64(n.l.Addr().(*net.TCPAddr).Port)).num(5, 1).num(6, 1)
		info.bytes(1, id)
		e.bytes(3, info)
	}
	e.flag(4, false).bytes(5, nil)
	return e
}

func (c *fakeCluster) create(path string, overwrite bool) (enc, string) {
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts)-1; i++ {
		dir := strings.Join(parts[:i+1], "/")
		if c.files[dir] == nil {
			c.lastID++
			c.files[dir] = &fakeFile{id: c.lastID, dir: true}
		}
		if !c.files[dir].dir {
			return nil, javaNoDir
		}
	}
	if c.files[path] != nil && !overwrite {
		return nil, javaBusy
	}
	c.lastID++
	f := &fakeFile{id: c.lastID, open: true}
	c.files[path] = f
	var e enc
	e.bytes(1, encodeStatus("", f))
	return e, ""
}

func (c *fakeCluster) addBlock(f *fakeFile, req []byte) (enc, string) {
	if f == nil || !f.open {
		return nil, javaLease
	}
	if raw, ok, _ := child(req, 3); ok {
		last, _ := parseExtendedBlock(raw)
		f.blocks[len(f.blocks)-1] = last
	}
	out := map[string]bool{}
	_ = fields(req, func(x field) error {
		if x.id == 4 {
			n, err := parseNode(x.raw)
			out[n.uuid] = true
			return err
		}
		return nil
	})
	var nodes []*fakeNode
	for _, n := range c.data {
		if !out[n.uuid()] {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return nil, javaIO
	}
	c.lastID++
	b := extendedBlock{pool: "pool", blockID: c.lastID, stamp: 1}
	f.blocks = append(f.blocks, b)
	var e enc
	e.bytes(1, encodeBlock(b, 0, nodes))
	return e, ""
}

func (c *fakeCluster) complete(f *fakeFile, req []byte) (enc, string) {
	if f == nil {
		return nil, javaLease
	}
	if raw, ok, _ := child(req, 3); ok {
		last, _ := parseExtendedBlock(raw)
		f.blocks[len(f.blocks)-1] = last
	}
	f.open = false
	var e enc
	e.flag(1, true)
	return e, ""
}

func (c *fakeCluster) rename(from, to string, replace bool) string {
	f := c.files[from]
	switch {
	case f == nil:
		return javaMissing
	case c.files[to] != nil && !replace:
		return javaExists
	}
	delete(c.files, from)
	c.files[to] = f
	return ""
}
