package writer

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/table"
)

func TestManyKeysInDynamicBuckets(t *testing.T) { writeManyKeys(t) }

// A load of many keys: they go to partitions in turns, and each partition has two assigners.
const (
	loadPartitions = 20
	loadAssigners  = 2
)

// writeManyKeys writes PAIMON_GO_TEST_KEYS keys, few when it is not set, then a new writer goes on. It takes about 50 bytes of disk a key.
func writeManyKeys(t *testing.T) (tbl *table.Table, keys int, heap int64) {
	keys, err := strconv.Atoi(os.Getenv("PAIMON_GO_TEST_KEYS"))
	if err != nil {
		keys = 100_000
	}
	const partitions, batch = loadPartitions, 4096
	target := keys / 500
	ctx := t.Context()
	fields := []row.Field{{ID: 0, Name: "id", Type: bigint}, {ID: 1, Name: "p", Type: row.Type{Root: row.Int}}}
	tbl, err = table.Create(ctx, local.FS{}, t.TempDir()+"/db.db/t", table.Spec{
		Fields: fields, PartitionKeys: []string{"p"}, PrimaryKeys: []string{"p", "id"},
		Options: table.Options{"bucket": "-1", "write-only": "true", "dynamic-bucket.target-row-num": strconv.Itoa(target), "write-buffer-size": "64 mb"},
	})
	require.NoError(t, err)
	write := func(w *Writer, from, to int) {
		b := row.NewBatch(w.Type())
		for i := from; i < to; i++ {
			b.Cols[0].AppendI64(int64(i / partitions))
			b.Cols[1].AppendI32(int32(i % partitions))
			if b.EndRow(row.Insert); b.N == batch || i+1 == to {
				require.NoError(t, w.Write(ctx, b))
				b.Reset()
			}
		}
	}
	w, err := Open(ctx, tbl, Config{CommitUser: "u", Shards: loadAssigners})
	require.NoError(t, err)
	start, id := time.Now(), int64(0)
	for from := 0; from < keys; from += 1_000_000 {
		write(w, from, min(from+1_000_000, keys))
		id++
		require.NoError(t, w.Checkpoint(ctx, id, nil))
	}
	require.NoError(t, w.Wait(ctx))
	s := w.Stats()
	million := float64(s.IndexKeys) / 1e6
	t.Logf("%d keys in %v, index of %d keys in %d partitions: %.4f MB of heap and %.1f MB mapped for 1 M keys", keys, time.Since(start).Round(time.Second),
		s.IndexKeys, s.IndexPartitions, float64(s.IndexHeap)/1e6/million, float64(s.IndexMapped)/1e6/million)
	if keys >= 1_000_000 { // each bucket takes a little
		require.Less(t, float64(s.IndexHeap)/million, 500_000.0)
	}
	require.NoError(t, w.Close(ctx))
	runtime.GC()

	start = time.Now()
	w, err = Open(ctx, tbl, Config{CommitUser: "u", Shards: loadAssigners})
	require.NoError(t, err)
	opened := time.Since(start)
	write(w, keys-partitions/2, keys+partitions/2) // all partitions: all keys are loaded
	loaded := time.Since(start)
	require.NoError(t, w.Checkpoint(ctx, id+1, nil))
	require.NoError(t, w.Wait(ctx))
	t.Logf("restart to first commit: %v (opened after %v, loaded after %v)", time.Since(start), opened, loaded)
	require.NoError(t, w.Close(ctx))

	most := int64(0)
	for _, buckets := range bucketsOf(t, tbl) {
		total := int64(0)
		for _, n := range buckets {
			require.LessOrEqual(t, n, int64(target))
			total += n
			most = max(most, n)
		}
		// Each assigner has one bucket that is not full.
		require.LessOrEqual(t, int64(len(buckets)), total/int64(target)+loadAssigners)
	}
	t.Logf("the fullest bucket has %.2f %% of the target", float64(most)*100/float64(target))
	return tbl, keys, s.IndexHeap
}
