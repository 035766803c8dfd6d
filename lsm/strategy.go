package lsm

import (
	"fmt"
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// Strategy says what to compact next in a bucket, as the options want it: universal compaction, which merges runs from the
// newest on so that few runs are left and little is written again (Java's UniversalCompaction, ForceUpLevel0Compaction and
// EarlyFullCompaction). With a trigger of 5 runs, sizes from the newest run to the oldest, a bar between levels:
//
//	60 50 50 50 | 100        210 newer bytes over 100 are more than 200 %: merge all, "size amplification"
//	1 1 1 1 | 100            1 is as large as the next 1, and so on: merge the four, "size ratio"
//	1 | 2 | 4 | 8 | 16 | 50  one run too many and no two alike: merge the newest two, "file number"
//
// Output goes as deep as the next run leaves room, and never to level 0: a unit that would end amid level 0 takes the rest
// of it and the run below. Strategy is immutable; its methods are functions of their arguments: no clock, no storage.
type Strategy struct {
	trigger       int
	maxAmp        int64 // percent
	ratio         int   // percent
	offPeak       offPeak
	early         earlyFull
	forceUp       bool // every pick takes level 0
	gentle        int  // picks from one forced one to the next, 0 when lookup isn't gentle
	rewriteAll    bool // compaction.force-rewrite-all-files
	keepDeletes   bool // chain tables
	deleteVectors bool
}

// PickState is what a strategy looks at.
type PickState struct {
	Levels *Levels
	// Now is the time in the zone of the hosts that write the table: creation times of files and off-peak hours are local.
	Now time.Time
	// ForceUp makes a pick take level 0 in any case. Tables with gentle lookup compaction want it in every LookupInterval-th
	// pick that finds nothing; radical ones and those with compaction.force-up-level-0 have it always.
	ForceUp bool
}

// Why units are picked.
const (
	ReasonInterval      = "optimization interval"
	ReasonTotalSize     = "total size"
	ReasonIncremental   = "incremental size"
	ReasonAmplification = "size amplification"
	ReasonSizeRatio     = "size ratio"
	ReasonFileNumber    = "file number"
	ReasonForceUp       = "force up level 0"
	ReasonFull          = "full"
)

// Unit is one compaction of a bucket.
type Unit struct {
	Files       []table.DataFile // all inputs, in the order of the runs
	OutputLevel int
	DropDelete  bool   // nothing older is left below the output: retracts are of no use there
	FileRewrite bool   // each file is rewritten alone
	Reason      string // one of the Reason constants
}

// NewStrategy returns the strategy that the options of a table ask for. An error wraps table.ErrOption.
func NewStrategy(o table.Options) (*Strategy, error) {
	if err := checkStrategy(o); err != nil {
		return nil, err
	}
	s := &Strategy{
		trigger: o.Int(table.KeyNumSortedRunCompactionTrigger),
		maxAmp:  o.Int64(table.KeyCompactionMaxSizeAmplificationPercent),
		ratio:   o.Int(table.KeyCompactionSizeRatio),
		offPeak: offPeak{o.Int(table.KeyCompactionOffpeakStartHour), o.Int(table.KeyCompactionOffpeakEndHour), o.Int(table.KeyCompactionOffpeakRatio)},
		early:   newEarlyFull(o),

		rewriteAll:    o.Bool(table.KeyCompactionForceRewriteAllFiles),
		keepDeletes:   o.Bool(table.KeyChainTableEnabled),
		deleteVectors: o.Bool(table.KeyDeletionVectorsEnabled),
	}
	switch {
	case !NeedLookup(o):
		s.forceUp = o.Bool(table.KeyCompactionForceUpLevel0)
	case o.Enum(table.KeyLookupCompact) == "gentle":
		s.gentle = lookupInterval(o) // whatever compaction.force-up-level-0 says
	default:
		s.forceUp = true
	}
	return s, nil
}

// LookupInterval tells how many picks in a row may find nothing until the next one has to have ForceUp; 0: it never has to.
func (s *Strategy) LookupInterval() int { return s.gentle }

// Pick returns what to compact now; false when the bucket is good as it is.
func (s *Strategy) Pick(st PickState) (Unit, bool) {
	p := picker{s, st.Levels, st.Levels.Runs(), st.Levels.MaxLevel(), s.sizeFactor(st.Now)}
	n, level, reason := p.universal(st.Now)
	if n == 0 && (s.forceUp || st.ForceUp) {
		n, level, reason = p.level0()
	}
	if n == 0 {
		return Unit{}, false
	}
	u := s.unit(st.Levels, level, reason)
	for _, r := range p.runs[:n] {
		u.Files = append(u.Files, r.Files...)
	}
	if len(u.Files) == 1 && u.Files[0].Level == u.OutputLevel {
		return Unit{}, false // it is where it belongs
	}
	return u, true
}

// PickFull returns what a full compaction is to do: everything to the max level. Once all is there, only the files that have
// deleted rows or that compaction.force-rewrite-all-files or expired want to be rewritten; expired, which may be nil, tells of
// files with records past record-level.expire-time.
func (s *Strategy) PickFull(st PickState, expired func(*table.DataFile) bool) (Unit, bool) {
	runs, maxLevel := st.Levels.Runs(), st.Levels.MaxLevel()
	u := s.unit(st.Levels, maxLevel, ReasonFull)
	if len(runs) == 1 && runs[0].Level == maxLevel {
		u.FileRewrite = true
		for i := range runs[0].Files {
			f := &runs[0].Files[i]
			if s.rewriteAll || expired != nil && expired(f) || st.Levels.hasVector(f.Name) {
				u.Files = append(u.Files, *f)
			}
		}
		return u, len(u.Files) > 0
	}
	for _, r := range runs {
		u.Files = append(u.Files, r.Files...)
	}
	return u, len(u.Files) > 0
}

// unit returns a unit without files. Retracts are dropped if no file lies deeper than the output; with deletion vectors they
// have marked the older rows already.
func (s *Strategy) unit(l *Levels, level int, reason string) Unit {
	drop := !s.keepDeletes && level != 0 && (level >= l.HighestNonEmpty() || s.deleteVectors)
	return Unit{OutputLevel: level, DropDelete: drop, Reason: reason}
}

// picker is one pick. Its results are a number of runs from the newest on, 0 for none, their output level and the reason.
type picker struct {
	*Strategy
	levels   *Levels
	runs     []SortedRun
	maxLevel int
	factor   float64
}

// universal asks the rules in their order; the first that finds something wins.
func (p *picker) universal(now time.Time) (n, level int, reason string) {
	if reason := p.early.due(p.levels, now); reason != "" {
		return len(p.runs), p.maxLevel, reason
	}
	if p.amplified() {
		return len(p.runs), p.maxLevel, ReasonAmplification
	}
	if len(p.runs) >= p.trigger {
		if n := p.alike(1); n > 1 {
			n, level = p.output(n)
			return n, level, ReasonSizeRatio
		}
	}
	if len(p.runs) > p.trigger {
		if n := p.alike(len(p.runs) - p.trigger + 1); n > 1 {
			n, level = p.output(n)
			return n, level, ReasonFileNumber
		}
	}
	return 0, 0, ""
}

// level0 takes all of level 0 and what is alike below.
func (p *picker) level0() (n, level int, reason string) {
	if p.levels.DeepestLevel0() == 0 {
		return 0, 0, ""
	}
	n, level = p.output(p.alike(p.levels.DeepestLevel0()))
	return n, level, ReasonForceUp
}

// amplified tells whether the newer runs are so large against the oldest that space is wasted.
func (p *picker) amplified() bool {
	if len(p.runs) < p.trigger {
		return false
	}
	oldest := p.runs[len(p.runs)-1].Size()
	return (p.levels.Size()-oldest)*100 > p.maxAmp*oldest
}

// alike takes n runs and goes on as long as those so far are about as large as the next.
func (p *picker) alike(n int) int {
	var size int64
	for _, r := range p.runs[:n] {
		size += r.Size()
	}
	for ; n < len(p.runs); n++ {
		next := p.runs[n].Size()
		if float64(size)*p.factor/100 < float64(next) {
			break
		}
		size += next
	}
	return n
}

// output finds the level for the first n runs: the one above the next run, or the max level when there is none. Level 0 is
// for writers: rather than go there, a unit takes more runs, up to the first below level 0.
func (p *picker) output(n int) (int, int) {
	if n < len(p.runs) && p.runs[n].Level > 1 {
		return n, p.runs[n].Level - 1
	}
	for n < len(p.runs) {
		n++
		if level := p.runs[n-1].Level; level > 0 && n < len(p.runs) {
			return n, level
		}
	}
	return n, p.maxLevel
}

// checkStrategy refuses option values that have no meaning here.
func checkStrategy(o table.Options) error {
	given := table.Options{}
	for _, k := range strategyKeys {
		if o.Has(k) {
			given[k.Name] = o.Get(k)
		}
	}
	if _, err := given.Validate(); err != nil {
		return fmt.Errorf("compaction: %w", err)
	}
	return nil
}

var strategyKeys = []*table.Key{
	table.KeyNumSortedRunCompactionTrigger, table.KeyNumLevels, table.KeyCompactionMaxSizeAmplificationPercent, table.KeyCompactionSizeRatio,
	table.KeyCompactionOptimizationInterval, table.KeyCompactionTotalSizeThreshold, table.KeyCompactionIncrementalSizeThreshold,
	table.KeyCompactionForceUpLevel0, table.KeyCompactionForceRewriteAllFiles, table.KeyCompactionOffpeakStartHour,
	table.KeyCompactionOffpeakEndHour, table.KeyCompactionOffpeakRatio, table.KeyChangelogProducer, table.KeyMergeEngine,
	table.KeyDeletionVectorsEnabled, table.KeyForceLookup, table.KeyLookupCompact, table.KeyLookupCompactMaxInterval,
}
