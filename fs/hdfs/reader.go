package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/paimon-go/paimon-go/fs"
)

// Open opens a file with one call to the NameNode. The Reader may be used concurrently.
func (f *FS) Open(ctx context.Context, uri string) (fs.Reader, error) {
	path, err := f.start(ctx, "open", uri)
	if err != nil {
		return nil, err
	}
	l, err := f.nn.locate(ctx, path)
	if err != nil {
		return nil, err
	}
	if l.encrypted {
		return nil, &opError{op: "open", path: uri, cause: errors.New("the file lies in an encryption zone, which is not supported")}
	}
	if l.ec && l.size > 0 {
		return f.openWeb(ctx, uri, path, l.size)
	}
	return &reader{f: f, ctx: ctx, path: path, size: l.size, blocks: l.blocks}, nil
}

// reader reads at any offset. When the same file is read on and on, a stream is kept to the end of its block.
type reader struct {
	f    *FS
	ctx  context.Context // of Open; ends the waiting for another try, not the reading
	path string
	size int64

	mu      sync.Mutex
	blocks  []block
	streams []*placed // unfinished ones, not in use
	next    int64     // where a read has ended last
	closed  bool
}

// placed is a stream and the place in the file where it stands.
type placed struct {
	*blockStream
	base int64 // of its block
}

func (p *placed) pos() int64 { return p.base + p.at }

func (r *reader) Size() int64 { return r.size }

func (r *reader) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, &opError{op: "read", path: r.f.uri + r.path, cause: errors.New("negative offset")}
	}
	if off >= r.size {
		return 0, io.EOF
	}
	want := b
	if rest := r.size - off; int64(len(b)) > rest {
		want = b[:rest]
	}
	n, err := r.readAll(want, off)
	if err != nil {
		return n, wrap("read", r.f.uri+r.path, err)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// readAll fills b, and tries again when no DataNode gives the bytes: blocks move, and tokens expire.
func (r *reader) readAll(b []byte, off int64) (int, error) {
	more := retryUntil(r.f.retryFor)
	done := 0
	for done < len(b) {
		n, err := r.readSome(b[done:], off+int64(done))
		done += n
		if err == nil {
			continue
		}
		var replicas *replicaError
		if !errors.As(err, &replicas) {
			return done, err
		}
		if n > 0 {
			more = retryUntil(r.f.retryFor)
		}
		if !more.again(r.ctx) {
			return done, &opError{"read", r.f.uri + r.path, fs.ErrTransient, err, "all datanodes that have the block were tried"}
		}
		if err := r.refresh(); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (r *reader) refresh() error {
	l, err := r.f.nn.locate(r.ctx, r.path)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !continues(r.blocks, l.blocks) {
		return &opError{"read", r.f.uri + r.path, fs.ErrTransient, errReplaced, ""}
	}
	if l.size < r.size {
		return fmt.Errorf("%s has become shorter", r.path)
	}
	r.blocks = l.blocks
	return nil
}

var errReplaced = errors.New("the file was replaced while it was read")

// continues tells whether a file still has its blocks. Each has a number that no other gets.
func continues(before, now []block) bool {
	return len(now) >= len(before) && slices.EqualFunc(before, now[:len(before)], func(a, b block) bool {
		return a.id.pool == b.id.pool && a.id.blockID == b.id.blockID && a.offset == b.offset
	})
}

// readSome reads from one block.
func (r *reader) readSome(b []byte, off int64) (int, error) {
	k, err := r.blockAt(off)
	if err != nil {
		return 0, err
	}
	if rest := k.offset + k.id.numBytes - off; int64(len(b)) > rest {
		b = b[:rest]
	}
	failed := &replicaError{}
	if s := r.takeStream(off, k); s != nil {
		n, err := r.use(s, b)
		if err == nil || n > 0 {
			return n, nil
		}
		failed.errs = append(failed.errs, err)
	}
	if k.corrupt {
		failed.errs = append(failed.errs, errors.New("all replicas of the block are corrupt"))
	}
	for _, x := range r.f.order(k.nodes) {
		s, err := r.f.dn.openStream(r.lasting(), x, k, r.f.holder, off-k.offset, r.extent(k, off, len(b)))
		if err == nil {
			var n int
			if n, err = r.use(&placed{s, k.offset}, b); err == nil || n > 0 {
				return n, nil
			}
			err = &nodeError{x, err}
		}
		failed.errs = append(failed.errs, err)
		if errors.Is(err, errConfig) || fromNameNode(err) {
			return 0, err
		}
		if !errors.Is(err, errToken) && !errors.Is(err, errChecksum) && isConnection(err) {
			r.f.nodes.mark(x, err)
		}
	}
	return 0, failed
}

// lasting is the context for reading itself: a reader outlives the context of Open.
func (r *reader) lasting() context.Context { return context.WithoutCancel(r.ctx) }

// extent decides how much to ask for: what is wanted, or the rest of the block when the file is being read in order.
func (r *reader) extent(k block, off int64, n int) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == off && off > 0 {
		return k.offset + k.id.numBytes - off
	}
	return int64(n)
}

// use reads from a stream and keeps it if there is more in it.
func (r *reader) use(s *placed, b []byte) (int, error) {
	n, err := s.read(b)
	if err != nil {
		_ = s.conn.Close()
		return n, err
	}
	if s.at >= s.end {
		s.finish(r.f.dn)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = s.pos()
	switch {
	case s.at >= s.end:
	case r.closed || len(r.streams) >= 4:
		_ = s.conn.Close()
	default:
		r.streams = append(r.streams, s)
	}
	return n, nil
}

// takeStream returns the stream that stands at an offset.
func (r *reader) takeStream(off int64, k block) *placed {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, s := range r.streams {
		if s.pos() == off && s.base == k.offset {
			r.streams = append(r.streams[:i], r.streams[i+1:]...)
			return s
		}
	}
	return nil
}

func (r *reader) blockAt(off int64) (block, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return block{}, errors.New("the reader is closed")
	}
	i := sort.Search(len(r.blocks), func(i int) bool { return r.blocks[i].offset+r.blocks[i].id.numBytes > off })
	if i == len(r.blocks) || r.blocks[i].offset > off {
		return block{}, fmt.Errorf("no block has offset %d of %d", off, r.size)
	}
	return r.blocks[i], nil
}

func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, s := range r.streams {
		_ = s.conn.Close()
	}
	r.streams = nil
	return nil
}
