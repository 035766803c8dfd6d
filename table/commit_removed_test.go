package table

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
)

// A table that is removed under a running job is no second instance.
func TestCommitToARemovedTableIsCorrupt(t *testing.T) {
	ctx := t.Context()
	tbl, err := Create(ctx, mem.New(), "/w/db.db/t", Spec{Fields: []row.Field{{Name: "id", Type: row.Type{Root: row.BigInt}}}, PrimaryKeys: []string{"id"}, Options: Options{"bucket": "1"}})
	require.NoError(t, err)
	s, c := commitOf(t, tbl, "job", 1, 5, "a")
	commit := tbl.NewCommit("job", nil)
	commit.Resume(s.ID, 1)
	require.NoError(t, tbl.FS().Remove(ctx, tbl.snapshotPath(s.ID)))
	require.NoError(t, tbl.FS().Remove(ctx, tbl.snapshotDir()+"/LATEST"))
	c.ID = 2
	_, err = commit.Commit(ctx, c)
	require.ErrorIs(t, err, ErrCorrupt)
	require.NotErrorIs(t, err, ErrFenced)
}
