package s3

import (
	"container/list"
	"sync"
)

// The formats read in windows of 64 KiB, a column here and a column there, and a request costs some ten milliseconds, in
// which a connection moves a megabyte. So a read asks for more than it needs, and more each time that it goes on where
// the last one has ended.
const (
	firstAhead = 256 << 10
	mostAhead  = 1 << 20
	leastAhead = 64 << 10
)

// cache keeps what was read ahead, of all readers together: the least recently used goes first. When something goes that is
// asked for later, there are too many streams for the memory, and less is read ahead.
type cache struct {
	mu    sync.Mutex // guards the fields below and those of readers that say so
	most  int64
	bytes int64
	limit int64     // of one segment
	order list.List // of *segment, the most recently used in front
}

// segment is a run of a file's bytes that was asked for at once.
type segment struct {
	r         *reader
	off, size int64
	read      int64 // offset behind the last byte that was taken; guarded by the cache's mutex
	place     *list.Element

	once sync.Once // one goroutine fetches, others wait
	data []byte
	err  error
}

func newCache(most int64) *cache { return &cache{most: most, limit: mostAhead} }

// read gives some of the bytes at an offset, at least one. Large reads go past the cache.
func (c *cache) read(r *reader, b []byte, off int64) (int, error) {
	s := c.find(r, off, int64(len(b)))
	if s == nil {
		return len(b), r.fetch(b, off)
	}
	s.once.Do(func() {
		s.data = make([]byte, s.size)
		s.err = r.fetch(s.data, s.off)
	})
	if s.err != nil {
		c.finish(s, s.off)
		return 0, s.err
	}
	n := copy(b, s.data[off-s.off:])
	c.finish(s, off+int64(n))
	return n, nil
}

// find returns the segment that has an offset, a new one if need be; nil if the read is not worth one.
func (c *cache) find(r *reader, off, want int64) *segment {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range r.segments {
		if s.off <= off && off < s.off+s.size {
			c.order.MoveToFront(s.place)
			return s
		}
	}
	size := int64(firstAhead)
	switch m, ok := r.marks[off]; {
	case ok && m.evicted:
		c.limit = max(c.limit/2, leastAhead)
		size = m.size
	case ok:
		c.limit = min(c.limit+leastAhead/4, mostAhead)
		size = 2 * m.size
	}
	delete(r.marks, off)
	size = min(size, c.limit, r.size-off)
	if want >= size || size > c.most {
		return nil
	}
	s := &segment{r: r, off: off, size: size, read: off}
	r.segments = append(r.segments, s)
	s.place = c.order.PushFront(s)
	for c.bytes += size; c.bytes > c.most; {
		old := c.order.Back().Value.(*segment)
		c.remove(old)
		old.r.mark(old.read, mark{old.size, true})
	}
	return s
}

// finish drops a segment whose last byte was taken, or that could not be had.
func (c *cache) finish(s *segment, read int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.read = max(s.read, read)
	if s.place != nil && (s.read == s.off+s.size || s.err != nil) {
		c.remove(s)
		if s.err == nil {
			s.r.mark(s.read, mark{size: s.size})
		}
	}
}

func (c *cache) remove(s *segment) {
	c.order.Remove(s.place)
	s.place = nil
	c.bytes -= s.size
	for i, other := range s.r.segments {
		if other == s {
			last := len(s.r.segments) - 1
			s.r.segments[i] = s.r.segments[last]
			s.r.segments[last] = nil
			s.r.segments = s.r.segments[:last]
			return
		}
	}
}

// forget drops what a reader has left.
func (c *cache) forget(r *reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(r.segments) > 0 {
		c.remove(r.segments[0])
	}
	r.marks = nil
}

// mark tells what ended at an offset.
type mark struct {
	size    int64
	evicted bool // it was dropped when it had been read as far as this
}

func (r *reader) mark(off int64, m mark) {
	if r.marks == nil {
		r.marks = map[int64]mark{}
	}
	r.marks[off] = m
}
