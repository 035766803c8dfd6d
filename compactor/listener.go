package compactor

import (
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// Listener is told what a Service does. Any of its functions may be nil. They are called from many goroutines and must not
// call the Service, but for Stats.
type Listener struct {
	// JobStart is called when a compaction of a bucket begins.
	JobStart func(Job)
	// JobEnd is called when its files are written, or are not.
	JobEnd func(JobInfo)
	// CommitEnd is called after each attempt to commit what jobs of a table have made.
	CommitEnd func(CommitInfo)
	// MaintainEnd is called after the maintenance of a table.
	MaintainEnd func(MaintainInfo)
	// TableFound and TableGone are called when a table is looked after from now on, and no longer.
	TableFound, TableGone func(table string)
	// Commit is handed to table.NewCommit.
	Commit table.Listener
}

// Job is a compaction of a bucket, to be done or under way.
type Job struct {
	Table       string
	Partition   string // "dt=2024-01-01", "" for a table without partitions
	Bucket      int32
	Files       int
	Bytes       int64
	Runs        int // sorted runs of the bucket, and of them those of level 0
	Level0      int
	Reason      string
	OutputLevel int
	Full        bool // a full compaction
}

// JobInfo describes the end of a job.
type JobInfo struct {
	Job
	BytesRead, BytesWritten int64
	RowsRead, RowsWritten   int64
	ChangelogRows           int64
	FilesWritten, Upgraded  int
	Duration                time.Duration
	Err                     error
}

// CommitInfo describes a commit of compactions.
type CommitInfo struct {
	Table    string
	Jobs     int
	Lost     int             // jobs that somebody else's commit made void
	Snapshot *table.Snapshot // nil on failure
	Duration time.Duration
	Err      error
}

// MaintainInfo describes a maintenance.
type MaintainInfo struct {
	Table string
	Maintained
	Duration time.Duration
	Err      error
}
