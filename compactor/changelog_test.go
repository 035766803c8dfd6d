package compactor_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// TestServiceMakesTheChangelog: readers get every change soon, and have the table when they have read all.
func TestServiceMakesTheChangelog(t *testing.T) {
	for _, o := range []table.Options{
		{"changelog-producer": "lookup"},
		{"changelog-producer": "lookup", "lookup-compact": "gentle", "lookup-compact.max-interval": "5"},
		{"changelog-producer": "full-compaction"},
		{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "3"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create("db.a", o)
			s := w.service(compactor.Config{}, w.tables)
			stop := running(t, s)
			for i := range 12 {
				w.write("db.a", "d1", int64(i), 40+int64(i), 1, i%4 == 3)
				time.Sleep(time.Minute)
				if _, often := o["lookup-compact"]; !often && o["full-compaction.delta-commits"] == "" {
					require.Equal(t, contents(t, w.open("db.a")), replayed(t, w.open("db.a")), "%v after write %d", o, i)
				}
			}
			require.Positive(t, statsOf(t, s, "db.a").ChangelogRows)
			stop()
			_, err := w.service(compactor.Config{Strategy: compactor.Full}, w.tables).Once(t.Context())
			require.NoError(t, err)
			require.Equal(t, w.want["db.a"], replayed(t, w.open("db.a")), o)
			w.check(false)
		})
	}
}

// replayed reads a table's changelog from the beginning and applies it.
func replayed(t *testing.T, tbl *table.Table) map[string]string {
	latest, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	out := map[string]string{}
	for c, err := range lsm.ReadChangelog(t.Context(), tbl, 1, latest.ID, lsm.ScanOptions{}) {
		require.NoError(t, err)
		require.Equal(t, "COMPACT", string(c.Snapshot.CommitKind))
		for i := range c.Rows.N {
			key := fmt.Sprintf("%d/%s", c.Rows.Cols[0].I64[i], c.Rows.Cols[2].Value(i))
			old, was := out[key]
			switch k := c.Rows.Kinds[i]; k {
			case row.Insert:
				require.False(t, was, key)
				out[key] = string(c.Rows.Cols[1].Value(i))
			case row.UpdateAfter:
				require.True(t, was, key)
				out[key] = string(c.Rows.Cols[1].Value(i))
			default:
				require.Equal(t, old, string(c.Rows.Cols[1].Value(i)), key)
				if k == row.Delete {
					delete(out, key)
				}
			}
		}
	}
	return out
}
