package table

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/mem"
)

// A partition that was dropped as its writer knew it is told from one that somebody else writes.
func TestADroppedPartitionIsNoForeignWriter(t *testing.T) {
	x := string(binaryRow("x"))
	rows := func(p, file, index string) CommitMessage {
		m := appendOf(p, 0, testFile(file, 0, 0, 9))
		if index != "" {
			m.Data.NewIndex = []IndexFile{hashFile(index)}
		}
		return m
	}
	type step func(t *testing.T, fsys *mem.FS, tab *Table, c *Commit)
	commit := func(x Committable) step {
		return func(t *testing.T, _ *mem.FS, _ *Table, c *Commit) {
			_, err := c.Commit(t.Context(), x)
			require.NoError(t, err)
		}
	}
	one := func(m CommitMessage) step {
		return commit(Committable{ID: BatchIdentifier, Messages: []CommitMessage{m}})
	}
	drop := func(file string) step {
		return commit(Committable{ID: BatchIdentifier, DropIndexes: map[string]bool{x: true}, Messages: []CommitMessage{{
			Partition: []byte(x), TotalBuckets: 2, Data: DataIncrement{Deleted: []DataFile{testFile(file, 0, 0, 9)}}}}})
	}
	forget := func(ids ...int64) step {
		return func(t *testing.T, fsys *mem.FS, tab *Table, _ *Commit) {
			for _, id := range ids {
				require.NoError(t, fsys.Remove(t.Context(), tab.snapshotPath(id)))
			}
		}
	}
	for name, tc := range map[string]struct {
		steps []step
		want  error
	}{
		"dropped":                             {[]step{drop("a")}, ErrPartitionGone},
		"dropped a while ago":                 {[]step{drop("a"), one(rows("y", "b", "")), one(rows("y", "c", "k"))}, ErrPartitionGone},
		"dropped, and that has expired":       {[]step{drop("a"), one(rows("y", "b", "")), forget(1)}, ErrForeignWriter},
		"written before it was dropped":       {[]step{one(rows("x", "b", "i")), drop("a"), drop("b")}, ErrForeignWriter},
		"written after it was dropped":        {[]step{drop("a"), one(rows("x", "b", "i"))}, ErrForeignWriter},
		"written without an index":            {[]step{drop("a"), one(rows("x", "b", ""))}, ErrForeignWriter},
		"written and dropped once more":       {[]step{drop("a"), one(rows("x", "b", "i")), drop("b")}, ErrForeignWriter},
		"without its index":                   {[]step{commit(Committable{ID: BatchIdentifier, DropIndexes: map[string]bool{x: true}, Messages: []CommitMessage{{Partition: []byte(x), TotalBuckets: 2, Data: DataIncrement{New: []DataFile{testFile("b", 0, 0, 9)}, Deleted: []DataFile{testFile("a", 0, 0, 9)}}}}})}, ErrForeignWriter},
		"nothing happened to it, it is there": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []string{"hashes", "indexed"} {
				fsys := mem.New()
				tab := testTable(t, fsys, nil)
				ours, theirs := tab.NewCommit("u", nil), tab.NewCommit("them", nil)
				mustCommit(t, ours, 1, rows("x", "a", "h"))
				for _, s := range tc.steps {
					s(t, fsys, tab, theirs)
				}
				x := Committable{ID: 2, Messages: []CommitMessage{rows("x", "late", "n")}, Hashes: map[string]map[int32]string{x: {0: "h"}}}
				if kind == "indexed" {
					x.Indexed, x.Hashes = x.Hashes, nil
				}
				before, err := tab.Latest(t.Context())
				require.NoError(t, err)
				_, err = ours.Commit(t.Context(), x)
				if tc.want == nil {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, tc.want, kind)
				for _, other := range []error{ErrPartitionGone, ErrForeignWriter} {
					require.Equal(t, other == tc.want, err != nil && errors.Is(err, other), kind)
				}
				after, err := tab.Latest(t.Context())
				require.NoError(t, err)
				require.Equal(t, before.ID, after.ID)
			}
		})
	}
}
