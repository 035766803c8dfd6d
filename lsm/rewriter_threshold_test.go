package lsm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

// openFiles counts the data files that are open at once.
type openFiles struct {
	fs.FileSystem
	mu        sync.Mutex
	now, most int
}

func (f *openFiles) Open(ctx context.Context, path string) (fs.Reader, error) {
	r, err := f.FileSystem.Open(ctx, path)
	if err != nil || !strings.Contains(path, "/bucket-") {
		return r, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now++
	f.most = max(f.most, f.now)
	return &openFile{r, f}, nil
}

type openFile struct {
	fs.Reader
	in *openFiles
}

func (f *openFile) Close() error {
	f.in.mu.Lock()
	f.in.now--
	f.in.mu.Unlock()
	return f.Reader.Close()
}

// TestRunsAboveTheThresholdAreSpilled: a merge of more runs than sort-spill-threshold has no more of them open at once, and
// makes the same of them.
func TestRunsAboveTheThresholdAreSpilled(t *testing.T) {
	const runs = 23
	for i, o := range []table.Options{
		{},
		{"changelog-producer": "lookup"},
		{"changelog-producer": "full-compaction", "file.format": "parquet"},
		{"sequence.field": "g"},
		{"merge-engine": "first-row"},
		{"merge-engine": "partial-update", "fields.g.sequence-group": "b,s"},
		{"merge-engine": "aggregation", "fields.b.aggregate-function": "sum", "fields.s.aggregate-function": "last_value"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			fsys := &openFiles{FileSystem: mem.New()}
			tab, err := table.Create(t.Context(), fsys, "mem:///w/db.db/t", narrowSpec(t, table.Options{"bucket": "1", "file.format": "avro"}.With(o)))
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(uint64(i), 5))
			level0(t, tab, func(yield func(*KeyValues) bool) {
				for n := range int64(runs) {
					if !yield(narrowRows(tab, r, 40+r.IntN(40), n*100)) {
						return
					}
				}
			})
			levels := mustLevels(t, tab, liveFiles(t, tab))
			rewrite := func(threshold string) (data, log *KeyValues, open, spills int) {
				tab, err := table.Open(t.Context(), fsys, tab.Path(), table.Options{"sort-spill-threshold": threshold})
				require.NoError(t, err)
				spill := mustSpill(t)
				fsys.most = 0
				inc, _, err := mustRewriter(t, tab, RewriterConfig{Spill: spill}).Rewrite(t.Context(), noPartition, 0, levels, unitOf(levels, runs, r))
				require.NoError(t, err)
				require.Len(t, inc.Before, runs)
				open = fsys.most
				return readAll(t, tab, inc.After, tab.Schema()), readAll(t, tab, inc.Changelog, tab.Schema()), open, spill.open
			}
			data, log, open, spills := rewrite("23")
			require.Equal(t, runs, open)
			require.Zero(t, spills)
			for _, threshold := range []int{2, 5, 22} {
				data2, log2, open, spills := rewrite(fmt.Sprint(threshold))
				require.Equal(t, threshold, open)
				require.Positive(t, spills)
				require.Equal(t, data, data2)
				require.Equal(t, log, log2)
			}
		})
	}
}

func TestThresholdsThatCantBe(t *testing.T) {
	_, err := table.Options{"sort-spill-threshold": "1"}.Validate()
	require.ErrorIs(t, err, table.ErrOption)
	tab := narrowTable(t, nil)
	tab, err = table.Open(t.Context(), tab.FS(), tab.Path(), table.Options{"sort-spill-threshold": "1"})
	require.NoError(t, err)
	_, err = NewRewriter(tab, tab.Schema(), RewriterConfig{})
	require.ErrorIs(t, err, table.ErrOption)
	require.ErrorContains(t, err, "sort-spill-threshold is 1")
}
