package writer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// requireReferenced checks that every data file and index file is one of a snapshot's, and that none is missing.
func requireReferenced(t require.TestingT, fsys *mem.FS, tbl *table.Table) {
	ctx := context.Background()
	files, indexes := map[string]bool{}, map[string]bool{}
	add := func(e *table.Entry) {
		path, err := tbl.DataFilePath(e.Partition, e.Bucket, &e.File)
		require.NoError(t, err)
		files[path] = true
	}
	for s, err := range tbl.Snapshots(ctx) {
		require.NoError(t, err)
		for e, err := range tbl.ScanDelta(ctx, s) {
			require.NoError(t, err)
			add(&e)
		}
		for e, err := range tbl.ScanChangelog(ctx, s) {
			require.NoError(t, err)
			add(&e)
		}
		for e, err := range tbl.IndexEntries(ctx, s, table.Filter{}) {
			require.NoError(t, err)
			path, err := tbl.IndexFilePath(e.Partition, e.Bucket, &e.File)
			require.NoError(t, err)
			indexes[path] = true
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(files)), slices.Sorted(slices.Values(dataFiles(t, fsys))))
	there := slices.DeleteFunc(fsys.Paths(), func(p string) bool { return !strings.Contains(p, "/index/") })
	require.Equal(t, slices.Sorted(maps.Keys(indexes)), slices.Sorted(slices.Values(there)))
}

// replayed applies the changelog of all snapshots.
func replayed(t require.TestingT, tbl *table.Table) map[string]string {
	ctx := context.Background()
	out := map[string]string{}
	kv := lsm.NewKeyValues(tbl.Schema().RowType())
	for s, err := range tbl.Snapshots(ctx) {
		require.NoError(t, err)
		for e, err := range tbl.ScanChangelog(ctx, s) {
			require.NoError(t, err)
			r, err := lsm.OpenFile(ctx, tbl, e.Partition, e.Bucket, &e.File, tbl.Schema())
			require.NoError(t, err)
			for err = r.Next(kv); err == nil; err = r.Next(kv) {
				replayRows(t, s.ID, kv.Rows, out)
			}
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, r.Close())
		}
	}
	return out
}

func replayRows(t require.TestingT, snapshot int64, b *row.Batch, out map[string]string) {
	for i := range b.N {
		key := fmt.Sprintf("%d/%s", b.Cols[0].I64[i], b.Cols[2].Value(i))
		data := string(b.Cols[1].Value(i))
		old, has := out[key]
		switch b.Kinds[i] {
		case row.Insert:
			require.False(t, has, "%s is inserted twice, in snapshot %d", key, snapshot)
			out[key] = data
		case row.UpdateBefore, row.Delete:
			require.True(t, has, "%s in snapshot %d", key, snapshot)
			require.Equal(t, data, old, "before image of %s in snapshot %d", key, snapshot)
			if b.Kinds[i] == row.Delete {
				delete(out, key)
			}
		case row.UpdateAfter:
			require.True(t, has)
			out[key] = data
		}
	}
}

// compactByAnother compacts all buckets in full, as another process.
func compactByAnother(t require.TestingT, fsys *mem.FS, id int64) {
	ctx := context.Background()
	tbl, err := table.Open(ctx, fsys, "/w/db.db/t", nil)
	require.NoError(t, err)
	s, err := tbl.Latest(ctx)
	require.NoError(t, err)
	vectors := map[bucketKey]*table.IndexFile{}
	if s != nil {
		for e, err := range tbl.IndexEntries(ctx, s, table.Filter{}) {
			require.NoError(t, err)
			if e.File.Type == table.IndexDeletionVectors {
				vectors[bucketKey{string(e.Partition), e.Bucket}] = &e.File
			}
		}
	}
	buckets, totals := map[bucketKey][]table.DataFile{}, map[bucketKey]int32{}
	for e, err := range tbl.Scan(ctx, s, table.Filter{}) {
		require.NoError(t, err)
		k := bucketKey{string(e.Partition), e.Bucket}
		buckets[k], totals[k] = append(buckets[k], e.File), e.TotalBuckets
	}
	strategy, err := lsm.NewStrategy(tbl.Options())
	require.NoError(t, err)
	rw, err := lsm.NewRewriter(tbl, tbl.Schema(), lsm.RewriterConfig{})
	require.NoError(t, err)
	x := table.Committable{ID: id}
	for k, files := range buckets {
		levels, err := lsm.NewLevels(files, tbl.Schema(), tbl.Options())
		require.NoError(t, err)
		u, ok := strategy.PickFull(lsm.PickState{Levels: levels, Now: time.Now()}, nil)
		if !ok {
			continue
		}
		m := table.CommitMessage{Partition: []byte(k.partition), Bucket: k.bucket, TotalBuckets: totals[k]}
		if tbl.Options().Bool(table.KeyDeletionVectorsEnabled) {
			f, deleted := cmp.Or(vectors[k], &table.IndexFile{}), map[string]*roaring.Bitmap{}
			if m.Vectors = &f.Name; f.Name != "" {
				deleted, err = lsm.ReadVectors(ctx, tbl, m.Partition, k.bucket, []table.IndexFile{*f})
				require.NoError(t, err)
			}
			levels = levels.WithVectors(deleted)
		}
		m.Compact, _, err = rw.Rewrite(ctx, m.Partition, k.bucket, levels, u)
		require.NoError(t, err)
		x.Messages = append(x.Messages, m)
	}
	if len(x.Messages) == 0 {
		return
	}
	if _, err := tbl.NewCommit("another", nil).Commit(ctx, x); errors.Is(err, table.ErrConflict) {
		for _, m := range x.Messages {
			rw.Remove(ctx, m.Partition, m.Bucket, m.Compact)
		}
	} else {
		require.NoError(t, err)
	}
}

// TestModelWithCompaction is TestModel for tables that the writer compacts, while another process does too.
func TestModelWithCompaction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		fsys := mem.New()
		opts := table.Options{
			"bucket":                                    rapid.SampledFrom([]string{"1", "7", "-1"}).Draw(t, "buckets"),
			"dynamic-bucket.target-row-num":             "40",
			"file.format":                               rapid.SampledFrom([]string{"avro", "parquet"}).Draw(t, "format"),
			"num-sorted-run.compaction-trigger":         rapid.SampledFrom([]string{"1", "2", "5"}).Draw(t, "trigger"),
			"num-sorted-run.stop-trigger":               rapid.SampledFrom([]string{"0", "2147483647"}).Draw(t, "stop"),
			"changelog-producer":                        rapid.SampledFrom([]string{"none", "lookup", "full-compaction"}).Draw(t, "producer"),
			"lookup-wait":                               rapid.SampledFrom([]string{"true", "false"}).Draw(t, "wait"),
			"lookup-compact":                            rapid.SampledFrom([]string{"radical", "gentle"}).Draw(t, "eager"),
			"commit.force-compact":                      rapid.SampledFrom([]string{"true", "false", "false"}).Draw(t, "force"),
			"compaction.max-size-amplification-percent": rapid.SampledFrom([]string{"20", "200"}).Draw(t, "amplification"),
			"target-file-size":                          rapid.SampledFrom([]string{"2 kb", "128 mb"}).Draw(t, "target"),
			"write-buffer-size":                         rapid.SampledFrom([]string{"20 kb", "256 mb"}).Draw(t, "memory"),
		}
		if rapid.Bool().Draw(t, "full") {
			opts["full-compaction.delta-commits"] = "3"
		}
		vectors := opts["changelog-producer"] != "full-compaction" && rapid.Bool().Draw(t, "vectors")
		if vectors {
			opts["deletion-vectors.enabled"] = "true"
		}
		spec := table.Spec{Fields: guideFields(), PrimaryKeys: []string{"dt", "id"}, Options: opts}
		if rapid.Bool().Draw(t, "partitioned") {
			spec.PartitionKeys = []string{"dt"}
		}
		tbl := createTable(t, fsys, spec)
		open := func() *Writer { return goOn(t, tbl, Config{MaintainInterval: -1}) }
		w := open()
		defer func() { require.NoError(t, w.Close(ctx)) }()
		model, committed := map[string]string{}, map[string]string{}
		id, foreign, seq, columns := int64(0), int64(0), 0, 3
		checkpoint := func() {
			id++
			require.NoError(t, w.Checkpoint(ctx, id, map[string]string{"position": fmt.Sprint(id)}))
			committed = maps.Clone(model)
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 14).Draw(t, "step"); {
			case step < 9:
				b := row.NewBatch(w.Type())
				n := rapid.SampledFrom([]int{1, 10, 300}).Draw(t, "rows")
				keys := int64(rapid.SampledFrom([]int{5, 500}).Draw(t, "keys"))
				stride := int64(rapid.IntRange(1, 77).Draw(t, "stride"))
				for i := range n {
					seq++
					key, dt := int64(i)*stride%keys, fmt.Sprintf("d%d", seq/7%3)
					k, data, mk := row.Kind(seq%4), fmt.Sprintf("v%d", seq), fmt.Sprintf("%d/%s", key, dt)
					appendRow(b, k, key, data, dt)
					if k.IsRetract() {
						delete(model, mk)
					} else {
						model[mk] = data
					}
				}
				require.NoError(t, w.Write(ctx, b))
				if step < 6 {
					checkpoint()
				}
			case step == 9:
				require.NoError(t, w.Wait(ctx))
				require.Equal(t, committed, allContents(t, tbl))
			case step == 10:
				columns++
				require.NoError(t, w.Alter(ctx, table.SchemaChange{Kind: table.AddColumn, Column: fmt.Sprintf("c%d", columns), Type: text}))
			case step == 11: // rows after the last checkpoint are lost
				require.NoError(t, w.Close(ctx))
				require.Equal(t, committed, allContents(t, tbl))
				requireReferenced(t, fsys, tbl)
				model = maps.Clone(committed)
				w = open()
			case step == 12:
				checkpoint()
			default:
				foreign++
				compactByAnother(t, fsys, foreign)
			}
		}
		checkpoint()
		require.NoError(t, w.Wait(ctx))
		require.Equal(t, model, allContents(t, tbl))
		if (opts["changelog-producer"] == "lookup" || vectors) && opts["lookup-compact"] == "radical" {
			for level0(t, tbl) > 0 { // not all of it is in the changelog, or to be seen
				time.Sleep(time.Millisecond)
				checkpoint()
				require.NoError(t, w.Wait(ctx))
			}
			require.Equal(t, model, contents(t, tbl))
			if opts["changelog-producer"] == "lookup" {
				require.Equal(t, model, replayed(t, tbl))
			}
		}
		require.NoError(t, w.Close(ctx))
		requireReferenced(t, fsys, tbl)
		for p := range tbl.Check(ctx, nil, true, lsm.CheckFile) {
			require.Fail(t, "the table has a problem", "%s", p)
		}
	})
}

func TestFoldingLeavesOutWhatLivedInBetween(t *testing.T) {
	f := func(name string, level int) table.DataFile { return table.DataFile{Name: name, Level: level} }
	names := func(files []table.DataFile) (out []string) {
		for i := range files {
			out = append(out, fmt.Sprintf("%s%d", files[i].Name, files[i].Level))
		}
		return out
	}
	var all table.CompactIncrement
	// a moves, b and c become x.
	require.Empty(t, fold(&all, &table.CompactIncrement{
		Before: []table.DataFile{f("a", 0), f("b", 0), f("c", 0)}, After: []table.DataFile{f("a", 4), f("x", 4)}, Changelog: []table.DataFile{f("l", 4)},
	}))
	// x only moves.
	require.Empty(t, fold(&all, &table.CompactIncrement{Before: []table.DataFile{f("x", 4)}, After: []table.DataFile{f("x", 5)}, NewIndex: []table.IndexFile{{Name: "v"}}}))
	require.Equal(t, []string{"a4", "x5"}, names(all.After))
	// a is in the table still, x was never there.
	gone := fold(&all, &table.CompactIncrement{
		Before: []table.DataFile{f("d", 0), f("a", 4), f("x", 5)}, After: []table.DataFile{f("y", 5)}, Changelog: []table.DataFile{f("m", 5)},
		NewIndex: []table.IndexFile{{Name: "w"}},
	})
	require.Equal(t, []string{"x5"}, names(gone.After))
	require.Equal(t, []table.IndexFile{{Name: "v"}}, gone.NewIndex)
	require.Equal(t, []table.IndexFile{{Name: "w"}}, all.NewIndex)
	require.Empty(t, fold(&all, &table.CompactIncrement{Before: []table.DataFile{f("e", 0)}, After: []table.DataFile{f("e", 4)}}))
	require.Equal(t, []table.IndexFile{{Name: "w"}}, all.NewIndex)
	require.Equal(t, []string{"a0", "b0", "c0", "d0", "e0"}, names(all.Before))
	require.Equal(t, []string{"y5", "e4"}, names(all.After))
	require.Equal(t, []string{"l4", "m5"}, names(all.Changelog))
}

// heldRewriter holds each compaction back until it is let go.
type heldRewriter struct {
	bucketRewriter
	started chan struct{}
	release chan struct{}
	err     atomic.Pointer[error]
}

func (r *heldRewriter) Rewrite(ctx context.Context, partition []byte, bucket int32, levels *lsm.Levels, u lsm.Unit) (table.CompactIncrement, lsm.RewriteStats, error) {
	select {
	case r.started <- struct{}{}:
	default:
	}
	select {
	case <-r.release:
	case <-ctx.Done():
		return table.CompactIncrement{}, lsm.RewriteStats{}, ctx.Err()
	}
	if err := r.err.Load(); err != nil {
		return table.CompactIncrement{}, lsm.RewriteStats{}, *err
	}
	return r.bucketRewriter.Rewrite(ctx, partition, bucket, levels, u)
}

// hold puts a heldRewriter into a writer.
func hold(w *Writer) *heldRewriter {
	tl := *w.inline.tools.Load()
	r := &heldRewriter{bucketRewriter: tl.rewriter, started: make(chan struct{}, 100), release: make(chan struct{})}
	tl.rewriter = r
	w.inline.tools.Store(&tl)
	return r
}

func compactedTable(t *testing.T, options ...string) (*mem.FS, *table.Table) {
	return guideTable(t, append([]string{"write-only", "false", "bucket", "1", "num-sorted-run.compaction-trigger", "2"}, options...)...)
}

func writeTick(t *testing.T, w *Writer, tbl *table.Table, id int64) {
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, int(id)*10, int(id)*10+20, "d")))
	require.NoError(t, w.Checkpoint(t.Context(), id, nil))
	require.NoError(t, w.Wait(t.Context()))
}

func level0(t require.TestingT, tbl *table.Table) int {
	n, err := level0Files(context.Background(), tbl)
	require.NoError(t, err)
	return n
}

func level0Files(ctx context.Context, tbl *table.Table) (n int, err error) {
	s, err := tbl.Latest(ctx)
	if err != nil {
		return 0, err
	}
	for e, err := range tbl.Scan(ctx, s, table.Filter{}) {
		if err != nil {
			return 0, err
		}
		if e.File.Level == 0 {
			n++
		}
	}
	return n, nil
}

func TestCommitsGoOnWhileACompactionTakesLong(t *testing.T) {
	_, tbl := compactedTable(t, "num-sorted-run.stop-trigger", "2147483647")
	w := openWriter(t, tbl, Config{})
	r := hold(w)
	for id := range int64(30) {
		writeTick(t, w, tbl, id+1)
	}
	<-r.started
	require.Equal(t, 30, level0(t, tbl))
	require.Zero(t, w.Stats().CompactionWaits)
	close(r.release)
	require.Eventually(t, func() bool { return w.Due(31) }, time.Minute, time.Millisecond)
	require.NoError(t, w.Checkpoint(t.Context(), 31, map[string]string{"position": "p"}), "what was compacted is committed without rows too")
	require.NoError(t, w.Wait(t.Context()))
	require.Less(t, level0(t, tbl), 30)
	s, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, table.CommitCompact, s.CommitKind)
	require.Equal(t, "p", s.Properties["position"])
	require.Len(t, contents(t, tbl), 310)
}

func TestCloseDoesNotWaitForCompactionsOfOthers(t *testing.T) {
	pool, err := NewCompactionPool(1, 0, nil)
	require.NoError(t, err)
	_, busy := compactedTable(t)
	w := openWriter(t, busy, Config{Compactions: pool})
	r := hold(w)
	for id := range int64(3) {
		writeTick(t, w, busy, id+1)
	}
	<-r.started
	_, tbl := compactedTable(t)
	second := openWriter(t, tbl, Config{Compactions: pool})
	for id := range int64(3) {
		writeTick(t, second, tbl, id+1)
	}
	require.Eventually(t, func() bool { return second.Stats().CompactionsQueued == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, second.Close(t.Context()))
	require.Zero(t, second.Stats().CompactionsQueued)
	close(r.release)
	require.NoError(t, w.Close(t.Context()))
	pool.Close()
}

func TestTooManyRunsMakeTheCommitWait(t *testing.T) {
	_, tbl := compactedTable(t, "num-sorted-run.stop-trigger", "4")
	waits := make(chan CompactionWaitInfo, 10)
	w := openWriter(t, tbl, Config{Listener: Listener{CompactionWait: func(i CompactionWaitInfo) { waits <- i }}})
	r := hold(w)
	for id := range int64(5) {
		writeTick(t, w, tbl, id+1)
	}
	require.Empty(t, waits)
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 5, "d")))
	require.NoError(t, w.Checkpoint(t.Context(), 6, nil), "only its commit waits")
	i := <-waits
	require.Equal(t, 6, i.Runs)
	require.Equal(t, 4, i.StopTrigger)
	close(r.release)
	require.NoError(t, w.Wait(t.Context()))
	require.EqualValues(t, 1, w.Stats().CompactionWaits)
	require.Positive(t, w.Stats().CompactionWaitTime)
	require.Less(t, level0(t, tbl), 6)
}

func TestAFailingCompactionHoldsNothingUp(t *testing.T) {
	for _, o := range [][]string{{"num-sorted-run.stop-trigger", "2"}, {"changelog-producer", "lookup"}, {"full-compaction.delta-commits", "2"}} {
		_, tbl := compactedTable(t, o...)
		failed := make(chan error, 100)
		w := openWriter(t, tbl, Config{Listener: Listener{CompactionEnd: func(i CompactionInfo) { failed <- i.Err }}})
		r := hold(w)
		err := errors.New("the disk is on fire")
		r.err.Store(&err)
		close(r.release)
		for id := range int64(8) {
			writeTick(t, w, tbl, id+1)
		}
		require.ErrorIs(t, <-failed, err)
		require.Equal(t, 8, level0(t, tbl))
		require.Positive(t, w.Stats().CompactionFailures)
	}
}

// Files that could not be read are read again in time, whatever wakes the keeper in between.
func TestWhatWakesTheKeeperPutsNoRetryOff(t *testing.T) {
	_, tbl := compactedTable(t)
	c, err := newCompactions(tbl, tbl.Schema(), &Config{})
	require.NoError(t, err)
	defer c.free()
	c.ctx = t.Context()
	c.retryAt = time.Now().Add(time.Minute) // as after a read that failed
	c.enqueue(c.bucket(bucketKey{}, 1))
	for range 3 {
		c.read()
		require.Equal(t, c.retryAt, c.look())
	}
}

func TestEachCommitHoldsItsChangelog(t *testing.T) {
	fsys, tbl := compactedTable(t, "changelog-producer", "lookup")
	w := openWriter(t, tbl, Config{})
	for id := range int64(8) {
		writeTick(t, w, tbl, id+1)
		require.Zero(t, level0(t, tbl))
		require.Equal(t, contents(t, tbl), replayed(t, tbl))
	}
	require.NoError(t, w.Close(t.Context()))
	requireReferenced(t, fsys, tbl)
}

func TestEveryNthCommitCompactsInFull(t *testing.T) {
	_, tbl := compactedTable(t, "changelog-producer", "full-compaction", "full-compaction.delta-commits", "3", "num-sorted-run.compaction-trigger", "100")
	w := openWriter(t, tbl, Config{})
	for id := range int64(7) {
		writeTick(t, w, tbl, id+1)
	}
	s, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 7, s.CommitIdentifier)
	require.Equal(t, 1, level0(t, tbl))
	require.Len(t, replayed(t, tbl), 70, "of the first six")
	require.False(t, w.Due(8))
	require.True(t, w.Due(9), "full, without rows")
	require.NoError(t, w.Close(t.Context()))

	w = openWriter(t, tbl, Config{}) // what the run before has left
	require.True(t, w.Due(9))
	require.NoError(t, w.Checkpoint(t.Context(), 9, nil))
	require.NoError(t, w.Wait(t.Context()))
	require.Zero(t, level0(t, tbl))
	require.Equal(t, contents(t, tbl), replayed(t, tbl))
	require.False(t, w.Due(12))
}

func TestAConflictCostsOnlyTheCompaction(t *testing.T) {
	fsys, tbl := compactedTable(t, "num-sorted-run.stop-trigger", "2147483647")
	w := openWriter(t, tbl, Config{})
	r := hold(w)
	for id := range int64(4) {
		writeTick(t, w, tbl, id+1)
	}
	<-r.started
	compactByAnother(t, fsys, 1)
	close(r.release)
	require.Eventually(t, func() bool { return w.Due(5) }, time.Minute, time.Millisecond)
	writeTick(t, w, tbl, 5)
	s, err := tbl.LatestOf(t.Context(), w.cfg.CommitUser)
	require.NoError(t, err)
	require.EqualValues(t, 5, s.CommitIdentifier)
	require.Equal(t, table.CommitAppend, s.CommitKind)
	require.EqualValues(t, 1, w.Stats().CompactionConflicts)
	for id := range int64(5) {
		writeTick(t, w, tbl, id+6)
	}
	require.Len(t, contents(t, tbl), 110)
	require.NoError(t, w.Close(t.Context()))
	requireReferenced(t, fsys, tbl)
}

func TestExpiryBesideCommits(t *testing.T) {
	_, tbl := compactedTable(t, "snapshot.num-retained.min", "2", "snapshot.num-retained.max", "3")
	done := make(chan MaintainInfo, 100)
	w := openWriter(t, tbl, Config{MaintainInterval: time.Nanosecond, Listener: Listener{MaintainEnd: func(i MaintainInfo) { done <- i }}})
	for id := range int64(10) {
		writeTick(t, w, tbl, id+1)
	}
	removed := 0
	for removed < 5 {
		i := <-done
		require.NoError(t, i.Err)
		removed += i.Snapshots
	}
	require.Len(t, contents(t, tbl), 110)
}
