package table

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
)

// A table is made anew under its name, with fewer schemas and at least as many snapshots, while an exclusive Commit stays open.
func TestAnExclusiveCommitToATableMadeAnew(t *testing.T) {
	for _, snapshots := range []int64{1, 2, 3} {
		old := newSinkTable(t, nil)
		_, err := old.Alter(t.Context(), SchemaChange{Kind: AddColumn, Column: "x", Type: row.Type{Root: row.Int, Nullable: true}})
		require.NoError(t, err)
		c := old.NewCommit("compactor", nil)
		c.Exclusive()
		s, err := c.Commit(t.Context(), Committable{ID: 1})
		require.NoError(t, err)
		require.Equal(t, int64(1), s.SchemaID)

		anew := newSinkTable(t, nil)
		for id := range snapshots {
			commitOf(t, anew, "writer", id+1, id, "")
		}
		for _, dir := range []string{"schema", "snapshot", "manifest"} {
			for info, err := range old.FS().List(t.Context(), old.Path()+"/"+dir) {
				require.NoError(t, err)
				require.NoError(t, old.FS().Remove(t.Context(), old.Path()+"/"+dir+"/"+info.Name))
			}
			for info, err := range anew.FS().List(t.Context(), anew.Path()+"/"+dir) {
				require.NoError(t, err)
				path := anew.Path() + "/" + dir + "/" + info.Name
				data, err := readWhole(t.Context(), anew.FS(), path)
				require.NoError(t, err)
				require.NoError(t, old.FS().Replace(t.Context(), path, data))
			}
		}
		s, err = c.Commit(t.Context(), Committable{ID: 2})
		require.NoError(t, err)
		require.Equal(t, snapshots+1, s.ID)
		require.Equal(t, int64(0), s.SchemaID, "the schema that the table has now")
	}
}
