//go:build integration

package writer

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/table"
)

// Java expires a partition under a writer. One that assigns buckets by the partition's index is told so, and the same rows are right when it is opened
// anew; one that knows where all keys are goes on.
func TestJavaDropsAPartitionUnderTheWriter(t *testing.T) {
	for name, keys := range map[string][]string{"dynamic": {"dt", "id"}, "cross-partition": {"id"}} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			dir := t.TempDir()
			j := newJudge(t, dir)
			tbl, err := table.Create(ctx, local.FS{}, filepath.Join(dir, "db.db", "t"), table.Spec{
				Fields: guideFields(), PartitionKeys: []string{"dt"}, PrimaryKeys: keys,
				Options: table.Options{"bucket": "-1", "write-only": "true", "dynamic-bucket.target-row-num": "20", "partition.expiration-time": "1 d",
					"partition.timestamp-formatter": "yyyy-MM-dd", "partition.expiration-check-interval": "0 s"},
			})
			require.NoError(t, err)
			const old, young = "2020-01-01", "2999-01-01"
			id := int64(0)
			open := func() *Writer {
				w, err := Open(ctx, tbl, Config{CommitUser: "ours", Shards: 2})
				require.NoError(t, err)
				return w
			}
			write := func(w *Writer, dt, data string, from, to int) {
				b := row.NewBatch(w.Type())
				for i := from; i < to; i++ {
					appendRow(b, row.Insert, int64(i), data, dt)
				}
				require.NoError(t, w.Write(ctx, b))
				id++
				require.NoError(t, w.Checkpoint(ctx, id, nil))
			}
			w := open()
			write(w, old, "first", 0, 100)
			write(w, young, "first", 100, 150)
			require.NoError(t, w.Wait(ctx))
			require.Contains(t, j.run("expire-partitions")[0], `"partitions":1`)
			write(w, young, "second", 140, 160)
			require.NoError(t, w.Wait(ctx), "another partition")
			write(w, old, "late", 90, 110) // of which ten are new, or come from the other partition
			if name == "dynamic" {
				require.ErrorIs(t, w.Wait(ctx), table.ErrPartitionGone)
				require.ErrorIs(t, w.Close(ctx), table.ErrPartitionGone)
				id--
				w = open()
				write(w, old, "late", 90, 110)
			}
			require.NoError(t, w.Wait(ctx))
			write(w, old, "later", 50, 95)
			require.NoError(t, w.Close(ctx))

			rows := map[string]int{}
			for _, data := range contents(t, tbl) {
				rows[data]++
			}
			want := map[string]int{"first": 40, "second": 20, "late": 15, "later": 45}
			if name == "cross-partition" {
				want["first"] = 30 // ten have moved
			} else {
				requireIndexed(t, tbl)
			}
			require.Equal(t, want, rows)
			require.Len(t, j.run("read"), len(contents(t, tbl)))
			j.run("check", "--deep")
		})
	}
}
