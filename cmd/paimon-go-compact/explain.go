package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/table"
)

// bucketLine is why a bucket has the files that it has, as JSON.
type bucketLine struct {
	Table           string      `json:"table"`
	Partition       string      `json:"partition"`
	Bucket          int32       `json:"bucket"`
	Bytes           int64       `json:"bytes"`
	Runs            int         `json:"sortedRuns"`
	Groups          []groupLine `json:"files"`
	Job             *jobLine    `json:"compaction"` // that is due, null: none
	AppendedPerHour float64     `json:"filesAppendedPerHour"`
	Predicted       int         `json:"filesInAnHourWithoutCompaction"`
}

// groupLine is the files of one level and one cause.
type groupLine struct {
	Level  int       `json:"level"`
	Cause  string    `json:"cause"` // APPEND: a commit of a writer, COMPACT: a compaction
	Files  int       `json:"files"`
	Small  int       `json:"smallFiles"` // so small that a compaction of their level would rewrite them
	Bytes  int64     `json:"bytes"`
	Oldest time.Time `json:"oldest"`
	Newest time.Time `json:"newest"`
}

func lineOfBucket(b *compactor.BucketFiles) bucketLine {
	l := bucketLine{b.Table, b.Partition, b.Bucket, b.Bytes, b.Runs, []groupLine{}, nil, b.AppendedPerHour, b.Predicted}
	if b.Job != nil {
		j := lineOf(b.Job)
		l.Job = &j
	}
	for i := range b.Groups {
		g := &b.Groups[i]
		cause := "APPEND"
		if g.Source == table.SourceCompact {
			cause = "COMPACT"
		}
		l.Groups = append(l.Groups, groupLine{g.Level, cause, g.Files, g.Small, g.Bytes, g.Oldest, g.Newest})
	}
	return l
}

// printExplained prints why the tables have the files that they have: JSON by bucket, text summed up by table.
func (a *serviceArgs) printExplained(w io.Writer, buckets []compactor.BucketFiles, now time.Time) error {
	if a.JSON {
		for i := range buckets {
			if err := cli.PrintJSON(w, lineOfBucket(&buckets[i])); err != nil {
				return err
			}
		}
		return nil
	}
	for len(buckets) > 0 {
		n := slices.IndexFunc(buckets, func(b compactor.BucketFiles) bool { return b.Table != buckets[0].Table })
		if n < 0 {
			n = len(buckets)
		}
		if err := printTable(w, buckets[:n], now); err != nil {
			return err
		}
		buckets = buckets[n:]
	}
	return nil
}

// printTable prints what the buckets of one table have in common.
func printTable(w io.Writer, buckets []compactor.BucketFiles, now time.Time) error {
	type kind struct {
		level  int
		source table.FileSource
	}
	sums := map[kind]*compactor.FileGroup{}
	files, due, runs, predicted := 0, 0, 0, 0
	var bytes int64
	perHour := 0.0
	for i := range buckets {
		b := &buckets[i]
		bytes += b.Bytes
		runs = max(runs, b.Runs)
		perHour += b.AppendedPerHour
		predicted += b.Predicted
		if b.Job != nil {
			due++
		}
		for _, g := range b.Groups {
			files += g.Files
			s := sums[kind{g.Level, g.Source}]
			if s == nil {
				g := g
				sums[kind{g.Level, g.Source}] = &g
				continue
			}
			s.Files, s.Small, s.Bytes = s.Files+g.Files, s.Small+g.Small, s.Bytes+g.Bytes
			if g.Oldest.Before(s.Oldest) {
				s.Oldest = g.Oldest
			}
			if g.Newest.After(s.Newest) {
				s.Newest = g.Newest
			}
		}
	}
	fmt.Fprintf(w, "%s has %d files, %s, in %d buckets; the worst bucket has %d sorted runs\n", buckets[0].Table, files, cli.Size(bytes), len(buckets), runs)
	var groups []*compactor.FileGroup
	for _, g := range sums {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *compactor.FileGroup) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Source, b.Source))
	})
	g := cli.NewGrid(w, "  level", "files", "size", "oldest", "newest", "because")
	for _, s := range groups {
		if err := g.Row(fmt.Sprintf("  %d", s.Level), s.Files, cli.Size(s.Bytes), age(now.Sub(s.Oldest)), age(now.Sub(s.Newest)), cause(s)); err != nil {
			return err
		}
	}
	if err := g.End(); err != nil {
		return err
	}
	if perHour > 0 {
		fmt.Fprintf(w, "  commits bring %.0f files an hour: without a compaction there are %d in an hour\n", perHour, predicted)
	}
	_, err := fmt.Fprintf(w, "  %d of %d buckets are due\n\n", due, len(buckets))
	return err
}

// cause says why files are there.
func cause(g *compactor.FileGroup) string {
	switch {
	case g.Source == table.SourceCompact && g.Small > 0:
		return fmt.Sprintf("made by compactions; %d are small, because their run is or ended there", g.Small)
	case g.Source == table.SourceCompact:
		return "made by compactions"
	case g.Level == 0:
		return "written by commits and not compacted yet"
	}
	return "written by commits, and lifted as they were"
}

// age is a span for people.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= time.Minute:
		return d.Round(time.Minute).String()
	}
	return d.Round(time.Second).String()
}
