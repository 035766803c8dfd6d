package hashindex

import (
	"errors"
	"os"
	"syscall"
)

// reserve gives a file blocks: a page of a mapping that the disk has no room for would end the process.
func reserve(f *os.File, size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return writeZeros(f, size)
	}
	return err
}
