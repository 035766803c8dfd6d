package writer

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

func postponeTable(t *testing.T, options ...string) (*mem.FS, *table.Table) {
	return guideTable(t, append([]string{"bucket", "-2"}, options...)...)
}

// postponedFiles are the live files that belong to no bucket, by partition, in the order in which a compaction replays them.
func postponedFiles(t require.TestingT, tbl *table.Table) map[string][]table.Entry {
	s, err := tbl.Latest(context.Background())
	require.NoError(t, err)
	out := map[string][]table.Entry{}
	if s == nil {
		return out
	}
	for e, err := range tbl.Scan(context.Background(), s, table.Filter{}) {
		require.NoError(t, err)
		require.EqualValues(t, table.PostponeBucket, e.Bucket)
		require.EqualValues(t, table.PostponeBucket, e.TotalBuckets)
		out[string(e.Partition)] = append(out[string(e.Partition)], e)
	}
	for _, files := range out {
		slices.SortFunc(files, func(a, b table.Entry) int { return cmp.Compare(a.File.CreationMillis, b.File.CreationMillis) })
		for i := 1; i < len(files); i++ {
			require.Greater(t, files[i].File.CreationMillis, files[i-1].File.CreationMillis)
		}
	}
	return out
}

// replayPostponed reads the records of the postponed files in their order, as "+Iid/dt=data".
func replayPostponed(t require.TestingT, tbl *table.Table) map[string][]string {
	ctx := context.Background()
	out := map[string][]string{}
	for _, files := range postponedFiles(t, tbl) {
		for i := range files {
			e := &files[i]
			require.EqualValues(t, -1, e.File.MinSeq)
			require.EqualValues(t, -1, e.File.MaxSeq)
			path, err := tbl.DataFilePath(e.Partition, e.Bucket, &e.File)
			require.NoError(t, err)
			require.Contains(t, path, "/bucket-postpone/data--u-")
			n, ok := table.PostponeWriter(e.File.Name)
			require.True(t, ok && n == 0, e.File.Name)
			rows := int64(0)
			r, err := lsm.OpenFile(ctx, tbl, e.Partition, e.Bucket, &e.File, tbl.Schema())
			require.NoError(t, err)
			kv := lsm.NewKeyValues(tbl.Schema().RowType())
			for err = r.Next(kv); err == nil; err = r.Next(kv) {
				rows += int64(kv.Len())
				for k := range kv.Len() {
					require.EqualValues(t, -1, kv.Seq[k])
					dt := string(kv.Rows.Cols[2].Value(k))
					out[dt] = append(out[dt], fmt.Sprintf("%s%d/%s=%s", kv.Rows.Kinds[k], kv.Rows.Cols[0].I64[k], dt, kv.Rows.Cols[1].Value(k)))
				}
			}
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, r.Close())
			require.Equal(t, e.File.RowCount, rows)
		}
	}
	return out
}

// postponedContents is what the replay of the postponed files makes of each key.
func postponedContents(t require.TestingT, tbl *table.Table) map[string]string {
	out := map[string]string{}
	for _, rows := range replayPostponed(t, tbl) {
		for _, r := range rows {
			key, data, _ := strings.Cut(r[2:], "=")
			if out[key] = data; r[0] == '-' {
				delete(out, key)
			}
		}
	}
	return out
}

// Barriers are waited for in any order.
func TestPostponedFilesOfBarriersAreInTheirOrder(t *testing.T) {
	_, tbl := postponeTable(t)
	w := openWriter(t, tbl, Config{CommitUser: "job"})
	var pending []*Pending
	for i := range 5 {
		require.NoError(t, w.Write(t.Context(), batchOf(tbl, i, i+1, "d")))
		p, err := w.Barrier(t.Context(), int64(i))
		require.NoError(t, err)
		pending = append(pending, p)
	}
	last := int64(1 << 62)
	for i := range pending {
		messages, err := pending[len(pending)-1-i].Wait(t.Context())
		require.NoError(t, err)
		require.Len(t, messages, 1)
		require.Less(t, messages[0].Data.New[0].CreationMillis, last)
		last = messages[0].Data.New[0].CreationMillis
	}
}

// Whatever memory there is, files have all rows in the order of the calls of Write, over checkpoints, schema changes and restarts.
func TestPostponedRowsKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		fsys := mem.New()
		opts := table.Options{
			"bucket": "-2", "page-size": "1 kb", "local-sort.max-num-file-handles": "3",
			"write-buffer-size":      rapid.SampledFrom([]string{"2 kb", "20 kb", "300 kb", "256 mb"}).Draw(t, "memory"),
			"write-buffer-spillable": rapid.SampledFrom([]string{"true", "true", "false"}).Draw(t, "spillable"),
			"changelog-producer":     rapid.SampledFrom([]string{"none", "input", "lookup", "full-compaction"}).Draw(t, "producer"),
			"sink.parallelism":       rapid.SampledFrom([]string{"1", "3"}).Draw(t, "shards"),
			"target-file-size":       rapid.SampledFrom([]string{"10 kb", "128 mb"}).Draw(t, "target"),
			"write-only":             rapid.SampledFrom([]string{"true", "false"}).Draw(t, "writeOnly"),
			"sequence.field":         rapid.SampledFrom([]string{"", "data"}).Draw(t, "sequence"),
		}
		if opts["sequence.field"] == "" {
			delete(opts, "sequence.field")
		}
		if rapid.IntRange(0, 2).Draw(t, "disk") == 0 {
			opts["write-buffer-spill.max-disk-size"] = "5 kb"
		}
		spec := table.Spec{Fields: guideFields(), PrimaryKeys: []string{"dt", "id"}, PartitionKeys: []string{"dt"}, Options: opts}
		tbl := createTable(t, fsys, spec)
		open := func() *Writer { return goOn(t, tbl, Config{}) }
		w := open()
		require.Nil(t, w.inline)
		defer func() { require.NoError(t, w.Close(ctx)) }()
		model, committed := map[string][]string{}, map[string][]string{}
		id, seq, columns := int64(0), 0, 3
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
			case step < 5:
				b := row.NewBatch(w.Type())
				n := rapid.SampledFrom([]int{1, 10, 1000, 3000}).Draw(t, "rows")
				for i := range n {
					seq++
					key, dt, kind := int64(i*31%100), fmt.Sprintf("d%d", seq/7%3), row.Kind(seq%4)
					data := fmt.Sprintf("v%d", seq)
					if i == n/2 && seq%5 == 0 {
						data += strings.Repeat("x", 10_000)
					}
					appendRow(b, kind, key, data, dt)
					model[dt] = append(model[dt], fmt.Sprintf("%s%d/%s=%s", kind, key, dt, data))
				}
				require.NoError(t, w.Write(ctx, b))
			case step < 7:
				id++
				require.NoError(t, w.Checkpoint(ctx, id, nil))
				committed = maps.Clone(model)
			case step == 7:
				require.NoError(t, w.Flush(ctx))
			case step == 8:
				columns++
				require.NoError(t, w.Alter(ctx, table.SchemaChange{Kind: table.AddColumn, Column: fmt.Sprintf("c%d", columns), Type: text}))
			case step == 9: // rows after the last checkpoint are lost
				require.NoError(t, w.Close(ctx))
				require.Equal(t, committed, replayPostponed(t, tbl))
				requireNoOrphans(t, fsys, tbl)
				model = maps.Clone(committed)
				w = open()
			}
		}
		id++
		require.NoError(t, w.Checkpoint(ctx, id, nil))
		require.NoError(t, w.Wait(ctx))
		require.Equal(t, model, replayPostponed(t, tbl))
		require.Zero(t, w.Stats().SealedBytes)
		require.Zero(t, w.Stats().BufferBytes)
		require.Zero(t, w.Stats().SpilledBytes)
		requireNoOrphans(t, fsys, tbl)
	})
}

func TestPostponedFilesAreAsPaimonMakesThem(t *testing.T) {
	_, tbl := postponeTable(t, "file.format", "parquet", "changelog-producer", "input", "data-file.prefix", "part-")
	w := openWriter(t, tbl, Config{CommitUser: "job"})
	b := batchOf(tbl, 0, 4, "d")
	b.Kinds = []row.Kind{row.Insert, row.UpdateBefore, row.UpdateAfter, row.Delete}
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Wait(t.Context()))
	s, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	require.Zero(t, s.ChangelogRecordCount)
	require.Empty(t, contents(t, tbl), "nobody sees the rows yet")
	for _, files := range postponedFiles(t, tbl) {
		require.Len(t, files, 1)
		f := &files[0].File
		require.Regexp(t, `^part--u-job-s-0-w-[0-9a-f-]{36}-0\.avro$`, f.Name)
		require.Equal(t, []any{0, int64(4), int64(2), int64(-1), int64(-1)}, []any{f.Level, f.RowCount, f.DeleteRows, f.MinSeq, f.MaxSeq})
		require.Empty(t, f.ValueStatsCols)
		require.Equal(t, table.SourceAppend, f.Source)
	}
}

// Java's compaction may replay files out of order whose ranges of keys don't overlap.
func TestPostponedFilesHaveTheRangeOfAllTheirKeys(t *testing.T) {
	_, tbl := postponeTable(t)
	w := openWriter(t, tbl, Config{CommitUser: "job"})
	for _, ids := range [][]int{{5, 300, 1, 7}, {6, 2}, {256, 4}} {
		for _, id := range ids {
			require.NoError(t, w.Write(t.Context(), batchOf(tbl, id, id+1, "d")))
		}
		require.NoError(t, w.Checkpoint(t.Context(), int64(ids[0]), nil))
	}
	require.NoError(t, w.Wait(t.Context()))
	keyType := row.NewRow(tbl.Schema().RowType().Fields[0])
	var got [][]int64
	for _, files := range postponedFiles(t, tbl) {
		for i := range files {
			b := row.NewBatch(&keyType)
			for _, key := range [][]byte{files[i].File.MinKey, files[i].File.MaxKey} {
				require.NoError(t, row.DecodeSerializedRow(key, []*row.Type{&keyType.Fields[0].Type}, b))
			}
			got = append(got, b.Cols[0].I64)
		}
	}
	require.Equal(t, [][]int64{{1, 300}, {2, 6}, {4, 256}}, got)
}

// A column that Avro can't hold: then files are of the table's own format.
func TestPostponedFilesOfColumnsThatAvroLacks(t *testing.T) {
	fields := append(guideFields(), row.Field{ID: 3, Name: "at", Type: row.Type{Root: row.Timestamp, Precision: 9, Nullable: true}})
	tbl := createTable(t, mem.New(), table.Spec{Fields: fields, PrimaryKeys: []string{"id"}, Options: table.Options{"bucket": "-2", "file.format": "parquet"}})
	w := openWriter(t, tbl, Config{CommitUser: "job"})
	b := row.NewBatch(tbl.Schema().RowType())
	appendRow(b, row.Insert, 1, "a", "d")
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Wait(t.Context()))
	require.Equal(t, map[string][]string{"d": {"+I1/d=a"}}, replayPostponed(t, tbl))
	for _, files := range postponedFiles(t, tbl) {
		require.Regexp(t, `\.parquet$`, files[0].File.Name)
	}
}

// Creation times grow whatever the clock does, beginning with a file of the future that an earlier run left.
func TestPostponedFilesOfTheFutureComeFirst(t *testing.T) {
	_, tbl := postponeTable(t)
	w := openWriter(t, tbl, Config{CommitUser: "job"})
	put := func(w *Writer, id int64) {
		require.NoError(t, w.Write(t.Context(), batchOf(tbl, int(id), int(id)+1, "d")))
		require.NoError(t, w.Checkpoint(t.Context(), id, nil))
	}
	put(w, 1)
	require.NoError(t, w.Wait(t.Context()))
	var part string
	for p, files := range postponedFiles(t, tbl) {
		part = p
		require.Len(t, files, 1)
	}
	const future = 1 << 50
	w.parts.creations.mu.Lock()
	w.parts.creations.last[part] = future
	w.parts.creations.mu.Unlock()
	put(w, 2)
	require.NoError(t, w.Close(t.Context()))
	w = openWriter(t, tbl, Config{CommitUser: "job"})
	for id := range int64(20) {
		put(w, id+3)
	}
	require.NoError(t, w.Close(t.Context()))
	files := postponedFiles(t, tbl)[part]
	require.Len(t, files, 22)
	require.EqualValues(t, future+21, files[21].File.CreationMillis)
	var want []string
	for i := range 22 {
		want = append(want, fmt.Sprintf("+I%d/d=v%d", i+1, i+1))
	}
	require.Equal(t, map[string][]string{"d": want}, replayPostponed(t, tbl))
}

func TestPostponedNamesThatCompactionWouldMisread(t *testing.T) {
	_, tbl := postponeTable(t)
	_, err := Open(t.Context(), tbl, Config{CommitUser: "my-s-job"})
	require.ErrorIs(t, err, table.ErrOption)
	require.ErrorContains(t, err, `the commit user my-s-job (commit.user-prefix) can't have "-s-" in it`)
}

func TestTheFirstPostponedRetractIsLookedAt(t *testing.T) {
	_, tbl := postponeTable(t, "merge-engine", "first-row", "changelog-producer", "none")
	w := openWriter(t, tbl, Config{})
	b := batchOf(tbl, 0, 2, "d")
	require.NoError(t, w.Write(t.Context(), b))
	b.Kinds[1] = row.Delete
	err := w.Write(t.Context(), b)
	require.ErrorIs(t, err, lsm.ErrRefusedRecord)
	require.ErrorContains(t, err, `partition dt=d: the merge engine of the table doesn't take a record: key {"_kind":"-D","id":1}`)

	_, tbl = postponeTable(t, "merge-engine", "partial-update", "partial-update.remove-record-on-delete", "true")
	w = openWriter(t, tbl, Config{})
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Wait(t.Context()))
	require.Equal(t, map[string][]string{"d": {"+I0/d=v0", "-D1/d=v1"}}, replayPostponed(t, tbl))
}

func TestPostponedPairsOfUpdates(t *testing.T) {
	for producer, want := range map[string][]string{"none": {"+U1/d=v1"}, "lookup": {"+U1/d=v1"}, "input": {"-U0/d=v0", "+U1/d=v1"}} {
		_, tbl := postponeTable(t, "changelog-producer", producer)
		w := openWriter(t, tbl, Config{PairedUpdates: true})
		b := batchOf(tbl, 0, 2, "d")
		b.Kinds = []row.Kind{row.UpdateBefore, row.UpdateAfter}
		require.NoError(t, w.Write(t.Context(), b))
		require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
		require.NoError(t, w.Wait(t.Context()))
		require.Equal(t, map[string][]string{"d": want}, replayPostponed(t, tbl), producer)
		err := w.CatchUp(t.Context())
		require.Equal(t, producer == "input", err != nil)
		require.Equal(t, producer == "input", w.NeedsCatchUp())
		if err != nil {
			require.ErrorIs(t, err, table.ErrOption)
			require.ErrorContains(t, err, "set changelog-producer=lookup")
		}
	}
}
