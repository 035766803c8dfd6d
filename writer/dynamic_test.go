package writer

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

func dynamicTable(t require.TestingT, fsys fs.FileSystem, options ...string) *table.Table {
	o := table.Options{"bucket": "-1", "write-only": "true", "sink.parallelism": "1"}
	for i := 0; i < len(options); i += 2 {
		o[options[i]] = options[i+1]
	}
	return createTable(t, fsys, table.Spec{Fields: guideFields(), PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "id"}, Options: o})
}

// bucketsOf returns how many keys each bucket has by its HASH file, by partition.
func bucketsOf(t require.TestingT, tbl *table.Table) map[string]map[int32]int64 {
	ctx := context.Background()
	out := map[string]map[int32]int64{}
	s, err := tbl.Latest(ctx)
	require.NoError(t, err)
	for e, err := range tbl.IndexEntries(ctx, s, table.Filter{}) {
		require.NoError(t, err)
		if out[string(e.Partition)] == nil {
			out[string(e.Partition)] = map[int32]int64{}
		}
		out[string(e.Partition)][e.Bucket] = e.File.Rows
	}
	return out
}

// requireIndexed checks that each key of the table is in the HASH file of its bucket and in no other of its partition.
func requireIndexed(t require.TestingT, tbl *table.Table) {
	ctx := context.Background()
	s, err := tbl.Latest(ctx)
	require.NoError(t, err)
	if s == nil {
		return
	}
	index := map[string]map[int32]int32{} // by partition, by hash
	for e, err := range tbl.IndexEntries(ctx, s, table.Filter{}) {
		require.NoError(t, err)
		if e.File.Type != table.IndexHash {
			continue
		}
		hashes := index[string(e.Partition)]
		if hashes == nil {
			hashes = map[int32]int32{}
			index[string(e.Partition)] = hashes
		}
		for h, err := range tbl.Hashes(ctx, e.Partition, e.Bucket, &e.File) {
			require.NoError(t, err)
			_, twice := hashes[h]
			require.False(t, twice, "a hash is in two buckets")
			hashes[h] = e.Bucket
		}
	}
	type place struct {
		partition string
		bucket    int32
	}
	seen := map[place]bool{}
	for e, err := range tbl.Scan(ctx, s, table.Filter{}) {
		require.NoError(t, err)
		require.EqualValues(t, -1, e.TotalBuckets)
		p := place{string(e.Partition), e.Bucket}
		if seen[p] {
			continue
		}
		seen[p] = true
		for b, err := range lsm.Scan(ctx, tbl, s, lsm.ScanOptions{Partition: e.Partition, Bucket: &e.Bucket, AllLevels: true}) {
			require.NoError(t, err)
			for _, h := range row.AppendHashes(nil, columns(nil, b, tbl.Schema().KeyIndexes()), 0, b.N) {
				got, ok := index[p.partition][h]
				require.True(t, ok && got == e.Bucket, "a key of bucket %d is in the index of bucket %d, %v", e.Bucket, got, ok)
			}
		}
	}
}

func TestDynamicBucketsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		fsys := mem.New()
		target := rapid.SampledFrom([]int64{1, 3, 40, 2000000}).Draw(t, "target")
		parallelism := rapid.SampledFrom([]string{"1", "2", "5"}).Draw(t, "parallelism")
		limit := rapid.SampledFrom([]string{"-1", "-1", "2", "5"}).Draw(t, "max")
		tbl := dynamicTable(t, fsys, "sink.parallelism", parallelism, "file.format", "avro",
			"dynamic-bucket.target-row-num", fmt.Sprint(target), "dynamic-bucket.max-buckets", limit)
		open := func() *Writer { return goOn(t, tbl, Config{}) }
		w := open()
		model, committed := map[string]string{}, map[string]string{}
		id, seq := int64(0), 0
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
			case step < 4:
				b := row.NewBatch(w.Type())
				from, parts := rapid.Int64Range(0, 50).Draw(t, "from"), rapid.IntRange(1, 8).Draw(t, "partitions")
				for i := range rapid.SampledFrom([]int{1, 7, 60}).Draw(t, "rows") {
					seq++
					key, dt := from+int64(i), fmt.Sprintf("d%d", seq%parts)
					mk, data := fmt.Sprintf("%d/%s", key, dt), fmt.Sprintf("v%d", seq)
					if seq%5 == 0 {
						appendRow(b, row.Delete, key, data, dt)
						delete(model, mk)
					} else {
						appendRow(b, row.Insert, key, data, dt)
						model[mk] = data
					}
				}
				require.NoError(t, w.Write(ctx, b))
			case step < 7:
				id++
				require.NoError(t, w.Checkpoint(ctx, id, nil))
				committed = maps.Clone(model)
			case step == 7:
				require.NoError(t, w.Flush(ctx))
			case step == 8:
				require.NoError(t, w.Wait(ctx))
				require.Equal(t, committed, contents(t, tbl))
				requireIndexed(t, tbl)
			case step == 9:
				require.NoError(t, w.Close(ctx))
				model = maps.Clone(committed)
				w = open()
			}
		}
		id++
		require.NoError(t, w.Checkpoint(ctx, id, nil))
		require.NoError(t, w.Wait(ctx))
		require.Equal(t, model, contents(t, tbl))
		requireIndexed(t, tbl)
		require.NoError(t, w.Close(ctx))
		require.Zero(t, w.Stats().BufferBytes)
		for _, buckets := range bucketsOf(t, tbl) {
			for b, n := range buckets {
				if limit == "-1" {
					require.LessOrEqual(t, n, target)
				} else {
					require.Less(t, fmt.Sprint(b), limit)
				}
			}
		}
		var orphans []string // HASH files that are not in the table: superseded ones are in older snapshots
		for p := range tbl.Check(ctx, nil, true, lsm.CheckFile) {
			orphans = append(orphans, fmt.Sprint(p))
		}
		require.Empty(t, orphans)
	})
}

func TestDynamicBucketsFillUp(t *testing.T) {
	tbl := dynamicTable(t, mem.New(), "dynamic-bucket.target-row-num", "100", "ignore-delete", "true")
	ctx := t.Context()
	w, err := Open(ctx, tbl, Config{CommitUser: "u"})
	require.NoError(t, err)
	b := row.NewBatch(w.Type())
	for i := range 250 {
		appendRow(b, row.Insert, int64(i), "x", "d")
		appendRow(b, row.Delete, int64(i+1000), "x", "d") // never in the index
	}
	require.NoError(t, w.Write(ctx, b))
	require.NoError(t, w.Checkpoint(ctx, 1, nil))
	require.NoError(t, w.Wait(ctx))
	all := bucketsOf(t, tbl)
	require.Len(t, all, 1)
	for _, got := range all {
		require.Equal(t, map[int32]int64{0: 100, 1: 100, 2: 50}, got)
	}
	s := w.Stats()
	require.EqualValues(t, 250, s.IndexKeys)
	require.EqualValues(t, 1, s.IndexPartitions)
	require.Positive(t, s.IndexMapped)
	require.Positive(t, s.IndexHeap)
	require.NoError(t, w.Close(ctx))
	require.Zero(t, w.Stats().IndexMapped)
	require.Zero(t, w.Stats().IndexHeap)
}

func TestIdlePartitionsAreGivenUpAndLoadedAgain(t *testing.T) {
	tbl := dynamicTable(t, mem.New(), "dynamic-bucket.target-row-num", "100")
	ctx := t.Context()
	w, err := Open(ctx, tbl, Config{CommitUser: "u"})
	require.NoError(t, err)
	write := func(dt string, from, n int64) {
		b := row.NewBatch(w.Type())
		for i := range n {
			appendRow(b, row.Insert, from+i, dt, dt)
		}
		require.NoError(t, w.Write(ctx, b))
	}
	write("old", 0, 150)
	for id := range int64(idleEpochs + 2) {
		write("new", id, 1)
		require.NoError(t, w.Checkpoint(ctx, id, nil))
		require.NoError(t, w.Wait(ctx))
	}
	require.EqualValues(t, 1, w.Stats().IndexPartitions)
	write("old", 100, 150)
	require.EqualValues(t, 2, w.Stats().IndexPartitions)
	require.NoError(t, w.Checkpoint(ctx, 100, nil))
	require.NoError(t, w.Close(ctx))
	requireIndexed(t, tbl)
	require.Len(t, contents(t, tbl), 250+idleEpochs+2)
}

func TestAForeignWriterOfDynamicBucketsIsNoticed(t *testing.T) {
	tbl := dynamicTable(t, mem.New())
	ctx := t.Context()
	w, err := Open(ctx, tbl, Config{CommitUser: "ours"})
	require.NoError(t, err)
	require.NoError(t, w.Write(ctx, batchOf(tbl, 0, 10, "d")))
	require.NoError(t, w.Checkpoint(ctx, 1, nil))
	require.NoError(t, w.Wait(ctx))
	s, err := tbl.Latest(ctx)
	require.NoError(t, err)
	var entry table.IndexEntry
	for entry, err = range tbl.IndexEntries(ctx, s, table.Filter{}) {
		require.NoError(t, err)
	}
	entry.File.Name = "index-of-somebody-else"
	_, err = tbl.NewCommit("somebody else", nil).Commit(ctx, table.Committable{ID: 1, Messages: []table.CommitMessage{{
		Partition: entry.Partition, Bucket: 1, TotalBuckets: -1, Data: table.DataIncrement{NewIndex: []table.IndexFile{entry.File}}}}})
	require.NoError(t, err)

	require.NoError(t, w.Write(ctx, batchOf(tbl, 0, 10, "d"))) // nothing new
	require.NoError(t, w.Checkpoint(ctx, 2, nil))
	require.NoError(t, w.Wait(ctx))
	require.NoError(t, w.Write(ctx, batchOf(tbl, 10, 20, "d")))
	require.NoError(t, w.Checkpoint(ctx, 3, nil))
	require.ErrorIs(t, w.Wait(ctx), table.ErrForeignWriter)
	require.ErrorIs(t, w.Close(ctx), table.ErrForeignWriter)
	require.Len(t, contents(t, tbl), 10)
}

// A partition that expires under a writer takes its index along: rows of keys that the writer knows would be in none.
func TestAPartitionThatGoesUnderAWriterIsNoticed(t *testing.T) {
	tbl := dynamicTable(t, mem.New())
	ctx := t.Context()
	w, err := Open(ctx, tbl, Config{CommitUser: "ours"})
	require.NoError(t, err)
	require.NoError(t, w.Write(ctx, batchOf(tbl, 0, 10, "d")))
	require.NoError(t, w.Checkpoint(ctx, 1, nil))
	require.NoError(t, w.Wait(ctx))
	s, err := tbl.Latest(ctx)
	require.NoError(t, err)
	var drop []table.CommitMessage
	gone := map[string]bool{}
	for e, err := range tbl.Scan(ctx, s, table.Filter{}) {
		require.NoError(t, err)
		drop = append(drop, table.CommitMessage{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: -1, Data: table.DataIncrement{Deleted: []table.DataFile{e.File}}})
		gone[string(e.Partition)] = true
	}
	_, err = tbl.NewCommit("expiry", nil).Commit(ctx, table.Committable{ID: 1, Messages: drop, DropIndexes: gone})
	require.NoError(t, err)

	require.NoError(t, w.Write(ctx, batchOf(tbl, 0, 10, "d"))) // nothing new
	require.NoError(t, w.Checkpoint(ctx, 2, nil))
	require.ErrorIs(t, w.Wait(ctx), table.ErrPartitionGone)
	require.ErrorIs(t, w.Close(ctx), table.ErrPartitionGone)

	w, err = Open(ctx, tbl, Config{CommitUser: "ours"})
	require.NoError(t, err)
	require.NoError(t, w.Write(ctx, batchOf(tbl, 0, 10, "d")))
	require.NoError(t, w.Checkpoint(ctx, 2, nil))
	require.NoError(t, w.Close(ctx))
	require.Len(t, contents(t, tbl), 10)
}

// patient is a watch that others do something under.
func patient(beats *int, then func(n int)) leaseTime {
	return leaseTime{beat: time.Second, dead: 3 * time.Second, sleep: func(ctx context.Context, _ time.Duration) error {
		if *beats++; then != nil {
			then(*beats)
		}
		return ctx.Err()
	}}
}

func never(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestASecondWriterIsRefused(t *testing.T) {
	ctx := t.Context()
	tbl := dynamicTable(t, mem.New())
	first, err := takeLease(ctx, tbl, "first", leaseTime{beat: time.Second, dead: 3 * time.Second, sleep: never})
	require.NoError(t, err)
	beats := 0
	_, err = takeLease(ctx, tbl, "second", patient(&beats, func(int) {
		first.mine.Beat++
		require.NoError(t, first.write(ctx))
	}))
	require.ErrorIs(t, err, table.ErrFenced)
	require.ErrorContains(t, err, "job first")
	require.Equal(t, 1, beats)

	beats = 0 // a restart waits for nothing
	again, err := takeLease(ctx, tbl, "first", leaseTime{beat: time.Second, dead: 3 * time.Second, sleep: never})
	require.NoError(t, err)

	third := make(chan error, 1) // the first two live no more: they don't beat
	go func() {
		waits := 0
		l, err := takeLease(ctx, tbl, "third", leaseTime{beat: time.Second, dead: 3 * time.Second, sleep: func(ctx context.Context, d time.Duration) error {
			if waits++; waits <= 3 {
				return nil
			}
			return never(ctx, d)
		}})
		if err == nil {
			l.release()
		}
		third <- err
	}()
	require.NoError(t, <-third)
	first.release()
	again.release()
	_, err = tbl.FS().Stat(ctx, again.path)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A twin of the same commit user takes the file and leaves: it is the first one's again.
func TestALeaseOutlivesATwin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tbl := dynamicTable(t, mem.New())
		first, err := takeLease(t.Context(), tbl, "user", leaseTimes)
		require.NoError(t, err)
		twin, err := takeLease(t.Context(), tbl, "user", leaseTimes)
		require.NoError(t, err)
		twin.release()
		time.Sleep(2 * leaseTimes.beat)
		now, err := first.read(t.Context())
		require.NoError(t, err)
		require.Equal(t, first.mine.Owner, now.Owner)
		require.ErrorIs(t, CheckAlone(t.Context(), tbl, "other"), table.ErrFenced)
		require.NoError(t, CheckAlone(t.Context(), tbl, "user"))
		first.release()
		require.NoError(t, CheckAlone(t.Context(), tbl, "other"))
	})
}

func TestWritingKnownKeysAllocatesNothing(t *testing.T) {
	tbl := dynamicTable(t, mem.New())
	ctx := t.Context()
	w, err := Open(ctx, tbl, Config{CommitUser: "u"})
	require.NoError(t, err)
	b := batchOf(tbl, 0, 1000, "d")
	require.NoError(t, w.Write(ctx, b))
	w.mu.Lock()
	n := testing.AllocsPerRun(20, func() {
		if err := w.find(ctx, b); err != nil {
			panic(err)
		}
	})
	w.mu.Unlock()
	require.Less(t, n, 2.0)
	require.NoError(t, w.Close(ctx))
}
