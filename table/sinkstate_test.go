package table

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
)

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
	newTable := func(t *testing.T) *Table {
		spec := Spec{Fields: []row.Field{{Name: "id", Type: row.Type{Root: row.BigInt}}}, PrimaryKeys: []string{"id"}, Options: Options{"bucket": "1"}}
		tbl, err := Create(t.Context(), mem.New(), "/w/db.db/t", spec)
		require.NoError(t, err)
		return tbl
	}
	find := func(t *testing.T, tbl *Table) *SinkState {
		s, err := tbl.FindSinkState(t.Context(), "job", "pos")
		require.NoError(t, err)
		return s
	}
	expire := func(t *testing.T, tbl *Table, ids ...int64) *Table {
		for _, id := range ids {
			require.NoError(t, tbl.FS().Remove(t.Context(), tbl.snapshotPath(id)))
		}
		again, err := Open(t.Context(), tbl.FS(), tbl.Path(), nil)
		require.NoError(t, err)
		return again
	}

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
	t.Run("killed around a commit whose snapshot expired", func(t *testing.T) {
		for _, done := range []bool{true, false} {
			tbl := newTable(t)
			s, c := commitOf(t, tbl, "job", 1, 5, "a")
			c.ID, c.Properties = 2, map[string]string{"pos": "b"}
			c.Messages[0].Data.New[0].MaxSeq, c.Messages[0].Data.New[0].KeptSeq = 9, 8
			pending, lasting := tbl.NewPendingCommit(&c, "pos")
			require.True(t, lasting)
			require.NoError(t, tbl.WriteSinkState(t.Context(), SinkState{User: "job", Identifier: 1, SnapshotID: s.ID, Position: "a", Pending: pending}))
			last := s
			if done {
				last, _ = commitOf(t, tbl, "job", 2, 9, "b")
			}
			commitOf(t, tbl, "other", 1, 3, "x")
			ids := []int64{1}
			if done {
				ids = append(ids, last.ID)
			}
			got := find(t, expire(t, tbl, ids...))
			require.Nil(t, got.Pending)
			require.Equal(t, map[bool]string{true: "b", false: "a"}[done], got.Position, "commit done: %v", done)
			require.Equal(t, map[bool]int64{true: 2, false: 1}[done], got.Identifier)
		}
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
