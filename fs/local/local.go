// Package local is the local file system, also one mounted from elsewhere. It is durable: what Close, Publish and Replace
// report as done survives a power cut as far as the disk keeps its word. Importing it registers the scheme "file" and
// plain paths.
package local

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/fs"
)

func init() {
	open := func(context.Context, string, map[string]string) (fs.FileSystem, error) { return FS{}, nil }
	fs.Register("", open)
	fs.Register("file", open)
}

// FS is the local file system. The zero value is ready.
type FS struct{}

var _ fs.FileSystem = FS{}

// Path turns "file:///a/b", "file:/a/b" or a plain path into an operating system path. Nothing is unescaped: Paimon's
// partition directories hold per cent signs that are part of the name.
func Path(path string) (string, error) {
	if fs.Scheme(path) != "file" {
		if path == "" || strings.IndexByte(path, 0) >= 0 {
			return "", fmt.Errorf("%q is no path: %w", path, iofs.ErrInvalid)
		}
		return path, nil
	}
	rest := path[len("file:"):]
	if strings.HasPrefix(rest, "//") {
		host, tail, ok := strings.Cut(rest[2:], "/")
		if !ok || (host != "" && host != "localhost") {
			return "", fmt.Errorf("%q names host %q, the local file system has none: %w", path, host, iofs.ErrInvalid)
		}
		rest = "/" + tail
	}
	if rest == "" || strings.IndexByte(rest, 0) >= 0 {
		return "", fmt.Errorf("%q is no path: %w", path, iofs.ErrInvalid)
	}
	return rest, nil
}

// Create starts a file under its final name: data files have unique names and nobody looks for one before a snapshot
// refers to it.
func (FS) Create(ctx context.Context, path string) (fs.Writer, error) {
	p, err := start(ctx, path)
	if err != nil {
		return nil, err
	}
	f, err := create(p)
	if err != nil {
		return nil, inTheWay(p, err)
	}
	return &writer{f: f, path: p}, nil
}

// create makes the parents only when they are missing, which is rare. Someone who removes empty directories may do so
// between the two calls, hence the second round.
func create(p string) (f *os.File, err error) {
	for range 3 {
		f, err = os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, iofs.ErrNotExist) {
			return f, err
		}
		if err = makeDirs(filepath.Dir(p)); err != nil {
			return nil, err
		}
	}
	return nil, err
}

// makeDirs is os.MkdirAll that also makes the new entries durable.
func makeDirs(dir string) error {
	err := os.Mkdir(dir, 0o777)
	switch {
	case errors.Is(err, iofs.ErrExist):
		return nil
	case errors.Is(err, iofs.ErrNotExist):
		if parent := filepath.Dir(dir); parent != dir {
			if err := makeDirs(parent); err != nil {
				return err
			}
			err = os.Mkdir(dir, 0o777)
		}
	}
	if err != nil && !errors.Is(err, iofs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// Open opens a file. The Reader may be used concurrently.
func (FS) Open(ctx context.Context, path string) (fs.Reader, error) {
	p, err := start(ctx, path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(p)
	if err != nil {
		return nil, inTheWay(p, err)
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = &iofs.PathError{Op: "open", Path: p, Err: syscall.EISDIR}
	}
	if err != nil {
		_ = f.Close()
		return nil, inTheWay(p, err)
	}
	return &reader{f: f, size: st.Size()}, nil
}

// Stat describes a file or directory.
func (FS) Stat(ctx context.Context, path string) (fs.Info, error) {
	p, err := start(ctx, path)
	if err != nil {
		return fs.Info{}, err
	}
	st, err := os.Stat(p)
	if err != nil {
		return fs.Info{}, fs.Classify(err)
	}
	return info(path, st), nil
}

// List gives the children of a directory.
func (FS) List(ctx context.Context, dir string) iter.Seq2[fs.Info, error] {
	return func(yield func(fs.Info, error) bool) {
		p, err := start(ctx, dir)
		if err != nil {
			yield(fs.Info{}, err)
			return
		}
		entries, err := os.ReadDir(p)
		if err != nil && !errors.Is(err, iofs.ErrNotExist) {
			yield(fs.Info{}, inTheWay(p, err))
			return
		}
		for _, e := range entries {
			st, err := e.Info()
			if errors.Is(err, iofs.ErrNotExist) {
				continue // removed since
			}
			if err != nil {
				yield(fs.Info{}, fs.Classify(err))
				return
			}
			if !yield(info(fs.Join(dir, e.Name()), st), nil) {
				return
			}
		}
	}
}

// Remove deletes a file or an empty directory.
func (FS) Remove(ctx context.Context, path string) error {
	p, err := start(ctx, path)
	if err != nil {
		return err
	}
	if err := os.Remove(p); err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return fs.Classify(err)
	}
	return nil
}

// Publish writes a hidden temporary file with the name that Java's orphan cleaning knows, makes it durable and links it
// to the final name: link(2) never replaces and is one step for every reader. Java's local writer renames after it
// has looked whether the target exists, under a lock of its own process only, so on the local file system a Java writer
// of another process may still overwrite what we have published; ours never does that to theirs.
func (FS) Publish(ctx context.Context, path string, data []byte) (bool, error) {
	p, err := start(ctx, path)
	if err != nil {
		return false, notPublished(err)
	}
	if _, err := os.Lstat(p); err == nil {
		return false, nil
	}
	tmp, err := writeTemp(p, data)
	if err != nil {
		return false, notPublished(inTheWay(p, err))
	}
	defer func() { _ = os.Remove(tmp) }() // a leftover is hidden from readers and known to orphan cleaning
	if err := os.Link(tmp, p); err != nil && !sameFile(tmp, p) {
		if errors.Is(err, iofs.ErrExist) {
			return false, nil
		}
		if _, statErr := os.Lstat(p); statErr == nil || !errors.Is(statErr, iofs.ErrNotExist) {
			return false, fs.Classify(err)
		}
		if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
			err = fmt.Errorf("the file system has no hard links, which the local file system needs to publish safely: %w", err)
		}
		return false, notPublished(err)
	}
	if err := syncDir(filepath.Dir(p)); err != nil {
		return false, fmt.Errorf("making %s durable: %w", p, fs.Classify(err))
	}
	return true, nil
}

// sameFile catches network file systems that do the link, lose the reply, and refuse the repetition.
func sameFile(a, b string) bool {
	x, errX := os.Lstat(a)
	y, errY := os.Lstat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func notPublished(err error) error { return fs.NotPublished(fs.Classify(err)) }

// Replace overwrites by rename, so a reader sees the old bytes or the new ones.
func (FS) Replace(ctx context.Context, path string, data []byte) error {
	p, err := start(ctx, path)
	if err != nil {
		return err
	}
	tmp, err := writeTemp(p, data)
	if err != nil {
		return inTheWay(p, err)
	}
	if err := os.Rename(tmp, p); err != nil {
		_ = os.Remove(tmp)
		if st, statErr := os.Lstat(p); statErr == nil && st.IsDir() { // some systems say that it exists
			err = &iofs.PathError{Op: "replace", Path: p, Err: syscall.EISDIR}
		}
		return inTheWay(p, err)
	}
	// Or a power cut brings back what was before, such as a position of before a commit that has been made.
	return fs.Classify(syncDir(filepath.Dir(p)))
}

// inTheWay classifies an error of a call for a file or directory, and says what lies in its way, if that is it.
func inTheWay(p string, err error) error {
	err = fs.Classify(err)
	if !errors.Is(err, fs.ErrInTheWay) {
		return err
	}
	for ; ; p = filepath.Dir(p) {
		st, statErr := os.Stat(p)
		switch {
		case statErr == nil && st.IsDir():
			return fmt.Errorf("%w: a directory lies at %s, where a file belongs: remove or rename it", err, p)
		case statErr == nil:
			return fmt.Errorf("%w: a file lies at %s, where a directory belongs: remove or rename it", err, p)
		case p == filepath.Dir(p):
			return err
		}
	}
}

func writeTemp(p string, data []byte) (string, error) {
	tmp := filepath.Join(filepath.Dir(p), "."+filepath.Base(p)+"."+uuid.NewString()+".tmp")
	f, err := create(tmp)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(tmp)
		return "", err
	}
	return tmp, nil
}

func start(ctx context.Context, path string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return Path(path)
}

func info(path string, st os.FileInfo) fs.Info {
	return fs.Info{Path: path, Name: fs.Base(path), Size: st.Size(), Dir: st.IsDir(), ModTime: st.ModTime()}
}

type writer struct {
	f    *os.File
	path string
	err  error // the first failure; Close repeats it, so a half-written file can't pass for a whole one
	done bool
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	if err != nil {
		err = fs.Classify(err)
		w.err = err
	}
	return n, err
}

func (w *writer) Close() error {
	if w.done {
		return iofs.ErrClosed
	}
	w.done = true
	err := w.err
	if err == nil {
		err = w.f.Sync()
	}
	if cerr := w.f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = syncDir(filepath.Dir(w.path))
	}
	if err != nil {
		_ = os.Remove(w.path)
		return fmt.Errorf("closing %s: %w", w.path, fs.Classify(err))
	}
	return nil
}

func (w *writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	_ = w.f.Close()
	if err := os.Remove(w.path); err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return fs.Classify(err)
	}
	return nil
}

type reader struct {
	f    *os.File
	size int64
}

func (r *reader) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.f.ReadAt(b, off)
	return n, fs.Classify(err)
}

func (r *reader) Close() error { return r.f.Close() }
func (r *reader) Size() int64  { return r.size }
