package table

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTable makes a table (p STRING, k BIGINT, v STRING), partitioned by p with key (p, k) and two buckets.
func testTable(t testing.TB, fsys fs.FileSystem, options Options) *Table {
	t.Helper()
	o := Options{"bucket": "2", "commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "2 ms"}.With(options)
	tab, err := Create(t.Context(), fsys, testPath, Spec{
		Fields: []row.Field{
			{Name: "p", Type: row.Type{Root: row.VarChar, Length: row.MaxLength}},
			{Name: "k", Type: row.Type{Root: row.BigInt}},
			{Name: "v", Type: row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}},
		},
		PartitionKeys: []string{"p"}, PrimaryKeys: []string{"p", "k"}, Options: o,
	})
	require.NoError(t, err)
	return tab
}

// binaryRow makes a serialized row of int64 and string values.
func binaryRow(values ...any) []byte {
	var cols []*row.Column
	for _, v := range values {
		c := new(row.Column)
		switch v := v.(type) {
		case int:
			c.Init(&row.Type{Root: row.BigInt})
			c.AppendI64(int64(v))
		case string:
			c.Init(&row.Type{Root: row.VarChar, Length: row.MaxLength})
			c.AppendString(v)
		case nil:
			c.Init(&row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true})
			c.AppendNull()
		}
		cols = append(cols, c)
	}
	return row.AppendSerializedRow(nil, cols, 0)
}

// testFile makes the description of a file with the keys from to to; it need not exist.
func testFile(name string, level, from, to int) DataFile {
	big := &row.Type{Root: row.BigInt}
	bounds := new(row.Column)
	bounds.Init(big)
	bounds.AppendI64(int64(from))
	bounds.AppendI64(int64(to))
	return DataFile{
		Name: name, Size: 100, RowCount: int64(to - from + 1), MinKey: binaryRow(from), MaxKey: binaryRow(to),
		KeyStats:   StatsOf([]*row.Type{big}, []format.ColumnStats{{Bounds: bounds}}),
		ValueStats: EmptyStats(), ValueStatsCols: []string{},
		MinSeq: int64(from), MaxSeq: int64(to), Level: level, CreationMillis: 1700000000000, Source: SourceAppend, FirstRowID: -1,
	}
}

func appendOf(p string, bucket int32, files ...DataFile) CommitMessage {
	return CommitMessage{Partition: binaryRow(p), Bucket: bucket, TotalBuckets: 2, Data: DataIncrement{New: files}}
}

func compactOf(p string, bucket int32, before, after []DataFile) CommitMessage {
	return CommitMessage{Partition: binaryRow(p), Bucket: bucket, TotalBuckets: 2, Compact: CompactIncrement{Before: before, After: after}}
}

// liveFiles lists the live files of the latest snapshot as "p/bucket/name@level", sorted.
func liveFiles(t testing.TB, tab *Table, f Filter) []string {
	t.Helper()
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	list := []string{}
	for e, err := range tab.Scan(t.Context(), s, f) {
		require.NoError(t, err)
		values, err := tab.PartitionValues(e.Partition)
		require.NoError(t, err)
		list = append(list, fmt.Sprintf("%s/%d/%s@%d", strings.Join(values, ","), e.Bucket, e.File.Name, e.File.Level))
	}
	slices.Sort(list)
	return list
}

func mustCommit(t testing.TB, c *Commit, id int64, messages ...CommitMessage) *Snapshot {
	t.Helper()
	s, err := c.Commit(t.Context(), Committable{ID: id, Messages: messages})
	require.NoError(t, err)
	return s
}

// requireNoOrphans demands that each file of the manifest directory is referred to by some snapshot.
func requireNoOrphans(t testing.TB, tab *Table) {
	t.Helper()
	used := map[string]bool{}
	for s, err := range tab.Snapshots(t.Context()) {
		require.NoError(t, err)
		used[s.IndexManifest] = true
		lists := []string{s.BaseManifestList, s.DeltaManifestList}
		if s.ChangelogManifestList != "" {
			lists = append(lists, s.ChangelogManifestList)
		}
		for _, l := range lists {
			used[l] = true
			manifests, err := tab.readList(t.Context(), l, nil)
			require.NoError(t, err)
			for _, m := range manifests {
				used[m.Name] = true
			}
		}
	}
	for info, err := range tab.fs.List(t.Context(), tab.path+"/manifest") {
		require.NoError(t, err)
		require.True(t, used[info.Name], "orphan %s", info.Name)
	}
}

func manifestFiles(t testing.TB, tab *Table) []string {
	t.Helper()
	var names []string
	for info, err := range tab.fs.List(t.Context(), tab.path+"/manifest") {
		require.NoError(t, err)
		names = append(names, info.Name)
	}
	return names
}

// publishHook is a file system that does something before each publication, and in its place when that says so.
type publishHook struct {
	fs.FileSystem

	mu     sync.Mutex // guards before
	before func(path string, data []byte) (goOn bool, err error)
}

func (f *publishHook) set(before func(path string, data []byte) (bool, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

// once does something before the next publication only.
func (f *publishHook) once(do func()) {
	f.set(func(string, []byte) (bool, error) {
		f.set(nil)
		do()
		return true, nil
	})
}

func (f *publishHook) Publish(ctx context.Context, path string, data []byte) (bool, error) {
	f.mu.Lock()
	before := f.before
	f.mu.Unlock()
	if before != nil {
		if goOn, err := before(path, data); !goOn {
			return false, err
		}
	}
	return f.FileSystem.Publish(ctx, path, data)
}
