//go:build unix

package hashindex

import (
	"fmt"
	"os"
	"syscall"
)

// mapped is scratch memory with a file behind it.
func mapped(dir string, size int) ([]byte, error) {
	f, err := scratchFile(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // the mapping stays
	defer func() { _ = os.Remove(f.Name()) }()
	if err := reserve(f, int64(size)); err != nil {
		return nil, fmt.Errorf("making room for the index of keys in %s: %w", dir, err)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", f.Name(), err)
	}
	return b, nil
}

func unmap(b []byte) { _ = syscall.Munmap(b) }

// hide makes an open file one that ends with the process.
func hide(f *os.File) (name string) {
	_ = os.Remove(f.Name())
	return ""
}
