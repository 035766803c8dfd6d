package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// movingTable is a table whose rows may move between partitions.
func movingTable(t *testing.T) *table.Table {
	tbl, err := table.Create(t.Context(), local.FS{}, filepath.Join(t.TempDir(), "t"), table.Spec{
		Fields: []row.Field{
			{Name: "id", Type: row.Type{Root: row.BigInt}},
			{ID: 1, Name: "dt", Type: row.Type{Root: row.VarChar, Nullable: true, Length: row.MaxLength}},
		},
		PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"id"},
		Options: table.Options{"bucket": "-1", "write-only": "true", "dynamic-bucket.assigner-parallelism": "1"},
	})
	require.NoError(t, err)
	return tbl
}

// upsert commits rows of the keys below n.
func upsert(t *testing.T, tbl *table.Table, id int64, dt string, n int) {
	w, err := writer.Open(t.Context(), tbl, writer.Config{CommitUser: "u"})
	require.NoError(t, err)
	b := row.NewBatch(w.Type())
	for i := range n {
		b.Cols[0].AppendI64(int64(i))
		b.Cols[1].AppendString(dt)
		b.Kinds = append(b.Kinds, row.Insert)
		b.N++
	}
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.Checkpoint(t.Context(), id, nil))
	require.NoError(t, w.Close(t.Context()))
}

// newest returns the data file of the newest snapshot in partition b.
func newest(t *testing.T, tbl *table.Table) (found table.Entry) {
	s, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	for e, err := range tbl.ScanDelta(t.Context(), s) {
		require.NoError(t, err)
		if path, err := tbl.PartitionPath(e.Partition); err == nil && path == "dt=b" {
			found = e
		}
	}
	return found
}

func TestCheckFindsAKeyInTwoPartitions(t *testing.T) {
	for n, lines := range map[int]int{2: 1, 500: namedKeys + 1} {
		ctx := t.Context()
		tbl := movingTable(t)
		upsert(t, tbl, 1, "a", n)
		upsert(t, tbl, 2, "b", 1)
		out, _ := call(t, 0, "check", tbl.Path()) // a key that has moved is in one place
		require.Contains(t, out, "0 errors, 0 warnings")

		// What a writer does that doesn't know where keys are.
		other := movingTable(t)
		upsert(t, other, 1, "b", n)
		b := newest(t, other)
		data, err := os.ReadFile(filepath.Join(other.Path(), "dt=b", "bucket-0", b.File.Name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(tbl.Path(), "dt=b", "bucket-0", b.File.Name), data, 0o600))
		_, err = tbl.NewCommit("foreign", nil).Commit(ctx, table.Committable{ID: 1, Messages: []table.CommitMessage{{
			Partition: b.Partition, Bucket: b.Bucket, TotalBuckets: -1, Data: table.DataIncrement{New: []table.DataFile{b.File}}}}})
		require.NoError(t, err)

		out, _ = call(t, cli.ExitCorrupt, "check", tbl.Path())
		require.Contains(t, out, `error key-places dt=b/bucket-0: the key {"id":1} is here and in dt=a/bucket-`)
		require.Contains(t, out, fmt.Sprintf("%d errors, 0 warnings", lines))
		if lines > namedKeys {
			require.Contains(t, out, fmt.Sprintf("%d more keys are in two places", n-1-namedKeys))
		}
		out, _ = call(t, cli.ExitCorrupt, "check", tbl.Path(), "--json")
		require.Contains(t, out, `"check":"key-places"`)
		call(t, 0, "check", tbl.Path(), "--fast")
		call(t, 0, "check", tbl.Path(), "--snapshot=2")
	}
}
