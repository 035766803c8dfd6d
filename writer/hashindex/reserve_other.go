//go:build unix && !linux

package hashindex

import "os"

// reserve gives a file blocks: a page of a mapping that the disk has no room for would end the process.
func reserve(f *os.File, size int64) error { return writeZeros(f, size) }
