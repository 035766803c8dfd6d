package writer

import (
	"context"
	"runtime"
	"time"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// Config is what a Writer may be told besides the table's options. The zero value works for a table that one process
// writes.
type Config struct {
	// CommitUser is the identity of the writing job: constant over its restarts and different from that of any other job
	// on the table. Empty: a random one, which a restart can't find again.
	CommitUser string
	// Resume is the snapshot of CommitUser that the job goes on from; nil: whatever there is. With it, a second instance
	// of the job makes commits fail with table.ErrFenced.
	Resume *Resume
	// Memory is the budget of the process; the table's write-buffer-size counts beneath it. nil: there is only that. Both are for
	// rows and compactions together.
	Memory *lsm.Budget
	// Shards overrides sink.parallelism; 0: that option, else the number of CPUs, at most 2.
	Shards int
	// Pool sorts, spills and writes files; nil: the Writer has one of its own. Programs with many tables share one.
	Pool *Pool
	// FlushWorkers is the number of goroutines of a pool of its own; 0: the number of CPUs, at least 2 and at most 8.
	FlushWorkers int
	// Compactions compacts inside of the writer, of tables with write-only=false; nil: the Writer has a pool of its own, of
	// CompactionWorkers (0: half of the CPUs). They share CompactionMemory, a part of write-buffer-size that rows don't get; 0: a
	// quarter of it, at most 128 MiB each. It is at least 16 MiB, and half of write-buffer-size at most where that is more.
	// The memory of a pool that is given counts where its maker says.
	Compactions       *CompactionPool
	CompactionWorkers int
	CompactionMemory  int64
	// MaintainInterval is the least pause between expiries of snapshots and the like, which a table with write-only=false gets beside
	// its commits; 0: 30 s, negative: none.
	MaintainInterval time.Duration
	// SpillDirs are local directories for spilled rows; none: the system's temporary directory.
	SpillDirs []string
	// PairedUpdates says that each -U comes right before the +U of the same row, as in a log of changes. Then it is only for
	// the changelog: the +U replaces the row. Without it, as in Java, a -U is a retract by itself, which takes the row away
	// if nothing newer comes.
	PairedUpdates bool
	// InFlight is the most checkpoints that are not committed yet; Checkpoint waits for a place. 0: 4.
	InFlight int
	// BeforeCommit is called with what is about to be committed, on the goroutine that calls Listener.CommitEnd.
	BeforeCommit func(ctx context.Context, c *table.Committable)
	// Listener is told what happens.
	Listener Listener

	inline *compactions // made by Open
}

// Resume identifies a snapshot of the commit user as table.LatestOf found it. The zero value says that there was none.
type Resume struct {
	SnapshotID int64
	Identifier int64
}

// tableBudget returns the budget of a table.
func (c *Config) tableBudget(o table.Options) *lsm.Budget {
	size := o.Size(table.KeyWriteBufferSize)
	if c.Memory == nil {
		return lsm.NewBudget(size)
	}
	return c.Memory.Child(size)
}

func (c *Config) inFlight() int {
	if c.InFlight > 0 {
		return c.InFlight
	}
	return 4
}

func (c *Config) shards(parallelism int) int {
	switch {
	case c.Shards > 0:
		return c.Shards
	case parallelism > 0:
		return parallelism
	}
	return min(2, runtime.GOMAXPROCS(0))
}

func (c *Config) flushWorkers() int {
	if c.FlushWorkers > 0 {
		return c.FlushWorkers
	}
	return min(8, max(2, runtime.GOMAXPROCS(0)))
}
