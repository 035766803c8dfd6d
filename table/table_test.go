package table

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
)

func TestSchemaVersionsAreReadOnce(t *testing.T) {
	inner := mem.New()
	tab, err := Create(t.Context(), inner, testPath, smallSpec(t))
	require.NoError(t, err)
	for i := range 3 {
		_, err := tab.Alter(t.Context(), SchemaChange{Kind: AddColumn, Column: fmt.Sprint("c", i), Type: nullable(t, "INT")})
		require.NoError(t, err)
	}
	fsys := faultfs.New(inner, nil)
	tab, err = Open(t.Context(), fsys, testPath, nil)
	require.NoError(t, err)
	for range 3 {
		for id := range int64(4) {
			s, err := tab.SchemaByID(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, id, s.ID)
		}
	}
	require.NoError(t, tab.Refresh(t.Context()))
	opens := 0
	for _, c := range fsys.Calls() {
		if c.Op == faultfs.OpOpen {
			opens++
		}
	}
	require.Equal(t, 4, opens)
	_, err = tab.SchemaByID(t.Context(), 9)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "schema-9")
}

func TestTableIsSafeForConcurrentUse(t *testing.T) {
	fsys := mem.New()
	tab, err := Create(t.Context(), fsys, testPath, smallSpec(t))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for i := range 10 {
				var err error
				switch (g + i) % 3 {
				case 0:
					_, err = tab.Alter(t.Context(), SchemaChange{Kind: SetTableComment, Comment: fmt.Sprint(g, i)})
				case 1:
					err = tab.Refresh(t.Context())
				default:
					_, err = tab.SchemaByID(t.Context(), 0)
				}
				s := tab.Schema()
				if err != nil || s.RowType() == nil || s.TrimmedPrimaryKeys() == nil || tab.Options() == nil {
					t.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, tab.Refresh(t.Context()))
	last, err := tab.LatestSchema(t.Context())
	require.NoError(t, err)
	require.Same(t, last, tab.Schema())
	require.EqualValues(t, 20, last.ID)
}
