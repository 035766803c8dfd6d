package writer

import (
	"sync/atomic"
	"time"

	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/table/maintenance"
)

// Listener is told what a Writer does. Any of its functions may be nil. They are called from many goroutines and must not
// call the Writer.
type Listener struct {
	// FlushEnd is called after the rows of a bucket were written to level 0, or were not.
	FlushEnd func(FlushInfo)
	// SpillEnd is called after rows of a bucket were taken out of memory before their checkpoint.
	SpillEnd func(SpillInfo)
	// CommitStart is called when all files of a checkpoint are written and its commit begins.
	CommitStart func(CommitInfo)
	// CommitEnd is called after the commit of a checkpoint, and for one that had nothing to commit.
	CommitEnd func(CommitInfo)
	// Stall is called after Write or a shard had to wait for memory, and after Checkpoint had to wait for an earlier one.
	Stall func(StallInfo)
	// CompactionEnd is called after a compaction inside the writer, and when something keeps a bucket from being compacted; then there
	// is little but Err in it.
	CompactionEnd func(CompactionInfo)
	// CompactionWait is called when a commit begins to wait since a bucket has too many sorted runs. Stall tells the end.
	CompactionWait func(CompactionWaitInfo)
	// Bootstrap is told how far the keys are read that Open needs to know, of a table with bucket=-1 whose primary key lacks
	// partition keys.
	Bootstrap func(BootstrapInfo)
	// MaintainEnd is called after expired snapshots, partitions and tags were removed, or were not.
	MaintainEnd func(MaintainInfo)
	// Commit is handed to table.NewCommit.
	Commit table.Listener
}

// FlushInfo describes the flush of a bucket.
type FlushInfo struct {
	Partition  []byte
	Bucket     int32
	Rows       int64 // rows written, after merging
	Files      int
	Changelogs int
	Bytes      int64 // of files
	Duration   time.Duration
	Err        error
}

// SpillInfo describes how rows of a bucket made room.
type SpillInfo struct {
	Partition []byte
	Bucket    int32
	Rows      int64
	Memory    int64 // bytes freed
	Disk      int64 // bytes written to local disk
	Files     int   // files at level 0, when spilling is off or its disk is full
	Duration  time.Duration
	Err       error
}

// CommitInfo describes the commit of a checkpoint.
type CommitInfo struct {
	ID       int64
	Messages int
	Files    int // data and changelog files
	// Partitions and Buckets are those that these files are in.
	Partitions, Buckets int
	Snapshot            *table.Snapshot // nil at the start, on failure, and when there was nothing to commit
	Flush               time.Duration   // from the call of Checkpoint until all files were written
	Waited              time.Duration   // then, for compactions that options want to be in the commit
	Duration            time.Duration   // of the commit
	Err                 error

	Compactions int // buckets whose compactions are in the commit
}

// StallInfo describes a wait.
type StallInfo struct {
	Waiter   string // "write", "shard", "checkpoint" or "compaction"
	Duration time.Duration
}

// CompactionInfo describes a compaction inside the writer.
type CompactionInfo struct {
	Partition   []byte
	Bucket      int32
	Reason      string // one of lsm's Reason constants
	OutputLevel int
	Runs        int // sorted runs of the bucket before
	Files       int // that were compacted
	lsm.RewriteStats
	Duration time.Duration
	Err      error
}

// CompactionWaitInfo describes a bucket for which a commit waits.
type CompactionWaitInfo struct {
	Partition   []byte
	Bucket      int32
	Runs        int
	StopTrigger int // num-sorted-run.stop-trigger
}

// MaintainInfo describes what was done beside commits, as options say.
type MaintainInfo struct {
	maintenance.Report
	Duration time.Duration
	Err      error
}

// Stats is a snapshot of a Writer's counters.
type Stats struct {
	Rows         int64 // taken by Write
	DroppedRows  int64 // of them, dropped by ignore-delete and ignore-update-before
	BufferBytes  int64 // memory in use
	BufferLimit  int64
	SealedBytes  int64 // of it, waiting for the flush pool
	SpilledBytes int64 // on local disk now
	Spills       int64
	SpillBytes   int64 // written to local disk since Open
	EarlyFlushes int64 // level-0 flushes because spilling was off or its disk was full
	Flushes      int64
	FlushedRows  int64
	Files        int64
	FileBytes    int64
	Commits      int64
	Stalls       int64
	StallTime    time.Duration // of Write and shards waiting for memory
	PoolDepth    int64         // jobs that wait for a worker
	Buckets      int64         // buckets in memory
	LastCommit   time.Time     // zero before the first

	// Of dynamic buckets: partitions whose keys are at hand, their buckets, these keys, and the memory they take on the heap and in
	// mapped files. Where keys may move between partitions, all are at hand.
	IndexPartitions, IndexBuckets, IndexKeys, IndexHeap, IndexMapped int64

	Compactions         int64 // done inside the writer
	CompactionsRunning  int64
	CompactionsQueued   int64
	CompactionFailures  int64
	CompactionConflicts int64 // commits that were made without their compactions, as somebody else had compacted too
	CompactionRead      int64 // bytes
	CompactionWritten   int64
	CompactionRows      int64         // written
	CompactionWaits     int64         // commits that waited because a bucket had too many sorted runs
	CompactionWaitTime  time.Duration // of those
	MaxRuns             int64         // sorted runs of the worst bucket that has had rows lately
	MaxLevel0           int64         // level-0 files of the worst
	CompactedBuckets    int64         // whose files are in memory
}

// counters are the sources of Stats.
type counters struct {
	rows, dropped                         atomic.Int64
	spills, spillBytes, earlyFlushes      atomic.Int64
	flushes, flushedRows, files, fileByte atomic.Int64
	commits, stalls, stallNanos           atomic.Int64
	buckets                               atomic.Int64
	lastCommit                            atomic.Int64 // Unix nanoseconds
}

// Stats returns the counters. It may be called at any time from any goroutine.
func (w *Writer) Stats() Stats {
	c := &w.counters
	s := Stats{
		Rows: c.rows.Load(), DroppedRows: c.dropped.Load(),
		BufferBytes: w.budget.Used(), BufferLimit: w.budget.Limit(), SealedBytes: w.budget.Sealed(),
		Spills: c.spills.Load(), SpillBytes: c.spillBytes.Load(), EarlyFlushes: c.earlyFlushes.Load(),
		Flushes: c.flushes.Load(), FlushedRows: c.flushedRows.Load(), Files: c.files.Load(), FileBytes: c.fileByte.Load(),
		Commits: c.commits.Load(), Stalls: c.stalls.Load(), StallTime: time.Duration(c.stallNanos.Load()),
		PoolDepth: w.pool.depth(), Buckets: c.buckets.Load(),
	}
	if w.spill != nil {
		s.SpilledBytes = w.spill.Used()
	}
	if w.inline != nil {
		w.inline.stats.publish(&s)
	}
	if d := w.dynamic; d != nil {
		s.IndexPartitions, s.IndexBuckets, s.IndexKeys, s.IndexHeap, s.IndexMapped = d.held.Load(), d.buckets.Load(), d.keys.Load(), d.store.Heap(), d.store.Mapped()
	}
	if x := w.cross; x != nil {
		s.IndexPartitions, s.IndexBuckets, s.IndexKeys = x.counted.partitions.Load(), x.counted.buckets.Load(), x.counted.keys.Load()
		s.IndexHeap, s.IndexMapped = x.store.Heap(), x.store.Mapped()
	}
	if n := c.lastCommit.Load(); n != 0 {
		s.LastCommit = time.Unix(0, n)
	}
	return s
}

// stalled reports a wait that began at start.
func (w *Writer) stalled(waiter string, start time.Time) {
	d := time.Since(start)
	if waiter != "checkpoint" {
		w.counters.stalls.Add(1)
		w.counters.stallNanos.Add(int64(d))
	}
	if f := w.cfg.Listener.Stall; f != nil {
		f(StallInfo{Waiter: waiter, Duration: d})
	}
}
