package main

import (
	"fmt"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
)

// A bucket of this size is healthy: smaller ones make many small files, larger ones are slow to compact.
const (
	leastBucket = 200 << 20
	idealBucket = 512 << 20
	mostBucket  = 1 << 30
)

// bucketSummary is what the buckets of a table say together.
type bucketSummary struct {
	Partitions       int      `json:"partitions"`
	Buckets          int      `json:"buckets"`
	LargestPartition string   `json:"largestPartition"`
	LargestBytes     int64    `json:"largestPartitionBytes"`
	FilesPerCommit   int      `json:"filesPerPartitionAndCommit"` // at most, of each partition that changes
	IndexedKeys      int64    `json:"indexedKeys"`
	DeletedRows      int64    `json:"deletedRows"`
	Advice           []string `json:"advice"`
}

// summarize compares the largest partition's buckets with healthy ones. fixed is the option bucket, targetRows that of dynamic ones.
func summarize(lines []*bucketLine, fixed int, targetRows int64) bucketSummary {
	s := bucketSummary{Buckets: len(lines), Advice: []string{}}
	bytes, buckets := map[string]int64{}, map[string]int{}
	for _, l := range lines {
		bytes[l.Partition] += l.Bytes
		buckets[l.Partition]++
		s.IndexedKeys += l.IndexedKeys
		s.DeletedRows += l.DeletedRows
		if bytes[l.Partition] >= s.LargestBytes {
			s.LargestPartition, s.LargestBytes = l.Partition, bytes[l.Partition]
		}
	}
	s.Partitions = len(bytes)
	n := buckets[s.LargestPartition]
	if s.FilesPerCommit = n; fixed > 0 {
		s.FilesPerCommit = fixed
		n = fixed
	}
	if s.LargestBytes == 0 {
		return s
	}
	each := s.LargestBytes / int64(n)
	want := int((s.LargestBytes + idealBucket - 1) / idealBucket)
	what := fmt.Sprintf("the largest partition has %s in %d buckets, %s each; 200 MB to 1 GB is healthy", cli.Size(s.LargestBytes), n, cli.Size(each))
	switch {
	case each > mostBucket && fixed > 0:
		s.Advice = append(s.Advice, fmt.Sprintf("%s: a table with bucket=%d would do", what, want))
	case each < leastBucket && n > 1 && fixed > 0:
		s.Advice = append(s.Advice, fmt.Sprintf("%s: if it will not grow, bucket=%d makes %d files a commit of each partition that changes instead of up to %d; "+
			"where the size is not known, bucket=-1 adds buckets as they fill", what, max(want, 1), max(want, 1), n))
	case (each > mostBucket || each < leastBucket && n > 1) && fixed == -1 && each > 0:
		s.Advice = append(s.Advice, fmt.Sprintf("%s: dynamic-bucket.target-row-num=%d instead of %d would make new ones %s",
			what, int64(float64(targetRows)*idealBucket/float64(each)), targetRows, cli.Size(idealBucket)))
	}
	return s
}
