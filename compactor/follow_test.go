package compactor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

func keyRow(id int64) []byte {
	t := row.NewRow(row.Field{Type: row.Type{Root: row.BigInt}})
	b := row.NewBatch(&t)
	b.Cols[0].AppendI64(id)
	b.EndRow(row.Insert)
	return row.AppendSerializedRow(nil, []*row.Column{&b.Cols[0]}, 0)
}

func dataFile(name string, level int, lo, hi int64) table.DataFile {
	return table.DataFile{
		Name: name, Size: 100, RowCount: 1, MinKey: keyRow(lo), MaxKey: keyRow(hi), KeyStats: table.EmptyStats(), ValueStats: table.EmptyStats(),
		Level: level, ExtraFiles: []string{}, FirstRowID: -1, Source: table.SourceAppend,
	}
}

// describe gives the files of a state as text.
func describe(st *tableState) string {
	var lines []string
	for k, b := range st.buckets {
		for i := range b.files {
			f := &b.files[i]
			lines = append(lines, fmt.Sprintf("%x/%d of %d: %s@%d %x", k.partition, k.bucket, b.total, f.Name, f.Level, f.MinKey))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func freshState() *tableState {
	st := newTableState()
	st.newPart = func(b []byte) (*partition, error) { return &partition{bytes: b}, nil }
	return st
}

// TestFollowingDeltasComesToWhatListingDoes plays commits, overwrites, expiry, rollbacks, lost hints and failing storage, and
// compares a state that follows with one that lists.
func TestFollowingDeltasComesToWhatListingDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		fsys := mem.New()
		tbl, err := table.Create(ctx, fsys, "/w/db.db/t", table.Spec{
			Fields: []row.Field{{Name: "id", Type: row.Type{Root: row.BigInt}}}, PrimaryKeys: []string{"id"},
			Options: table.Options{"bucket": "3", "manifest.merge-min-count": "4"},
		})
		require.NoError(t, err)
		part := row.EmptySerializedRow()
		committer := tbl.NewCommit("w", nil)
		faulty := faultfs.New(fsys, nil)
		faulty.FailWith(fs.ErrTransient)
		seen, err := table.Open(ctx, faulty, tbl.Path(), nil)
		require.NoError(t, err)
		st := freshState()
		live := map[int32][]table.DataFile{}
		names, id, rolledBack := 0, int64(0), false
		name := func() string { names++; return fmt.Sprintf("f%d", names) }
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			m := table.CommitMessage{Partition: part, Bucket: int32(rapid.IntRange(0, 2).Draw(t, "bucket")), TotalBuckets: 3}
			have := live[m.Bucket]
			switch rapid.SampledFrom([]string{"append", "append", "compact", "upgrade", "overwrite", "look", "look", "fail", "expire", "rollback", "hint"}).Draw(t, "step") {
			case "append":
				m.Data.New = []table.DataFile{dataFile(name(), 0, 0, 9)}
				have = append(slices.Clone(have), m.Data.New...)
			case "compact":
				m.Compact.Before, m.Compact.After = have, []table.DataFile{dataFile(name(), 5, 0, 9)}
				have = m.Compact.After
			case "upgrade":
				if len(have) != 1 || have[0].Level == 4 {
					continue
				}
				up := have[0]
				up.Level = 4
				m.Compact.Before, m.Compact.After = have, []table.DataFile{up}
				have = m.Compact.After
			case "overwrite":
				m.Data.Deleted, m.Data.New = have, []table.DataFile{dataFile(name(), 0, 0, 9)}
				have = m.Data.New
			case "look":
				_, err := st.follow(ctx, seen, true)
				require.NoError(t, err)
				rolledBack = false
				listed := freshState()
				_, err = listed.list(ctx, tbl)
				require.NoError(t, err)
				require.Equal(t, describe(listed), describe(st))
				continue
			case "fail":
				faulty.Set(faultfs.Nth(rapid.IntRange(1, 12).Draw(t, "call"), faultfs.Before, nil))
				_, _ = st.follow(ctx, seen, rapid.Bool().Draw(t, "thorough")) // whatever it says
				faulty.Set(nil)
				continue
			case "expire", "rollback", "hint":
				// A rollback whose place expires before anybody looks can't be seen; commits then fail until the table is
				// listed again.
				rolledBack = harm(t, ctx, fsys, tbl, rolledBack) || rolledBack
				if s, err := tbl.Latest(ctx); err == nil {
					live = liveFiles(t, ctx, tbl, s)
				}
				committer = tbl.NewCommit(fmt.Sprint("w", names), nil)
				continue
			}
			id++
			_, err := committer.Commit(ctx, table.Committable{ID: id, Messages: []table.CommitMessage{m}})
			require.NoError(t, err)
			live[m.Bucket] = have
		}
		_, err = st.follow(ctx, seen, true)
		require.NoError(t, err)
		listed := freshState()
		_, err = listed.list(ctx, tbl)
		require.NoError(t, err)
		require.Equal(t, describe(listed), describe(st))
	})
}

// harm removes snapshots from the old end or the new one, and a hint. It tells whether it did a rollback.
func harm(t *rapid.T, ctx context.Context, fsys *mem.FS, tbl *table.Table, newest bool) bool {
	var snapshots []string
	for _, p := range fsys.Paths() {
		if strings.Contains(p, "/snapshot-") {
			snapshots = append(snapshots, p)
		}
	}
	slices.SortFunc(snapshots, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	n := rapid.IntRange(0, max(0, len(snapshots)-1)).Draw(t, "snapshots")
	from := snapshots[:n]
	newest = newest || rapid.Bool().Draw(t, "newest")
	if newest && len(snapshots) > 0 {
		from = snapshots[len(snapshots)-n:]
	}
	for _, p := range from {
		require.NoError(t, fsys.Remove(ctx, p))
	}
	require.NoError(t, fsys.Remove(ctx, tbl.Path()+"/snapshot/LATEST"))
	return newest
}

func liveFiles(t *rapid.T, ctx context.Context, tbl *table.Table, s *table.Snapshot) map[int32][]table.DataFile {
	live := map[int32][]table.DataFile{}
	for e, err := range tbl.Scan(ctx, s, table.Filter{}) {
		require.NoError(t, err)
		live[e.Bucket] = append(live[e.Bucket], e.File)
	}
	return live
}
