package writer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

// Stats tell of the index of keys, whichever there is, and commits of the partitions and buckets they have files in.
func TestStatsOfTheIndexOfKeys(t *testing.T) {
	ctx := t.Context()
	for name, tbl := range map[string]*table.Table{
		"dynamic":         dynamicTable(t, mem.New(), "dynamic-bucket.target-row-num", "4", "changelog-producer", "input"),
		"cross-partition": createTable(t, mem.New(), crossSpec("dynamic-bucket.target-row-num", "4", "sink.parallelism", "1", "changelog-producer", "input")),
	} {
		t.Run(name, func(t *testing.T) {
			var last CommitInfo
			open := func() *Writer {
				w, err := Open(ctx, tbl, Config{CommitUser: "ours", Listener: Listener{CommitEnd: func(c CommitInfo) { last = c }}})
				require.NoError(t, err)
				return w
			}
			w := open()
			require.NoError(t, w.Write(ctx, batchOf(tbl, 0, 10, "d")))
			require.NoError(t, w.Checkpoint(ctx, 1, nil))
			require.NoError(t, w.Wait(ctx))
			s := w.Stats()
			require.Equal(t, []int64{1, 3, 10}, []int64{s.IndexPartitions, s.IndexBuckets, s.IndexKeys})
			require.Positive(t, s.IndexMapped)
			require.Equal(t, []int{1, 3, 6}, []int{last.Partitions, last.Buckets, last.Files}, "a changelog file each")
			require.NoError(t, w.Close(ctx))

			w = open() // what is in the table counts too
			require.NoError(t, w.Write(ctx, batchOf(tbl, 10, 13, "d")))
			require.NoError(t, w.Checkpoint(ctx, 2, nil))
			require.NoError(t, w.Wait(ctx))
			s = w.Stats()
			require.Equal(t, []int64{1, 4, 13}, []int64{s.IndexPartitions, s.IndexBuckets, s.IndexKeys})
			require.NoError(t, w.Close(ctx))
		})
	}
}
