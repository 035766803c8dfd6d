package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// besideBuffers is what the process needs beside its write buffers: encoders, the hand-over of the log, the runtime.
const besideBuffers = 128 << 20

// processBudget is the memory for the write buffers of all tables of the process: what the options say with
// sink.use-managed-memory-allocator, else half of what the machine or the control group allows. It also keeps the collector
// from letting the heap grow far beyond the buffers.
func processBudget(o table.Options) *lsm.Budget {
	limit := memoryLimit() / 2
	if o.Bool(table.KeySinkUseManagedMemoryAllocator) {
		limit = o.Size(table.KeySinkManagedWriterBufferMemory)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(min(limit, o.Size(table.KeyWriteBufferSize)) + besideBuffers)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // the limit above is what bounds the heap
	}
	return lsm.NewBudget(limit)
}

// memoryLimit is the least of the control group's limit and the machine's memory, in bytes; 1 GiB when neither is known.
func memoryLimit() int64 {
	limit := int64(0)
	take := func(n int64) {
		if n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
	}
	for _, f := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(f); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
				take(n)
			}
		}
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
				if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					take(kb << 10)
				}
			}
		}
	}
	if limit == 0 {
		return 1 << 30
	}
	return limit
}
