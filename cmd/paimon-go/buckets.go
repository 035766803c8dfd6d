package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/buckets"
	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/table"
)

type bucketsArgs struct {
	tableArgs
	outputArgs
	snapshotArgs
	bucketArgs
}

// bucketLine sums the files of a bucket up.
type bucketLine struct {
	Partition string        `json:"partition"`
	Bucket    int32         `json:"bucket"`
	Files     int           `json:"files"`
	Runs      int           `json:"sortedRuns"` // files of level 0, and the other levels that have files
	Rows      int64         `json:"rows"`
	Deletes   int64         `json:"deletes"`
	Bytes     int64         `json:"bytes"`
	Levels    map[int]int   `json:"filesByLevel"`
	Sizes     map[int]int64 `json:"bytesByLevel"`

	IndexedKeys int64 `json:"indexedKeys"` // of a dynamic bucket
	DeletedRows int64 `json:"deletedRows"` // by deletion vectors
}

// Run sums files up by bucket.
func (a *bucketsArgs) Run(ctx context.Context, env *environment) error {
	t, err := a.open(ctx, optionArgs{})
	if err != nil {
		return err
	}
	s, err := a.find(ctx, t)
	if s == nil || err != nil {
		return err
	}
	entries, err := collect(t, t.Scan(ctx, s, table.Filter{Bucket: a.Bucket}), &a.bucketArgs)
	if err != nil {
		return err
	}
	indexes, err := indexesOf(ctx, t, s)
	if err != nil {
		return err
	}
	var sizes buckets.Sizes
	var lines []*bucketLine
	for i := range entries {
		sizes.Add(&entries[i])
	}
	g := cli.NewGrid(env.out, "partition", "bucket", "sorted runs", "files", "rows", "deletes", "size", "files by level")
	for len(entries) > 0 {
		n := slices.IndexFunc(entries, func(e table.Entry) bool {
			return e.Bucket != entries[0].Bucket || string(e.Partition) != string(entries[0].Partition)
		})
		if n < 0 {
			n = len(entries)
		}
		l := sum(entries[:n])
		if l.Partition, err = t.PartitionPath(entries[0].Partition); err != nil {
			return err
		}
		i := indexes[bucketID{string(entries[0].Partition), l.Bucket}]
		l.IndexedKeys, l.DeletedRows = i.keys, i.deleted
		lines = append(lines, l)
		if a.JSON {
			err = cli.PrintJSON(env.out, l)
		} else {
			err = g.Row(l.Partition, l.Bucket, l.Runs, l.Files, l.Rows, l.Deletes, cli.Size(l.Bytes), l.levels())
		}
		if err != nil {
			return err
		}
		entries = entries[n:]
	}
	if err := g.End(); err != nil || len(lines) == 0 {
		return err
	}
	advice, err := sizes.Advise(t, buckets.Tick{})
	if err != nil {
		return err
	}
	all := summarize(&advice, lines)
	if a.JSON {
		return cli.PrintJSON(env.out, map[string]any{"summary": all})
	}
	if all.IndexedKeys > 0 || all.DeletedRows > 0 {
		fmt.Fprintf(env.out, "%d keys in the index, %d rows deleted by vectors\n", all.IndexedKeys, all.DeletedRows)
	}
	for _, line := range all.Advice {
		fmt.Fprintln(env.out, line)
	}
	return nil
}

// bucketSummary is what the buckets of a table say together.
type bucketSummary struct {
	Partitions       int      `json:"partitions"`
	Buckets          int      `json:"buckets"`
	LargestPartition string   `json:"largestPartition"`
	LargestBytes     int64    `json:"largestPartitionBytes"`
	BucketRows       int64    `json:"rowsPerBucket"` // of it
	BucketBytes      int64    `json:"bytesPerBucket"`
	FilesPerCommit   int      `json:"filesPerPartitionAndCommit"` // at most, of each partition that changes
	IndexedKeys      int64    `json:"indexedKeys"`
	DeletedRows      int64    `json:"deletedRows"`
	Advice           []string `json:"advice"`
}

func summarize(a *buckets.Advice, lines []*bucketLine) bucketSummary {
	s := bucketSummary{Partitions: a.Partitions, Buckets: a.Buckets, LargestPartition: a.Largest, LargestBytes: a.LargestBytes,
		BucketRows: a.RowsEach, BucketBytes: a.Each, FilesPerCommit: a.FilesPerPartition, Advice: append([]string{}, a.Says...)}
	for _, l := range lines {
		s.IndexedKeys += l.IndexedKeys
		s.DeletedRows += l.DeletedRows
	}
	return s
}

type bucketID struct {
	partition string
	bucket    int32
}

// bucketIndex is what the index files of a bucket say of it.
type bucketIndex struct{ keys, deleted int64 }

func indexesOf(ctx context.Context, t *table.Table, s *table.Snapshot) (map[bucketID]bucketIndex, error) {
	all := map[bucketID]bucketIndex{}
	for e, err := range t.IndexEntries(ctx, s, table.Filter{}) {
		if err != nil {
			return nil, err
		}
		id := bucketID{string(e.Partition), e.Bucket}
		x := all[id]
		if e.File.Type == table.IndexHash {
			x.keys += e.File.Rows
		}
		for _, v := range e.File.Vectors {
			if v.Cardinality != nil {
				x.deleted += *v.Cardinality
			}
		}
		all[id] = x
	}
	return all, nil
}

func sum(entries []table.Entry) *bucketLine {
	l := &bucketLine{Bucket: entries[0].Bucket, Files: len(entries), Levels: map[int]int{}, Sizes: map[int]int64{}}
	for i := range entries {
		f := &entries[i].File
		l.Rows += f.RowCount
		l.Deletes += max(f.DeleteRows, 0)
		l.Bytes += f.Size
		if f.Level == 0 || l.Levels[f.Level] == 0 {
			l.Runs++
		}
		l.Levels[f.Level]++
		l.Sizes[f.Level] += f.Size
	}
	return l
}

func (l *bucketLine) levels() string {
	var parts []string
	for _, level := range slices.Sorted(maps.Keys(l.Levels)) {
		parts = append(parts, fmt.Sprintf("%d:%d", level, l.Levels[level]))
	}
	return strings.Join(parts, " ")
}

// wallClock returns the creation time of a file: milliseconds of a wall clock read as if it were UTC.
func wallClock(millis int64) string {
	if millis < 0 {
		return ""
	}
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000")
}
