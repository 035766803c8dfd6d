// Package faultfs wraps a file system for tests: it traces every call and makes chosen ones fail, before anything has
// happened, halfway, or after all has happened with the reply lost.
package faultfs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/paimon-go/paimon-go/fs"
)

// Op is a call of fs.FileSystem, fs.Writer or fs.Reader.
type Op string

// The calls.
const (
	OpCreate  Op = "create"
	OpOpen    Op = "open"
	OpStat    Op = "stat"
	OpList    Op = "list"
	OpRemove  Op = "remove"
	OpPublish Op = "publish"
	OpReplace Op = "replace"
	OpWrite   Op = "write"
	OpClose   Op = "close"
	OpAbort   Op = "abort"
	OpReadAt  Op = "readat"
)

// Mutates tells whether the call changes storage.
func (o Op) Mutates() bool {
	switch o {
	case OpOpen, OpStat, OpList, OpReadAt:
		return false
	}
	return true
}

// Call is one call, counted from 1.
type Call struct {
	N    int
	Op   Op
	Path string
}

func (c Call) String() string { return fmt.Sprintf("%d %s %s", c.N, c.Op, c.Path) }

// How tells how a call fails.
type How uint8

// The ways to fail.
const (
	// OK: it doesn't.
	OK How = iota
	// Before: nothing has happened, and a failed Publish says so.
	Before
	// Lost: nothing has happened, but nobody can tell: a failed Publish doesn't say so.
	Lost
	// ReplyLost: all has happened, the caller is told that it failed.
	ReplyLost
	// Torn: a Write has written half its bytes; other calls as Before.
	Torn
)

// Decide is asked about each call. It is called by one goroutine at a time.
type Decide func(Call) How

// ErrInjected is wrapped by every injected failure.
var ErrInjected = errors.New("injected failure")

// FS is the wrapper. Use New.
type FS struct {
	inner fs.FileSystem

	mu     sync.Mutex // guards all below
	decide Decide
	hook   func(Call)
	err    error
	calls  []Call
}

var _ fs.FileSystem = (*FS)(nil)

// New wraps a file system; decide may be nil.
func New(inner fs.FileSystem, decide Decide) *FS { return &FS{inner: inner, decide: decide} }

// Set changes what fails from now on. Calls are counted from 1 again and the trace is empty.
func (f *FS) Set(decide Decide) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide, f.calls = decide, nil
}

// Before makes hook be called before each call, by the goroutine that calls: a slow storage sleeps in it, one that hangs
// doesn't return, and a race is made certain by what it does to the files beneath.
func (f *FS) Before(hook func(Call)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// FailWith makes failures wrap err too, such as fs.ErrFull or syscall.ENOSPC.
func (f *FS) FailWith(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// Calls returns the calls so far.
func (f *FS) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Trace returns the calls so far as text, one a line, with root cut off the paths.
func (f *FS) Trace(root string) string {
	var b strings.Builder
	for _, c := range f.Calls() {
		fmt.Fprintf(&b, "%s %s\n", c.Op, strings.TrimPrefix(c.Path, root))
	}
	return b.String()
}

// Nth fails the n-th call for which match holds (all when nil), and no other.
func Nth(n int, how How, match func(Call) bool) Decide {
	return func(c Call) How {
		if match != nil && !match(c) {
			return OK
		}
		if n--; n == 0 {
			return how
		}
		return OK
	}
}

// CutAt is a crash at the n-th call that changes storage: it fails in the given way, and every later call, reading ones
// too, fails with nothing done.
func CutAt(n int, how How) Decide {
	dead := false
	return func(c Call) How {
		if dead {
			return Lost
		}
		if !c.Op.Mutates() {
			return OK
		}
		if n--; n > 0 {
			return OK
		}
		dead = true
		return how
	}
}

// Ops matches calls of the given kinds.
func Ops(ops ...Op) func(Call) bool {
	return func(c Call) bool { return slices.Contains(ops, c.Op) }
}

// On matches calls of one kind whose path holds part.
func On(op Op, part string) func(Call) bool {
	return func(c Call) bool { return c.Op == op && strings.Contains(c.Path, part) }
}

func (f *FS) begin(op Op, path string) (How, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := Call{N: len(f.calls) + 1, Op: op, Path: path}
	f.calls = append(f.calls, c)
	if hook := f.hook; hook != nil {
		f.mu.Unlock()
		hook(c)
		f.mu.Lock()
	}
	if f.decide == nil {
		return OK, nil
	}
	how := f.decide(c)
	if how == OK {
		return OK, nil
	}
	if f.err != nil {
		return how, fmt.Errorf("%w: %s: %w", ErrInjected, c, f.err)
	}
	return how, fmt.Errorf("%w: %s", ErrInjected, c)
}

// run does one call whose result is only an error.
func (f *FS) run(op Op, path string, do func() error) error {
	how, err := f.begin(op, path)
	if how == OK || how == ReplyLost {
		if derr := do(); derr != nil {
			return derr
		}
	}
	return err
}

// Create implements fs.FileSystem.
func (f *FS) Create(ctx context.Context, path string) (fs.Writer, error) {
	var w fs.Writer
	err := f.run(OpCreate, path, func() (err error) {
		w, err = f.inner.Create(ctx, path)
		return err
	})
	if err != nil {
		return nil, err // a file whose creation's reply was lost stays: an orphan
	}
	return &writer{f: f, path: path, w: w}, nil
}

// Open implements fs.FileSystem.
func (f *FS) Open(ctx context.Context, path string) (fs.Reader, error) {
	if _, err := f.begin(OpOpen, path); err != nil {
		return nil, err
	}
	r, err := f.inner.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &reader{Reader: r, f: f, path: path}, nil
}

// Stat implements fs.FileSystem.
func (f *FS) Stat(ctx context.Context, path string) (fs.Info, error) {
	if _, err := f.begin(OpStat, path); err != nil {
		return fs.Info{}, err
	}
	return f.inner.Stat(ctx, path)
}

// List implements fs.FileSystem.
func (f *FS) List(ctx context.Context, dir string) iter.Seq2[fs.Info, error] {
	return func(yield func(fs.Info, error) bool) {
		if _, err := f.begin(OpList, dir); err != nil {
			yield(fs.Info{}, err)
			return
		}
		f.inner.List(ctx, dir)(yield)
	}
}

// Remove implements fs.FileSystem.
func (f *FS) Remove(ctx context.Context, path string) error {
	return f.run(OpRemove, path, func() error { return f.inner.Remove(ctx, path) })
}

// Publish implements fs.FileSystem.
func (f *FS) Publish(ctx context.Context, path string, data []byte) (bool, error) {
	how, err := f.begin(OpPublish, path)
	switch how {
	case Before, Torn:
		return false, fs.NotPublished(err)
	case Lost:
		return false, err
	}
	ok, perr := f.inner.Publish(ctx, path, data)
	if perr == nil && err != nil {
		return false, err
	}
	return ok, perr
}

// Replace implements fs.FileSystem.
func (f *FS) Replace(ctx context.Context, path string, data []byte) error {
	return f.run(OpReplace, path, func() error { return f.inner.Replace(ctx, path, data) })
}

type writer struct {
	f    *FS
	path string
	w    fs.Writer
}

func (w *writer) Write(b []byte) (int, error) {
	how, err := w.f.begin(OpWrite, w.path)
	switch how {
	case Before, Lost:
		return 0, err
	case Torn:
		n, _ := w.w.Write(b[:len(b)/2])
		return n, err
	}
	n, werr := w.w.Write(b)
	if werr != nil {
		return n, werr
	}
	return n, err
}

func (w *writer) Close() error { return w.f.run(OpClose, w.path, w.w.Close) }
func (w *writer) Abort() error { return w.f.run(OpAbort, w.path, w.w.Abort) }

type reader struct {
	fs.Reader
	f    *FS
	path string
}

func (r *reader) ReadAt(b []byte, off int64) (int, error) {
	if _, err := r.f.begin(OpReadAt, r.path); err != nil {
		return 0, err
	}
	return r.Reader.ReadAt(b, off)
}
