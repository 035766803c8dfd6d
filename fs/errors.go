package fs

import (
	"errors"
	iofs "io/fs"
	"syscall"
)

// ErrFull is wrapped by failures for want of space or quota. Trying again doesn't help until someone makes room.
var ErrFull = errors.New("storage is full")

// ErrPermission is wrapped by failures for want of rights, a read-only file system among them.
var ErrPermission = iofs.ErrPermission

// ErrConfig is wrapped by failures that a wrong setting of the storage is the cause of: an address, a bucket or region that is not
// so, a storage that lacks what is needed.
var ErrConfig = errors.New("wrong setting of the storage")

// ErrInTheWay is wrapped by failures because of what lies at a path: a file where a directory belongs, or a directory where a file
// does. Somebody must remove or rename it.
var ErrInTheWay = errors.New("something else lies at the path: remove or rename it")

// Classify adds the class of an operating system error (ErrFull, ErrPermission, ErrTransient, ErrInTheWay) beside its cause: both
// errors.Is(err, fs.ErrFull) and errors.Is(err, syscall.ENOSPC) hold. Other errors come back as they are.
func Classify(err error) error {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return err
	}
	var class error
	switch no {
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG:
		class = ErrFull
	case syscall.EROFS:
		class = ErrPermission
	case syscall.ENOTDIR, syscall.EISDIR:
		class = ErrInTheWay
	case syscall.EIO, syscall.ESTALE, syscall.EAGAIN, syscall.EINTR, syscall.EBUSY, syscall.ETIMEDOUT, syscall.EMFILE,
		syscall.ENFILE, syscall.ENOMEM, syscall.ENOTCONN, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ECONNREFUSED,
		syscall.ECONNRESET, syscall.ECONNABORTED:
		class = ErrTransient
	}
	if class == nil || errors.Is(err, class) {
		return err
	}
	return &classified{class, err}
}

// Unavailable tells whether an error is the storage's fault (full, forbidden, unreachable) rather than that of its
// content or of the caller.
func Unavailable(err error) bool {
	err = Classify(err)
	return errors.Is(err, ErrFull) || errors.Is(err, ErrPermission) || errors.Is(err, ErrTransient)
}

// Passing tells whether an error of the storage is of a kind that passes by itself, or by what somebody does to the storage
// (a failed node, a full disk), so that it is worth trying again, for long.
func Passing(err error) bool {
	err = Classify(err)
	return (errors.Is(err, ErrTransient) || errors.Is(err, ErrFull)) && !errors.Is(err, ErrPermission)
}

// NotPublished marks an error of Publish after which the file certainly does not exist by this call: it wraps ErrNotPublished beside
// its cause, and has the cause's text.
func NotPublished(err error) error { return &classified{ErrNotPublished, err} }

// classified is an error and what else errors.Is shall find.
type classified struct{ class, err error }

func (c *classified) Error() string   { return c.err.Error() }
func (c *classified) Unwrap() []error { return []error{c.class, c.err} }
