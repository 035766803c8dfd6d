package s3

import (
	"container/list"
	"sync"
)

// blockBytes is what a read asks for at least: the formats read in windows of 64 KiB, and a request costs some ten
// milliseconds, in which a connection moves about so much.
const blockBytes = 1 << 20

// blocks keeps what was read ahead, of all readers together: the least recently used goes first.
type blocks struct {
	mu    sync.Mutex // guards the fields below
	most  int64
	bytes int64
	byKey map[blockKey]*list.Element
	order list.List // of *block, the most recently used in front
}

type blockKey struct {
	r   *reader
	num int64
}

type block struct {
	key  blockKey
	once sync.Once // one goroutine reads, others wait
	data []byte
	err  error
}

func newBlocks(most int64) *blocks { return &blocks{most: most, byKey: map[blockKey]*list.Element{}} }

// read gives some bytes at an offset, at least one. Reads of a block and more go past the cache.
func (c *blocks) read(r *reader, b []byte, off int64) (int, error) {
	num := off / blockBytes
	if start := num * blockBytes; len(b) >= blockBytes && off == start || c.most < 2*blockBytes {
		return len(b), r.fetch(b, off)
	}
	bl := c.block(blockKey{r, num})
	bl.once.Do(func() {
		bl.data = make([]byte, min(blockBytes, r.size-num*blockBytes))
		bl.err = r.fetch(bl.data, num*blockBytes)
	})
	if bl.err != nil {
		c.drop(bl)
		return 0, bl.err
	}
	n := copy(b, bl.data[off-num*blockBytes:])
	if off+int64(n) == num*blockBytes+int64(len(bl.data)) {
		c.drop(bl) // read to its end: files are read forward
	}
	return n, nil
}

func (c *blocks) block(key blockKey) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[key]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(*block)
	}
	bl := &block{key: key}
	c.byKey[key] = c.order.PushFront(bl)
	for c.bytes += blockBytes; c.bytes > c.most && c.order.Len() > 1; {
		c.remove(c.order.Back())
	}
	return bl
}

func (c *blocks) drop(bl *block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[bl.key]; e != nil && e.Value.(*block) == bl {
		c.remove(e)
	}
}

func (c *blocks) remove(e *list.Element) {
	c.order.Remove(e)
	delete(c.byKey, e.Value.(*block).key)
	c.bytes -= blockBytes
}

// forget drops what a reader has left.
func (c *blocks) forget(r *reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Front(); e != nil; {
		next := e.Next()
		if e.Value.(*block).key.r == r {
			c.remove(e)
		}
		e = next
	}
}
