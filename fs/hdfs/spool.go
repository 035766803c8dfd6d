package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/fs"
)

// spoolChunk is a multiple of chunkSize, so that a packet from the beginning of one can be all of it.
const spoolChunk = 256 << 10

// spool keeps the bytes of a file until it is written for sure: the first ones in memory, as far as that goes; when there is no
// more of it, later ones in a local file that has no name any more, and the last of those in memory too, as they are sent next. One
// goroutine appends, one reads, as often as it needs to.
type spool struct {
	dir    string
	shared *chunks
	own    int // chunks of the heap that stay in memory
	head   int // chunks that stay in memory

	mu     sync.Mutex
	chunks [][]byte // the first ones
	recent [][]byte // of chunk i the one at (i-head) % len(recent), overwritten by later ones
	size   int64
	begun  int // number of chunks; all but the last one are full, and in memory for good or in the file
	file   *os.File
	ended  bool
	shown  int           // the chunk that the reader looks into, -1: none
	taken  int64         // what the reader has got in this try
	need   int64         // the size that the reader waits for
	grown  chan struct{} // closed and replaced when that is reached
	held   bool          // somebody waits for the reader
	moved  chan struct{} // closed and replaced when it moves

	buf []byte // the reader's
}

func newSpool(limit int64, shared *chunks, dir string) *spool {
	n := int(limit / spoolChunk)
	head := max(n/2, 1)
	return &spool{dir: dir, shared: shared, own: head, head: head, recent: make([][]byte, max(n-head, 1)), shown: -1, grown: make(chan struct{}), moved: make(chan struct{})}
}

// append takes more bytes. It copies them where the reader doesn't look yet, and only tells it under the lock how far it may go.
func (s *spool) append(b []byte) error {
	size := s.size // nobody else changes it
	for len(b) > 0 {
		i, at := int(size/spoolChunk), int(size%spoolChunk)
		if at == 0 {
			if err := s.begin(i); err != nil {
				return err
			}
		}
		n := min(len(b), spoolChunk-at)
		s.fill(i, b[:n])
		size, b = size+int64(n), b[n:]
		if at+n == spoolChunk {
			if err := s.keep(i); err != nil {
				return err
			}
		}
		s.grow(size)
	}
	return nil
}

// begin makes room for another chunk.
func (s *spool) begin(i int) error {
	var chunk []byte
	if i >= s.head && s.file == nil {
		chunk = s.shared.get()
	}
	if i >= s.head && chunk == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = i + 1
	if i < s.head || chunk != nil {
		s.head = max(s.head, i+1)
		s.chunks = append(s.chunks, chunk)
		return nil
	}
	slot := &s.recent[(i-s.head)%len(s.recent)]
	if *slot == nil || s.shown == i-len(s.recent) { // it must not change while it is looked at
		*slot = make([]byte, 0, spoolChunk)
	}
	*slot = (*slot)[:0]
	return nil
}

// place is where a chunk is in memory.
func (s *spool) place(i int) *[]byte {
	if i < s.head {
		return &s.chunks[i]
	}
	return &s.recent[(i-s.head)%len(s.recent)]
}

func (s *spool) fill(i int, b []byte) {
	p := s.place(i)
	c := *p
	if i > 0 && c == nil { // of a large file: it won't stay small
		c = make([]byte, 0, spoolChunk)
	}
	c = append(c, b...)
	s.mu.Lock()
	*p = c
	s.mu.Unlock()
}

// keep brings a full chunk into the file, unless it stays in memory.
func (s *spool) keep(i int) error {
	if i >= s.head {
		if _, err := s.file.WriteAt(*s.place(i), int64(i-s.head)*spoolChunk); err != nil {
			return fmt.Errorf("keeping bytes for another try: %w", fs.Classify(err))
		}
	}
	return nil
}

func (s *spool) open() error {
	if s.file != nil {
		return nil
	}
	f, err := os.CreateTemp(s.dir, ".paimon-go-hdfs-*")
	if err != nil {
		return fmt.Errorf("keeping bytes for another try: %w", fs.Classify(err))
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return fmt.Errorf("keeping bytes for another try: %w", fs.Classify(err))
	}
	s.mu.Lock()
	s.file = f
	s.mu.Unlock()
	return nil
}

// grow tells the reader of more bytes, when it has enough of them to go on.
func (s *spool) grow(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size = size
	if size >= s.need {
		s.wake()
	}
}

func (s *spool) wake() {
	close(s.grown)
	s.grown = make(chan struct{})
	s.need = 1<<63 - 1
}

// end tells the reader that no more bytes come.
func (s *spool) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake()
}

// await returns the size, whether it is final, and what is closed when it is final or as large as need.
func (s *spool) await(need int64) (int64, bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.need = need
	return s.size, s.ended, s.grown
}

var errIdle = errors.New("no bytes yet")

// next returns n bytes from an offset, good until the next call, or fewer up to a multiple of spoolChunk. It waits until they
// are there or the end is known, and after patience returns errIdle. At the end it returns what is left and io.EOF.
func (s *spool) next(ctx context.Context, off int64, n int, patience time.Duration) ([]byte, error) {
	n = min(n, spoolChunk-int(off%spoolChunk))
	var idle <-chan time.Time
	for {
		size, ended, grown := s.await(off + int64(n))
		if size >= off+int64(n) {
			return s.view(off, n)
		}
		if ended {
			b, err := s.view(off, int(max(size-off, 0)))
			if err == nil {
				err = io.EOF
			}
			return b, err
		}
		if idle == nil {
			t := time.NewTimer(patience)
			defer t.Stop()
			idle = t.C
		}
		select {
		case <-grown:
		case <-idle:
			return nil, errIdle
		case <-ctx.Done():
			return nil, endedBy(ctx, nil)
		}
	}
}

// view gives bytes of one chunk, that are there.
func (s *spool) view(off int64, n int) ([]byte, error) {
	i, at := int(off/spoolChunk), int(off%spoolChunk)
	s.mu.Lock()
	s.taken = off // what came before has been sent
	if s.held {
		s.held = false
		close(s.moved)
		s.moved = make(chan struct{})
	}
	s.shown = -1
	f := s.file
	if n == 0 || i < s.head || i >= s.begun-len(s.recent) {
		defer s.mu.Unlock()
		if n == 0 {
			return nil, nil
		}
		s.shown = i
		return (*s.place(i))[at : at+n], nil
	}
	s.mu.Unlock()
	if s.buf == nil {
		s.buf = make([]byte, spoolChunk)
	}
	b := s.buf[:n]
	if _, err := f.ReadAt(b, off-int64(s.head)*spoolChunk); err != nil {
		return nil, fmt.Errorf("reading bytes that were kept for another try: %w", fs.Classify(err))
	}
	return b, nil
}

// ahead tells how many bytes the reader has yet to send, and gives a channel that is closed when it has sent some.
func (s *spool) ahead() (int64, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
	return s.size - s.taken, s.moved
}

func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.chunks) > s.own {
		s.shared.put(s.chunks[s.own:])
	}
	s.chunks, s.recent = nil, nil
	if s.file != nil {
		_ = s.file.Close()
	}
}
