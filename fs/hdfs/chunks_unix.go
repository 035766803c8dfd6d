//go:build unix

package hdfs

import "syscall"

// mapMemory returns memory that the collector does not know, nil if there is none.
func mapMemory(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return b
}

func unmapMemory(b []byte) { _ = syscall.Munmap(b) }
