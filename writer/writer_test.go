package writer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

func guideTable(t *testing.T, options ...string) (*mem.FS, *table.Table) {
	o := table.Options{"bucket": "2", "write-only": "true", "file.format": "avro"}
	for i := 0; i < len(options); i += 2 {
		o[options[i]] = options[i+1]
	}
	fsys := mem.New()
	return fsys, createTable(t, fsys, table.Spec{Fields: guideFields(), PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "id"}, Options: o})
}

func batchOf(tbl *table.Table, from, to int, dt string) *row.Batch {
	b := row.NewBatch(tbl.Schema().RowType())
	for i := from; i < to; i++ {
		appendRow(b, row.Insert, int64(i), fmt.Sprintf("v%d", i), dt)
	}
	return b
}

func openWriter(t *testing.T, tbl *table.Table, cfg Config) *Writer {
	w, err := Open(t.Context(), tbl, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close(context.Background()) }) // again is no error
	return w
}

// goOn opens the writer of a job that goes on from its last commit, as after a restart.
func goOn(t require.TestingT, tbl *table.Table, cfg Config) *Writer {
	ctx := context.Background()
	cfg.CommitUser, cfg.Resume = "model", &Resume{}
	s, err := tbl.LatestOf(ctx, cfg.CommitUser)
	require.NoError(t, err)
	if s != nil {
		*cfg.Resume = Resume{s.ID, s.CommitIdentifier}
	}
	w, err := Open(ctx, tbl, cfg)
	require.NoError(t, err)
	return w
}

func TestBatchesThatCannotBeWrittenChangeNothing(t *testing.T) {
	_, tbl := guideTable(t)
	w := openWriter(t, tbl, Config{})
	ctx := t.Context()

	b := batchOf(tbl, 0, 3, "d")
	b.Cols[2].Reset()
	b.Cols[2].AppendString("d")
	b.Cols[2].AppendNull()
	b.Cols[2].AppendString("d")
	require.ErrorContains(t, w.Write(ctx, b), "row 1 of the batch has a null in column dt, which is NOT NULL")

	b = batchOf(tbl, 0, 3, "d")
	b.Kinds[2] = 9
	require.ErrorContains(t, w.Write(ctx, b), "row 2 of the batch has the kind 9")
	b.Kinds = b.Kinds[:1]
	require.ErrorContains(t, w.Write(ctx, b), "3 rows has 1 kinds")

	other := row.NewRow(row.Field{Name: "id", Type: row.Type{Root: row.Int}}, guideFields()[1], guideFields()[2])
	b = row.NewBatch(&other)
	b.Cols[0].AppendI32(1)
	b.Cols[1].AppendString("x")
	b.Cols[2].AppendString("d")
	b.EndRow(row.Insert)
	require.ErrorContains(t, w.Write(ctx, b), "column id of the table is BIGINT NOT NULL")

	require.NoError(t, w.Checkpoint(ctx, 1, nil))
	require.NoError(t, w.Wait(ctx))
	require.Zero(t, w.Stats().Rows)
	s, err := tbl.Latest(ctx)
	require.NoError(t, err)
	require.Nil(t, s) // a checkpoint without rows makes no snapshot
}

func TestRowKindFieldAndDroppedKinds(t *testing.T) {
	_, tbl := guideTable(t, "rowkind.field", "data", "ignore-update-before", "true")
	w := openWriter(t, tbl, Config{})
	b := row.NewBatch(tbl.Schema().RowType())
	for i, k := range []string{"+I", "-U", "+U", "-D"} {
		appendRow(b, row.Insert, int64(i), k, "d")
	}
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Wait(t.Context()))
	require.Equal(t, map[string]string{"0/d": "+I", "2/d": "+U"}, contents(t, tbl))
	require.EqualValues(t, 1, w.Stats().DroppedRows)
	require.EqualValues(t, 3, w.Stats().FlushedRows) // the lone -D is written

	appendRow(b, row.Insert, 9, "nonsense", "d")
	require.ErrorContains(t, w.Write(t.Context(), b), `row 4 of the batch has "nonsense" in column data (rowkind.field)`)
}

func TestIgnoreDeleteDropsRetracts(t *testing.T) {
	_, tbl := guideTable(t, "ignore-delete", "true")
	w := openWriter(t, tbl, Config{})
	b := batchOf(tbl, 0, 4, "d")
	b.Kinds = []row.Kind{row.Insert, row.UpdateBefore, row.UpdateAfter, row.Delete}
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Wait(t.Context()))
	require.EqualValues(t, 2, w.Stats().DroppedRows)
	require.Len(t, contents(t, tbl), 2)

	b.Kinds = []row.Kind{row.Delete, row.Delete, row.Delete, row.UpdateBefore}
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.Checkpoint(t.Context(), 2, map[string]string{"position": "p"}))
	require.NoError(t, w.Checkpoint(t.Context(), 3, nil), "no rows came")
	require.NoError(t, w.Close(t.Context()))
	s, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, s.CommitIdentifier)
	require.Equal(t, "p", s.Properties["position"])
	require.Zero(t, s.DeltaRecordCount)
}

func TestDefaultValuesReplaceNulls(t *testing.T) {
	text := func(s string) *string { return &s }
	fields := append(guideFields(),
		row.Field{ID: 3, Name: "n", Type: row.Type{Root: row.Int, Nullable: true}, Default: text("7")},
		row.Field{ID: 4, Name: "s", Type: row.Type{Root: row.VarChar, Length: 10, Nullable: true}, Default: text("'x y'")})
	tbl := createTable(t, mem.New(), table.Spec{Fields: fields, PrimaryKeys: []string{"id"}, Options: table.Options{"bucket": "1", "write-only": "true"}})
	w := openWriter(t, tbl, Config{})
	b := row.NewBatch(tbl.Schema().RowType())
	appendRow(b, row.Insert, 1, "a", "d")
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Close(t.Context()))
	s, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	for b, err := range lsm.Scan(t.Context(), tbl, s, lsm.ScanOptions{}) {
		require.NoError(t, err)
		require.EqualValues(t, 7, b.Cols[3].I32[0])
		require.Equal(t, "x y", string(b.Cols[4].Value(0)))
	}
}

func TestRescaledPartitionIsRefused(t *testing.T) {
	fsys, tbl := guideTable(t)
	w := openWriter(t, tbl, Config{})
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 10, "old")))
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Close(t.Context()))

	_, err := tbl.Alter(t.Context(), table.SchemaChange{Kind: table.SetOption, Key: "bucket", Value: "3"})
	require.NoError(t, err)
	tbl, err = table.Open(t.Context(), fsys, tbl.Path(), nil)
	require.NoError(t, err)
	w = openWriter(t, tbl, Config{})
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 10, "new")))
	err = w.Write(t.Context(), batchOf(tbl, 0, 10, "old"))
	require.ErrorIs(t, err, table.ErrOption)
	require.ErrorContains(t, err, "bucket is 3, but the files of partition dt=old are in 2 buckets")
	require.NoError(t, w.Checkpoint(t.Context(), 2, nil))
	require.NoError(t, w.Close(t.Context()))
	require.Len(t, contents(t, tbl), 20)
}

// requireSequences checks that no two files of a bucket share sequence numbers.
func requireSequences(t *testing.T, tbl *table.Table) {
	type span struct{ min, max int64 }
	seen := map[string][]span{}
	s, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	for e, err := range tbl.Scan(t.Context(), s, table.Filter{}) {
		require.NoError(t, err)
		k := fmt.Sprintf("%x/%d", e.Partition, e.Bucket)
		for _, o := range seen[k] {
			require.True(t, e.File.MaxSeq < o.min || o.max < e.File.MinSeq, "%s: %v and %d-%d", k, o, e.File.MinSeq, e.File.MaxSeq)
		}
		seen[k] = append(seen[k], span{e.File.MinSeq, e.File.MaxSeq})
	}
}

func TestSequenceNumbersGoOnAfterOtherWriters(t *testing.T) {
	_, tbl := guideTable(t)
	ctx := t.Context()
	a := openWriter(t, tbl, Config{CommitUser: "a"})
	b := openWriter(t, tbl, Config{CommitUser: "b"})
	id := int64(0)
	step := func(w *Writer, dt string) {
		id++
		require.NoError(t, w.Write(ctx, batchOf(tbl, 0, 50, dt)))
		require.NoError(t, w.Checkpoint(ctx, id, nil))
		require.NoError(t, w.Wait(ctx))
	}
	step(a, "one")
	step(b, "one") // opened before, first touched now
	step(a, "two")
	step(a, "two")
	step(b, "two")
	for range 3 { // "one" becomes idle and is dropped from a
		step(a, "three")
	}
	require.Less(t, a.Stats().Buckets, int64(6))
	step(a, "one")
	requireSequences(t, tbl)
	require.Len(t, contents(t, tbl), 150)
}

func TestIdleBucketsLeaveMemoryAndKeepTheirSequence(t *testing.T) {
	_, tbl := guideTable(t)
	w := openWriter(t, tbl, Config{InFlight: 10})
	for i := range 12 {
		require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 20, fmt.Sprintf("d%d", i%6))))
		require.NoError(t, w.Checkpoint(t.Context(), int64(i), nil))
		require.LessOrEqual(t, w.Stats().Buckets, int64(4))
	}
	require.NoError(t, w.Close(t.Context()))
	requireSequences(t, tbl)
}

func TestSecondInstanceIsFenced(t *testing.T) {
	fsys, tbl := guideTable(t)
	ctx := t.Context()
	a := openWriter(t, tbl, Config{CommitUser: "job", Resume: &Resume{}})
	require.NoError(t, a.Write(ctx, batchOf(tbl, 0, 10, "d")))
	require.NoError(t, a.Checkpoint(ctx, 1, nil))
	require.NoError(t, a.Wait(ctx))
	s, err := tbl.LatestOf(ctx, "job")
	require.NoError(t, err)
	b := openWriter(t, tbl, Config{CommitUser: "job", Resume: &Resume{s.ID, s.CommitIdentifier}})
	require.NoError(t, b.Write(ctx, batchOf(tbl, 10, 20, "d")))
	require.NoError(t, b.Checkpoint(ctx, 2, nil))
	require.NoError(t, b.Wait(ctx))
	require.NoError(t, a.Write(ctx, batchOf(tbl, 20, 30, "d")))
	require.NoError(t, a.Checkpoint(ctx, 3, nil))
	require.ErrorIs(t, a.Wait(ctx), table.ErrFenced)
	require.ErrorIs(t, a.Write(ctx, batchOf(tbl, 20, 30, "d")), table.ErrFenced)
	require.ErrorIs(t, a.Close(ctx), table.ErrFenced)
	require.NoError(t, b.Close(ctx))
	require.Len(t, contents(t, tbl), 20)
	requireNoOrphans(t, fsys, tbl)
}

// fakeCommitter fails with an error.
type fakeCommitter struct {
	err   error
	calls atomic.Int32
}

func (c *fakeCommitter) Commit(context.Context, table.Committable) (*table.Snapshot, error) {
	c.calls.Add(1)
	return nil, c.err
}

func TestFilesOfFailedCommits(t *testing.T) {
	for _, tc := range []struct {
		err  error
		left bool
	}{
		{table.ErrUnknownOutcome, true},
		{context.Canceled, true},
		{table.ErrConflict, false},
		{errors.New("no manifest could be written"), false},
	} {
		t.Run(tc.err.Error(), func(t *testing.T) {
			fsys, tbl := guideTable(t)
			gen, err := newGeneration(tbl, tbl.Schema(), false)
			require.NoError(t, err)
			c := &fakeCommitter{err: fmt.Errorf("committing: %w", tc.err)}
			w, err := open(t.Context(), tbl, Config{}, gen, c)
			require.NoError(t, err)
			require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 10, "d")))
			require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
			require.ErrorIs(t, w.Wait(t.Context()), tc.err)
			require.ErrorIs(t, w.Checkpoint(t.Context(), 2, nil), tc.err)
			require.ErrorIs(t, w.Close(t.Context()), tc.err)
			require.EqualValues(t, 1, c.calls.Load())
			require.Equal(t, tc.left, len(dataFiles(t, fsys)) > 0)
		})
	}
}

func TestRowsAfterTheLastCheckpointLeaveNothing(t *testing.T) {
	fsys, tbl := guideTable(t)
	w := openWriter(t, tbl, Config{})
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 10, "d")))
	require.NoError(t, w.Flush(t.Context()))
	require.NotEmpty(t, dataFiles(t, fsys))
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 10, "d")))
	require.NoError(t, w.Close(t.Context()))
	require.Empty(t, dataFiles(t, fsys))
	require.ErrorIs(t, w.Write(t.Context(), batchOf(tbl, 0, 10, "d")), errClosed)
	require.NoError(t, w.Close(t.Context()))
}

func TestFlushedRowsAreInTheNextCheckpoint(t *testing.T) {
	_, tbl := guideTable(t)
	w := openWriter(t, tbl, Config{})
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 10, "d")))
	require.NoError(t, w.Flush(t.Context()))
	require.NoError(t, w.Alter(t.Context(), table.SchemaChange{Kind: table.AddColumn, Column: "more", Type: text}))
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 10, 20, "d")))
	require.NoError(t, w.Checkpoint(t.Context(), 5, map[string]string{"position": "here"}))
	require.NoError(t, w.Wait(t.Context()))
	require.Len(t, contents(t, tbl), 20)
	s, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, s.ID)
	require.EqualValues(t, 5, s.CommitIdentifier)
	require.Equal(t, "here", s.Properties["position"])
	require.ErrorContains(t, w.Checkpoint(t.Context(), 5, nil), "identifiers must ascend")
}

func TestBarrierGivesTheMessagesOfItsEpoch(t *testing.T) {
	_, tbl := guideTable(t)
	w := openWriter(t, tbl, Config{})
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 100, "d")))
	p1, err := w.Barrier(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 100, 101, "d")))
	p2, err := w.Barrier(t.Context(), 2)
	require.NoError(t, err)
	rows := func(p *Pending) (n int64) {
		m, err := p.Wait(t.Context())
		require.NoError(t, err)
		for i := range m {
			require.EqualValues(t, 2, m[i].TotalBuckets)
			for _, f := range m[i].Data.New {
				n += f.RowCount
			}
		}
		return n
	}
	require.EqualValues(t, 1, rows(p2))
	require.EqualValues(t, 100, rows(p1))
}

func TestCloseCutsShortWhatIsUnderWay(t *testing.T) {
	fsys, tbl := guideTable(t)
	gen, err := newGeneration(tbl, tbl.Schema(), false)
	require.NoError(t, err)
	gen.files = slowFiles{gen.files, make(chan struct{})} // for ever
	w, err := open(t.Context(), tbl, Config{}, gen, tbl.NewCommit("u", nil))
	require.NoError(t, err)
	require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 1000, "d")))
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.Wait(ctx), context.Canceled)
	require.ErrorIs(t, w.Close(ctx), context.Canceled)
	require.Empty(t, dataFiles(t, fsys))
}

func TestInputChangelogHasEveryRow(t *testing.T) {
	_, tbl := guideTable(t)
	gen, err := newGeneration(tbl, tbl.Schema(), false)
	require.NoError(t, err)
	gen.changelog = true
	gen.records = lsm.NewRecords(lsm.BufferSpec{Type: gen.typ, Keys: tbl.Schema().KeyIndexes(), PageSize: 4096, KeepAll: true})
	w, err := open(t.Context(), tbl, Config{}, gen, tbl.NewCommit("u", nil))
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, w.Write(t.Context(), batchOf(tbl, 0, 700, "d")))
	}
	require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
	require.NoError(t, w.Close(t.Context()))
	require.Len(t, contents(t, tbl), 700)
	s, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	var n int64
	for e, err := range tbl.ScanChangelog(t.Context(), s) {
		require.NoError(t, err)
		n += e.File.RowCount
	}
	require.EqualValues(t, 2100, n)
}

func TestUnsupportedTablesAreRefused(t *testing.T) {
	_, tbl := guideTable(t, "merge-engine", "aggregation", "fields.data.aggregate-function", "avg")
	_, err := Open(t.Context(), tbl, Config{})
	require.ErrorIs(t, err, table.ErrOption)
}

const (
	waitFor = 30 * time.Second
	tick    = 5 * time.Millisecond
)
