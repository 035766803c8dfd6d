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

const spoolChunk = 256 << 10

// spool keeps the bytes of a file until it is written for sure: in memory up to a limit, then in a local file that has no name
// any more. One goroutine appends, one reads, as often as it needs to.
type spool struct {
	limit int64 // bytes in memory
	dir   string

	mu     sync.Mutex
	chunks [][]byte
	size   int64
	file   *os.File // bytes from limit on
	ended  bool
	taken  int64         // what the reader has got in this try
	grown  chan struct{} // closed and replaced at each change
	moved  chan struct{} // the same, of taken
}

func newSpool(limit int64, dir string) *spool {
	return &spool{limit: max(limit/spoolChunk, 1) * spoolChunk, dir: dir, grown: make(chan struct{}), moved: make(chan struct{})}
}

func (s *spool) append(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(b) > 0 && s.size < s.limit {
		i, at := int(s.size/spoolChunk), int(s.size%spoolChunk)
		if at == 0 {
			s.chunks = append(s.chunks, nil)
		}
		n := min(len(b), spoolChunk-at)
		s.chunks[i] = append(s.chunks[i], b[:n]...)
		s.size += int64(n)
		b = b[n:]
	}
	if len(b) > 0 {
		if err := s.overflow(b); err != nil {
			return err
		}
	}
	s.changed()
	return nil
}

func (s *spool) overflow(b []byte) error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, ".paimon-go-hdfs-*")
		if err != nil {
			return fmt.Errorf("keeping bytes for another try: %w", fs.Classify(err))
		}
		if err := os.Remove(f.Name()); err != nil {
			_ = f.Close()
			return fmt.Errorf("keeping bytes for another try: %w", fs.Classify(err))
		}
		s.file = f
	}
	n, err := s.file.WriteAt(b, s.size-s.limit)
	s.size += int64(n)
	if err != nil {
		return fmt.Errorf("keeping bytes for another try: %w", fs.Classify(err))
	}
	return nil
}

func (s *spool) changed() {
	close(s.grown)
	s.grown = make(chan struct{})
}

// end tells the reader that no more bytes come.
func (s *spool) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.changed()
}

// state returns the size, whether it is final, and a channel that is closed when that changes.
func (s *spool) state() (int64, bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, s.ended, s.grown
}

var errIdle = errors.New("no bytes yet")

// read fills b from an offset. It waits until b is full or the end is known, and after patience returns errIdle. At the end it
// returns fewer bytes and io.EOF.
func (s *spool) read(ctx context.Context, b []byte, off int64, patience time.Duration) (int, error) {
	var idle <-chan time.Time
	for {
		size, ended, grown := s.state()
		if size >= off+int64(len(b)) {
			return len(b), s.copy(b, off)
		}
		if ended {
			n := max(size-off, 0)
			if err := s.copy(b[:n], off); err != nil {
				return 0, err
			}
			return int(n), io.EOF
		}
		if idle == nil {
			t := time.NewTimer(patience)
			defer t.Stop()
			idle = t.C
		}
		select {
		case <-grown:
		case <-idle:
			return 0, errIdle
		case <-ctx.Done():
			return 0, endedBy(ctx, nil)
		}
	}
}

// ahead tells how many bytes the reader has yet to take, and gives a channel that is closed when it takes some.
func (s *spool) ahead() (int64, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size - s.taken, s.moved
}

func (s *spool) took(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = n
	close(s.moved)
	s.moved = make(chan struct{})
}

func (s *spool) copy(b []byte, off int64) error {
	defer s.took(off + int64(len(b)))
	for len(b) > 0 && off < s.limit {
		s.mu.Lock()
		chunk := s.chunks[off/spoolChunk]
		s.mu.Unlock()
		n := copy(b, chunk[off%spoolChunk:])
		b, off = b[n:], off+int64(n)
	}
	if len(b) == 0 {
		return nil
	}
	s.mu.Lock()
	f := s.file
	s.mu.Unlock()
	if _, err := f.ReadAt(b, off-s.limit); err != nil {
		return fmt.Errorf("reading bytes that were kept for another try: %w", fs.Classify(err))
	}
	return nil
}

func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chunks = nil
	if s.file != nil {
		_ = s.file.Close()
	}
}
