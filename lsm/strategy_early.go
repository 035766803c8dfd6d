package lsm

import (
	"math"
	"time"

	"github.com/paimon-go/paimon-go/table"
)

// earlyFull is full compaction before any rule on the shape of the runs asks for it (Java's EarlyFullCompaction).
type earlyFull struct {
	interval           time.Duration
	total, incremental int64 // bytes

	hasInterval, hasTotal, hasIncremental bool
}

func newEarlyFull(o table.Options) earlyFull {
	return earlyFull{
		interval: o.Duration(table.KeyCompactionOptimizationInterval), hasInterval: o.Has(table.KeyCompactionOptimizationInterval),
		total: o.Size(table.KeyCompactionTotalSizeThreshold), hasTotal: o.Has(table.KeyCompactionTotalSizeThreshold),
		incremental: o.Size(table.KeyCompactionIncrementalSizeThreshold), hasIncremental: o.Has(table.KeyCompactionIncrementalSizeThreshold),
	}
}

// due returns why a full compaction is due, "" when it isn't. A single run needs none.
func (e *earlyFull) due(l *Levels, now time.Time) string {
	if l.NumSortedRuns() < 2 {
		return ""
	}
	if e.hasInterval {
		last, ok := lastFull(l, now.Location())
		if !ok || now.UnixMilli()-last > e.interval.Milliseconds() {
			return ReasonInterval
		}
	}
	if e.hasTotal && l.Size() < e.total {
		return ReasonTotalSize
	}
	if e.hasIncremental && l.Size()-sizeAt(l, l.MaxLevel()) > e.incremental {
		return ReasonIncremental
	}
	return ""
}

// lastFull returns when the bucket was last compacted in full, as far as its files tell: when the newest file of the max
// level was made, as Paimon 2.0 assumes for a bucket that it opens. It is false when there is no such file. Java remembers
// the time in its process besides, and 1.4 nothing else.
func lastFull(l *Levels, zone *time.Location) (int64, bool) {
	newest := int64(-1)
	for _, r := range l.Runs() {
		if r.Level != l.MaxLevel() {
			continue
		}
		for i := range r.Files {
			newest = max(newest, r.Files[i].CreationMillis)
		}
	}
	if newest < 0 {
		return 0, false
	}
	return FromWallClock(newest, zone).UnixMilli(), true
}

// FromWallClock returns the time of a file's creation: the milliseconds are what the clock of its host showed, as if that
// were UTC.
func FromWallClock(millis int64, zone *time.Location) time.Time {
	w := time.UnixMilli(millis).UTC()
	return time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), zone)
}

func sizeAt(l *Levels, level int) int64 {
	for _, r := range l.Runs() {
		if r.Level == level && level > 0 {
			return r.Size()
		}
	}
	return 0
}

// offPeak is the hours of the day in which more is merged together (Java's OffPeakHours).
type offPeak struct{ start, end, ratio int }

// percent returns what is added to the size ratio in an hour. A quiet time may go past midnight.
func (p offPeak) percent(hour int) int {
	if p.start == -1 || p.end == -1 || p.start == p.end {
		return 0
	}
	in := p.start <= hour && hour < p.end
	if p.start > p.end {
		in = hour < p.end || p.start <= hour
	}
	if !in {
		return 0
	}
	return p.ratio
}

// sizeFactor returns by how many percent of its own size a unit may be smaller than the next run and still take it. The
// order of the additions is Java's, so that the last bit is too.
func (s *Strategy) sizeFactor(now time.Time) float64 {
	return 100.0 + float64(s.ratio) + float64(s.offPeak.percent(now.Hour()))
}

// NeedLookup tells whether compaction has to find the older row of a key, for which no level-0 file may wait
// (LookupStrategy.needLookup).
func NeedLookup(o table.Options) bool {
	return o.Enum(table.KeyChangelogProducer) == "lookup" || o.Enum(table.KeyMergeEngine) == "first-row" ||
		o.Bool(table.KeyDeletionVectorsEnabled) || o.Bool(table.KeyForceLookup)
}

// lookupInterval returns how many triggers a gentle lookup compaction may let pass.
func lookupInterval(o table.Options) int {
	trigger := o.Int(table.KeyNumSortedRunCompactionTrigger)
	if o.Has(table.KeyLookupCompactMaxInterval) {
		return max(trigger, o.Int(table.KeyLookupCompactMaxInterval))
	}
	return min(2*trigger, math.MaxInt32)
}
