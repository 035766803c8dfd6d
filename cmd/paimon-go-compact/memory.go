package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
)

const (
	leastMemory  = 64 << 20
	memoryWorker = 512 << 20 // more only helps workers with very wide rows
	besideJobs   = 64 << 20  // the runtime, what is known of tables, the endpoint
)

// memory is what jobs may use of --memory, and keeps the collector below the whole. What a job takes away between two
// collections counts too: so they get a good half of it.
func (a *serviceArgs) memory(workers int) (int64, error) {
	total, err := sizeArg("memory", a.Memory)
	switch {
	case err != nil:
		return 0, err
	case total == 0:
		total = min(cli.MemoryLimit()/4*3, int64(max(workers, 1))*memoryWorker)
	case total < leastMemory:
		return 0, fmt.Errorf("--memory %s is below 64 MiB: %w", a.Memory, cli.ErrUsage)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(total / 10 * 9)
	}
	return max(total-besideJobs, total/2) / 5 * 3, nil
}
