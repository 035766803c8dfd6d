package table

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/mem"
)

// TestCheckSeesDamageOfIndexFiles commits index files that are not as they should be, or damages them afterwards.
func TestCheckSeesDamageOfIndexFiles(t *testing.T) {
	nothing := func(*mem.FS, string) {}
	same := func(*IndexFile) {}
	for name, tc := range map[string]struct {
		kind   string
		entry  func(*IndexFile)           // what the manifest says
		stored func(*mem.FS, string)      // what is there
		rows   map[string]*roaring.Bitmap // of files
		want   string
	}{
		"sound hashes":  {kind: IndexHash},
		"sound vectors": {},
		"no vectors":    {rows: map[string]*roaring.Bitmap{}},
		"missing":       {stored: func(f *mem.FS, p string) { _ = f.Remove(t.Context(), p) }, want: "error file-missing index/"},
		"cut":           {stored: func(f *mem.FS, p string) { f.Overwrite(p, []byte{1}) }, want: "error index-size index/"},
		"damaged":       {stored: func(f *mem.FS, p string) { f.Overwrite(p, make([]byte, 65)) }, want: "error index-content index/"},
		"hash count":    {kind: IndexHash, entry: func(f *IndexFile) { f.Rows++ }, want: "error index-entry"},
		"vector count":  {entry: func(f *IndexFile) { f.Rows++ }, want: "error index-entry"},
		"order":         {entry: func(f *IndexFile) { slices.Reverse(f.Vectors) }, want: "error index-ranges"},
		"gap":           {entry: func(f *IndexFile) { f.Vectors[1].Offset++ }, want: "error index-ranges"},
		"first":         {entry: func(f *IndexFile) { f.Vectors = f.Vectors[1:]; f.Rows-- }, want: "error index-ranges"},
		"stale":         {rows: map[string]*roaring.Bitmap{"z": roaring.BitmapOf(1)}, want: "warn index-stale"},
		"too many":      {rows: map[string]*roaring.Bitmap{"a": roaring.BitmapOf(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)}, want: "error index-cardinality"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys, tab, _ := sound(t)
			if tc.entry == nil {
				tc.entry = same
			}
			if tc.stored == nil {
				tc.stored = nothing
			}
			if tc.rows == nil {
				tc.rows = map[string]*roaring.Bitmap{"a": roaring.BitmapOf(7, 9), "b": roaring.BitmapOf(7, 9)}
			}
			x := binaryRow("x")
			var f IndexFile
			var err error
			if tc.kind == IndexHash {
				f, err = tab.CreateHashes(t.Context(), x, 0, hashBytesOf(1, 2))
			} else {
				var list []FileVector
				for _, file := range []string{"a", "b", "z"} {
					if b := tc.rows[file]; b != nil {
						list = append(list, FileVector{file, b})
					}
				}
				f, err = tab.CreateVectors(t.Context(), x, 0, list)
			}
			require.NoError(t, err)
			tc.entry(&f)
			mustCommit(t, tab.NewCommit("w", nil), 1, CommitMessage{Partition: x, TotalBuckets: 2, Compact: CompactIncrement{NewIndex: []IndexFile{f}}})
			path, err := tab.IndexFilePath(x, 0, &f)
			require.NoError(t, err)
			tc.stored(fsys, path)
			fresh, err := Open(t.Context(), fsys, testPath, nil)
			require.NoError(t, err)
			var found []string
			none := func(yield func(Problem) bool) {}
			for p := range fresh.Check(t.Context(), nil, true, func(_ context.Context, _ *Table, _ *Entry, _ bool) iter.Seq[Problem] { return none }) {
				found = append(found, p.String())
			}
			if tc.want == "" {
				require.Empty(t, found)
				return
			}
			require.True(t, slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, tc.want) }), "found %q", found)
		})
	}
}
