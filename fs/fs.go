// Package fs is the product's view of storage: a namespace of files that are written once. Implementations live in fs/local,
// fs/mem and so on and register a scheme; fs/fstest is the suite that all of them pass.
package fs

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"iter"
	"time"
)

// FileSystem is a namespace of files that are written once. Safe for concurrent use. Paths are full URIs or, for the local
// file system, absolute paths.
type FileSystem interface {
	// Create starts a new file; ErrExist if there is one, which may come from the Writer's Close only, as a name may be taken
	// no earlier. Parent directories are made.
	Create(ctx context.Context, path string) (Writer, error)
	// Open opens a file for reading; ErrNotExist if there is none.
	Open(ctx context.Context, path string) (Reader, error)
	// Stat describes a file or directory; ErrNotExist if there is none.
	Stat(ctx context.Context, path string) (Info, error)
	// List gives the direct children of a directory in no order; nothing for a directory that doesn't exist.
	List(ctx context.Context, dir string) iter.Seq2[Info, error]
	// Remove deletes a file or an empty directory; a missing file is no error.
	Remove(ctx context.Context, path string) error

	// Publish makes a small file appear whole, or reports false because path already exists. It never replaces. It is
	// the compare-and-swap of the table format: every implementation is atomic against other processes and against Java
	// writers. An error means that the outcome is unknown unless it is ErrNotPublished.
	Publish(ctx context.Context, path string, data []byte) (bool, error)
	// Replace overwrites a small file, durably; of a hint, readers must tolerate any age.
	Replace(ctx context.Context, path string, data []byte) error
}

// FilesRemover is what a FileSystem is too that removes many files by few calls.
type FilesRemover interface {
	// RemoveFiles removes files, none of which may be a directory; a missing one is no error. It returns an error for each in its
	// place, nil for those that are gone.
	RemoveFiles(ctx context.Context, paths []string) []error
}

// Writer writes one file. Close makes the file durable and visible; Abort leaves nothing behind.
type Writer interface {
	io.Writer
	Close() error
	Abort() error
}

// Reader reads one file at any offset, concurrently where the implementation says so.
type Reader interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Info describes a file or directory.
type Info struct {
	Path    string // full, in the form that the caller used for its parent
	Name    string // last element
	Size    int64
	Dir     bool
	ModTime time.Time
}

// cleanUpTime bounds a clean-up. What it doesn't get to are orphans, which do no harm.
const cleanUpTime = 10 * time.Second

// CleanUp returns a context for the removal of files that nothing refers to: it goes on when ctx has ended, but not for long, so
// that a storage that is away doesn't keep those who leave.
func CleanUp(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
}

// Errors that callers act on.
var (
	ErrExist    = iofs.ErrExist
	ErrNotExist = iofs.ErrNotExist
	// ErrTransient is wrapped by failures that may pass when tried again.
	ErrTransient = errors.New("storage is not available at the moment")
	// ErrNotPublished is wrapped by an error of Publish after which the file certainly does not exist by this call; see NotPublished.
	ErrNotPublished = errors.New("nothing was published")
)
