package table

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
)

// newSinkTable makes a table of one bucket.
func newSinkTable(t *testing.T, o Options) *Table {
	spec := Spec{Fields: []row.Field{{Name: "id", Type: row.Type{Root: row.BigInt}}}, PrimaryKeys: []string{"id"}, Options: Options{"bucket": "1"}.With(o)}
	tbl, err := Create(t.Context(), mem.New(), "/w/db.db/t", spec)
	require.NoError(t, err)
	return tbl
}

// expireSnapshots removes snapshots and opens the table anew.
func expireSnapshots(t *testing.T, tbl *Table, ids ...int64) *Table {
	for _, id := range ids {
		require.NoError(t, tbl.FS().Remove(t.Context(), tbl.snapshotPath(id)))
	}
	again, err := Open(t.Context(), tbl.FS(), tbl.Path(), nil)
	require.NoError(t, err)
	return again
}

// commitOf commits one made-up file of rows up to maxSeq for a job, with a position.
func commitOf(t *testing.T, tbl *Table, user string, id, maxSeq int64, position string) (*Snapshot, Committable) {
	t.Helper()
	stats := EmptyStats()
	c := Committable{ID: id, Properties: map[string]string{"pos": position}, Messages: []CommitMessage{{
		Partition: row.EmptySerializedRow(), TotalBuckets: 1,
		Data: DataIncrement{New: []DataFile{{Name: "data-" + user + position + ".parquet", Size: 1, RowCount: 1, MaxSeq: maxSeq, MinKey: row.EmptySerializedRow(),
			MaxKey: row.EmptySerializedRow(), KeyStats: stats, ValueStats: stats, ValueStatsCols: []string{}, FirstRowID: -1}}},
	}}}
	s, err := tbl.NewCommit(user, nil).Commit(t.Context(), c)
	require.NoError(t, err)
	return s, c
}

func TestSinkStateIsTheNewerOfSnapshotAndFile(t *testing.T) {
	newTable := func(t *testing.T) *Table { return newSinkTable(t, nil) }
	find := func(t *testing.T, tbl *Table) *SinkState {
		s, err := tbl.FindSinkState(t.Context(), "job", "pos")
		require.NoError(t, err)
		return s
	}
	expire := expireSnapshots
	t.Run("nothing yet", func(t *testing.T) { require.Nil(t, find(t, newTable(t))) })
	t.Run("the file was not written after the commit", func(t *testing.T) {
		tbl := newTable(t)
		commitOf(t, tbl, "job", 1, 5, "a")
		require.Equal(t, "a", find(t, tbl).Position)
	})
	t.Run("the source was quiet after the commit", func(t *testing.T) {
		tbl := newTable(t)
		s, _ := commitOf(t, tbl, "job", 1, 5, "a")
		require.NoError(t, tbl.WriteSinkState(t.Context(), SinkState{User: "job", Identifier: 1, SnapshotID: s.ID, Position: "b"}))
		require.Equal(t, "b", find(t, tbl).Position)
	})
	t.Run("the snapshot expired", func(t *testing.T) {
		tbl := newTable(t)
		s, _ := commitOf(t, tbl, "job", 1, 5, "a")
		commitOf(t, tbl, "other", 1, 6, "x")
		require.NoError(t, tbl.WriteSinkState(t.Context(), SinkState{User: "job", Identifier: 1, SnapshotID: s.ID, Position: "a"}))
		require.Equal(t, "a", find(t, expire(t, tbl, 1)).Position)
	})
	t.Run("the table was rolled back", func(t *testing.T) {
		tbl := newTable(t)
		commitOf(t, tbl, "job", 1, 5, "a")
		s, _ := commitOf(t, tbl, "job", 2, 9, "b")
		require.NoError(t, tbl.WriteSinkState(t.Context(), SinkState{User: "job", Identifier: 2, SnapshotID: s.ID, Position: "b"}))
		back := expire(t, tbl, s.ID)
		require.NoError(t, back.writeLatestHint(t.Context(), 1))
		require.Equal(t, "a", find(t, back).Position)
		_, err := expire(t, back, 1).FindSinkState(t.Context(), "job", "pos")
		require.ErrorIs(t, err, ErrOption)
	})
	t.Run("a damaged file", func(t *testing.T) {
		tbl := newTable(t)
		require.NoError(t, tbl.FS().Replace(t.Context(), tbl.sinkStatePath("job"), []byte(`{"user":`)))
		_, err := tbl.FindSinkState(t.Context(), "job", "pos")
		require.ErrorIs(t, err, ErrCorrupt)
	})
}

// A job is killed around its second commit, and all its snapshots expire. What is taken for committed is not read again.
func TestSinkStateWhenTheSnapshotOfACommitExpired(t *testing.T) {
	append2 := func(t *testing.T, tbl *Table) { commitOf(t, tbl, "job", 2, 9, "b") }
	other := func(seq int64) func(*testing.T, *Table) {
		return func(t *testing.T, tbl *Table) {
			s, err := tbl.Latest(t.Context())
			require.NoError(t, err)
			commitOf(t, tbl, "other", s.ID, seq, fmt.Sprint(s.ID))
		}
	}
	compact := func(t *testing.T, tbl *Table) { // all files into one
		s, err := tbl.Latest(t.Context())
		require.NoError(t, err)
		var before []DataFile
		after := DataFile{Level: 5}
		for e, err := range tbl.Scan(t.Context(), s, Filter{}) {
			require.NoError(t, err)
			before = append(before, e.File)
			after, after.MaxSeq = e.File, max(after.MaxSeq, e.File.MaxSeq)
		}
		after.Name, after.Level = fmt.Sprint("data-compacted-", s.ID, ".parquet"), 5
		_, err = tbl.NewCommit("compactor", nil).Commit(t.Context(), Committable{ID: s.ID, Messages: []CommitMessage{{
			Partition: row.EmptySerializedRow(), TotalBuckets: 1, Compact: CompactIncrement{Before: before, After: []DataFile{after}},
		}}})
		require.NoError(t, err)
	}
	type steps []func(*testing.T, *Table)
	for name, c := range map[string]struct {
		steps    steps // snapshots 2, 3…
		expired  int64 // the last
		position string
	}{
		"done":                                       {steps{append2, compact}, 2, "b"},
		"done, compacted twice":                      {steps{append2, compact, compact}, 2, "b"},
		"not done":                                   {steps{compact, compact}, 2, "a"},
		"not done, nothing else expired":             {steps{compact}, 1, "a"},
		"not done, another wrote as many":            {steps{other(8), compact}, 1, "a"},
		"not done, another wrote all the time":       {steps{other(7), other(9), compact}, 2, "a"},
		"not done, another wrote more, that expired": {steps{other(20), compact}, 2, "a"},
		// Nobody can tell.
		"done, another wrote then": {steps{append2, other(12), compact}, 2, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			tbl := newSinkTable(t, nil)
			s, second := commitOf(t, tbl, "job", 1, 5, "a")
			second.ID, second.Properties = 2, map[string]string{"pos": "b"}
			second.Messages[0].Data.New[0].MaxSeq, second.Messages[0].Data.New[0].KeptSeq = 9, 8
			pending, lasting := tbl.NewPendingCommit(&second, "pos")
			require.True(t, lasting)
			require.NoError(t, tbl.WriteSinkState(t.Context(), SinkState{User: "job", Identifier: 1, SnapshotID: s.ID, Position: "a", Pending: pending}))
			for _, step := range c.steps {
				step(t, tbl)
			}
			var ids []int64
			for id := range c.expired {
				ids = append(ids, id+1)
			}
			got, err := expireSnapshots(t, tbl, ids...).FindSinkState(t.Context(), "job", "pos")
			require.NoError(t, err)
			require.Nil(t, got.Pending)
			require.Equal(t, c.position, got.Position)
			require.Equal(t, map[string]int64{"a": 1, "b": 2}[c.position], got.Identifier)
		})
	}
}

// What may vanish from the bucket without a newer row of it doesn't tell for ever that a commit was made.
func TestPendingCommitsThatDontLast(t *testing.T) {
	lasting := func(o Options, kept int64) bool {
		spec := Spec{Fields: []row.Field{{Name: "id", Type: row.Type{Root: row.BigInt}}, {Name: "at", Type: row.Type{Root: row.Int, Nullable: true}}}, PrimaryKeys: []string{"id"}, Options: Options{"bucket": "1"}.With(o)}
		tbl, err := Create(t.Context(), mem.New(), "/w/db.db/t", spec)
		require.NoError(t, err)
		c := Committable{ID: 3, Messages: []CommitMessage{{Data: DataIncrement{New: []DataFile{{MaxSeq: 7}, {MaxSeq: 6, KeptSeq: kept}}}}}}
		p, lasting := tbl.NewPendingCommit(&c, "pos")
		require.Equal(t, map[bool]int64{true: 5, false: 7}[lasting], p.MaxSeq)
		return lasting
	}
	require.True(t, lasting(nil, 5))
	require.False(t, lasting(nil, 0), "all rows are deletes")
	require.False(t, lasting(Options{"merge-engine": "first-row"}, 5))
	require.False(t, lasting(Options{"sequence.field": "at"}, 5))
	require.False(t, lasting(Options{"record-level.expire-time": "1 d", "record-level.time-field": "at"}, 5))
}

// A commit of rows that have no bucket is known by its file, as long as no compaction has moved them.
func TestPendingCommitWithoutBuckets(t *testing.T) {
	spec := Spec{Fields: []row.Field{{Name: "id", Type: row.Type{Root: row.BigInt}}}, PrimaryKeys: []string{"id"}, Options: Options{"bucket": "-2"}}
	tbl, err := Create(t.Context(), mem.New(), "/w/db.db/t", spec)
	require.NoError(t, err)
	commit := func(id int64) Committable {
		f := DataFile{Name: fmt.Sprintf("data--u-job-s-0-w-%d.avro", id), Size: 1, RowCount: 1, MinSeq: -1, MaxSeq: -1, FirstRowID: -1, ExtraFiles: []string{},
			MinKey: row.EmptySerializedRow(), MaxKey: row.EmptySerializedRow(), KeyStats: EmptyStats(), ValueStats: EmptyStats()}
		return Committable{ID: id, Properties: map[string]string{"pos": fmt.Sprint(id)}, Messages: []CommitMessage{{
			Partition: row.EmptySerializedRow(), Bucket: PostponeBucket, TotalBuckets: PostponeBucket, Data: DataIncrement{New: []DataFile{f}},
		}}}
	}
	first, second := commit(1), commit(2)
	s, err := tbl.NewCommit("job", nil).Commit(t.Context(), first)
	require.NoError(t, err)
	pending, lasting := tbl.NewPendingCommit(&second, "pos")
	require.False(t, lasting)
	require.NoError(t, tbl.WriteSinkState(t.Context(), SinkState{User: "job", Identifier: 1, SnapshotID: s.ID, Position: "1", Pending: pending}))
	find := func() string {
		latest, err := tbl.Latest(t.Context())
		require.NoError(t, err)
		state, err := tbl.ReadSinkState(t.Context(), "job")
		require.NoError(t, err)
		done, err := tbl.wasCommitted(t.Context(), latest, state)
		require.NoError(t, err)
		if done {
			return state.Pending.Position
		}
		return state.Position
	}
	require.Equal(t, "1", find())
	_, err = tbl.NewCommit("job", nil).Commit(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, "2", find())
}
