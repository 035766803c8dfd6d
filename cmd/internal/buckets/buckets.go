// Package buckets tells whether the buckets of a table are of a healthy size, how many files its commits make, and what to change.
//
//	var s buckets.Sizes
//	for e := range t.Scan(ctx, snapshot, table.Filter{}) {
//		s.Add(&e)
//	}
//	a, err := s.Advise(t, buckets.Tick{})
package buckets

import (
	"fmt"
	"math"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/table"
)

// A bucket of this size is healthy: smaller ones make many small files, larger ones are slow to compact.
const (
	leastBucket = 200 << 20
	idealBucket = 512 << 20
	mostBucket  = 1 << 30
)

// manyFiles is how many files of a commit are worth a word: each costs storage some calls, and compaction reads them all again.
const manyFiles = 100

// Verdict is what is to be said of the size of buckets.
type Verdict int

// The verdicts.
const (
	Small   Verdict = -1
	Healthy Verdict = 0
	Large   Verdict = 1
)

// Sizes sums the live files of a table up. The zero value is that of an empty table.
type Sizes struct {
	parts   map[string]*size
	buckets int
}

type size struct {
	buckets     map[int32]bool
	rows, bytes int64
}

// Add adds a live file. Files without a bucket (bucket=-2) don't count.
func (s *Sizes) Add(e *table.Entry) {
	if e.Bucket < 0 {
		return
	}
	if s.parts == nil {
		s.parts = map[string]*size{}
	}
	p := s.parts[string(e.Partition)]
	if p == nil {
		p = &size{buckets: map[int32]bool{}}
		s.parts[string(e.Partition)] = p
	}
	if !p.buckets[e.Bucket] {
		p.buckets[e.Bucket] = true
		s.buckets++
	}
	p.rows += e.File.RowCount
	p.bytes += e.File.Size
}

// Tick is what a job's commits had on average: partitions with rows, buckets with rows in all of them, and files. Zero if nobody has
// measured it.
type Tick struct{ Partitions, Buckets, Files float64 }

// Advice is what the buckets of a table say together.
type Advice struct {
	Verdict    Verdict
	ManyFiles  bool
	Idle       bool // the job has more shards than buckets with rows
	Partitions int
	Buckets    int

	Largest           string // the largest partition, "" in a table without partitions
	LargestRows       int64
	LargestBytes      int64
	PerPartition      int   // buckets of the largest, those without files too
	RowsEach, Each    int64 // of its buckets, on average
	FilesPerPartition int   // of a commit, at most, without those of a changelog

	// Says is what the numbers are and what to change, a sentence each; none if all is well.
	Says []string
}

// Advise compares the largest partition's buckets with healthy ones.
func (s *Sizes) Advise(t *table.Table, tick Tick) (Advice, error) {
	a := Advice{Partitions: len(s.parts), Buckets: s.buckets}
	largest, name := &size{}, ""
	for n, p := range s.parts {
		if p.bytes > largest.bytes || p.bytes == largest.bytes && n > name {
			largest, name = p, n
		}
	}
	if a.Partitions > 0 {
		var err error
		if a.Largest, err = t.PartitionPath([]byte(name)); err != nil {
			return a, err
		}
	}
	a.LargestRows, a.LargestBytes, a.PerPartition = largest.rows, largest.bytes, len(largest.buckets)
	o := t.Options()
	if fixed := o.Int(table.KeyBucket); fixed > 0 {
		a.PerPartition = fixed
	}
	a.FilesPerPartition = a.PerPartition
	if a.LargestBytes > 0 {
		a.RowsEach, a.Each = a.LargestRows/int64(a.PerPartition), a.LargestBytes/int64(a.PerPartition)
		a.judge(o, tick)
	}
	a.judgeTick(o, tick)
	return a, nil
}

// judge tells of the size of buckets.
func (a *Advice) judge(o table.Options, tick Tick) {
	switch {
	case a.Each > mostBucket:
		a.Verdict = Large
	case a.Each < leastBucket && a.PerPartition > 1:
		a.Verdict = Small
	default:
		return
	}
	what := "the largest partition"
	if a.Largest != "" {
		what += ", " + a.Largest + ","
	} else {
		what = "the table"
	}
	what = fmt.Sprintf("%s has %d rows and %s in %d buckets, %d rows and %s each; 200 MB to 1 GB is healthy",
		what, a.LargestRows, cli.Size(a.LargestBytes), a.PerPartition, a.RowsEach, cli.Size(a.Each))
	want := max(1, int((a.LargestBytes+idealBucket-1)/idealBucket))
	switch fixed := o.Int(table.KeyBucket); {
	case fixed == table.PostponeBucket:
		what += fmt.Sprintf(": postpone.default-bucket-num=%d suits the partitions to come", want)
	case fixed > 0 && a.Verdict == Large:
		what += fmt.Sprintf(": a table with bucket=%d would do", want)
	case fixed > 0:
		files := fmt.Sprintf("%d of each partition that changes instead of up to %d", want, fixed)
		if tick.Files > 0 {
			files = fmt.Sprintf("about %s instead of %s", number(tick.Files*float64(want)/float64(fixed)), number(tick.Files))
		}
		what += fmt.Sprintf(": if it will not grow, with bucket=%d a commit makes fewer files: %s; "+
			"where the size is not known, bucket=-1 adds buckets as they fill", want, files)
	default:
		what += ": " + a.dynamic(o)
	}
	a.Says = append(a.Says, what)
}

// dynamic tells what makes dynamic buckets of the ideal size.
func (a *Advice) dynamic(o table.Options) string {
	target := o.Int64(table.KeyDynamicBucketTargetRowNum)
	if a.Verdict == Small && a.RowsEach < target/2 {
		// They are not full: each assigner has begun with one of its own.
		return "they are not full, but each assigner fills buckets of its own: with dynamic-bucket.initial-buckets=1 a partition to come begins with one bucket"
	}
	want := float64(idealBucket) * float64(max(a.LargestRows, 1)) / float64(a.LargestBytes)
	if scale := math.Pow10(int(math.Log10(max(want, 1))) - 1); scale > 1 {
		want = math.Floor(want/scale) * scale
	}
	return fmt.Sprintf("dynamic-bucket.target-row-num=%d instead of %d would make new ones %s", max(1, int64(want)), target, cli.Size(idealBucket))
}

// judgeTick tells of what commits cost.
func (a *Advice) judgeTick(o table.Options, tick Tick) {
	if tick.Partitions == 0 {
		return
	}
	if tick.Files > manyFiles {
		a.ManyFiles = true
		a.Says = append(a.Says, fmt.Sprintf("a commit makes %s files, as it has rows of %s partitions, in %s buckets each: fewer buckets, or a longer time between commits, make fewer",
			number(tick.Files), number(tick.Partitions), number(tick.Buckets/tick.Partitions)))
	}
	if shards := o.Int(table.KeySinkParallelism); o.Has(table.KeySinkParallelism) && float64(shards) > math.Ceil(tick.Buckets) {
		a.Idle = true
		a.Says = append(a.Says, fmt.Sprintf("a commit has rows in %s buckets, so that not all of sink.parallelism=%d have work: set it to the number of buckets",
			number(tick.Buckets), shards))
	}
}

// number is a mean as a person reads it.
func number(v float64) string {
	if v >= 10 || v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}
