package parquet

import "sync"

// blockSize is the size of the pieces that finished pages wait in: small enough that a table of hundreds of columns
// doesn't hold much, and never copied to grow.
const blockSize = 32 << 10

var blockPool = sync.Pool{New: func() any { return new([blockSize]byte) }}

// blocks is a byte string in pooled pieces.
type blocks struct {
	list []*[blockSize]byte
	n    int
}

func (b *blocks) append(p []byte) {
	for len(p) > 0 {
		at := b.n % blockSize
		if at == 0 {
			b.list = append(b.list, blockPool.Get().(*[blockSize]byte))
		}
		k := copy(b.list[len(b.list)-1][at:], p)
		b.n += k
		p = p[k:]
	}
}

// drain passes the bytes to f in order and is empty afterwards.
func (b *blocks) drain(f func([]byte)) {
	for _, p := range b.list {
		k := min(b.n, blockSize)
		f(p[:k])
		b.n -= k
	}
	b.reset()
}

func (b *blocks) reset() {
	for i, p := range b.list {
		blockPool.Put(p)
		b.list[i] = nil
	}
	b.list, b.n = b.list[:0], 0
}
