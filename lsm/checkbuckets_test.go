package lsm

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/table"
)

func bucketProblems(t *testing.T, tab *table.Table) []string {
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	var found []string
	for p := range CheckBuckets(t.Context(), tab, s) {
		found = append(found, p.String())
	}
	few := 0 // as many problems, however few hashes are sorted at a time
	checkBuckets(&bucketCheck{ctx: t.Context(), t: tab, s: s, limit: 3, yield: func(table.Problem) bool { few++; return true }})
	require.Len(t, found, few)
	return found
}

// Java's tables are sound; one whose index lacks a key, has it in two buckets, or twice, is not.
func TestCheckBucketsAcceptsWhatJavaWroteAndSeesDamage(t *testing.T) {
	tables := 0
	eachGolden(t, func(t *testing.T, dir string, g goldenTable, tab *table.Table) {
		if tab.Options().Int(table.KeyBucket) != -1 || !readable(tab) {
			return
		}
		tables++
		require.Empty(t, bucketProblems(t, tab))
		for name, damage := range map[string]struct {
			change func(first, other []int32) []int32
			want   string
		}{
			"a key is missing":   {func(first, _ []int32) []int32 { return first[1:] }, "in no index"},
			"in two buckets":     {func(first, other []int32) []int32 { return append(first, other[0]) }, "and of bucket"},
			"twice":              {func(first, _ []int32) []int32 { return append(first, first[0]) }, "twice"},
			"those of another's": {func(_, other []int32) []int32 { return other }, "in the index of bucket"},
		} {
			t.Run(name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), g.Table)
				require.NoError(t, os.CopyFS(path, os.DirFS(filepath.Join(dir, "warehouse/golden.db", g.Table))))
				tab, err := table.Open(t.Context(), local.FS{}, path, nil)
				require.NoError(t, err)
				s, err := tab.Latest(t.Context())
				require.NoError(t, err)
				var entries []table.IndexEntry
				for e, err := range tab.IndexEntries(t.Context(), s, table.Filter{}) {
					require.NoError(t, err)
					if len(entries) == 0 || bytes.Equal(e.Partition, entries[0].Partition) {
						entries = append(entries, e)
					}
				}
				require.Greater(t, len(entries), 1)
				hashes := func(e table.IndexEntry) (all []int32) {
					for h, err := range tab.Hashes(t.Context(), e.Partition, e.Bucket, &e.File) {
						require.NoError(t, err)
						all = append(all, h)
					}
					return all
				}
				var b bytes.Buffer
				require.NoError(t, binary.Write(&b, binary.BigEndian, damage.change(hashes(entries[0]), hashes(entries[1]))))
				e := entries[0]
				f, err := tab.CreateHashes(t.Context(), e.Partition, e.Bucket, &b)
				require.NoError(t, err)
				_, err = tab.NewCommit("u", nil).Commit(t.Context(), table.Committable{ID: 1, Messages: []table.CommitMessage{{
					Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: -1, Data: table.DataIncrement{NewIndex: []table.IndexFile{f}},
				}}})
				require.NoError(t, err)
				found := bucketProblems(t, tab)
				require.Contains(t, strings.Join(found, "\n"), damage.want)
			})
		}
	})
	require.Positive(t, tables)
}
