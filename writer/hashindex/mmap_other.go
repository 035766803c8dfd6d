//go:build !unix

package hashindex

import "os"

// mapped is memory of the heap where files are not mapped.
func mapped(_ string, size int) ([]byte, error) { return make([]byte, size), nil }

func unmap([]byte) {}

func hide(f *os.File) (name string) { return f.Name() }
