package main

import (
	"os"
	"runtime/debug"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// besideBuffers is what the process needs beside its write buffers: encoders, the hand-over of the log, the runtime.
const besideBuffers = 128 << 20

// processBudget is the memory for the write buffers of all tables of the process: what the options say with
// sink.use-managed-memory-allocator, else half of what the machine or the control group allows. It also keeps the collector
// from letting the heap grow far beyond the buffers. Compactions inside the writer take theirs from it, too.
func processBudget(o table.Options) *lsm.Budget {
	limit := cli.MemoryLimit() / 2
	if o.Bool(table.KeySinkUseManagedMemoryAllocator) {
		limit = o.Size(table.KeySinkManagedWriterBufferMemory)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(min(limit, o.Size(table.KeyWriteBufferSize)) + besideBuffers)
	}
	if os.Getenv("GOGC") == "" {
		keepHeadroom()
	}
	return lsm.NewBudget(limit)
}

// leastCompaction is the least that compactions can be given.
const leastCompaction = 16 << 20
