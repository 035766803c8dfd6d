package buckets

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

const mib = 1 << 20

// partitioned is a table with a partition of n buckets and a tiny one.
func partitioned(t *testing.T, n int, rows, size int64, options table.Options) (*table.Table, *Sizes) {
	o := table.Options{"dynamic-bucket.target-row-num": "1000"}.With(options)
	tab, err := table.Create(t.Context(), mem.New(), "/t", table.Spec{
		Fields:        []row.Field{{Name: "k", Type: row.Type{Root: row.Int}}, {ID: 1, Name: "dt", Type: row.Type{Root: row.Int}}},
		PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "k"}, Options: o})
	require.NoError(t, err)
	var s Sizes
	for dt := range int32(2) {
		var col row.Column
		col.Init(&tab.Schema().Fields[1].Type)
		col.AppendI32(dt + 1)
		p := row.AppendSerializedRow(nil, []*row.Column{&col}, 0)
		if dt == 1 {
			s.Add(&table.Entry{Partition: p, File: table.DataFile{RowCount: 1, Size: 1}})
			s.Add(&table.Entry{Partition: p, Bucket: -2, File: table.DataFile{RowCount: 1, Size: 1 << 50}})
			continue
		}
		for b := range n {
			for range 2 {
				s.Add(&table.Entry{Partition: p, Bucket: int32(b), File: table.DataFile{RowCount: rows / 2, Size: size / 2}})
			}
		}
	}
	return tab, &s
}

func TestBucketsOfOddSizeGetAdvice(t *testing.T) {
	for name, tc := range map[string]struct {
		n          int
		rows, size int64
		options    table.Options
		tick       Tick
		verdict    Verdict
		want       string // "" for none
	}{
		"healthy":             {4, 1000, 400 * mib, table.Options{"bucket": "4"}, Tick{}, Healthy, ""},
		"one small":           {1, 1000, mib, table.Options{"bucket": "1"}, Tick{}, Healthy, ""},
		"fixed and small":     {16, 1000, 32 * mib, table.Options{"bucket": "16"}, Tick{}, Small, "with bucket=1 a commit makes fewer files: 1 of each partition that changes instead of up to 16"},
		"small, and measured": {16, 1000, 64 * mib, table.Options{"bucket": "16"}, Tick{3, 40, 80}, Small, "the largest partition, dt=1, has 16000 rows and 1.0 GiB in 16 buckets, 1000 rows and 64.0 MiB each; 200 MB to 1 GB is healthy: if it will not grow, with bucket=2 a commit makes fewer files: about 10 instead of 80"},
		"fixed and large":     {2, 1000, 4096 * mib, table.Options{"bucket": "2"}, Tick{}, Large, "bucket=16 would do"},
		"dynamic":             {4, 1000, 400 * mib, table.Options{"bucket": "-1"}, Tick{}, Healthy, ""},
		"full too early":      {8, 1000, 64 * mib, table.Options{"bucket": "-1"}, Tick{}, Small, "dynamic-bucket.target-row-num=8000 instead of 1000"},
		"full too late":       {1, 1000, 2048 * mib, table.Options{"bucket": "-1"}, Tick{}, Large, "dynamic-bucket.target-row-num=250 instead of 1000"},
		"not full":            {2, 10, mib, table.Options{"bucket": "-1"}, Tick{}, Small, "dynamic-bucket.initial-buckets=1"},
		"postponed":           {2, 10, 4096 * mib, table.Options{"bucket": "-2"}, Tick{}, Large, "postpone.default-bucket-num=16"},
		"many files":          {4, 1000, 400 * mib, table.Options{"bucket": "4"}, Tick{50, 175, 350}, Healthy, "a commit makes 350 files, as it has rows of 50 partitions, in 3.5 buckets each"},
		"idle shards":         {4, 1000, 400 * mib, table.Options{"bucket": "4", "sink.parallelism": "8"}, Tick{1, 4, 4}, Healthy, "a commit has rows in 4 buckets, so that not all of sink.parallelism=8 have work"},
		"busy shards":         {4, 1000, 400 * mib, table.Options{"bucket": "4", "sink.parallelism": "4"}, Tick{1, 3.2, 4}, Healthy, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tab, s := partitioned(t, tc.n, tc.rows, tc.size, tc.options)
			a, err := s.Advise(tab, tc.tick)
			require.NoError(t, err)
			require.Equal(t, tc.verdict, a.Verdict)
			require.Equal(t, 2, a.Partitions)
			require.Equal(t, tc.n+1, a.Buckets)
			require.Equal(t, "dt=1", a.Largest)
			require.Equal(t, tc.n, a.FilesPerPartition)
			require.Equal(t, []int64{tc.rows, tc.size}, []int64{a.RowsEach, a.Each})
			if tc.want == "" {
				require.Empty(t, a.Says)
				return
			}
			require.Len(t, a.Says, 1)
			require.Contains(t, a.Says[0], tc.want)
		})
	}
	tab, _ := partitioned(t, 1, 1, 1, table.Options{"bucket": "4"})
	a, err := new(Sizes).Advise(tab, Tick{})
	require.NoError(t, err)
	require.Empty(t, a.Says)
}
