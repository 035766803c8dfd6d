//go:build !unix

package hdfs

// mapMemory returns nil: there is no memory beside the heap here.
func mapMemory(int) []byte { return nil }

func unmapMemory([]byte) {}
