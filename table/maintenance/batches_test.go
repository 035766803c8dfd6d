package maintenance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

// batchFS removes many files at once, except those that stick.
type batchFS struct {
	*mem.FS
	batches [][]string
	sticks  string
}

func (f *batchFS) RemoveFiles(ctx context.Context, paths []string) []error {
	f.batches = append(f.batches, slices.Clone(paths))
	errs := make([]error, len(paths))
	for i, p := range paths {
		if f.sticks != "" && strings.Contains(p, f.sticks) {
			errs[i] = errors.New("it sticks")
		} else {
			errs[i] = f.Remove(ctx, p)
		}
	}
	return errs
}

var _ fs.FilesRemover = (*batchFS)(nil)

// TestBatchesRemoveTheSame as single removals do, by fewer calls.
func TestBatchesRemoveTheSame(t *testing.T) {
	left := map[bool][]string{}
	reports := map[bool]Report{}
	for _, batches := range []bool{false, true} {
		w := newWorld(t, 5, table.Options{"snapshot.num-retained.max": "3", "snapshot.num-retained.min": "3"})
		for range 12 {
			w.append()
		}
		b := &batchFS{FS: w.fs}
		on := w.table
		if batches {
			on = w.on(b)
		}
		r, err := ExpireSnapshots(w.ctx, on, ExpireOptions{})
		require.NoError(t, err)
		require.Positive(t, r.Snapshots)
		reports[batches] = r
		if batches {
			files := 0
			for _, x := range b.batches {
				files += len(x)
			}
			require.Equal(t, r.Files, files+r.Snapshots, "snapshots go one by one, after what they refer to")
			require.Less(t, len(b.batches), files/4)
		}
		for _, dir := range []string{"/snapshot", "/manifest"} {
			n := 0
			for _, err := range w.fs.List(w.ctx, testPath+dir) {
				require.NoError(t, err)
				n++
			}
			left[batches] = append(left[batches], dir, string(rune('0'+n%64)))
		}
	}
	require.Equal(t, left[false], left[true])
	require.Equal(t, reports[false].Files, reports[true].Files)
	require.Equal(t, reports[false].Bytes, reports[true].Bytes)
}

// TestAFileOfABatchThatStays keeps its snapshot, as it would when it goes alone.
func TestAFileOfABatchThatStays(t *testing.T) {
	w := newWorld(t, 5, table.Options{"snapshot.num-retained.max": "3", "snapshot.num-retained.min": "3"})
	for range 8 {
		w.append()
	}
	b := &batchFS{FS: w.fs, sticks: "/manifest/manifest-list-"}
	r, err := ExpireSnapshots(w.ctx, w.on(b), ExpireOptions{})
	require.ErrorContains(t, err, "it sticks")
	require.Zero(t, r.Snapshots)
}
