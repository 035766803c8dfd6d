package hashindex

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// Store is the local files of one writer's index.
type Store struct {
	dirs []string
	next atomic.Uint32

	mapped atomic.Int64
	heap   atomic.Int64
	onHeap func(delta int64)

	mu   sync.Mutex
	f    *os.File // guarded by mu until made; the lists, in chunks
	name string
	end  int64   // guarded by mu; chunks so far
	free []int32 // guarded by mu
}

const (
	chunkHashes = 16 << 10 // of a list, in the store's file
	chunkBytes  = 4 * chunkHashes
	tailHashes  = 1 << 10 // of a list, in memory
)

// NewStore makes files in dirs; none: the system's directory for temporary files. onHeap is told how the memory on the heap changes, nil:
// nobody is.
func NewStore(dirs []string, onHeap func(delta int64)) (*Store, error) {
	s := &Store{dirs: dirs, onHeap: onHeap}
	if len(dirs) == 0 {
		s.dirs = []string{os.TempDir()}
	}
	for _, d := range s.dirs {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("making a directory for the index of keys: %w", err)
		}
	}
	return s, nil
}

// Mapped returns the bytes of files that are mapped into memory; Heap what is on the heap.
func (s *Store) Mapped() int64 { return s.mapped.Load() }

// Heap returns the bytes on the heap.
func (s *Store) Heap() int64 { return s.heap.Load() }

func (s *Store) grew(n int64) {
	s.heap.Add(n)
	if s.onHeap != nil && n != 0 {
		s.onHeap(n)
	}
}

// Close gives the files up. Partitions must have been released.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
	}
	s.f = nil
	s.grew(-4 * int64(cap(s.free)))
	s.free = nil
	return err
}

// dir returns where the next file goes.
func (s *Store) dir() string { return s.dirs[int(s.next.Add(1))%len(s.dirs)] }

func scratchFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "paimon-go-index-*")
	if err != nil {
		return nil, fmt.Errorf("making a file for the index of keys: %w", err)
	}
	return f, nil
}

// chunk returns a free chunk of the file.
func (s *Store) chunk() (int32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		f, err := scratchFile(s.dir())
		if err != nil {
			return 0, err
		}
		s.f, s.name = f, hide(f)
	}
	if n := len(s.free); n > 0 {
		c := s.free[n-1]
		s.free = s.free[:n-1]
		return c, nil
	}
	s.end++
	return int32(s.end - 1), nil
}

func (s *Store) release(chunks []int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := cap(s.free)
	s.free = append(s.free, chunks...)
	s.grew(4 * int64(cap(s.free)-before))
}

// writeZeros fills a file where the system can't reserve blocks.
func writeZeros(f *os.File, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			return err
		}
	}
	return nil
}

// list is the hashes of a bucket in the order of their arrival, as they stand in its index file: big-endian, one after the other.
type list struct {
	chunks []int32
	n      int64  // hashes, those in tail too
	tail   []byte // not in the file yet
}

// append adds a hash.
func (l *list) append(s *Store, hash int32) error {
	if l.tail == nil {
		l.tail = make([]byte, 0, 4*tailHashes)
		s.grew(4 * tailHashes)
	}
	l.tail = append(l.tail, byte(hash>>24), byte(hash>>16), byte(hash>>8), byte(hash))
	l.n++
	if len(l.tail) == cap(l.tail) {
		return l.write(s)
	}
	return nil
}

// write puts the tail into the file.
func (l *list) write(s *Store) error {
	p, at := l.tail, l.n*4-int64(len(l.tail))
	for len(p) > 0 {
		if at == int64(len(l.chunks))*chunkBytes {
			c, err := s.chunk()
			if err != nil {
				return err
			}
			before := cap(l.chunks)
			l.chunks = append(l.chunks, c)
			s.grew(4 * int64(cap(l.chunks)-before))
		}
		in := at % chunkBytes
		k := min(int64(len(p)), chunkBytes-in)
		if _, err := s.f.WriteAt(p[:k], int64(l.chunks[at/chunkBytes])*chunkBytes+in); err != nil {
			return fmt.Errorf("writing the index of keys to local disk: %w", err)
		}
		p, at = p[k:], at+k
	}
	l.tail = l.tail[:0]
	return nil
}

// settle puts all of the list into the file and gives its memory back.
func (l *list) settle(s *Store) error {
	if err := l.write(s); err != nil {
		return err
	}
	if l.tail != nil {
		s.grew(-4 * tailHashes)
		l.tail = nil
	}
	return nil
}

func (l *list) drop(s *Store) {
	if l.tail != nil {
		s.grew(-4 * tailHashes)
	}
	s.release(l.chunks)
	s.grew(-4 * int64(cap(l.chunks)))
	*l = list{}
}

// Content is what the list of a bucket was when it was taken. It may be read by any goroutine for as long as the partition is not released.
type Content struct {
	store  *Store
	chunks []int32
	n      int64
}

// Rows returns the number of hashes.
func (c *Content) Rows() int64 { return c.n }

// WriteTo writes the hashes as an index file has them.
func (c *Content) WriteTo(w io.Writer) (int64, error) {
	buf := make([]byte, min(chunkBytes, max(c.n*4, 1)))
	done := int64(0)
	for _, chunk := range c.chunks {
		p := buf[:min(c.n*4-done, chunkBytes)]
		if len(p) == 0 {
			break
		}
		if _, err := c.store.f.ReadAt(p, int64(chunk)*chunkBytes); err != nil {
			return done, fmt.Errorf("reading the index of keys from local disk: %w", err)
		}
		k, err := w.Write(p)
		done += int64(k)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
