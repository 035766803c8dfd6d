package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBucketsOfOddSizeGetAdvice(t *testing.T) {
	lines := func(n int, size int64) (l []*bucketLine) {
		for i := range n {
			l = append(l, &bucketLine{Partition: "dt=1", Bucket: int32(i), Bytes: size, IndexedKeys: 5})
		}
		return append(l, &bucketLine{Partition: "dt=2", Bytes: 1, DeletedRows: 2})
	}
	for _, tc := range []struct {
		n     int
		size  int64
		fixed int
		want  string
	}{
		{4, 400 << 20, 4, ""},
		{1, 1 << 20, 1, ""},
		{16, 32 << 20, 16, "bucket=1 makes 1 files"},
		{2, 4 << 30, 2, "bucket=16 would do"},
		{4, 400 << 20, -1, ""},
		{8, 64 << 20, -1, "dynamic-bucket.target-row-num=8000 instead of 1000"},
		{1, 2 << 30, -1, "dynamic-bucket.target-row-num=250 instead of 1000"},
	} {
		s := summarize(lines(tc.n, tc.size), tc.fixed, 1000)
		require.Equal(t, 2, s.Partitions)
		require.Equal(t, "dt=1", s.LargestPartition)
		require.Equal(t, tc.n, s.FilesPerCommit)
		require.EqualValues(t, 5*tc.n, s.IndexedKeys)
		require.EqualValues(t, 2, s.DeletedRows)
		if tc.want == "" {
			require.Empty(t, s.Advice, fmt.Sprint(tc))
		} else {
			require.Len(t, s.Advice, 1, fmt.Sprint(tc))
			require.Contains(t, s.Advice[0], tc.want)
		}
	}
	require.Empty(t, summarize(nil, 4, 1000).Advice)
}
