package compactor

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// Tables is where the tables to compact come from. Safe for concurrent use.
type Tables interface {
	// List returns the names (db.table) of the tables there are now.
	List(ctx context.Context) ([]string, error)
	// Open opens one of them; an error that wraps table.ErrNoTable says that it is gone.
	Open(ctx context.Context, name string) (*table.Table, error)
}

// Maintainer does for a table what Paimon does after commits besides compaction: expiry of snapshots, partitions and tags.
// It is used by one goroutine at a time.
type Maintainer interface {
	// Maintain looks at the table, whose newest snapshot is s.
	Maintain(ctx context.Context, s *table.Snapshot) (Maintained, error)
}

// Maintained is what a Maintainer removed.
type Maintained struct {
	Snapshots, Changelogs, Tags, Consumers, Partitions int
	Files                                              int
	Bytes                                              int64
	// HeldBy are the consumers for which more is kept than options ask for, Held is how many snapshots that are, up to the
	// newest. They are as of the last look, not sums.
	HeldBy []string
	Held   int64
}

// Strategies.
const (
	Minor = "minor" // what the options of a table ask for
	Full  = "full"  // everything into one run
)

// Config is what a Service may be told. The zero value compacts each table as its options say, with what the machine has.
type Config struct {
	// CommitUserPrefix begins the name under which a process commits; a UUID follows.
	CommitUserPrefix string
	// Strategy is Minor or Full; "": Full for Once and Minor for Run, which can't do otherwise.
	Strategy string
	// Workers is the most compactions at once; 0: the number of CPUs.
	Workers int
	// Memory is what all of them may use together, in equal shares; 0: 256 MiB each.
	Memory int64
	// BytesPerSecond bounds what is read and written together; 0: no bound.
	BytesPerSecond int64
	// OpsPerSecond bounds the calls that cost a namenode something; 0: no bound.
	OpsPerSecond int64
	// Shard of Shards is the share of all buckets that this process looks after, by hash of table, partition and bucket;
	// Shards 0 or 1: all.
	Shard, Shards int
	// PartitionFilter keeps partitions, given by the texts of their values; nil: all.
	PartitionFilter func(table string, partition map[string]string) bool
	// PartitionIdle leaves partitions alone that had a new file since then; 0: none.
	PartitionIdle time.Duration
	// Interval is the longest pause between looks at a table and at the list of tables; 0: 10 s. Tables that are written are
	// looked at as often as they get snapshots, at most each MinInterval (1 s).
	Interval, MinInterval time.Duration
	// Round is the least pause between two commits to a table; 0: 1 s.
	Round time.Duration
	// Maintainer makes the Maintainer of a table; nil: there is no maintenance. Its commits must be by another user than the
	// one given, whose identifiers are those of compactions, such as one whose name goes on from it.
	Maintainer func(t *table.Table, user string) Maintainer
	// MaintainInterval is the pause between maintenances of a table that is written; 0: 30 s.
	MaintainInterval time.Duration
	// StrictTables makes a table that can't be compacted an error, not one to leave alone.
	StrictTables bool
	// Spill is local disk for what does not fit into memory; nil: there is none.
	Spill *lsm.SpillStore
	// Now is the wall clock, by which rows and partitions get old; nil: time.Now. It is not believed when the storage's is
	// behind, or when it runs faster than time passes.
	Now func() time.Time
	// Listener is told what happens.
	Listener Listener
	// Log is told what an operator wants to know; nil: nobody is.
	Log *slog.Logger
}

const (
	mib           = 1 << 20
	defaultMemory = 256 * mib // a job
	stopGrace     = 10 * time.Second
	stopJobs      = 8 * time.Second // of it, for jobs; the rest is for commits
	maxRetryWait  = 5 * time.Minute
	idleMaintain  = 10 * time.Minute
	reopenEvery   = 6 // looks at a table between looks at its schema
)

// check fills in defaults.
func (c *Config) check() error {
	switch c.Strategy {
	case "", Minor, Full:
	default:
		return fmt.Errorf("%w: the compaction strategy is %q, not %s or %s", table.ErrOption, c.Strategy, Minor, Full)
	}
	if c.Shards < 0 || c.Shard < 0 || c.Shard >= max(c.Shards, 1) {
		return fmt.Errorf("%w: shard %d of %d; shards are numbered from 0", table.ErrOption, c.Shard, c.Shards)
	}
	if c.Workers < 0 || c.Memory < 0 || c.BytesPerSecond < 0 || c.OpsPerSecond < 0 || c.PartitionIdle < 0 {
		return fmt.Errorf("%w: workers, memory, limits and times are not negative", table.ErrOption)
	}
	orDefault(&c.Workers, runtime.GOMAXPROCS(0))
	orDefault(&c.Memory, int64(c.Workers)*defaultMemory)
	orDefault(&c.Interval, 10*time.Second)
	orDefault(&c.MinInterval, min(time.Second, c.Interval))
	orDefault(&c.Round, time.Second)
	orDefault(&c.MaintainInterval, 30*time.Second)
	if c.CommitUserPrefix == "" {
		c.CommitUserPrefix = "paimon-go-compact"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
