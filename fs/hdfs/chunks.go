package hdfs

import (
	"sync"
	"time"
)

// chunks are the memory that all spools share, beside the little that each has of its own. It lies outside the heap, where it
// would make the collector run more often, and is given back to the system when no spool has needed it for a while.
type chunks struct {
	limit int64 // bytes

	mu   sync.Mutex
	free [][]byte
	out  int // how many spools have
	trim *time.Timer
}

const chunksIdle = 30 * time.Second

// get returns a chunk of length 0, nil when all are in use.
func (c *chunks) get() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 {
		b := c.free[n-1]
		c.free = c.free[:n-1]
		c.out++
		return b
	}
	if int64(c.out+1)*spoolChunk > c.limit {
		return nil
	}
	b := mapMemory(spoolChunk)
	if b == nil {
		return nil
	}
	c.out++
	return b[:0]
}

func (c *chunks) put(list [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range list {
		c.free = append(c.free, b[:0])
	}
	c.out -= len(list)
	switch {
	case len(c.free) == 0:
	case c.trim == nil:
		c.trim = time.AfterFunc(chunksIdle, c.release)
	default:
		c.trim.Reset(chunksIdle)
	}
}

// release unmaps what no spool has.
func (c *chunks) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.free {
		unmapMemory(b[:spoolChunk])
	}
	c.free = nil
}

func (c *chunks) close() {
	c.mu.Lock()
	if c.trim != nil {
		c.trim.Stop()
	}
	c.mu.Unlock()
	c.release()
}
