// Package mem is a file system in memory for tests. It knows what a real one would lose in a crash: CrashClone gives the
// state that a restarted process would find.
package mem

import (
	"bytes"
	"context"
	"fmt"
	"io"
	iofs "io/fs"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/paimon-go/paimon-go/fs"
)

// FS is a file system in memory. Use New.
type FS struct {
	mu    sync.Mutex // guards all below
	files map[string]*file
	dirs  map[string]time.Time
	// gone are removed files, whose removal a crash may undo.
	gone map[string]*file
}

var _ fs.FileSystem = (*FS)(nil)

// file is immutable once durable.
type file struct {
	data    []byte
	mod     time.Time
	durable bool
}

// New returns an empty file system.
func New() *FS {
	return &FS{files: map[string]*file{}, dirs: map[string]time.Time{}, gone: map[string]*file{}}
}

// CrashClone returns a copy as it would be after a crash in this moment in the plainest case: what Close, Publish and Replace
// have reported is there, files that are still being written are not. The original can go on.
func (m *FS) CrashClone() *FS { return m.crash(nil) }

// CrashCloneAtRandom returns a copy as it may be after a crash in this moment: files that are still being written are there
// with some of their bytes or not at all, and some of the removals since the last crash are undone, as removing makes nothing
// durable.
func (m *FS) CrashCloneAtRandom(rng *rand.Rand) *FS { return m.crash(rng) }

func (m *FS) crash(rng *rand.Rand) *FS {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := New()
	for path, at := range m.dirs {
		c.dirs[path] = at
	}
	for _, path := range sorted(m.files) {
		f := m.files[path]
		switch {
		case f.durable:
			c.files[path] = f
		case rng != nil && rng.IntN(2) == 0:
			c.files[path] = &file{data: slices.Clone(f.data[:rng.IntN(len(f.data)+1)]), mod: f.mod, durable: true}
		}
	}
	if rng != nil {
		for _, path := range sorted(m.gone) {
			if rng.IntN(2) == 0 {
				c.files[path] = m.gone[path]
			}
		}
	}
	return c
}

func sorted(files map[string]*file) []string {
	paths := make([]string, 0, len(files))
	for p := range files {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}

// clean makes one spelling of a path.
func clean(path string) string { return strings.TrimRight(path, "/") }

func (m *FS) makeParents(path string) {
	for dir := fs.Dir(path); dir != "" && dir != "/"; dir = fs.Dir(dir) {
		if _, ok := m.dirs[dir]; ok {
			return
		}
		m.dirs[dir] = time.Now()
	}
}

// checkParents refuses paths below files.
func (m *FS) checkParents(op, path string) error {
	for dir := fs.Dir(path); dir != "" && dir != "/"; dir = fs.Dir(dir) {
		if m.files[dir] != nil {
			return fs.Classify(&iofs.PathError{Op: op, Path: path, Err: syscall.ENOTDIR})
		}
	}
	return nil
}

// Create starts a file; it is visible under its name at once, as in the local file system.
func (m *FS) Create(ctx context.Context, path string) (fs.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path = clean(path)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.absent("create", path); err != nil {
		return nil, err
	}
	if err := m.checkParents("create", path); err != nil {
		return nil, err
	}
	m.makeParents(path)
	f := &file{mod: time.Now()}
	m.files[path] = f
	return &writer{m: m, path: path, f: f}, nil
}

func (m *FS) absent(op, path string) error {
	_, dir := m.dirs[path]
	if dir || m.files[path] != nil {
		return &iofs.PathError{Op: op, Path: path, Err: fs.ErrExist}
	}
	return nil
}

// Open opens a file. The Reader sees the bytes of this moment and may be used concurrently.
func (m *FS) Open(ctx context.Context, path string) (fs.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path = clean(path)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, dir := m.dirs[path]; dir {
		return nil, fs.Classify(&iofs.PathError{Op: "open", Path: path, Err: syscall.EISDIR})
	}
	f := m.files[path]
	if f == nil {
		return nil, &iofs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return &reader{r: bytes.NewReader(f.data), size: int64(len(f.data))}, nil
}

// Stat describes a file or directory.
func (m *FS) Stat(ctx context.Context, path string) (fs.Info, error) {
	if err := ctx.Err(); err != nil {
		return fs.Info{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if info, ok := m.info(clean(path)); ok {
		info.Path = path
		return info, nil
	}
	return fs.Info{}, &iofs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
}

func (m *FS) info(path string) (fs.Info, bool) {
	if f := m.files[path]; f != nil {
		return fs.Info{Path: path, Name: fs.Base(path), Size: int64(len(f.data)), ModTime: f.mod}, true
	}
	at, ok := m.dirs[path]
	return fs.Info{Path: path, Name: fs.Base(path), Dir: true, ModTime: at}, ok
}

// List gives the children of a directory as they are when iteration starts.
func (m *FS) List(ctx context.Context, dir string) iter.Seq2[fs.Info, error] {
	return func(yield func(fs.Info, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(fs.Info{}, err)
			return
		}
		m.mu.Lock()
		list := m.children(clean(dir))
		m.mu.Unlock()
		for _, info := range list {
			info.Path = fs.Join(dir, info.Name)
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (m *FS) children(dir string) []fs.Info {
	var list []fs.Info
	add := func(path string) {
		if fs.Dir(path) == dir {
			info, _ := m.info(path)
			list = append(list, info)
		}
	}
	for path := range m.files {
		add(path)
	}
	for path := range m.dirs {
		add(path)
	}
	return list
}

// Remove deletes a file or an empty directory.
func (m *FS) Remove(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path = clean(path)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, dir := m.dirs[path]; dir && len(m.children(path)) > 0 {
		return &iofs.PathError{Op: "remove", Path: path, Err: fmt.Errorf("directory is not empty")}
	}
	delete(m.dirs, path)
	if f := m.files[path]; f != nil {
		delete(m.files, path)
		if f.durable {
			m.gone[path] = f
		}
	}
	return nil
}

// Publish makes a file appear whole unless there is one.
func (m *FS) Publish(ctx context.Context, path string, data []byte) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fs.NotPublished(err)
	}
	path = clean(path)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.absent("publish", path) != nil {
		return false, nil
	}
	if err := m.checkParents("publish", path); err != nil {
		return false, fs.NotPublished(err)
	}
	m.makeParents(path)
	delete(m.gone, path) // a crash can't bring back what was before the new file
	m.files[path] = &file{data: slices.Clone(data), mod: time.Now(), durable: true}
	return true, nil
}

// Replace overwrites a file.
func (m *FS) Replace(ctx context.Context, path string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path = clean(path)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.checkParents("replace", path); err != nil {
		return err
	}
	m.makeParents(path)
	delete(m.gone, path)
	m.files[path] = &file{data: slices.Clone(data), mod: time.Now(), durable: true}
	return nil
}

// Paths returns the paths of all files, sorted: what tests look at.
func (m *FS) Paths() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sorted(m.files)
}

// Overwrite changes a file's bytes in place, which no real writer does: for tests of damage.
func (m *FS) Overwrite(path string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path = clean(path)
	m.makeParents(path)
	m.files[path] = &file{data: slices.Clone(data), mod: time.Now(), durable: true}
}

type writer struct {
	m    *FS
	path string
	f    *file
	done bool
}

func (w *writer) Write(b []byte) (int, error) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.done {
		return 0, iofs.ErrClosed
	}
	w.f.data = append(w.f.data, b...)
	return len(b), nil
}

func (w *writer) Close() error {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.done {
		return iofs.ErrClosed
	}
	w.done = true
	w.f.durable = true
	w.f.mod = time.Now()
	return nil
}

func (w *writer) Abort() error {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.done {
		return nil
	}
	w.done = true
	if w.m.files[w.path] == w.f {
		delete(w.m.files, w.path)
	}
	return nil
}

// reader has the file's bytes up to its length when it was opened; an append beyond that doesn't touch them.
type reader struct {
	mu   sync.Mutex // guards r
	r    *bytes.Reader
	size int64
}

func (r *reader) ReadAt(b []byte, off int64) (int, error) {
	r.mu.Lock()
	src := r.r
	r.mu.Unlock()
	if src == nil {
		return 0, iofs.ErrClosed
	}
	if off >= r.size {
		return 0, io.EOF
	}
	return src.ReadAt(b, off)
}

func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.r == nil {
		return iofs.ErrClosed
	}
	r.r = nil
	return nil
}

func (r *reader) Size() int64 { return r.size }
