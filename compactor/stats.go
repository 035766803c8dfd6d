package compactor

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Stats is what a Service has done and has to do.
type Stats struct {
	Tables  []TableStats // by name
	Workers int
	Running int // jobs
	Waiting int // jobs that wait for a worker
}

// TableStats is about one table. Counters are since the process looks after the table.
type TableStats struct {
	Name     string
	Snapshot int64 // that its figures are of, 0: none
	// Refused is why the table is left alone, "" when it is not.
	Refused string

	// Broken is how many buckets are left alone for long, as trying again is in vain until somebody mends them; LastError says why.
	Broken int

	Buckets, Files int
	Bytes          int64
	BacklogJobs    int   // buckets that want a compaction, those under way included
	BacklogBytes   int64 // of their inputs
	MaxRuns        int   // sorted runs of the worst bucket
	MaxLevel0      int   // level-0 files of the worst bucket
	PostponedFiles int   // whose rows have no bucket yet; in none of the figures above
	PostponedBytes int64
	Running        int

	Done, Failed, Lost      int64 // jobs; lost ones had been done when somebody else's commit came first
	Commits, Conflicts      int64
	BytesRead, BytesWritten int64
	RowsRead, RowsWritten   int64
	ChangelogRows           int64
	AppendedBytes           int64 // at level 0, by writers
	JobTime, LongestJob     time.Duration
	LastCommit              time.Time
	LastError               string
	LastErrorTime           time.Time

	Maintained   Maintained // in all
	LastMaintain time.Time
}

// WriteAmplification is how many bytes are written for each that writers write, theirs included; 0: nothing was.
func (t *TableStats) WriteAmplification() float64 {
	if t.AppendedBytes == 0 {
		return 0
	}
	return float64(t.AppendedBytes+t.BytesWritten) / float64(t.AppendedBytes)
}

// tableStats is a TableStats that goroutines share.
type tableStats struct {
	mu sync.Mutex
	v  TableStats // guarded by mu
}

func (s *tableStats) update(f func(*TableStats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.v)
}

func (s *tableStats) get() TableStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.v
}

// failed records an error.
func (s *tableStats) failed(err error) {
	s.update(func(v *TableStats) { v.LastError, v.LastErrorTime = err.Error(), time.Now() })
}

// Stats may be called at any time from any goroutine.
func (s *Service) Stats() Stats {
	out := Stats{Workers: s.cfg.Workers}
	s.mu.Lock()
	session := s.session
	var loops []*tableLoop
	if session != nil {
		for _, l := range session.loops {
			loops = append(loops, l)
		}
	}
	s.mu.Unlock()
	for _, l := range loops {
		v := l.stats.get()
		running, waiting := session.dispatch.load(l)
		v.Running = running
		out.Running += running
		out.Waiting += waiting
		out.Tables = append(out.Tables, v)
	}
	slices.SortFunc(out.Tables, func(a, b TableStats) int { return strings.Compare(a.Name, b.Name) })
	return out
}
