package writer

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

// TestCatchUp reads the rows of a changing source at a random moment each, and then its log from the beginning. The
// changelog has each row as it was read, and then exactly the changes from the first moment on at which it was so.
func TestCatchUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		opts := table.Options{
			"bucket": "2", "write-only": "true", "changelog-producer": "input", "page-size": "1 kb", "sink.parallelism": "2",
			"write-buffer-size":      rapid.SampledFrom([]string{"2 kb", "20 kb", "256 mb"}).Draw(t, "memory"),
			"write-buffer-spillable": rapid.SampledFrom([]string{"true", "false"}).Draw(t, "spillable"),
			"file.format":            "avro",
		}
		if rapid.Bool().Draw(t, "disk") {
			opts["write-buffer-spill.max-disk-size"] = "1 b"
		}
		tbl := createTable(t, mem.New(), table.Spec{Fields: guideFields(), PrimaryKeys: []string{"dt", "id"}, PartitionKeys: []string{"dt"}, Options: opts})
		w, err := Open(ctx, tbl, Config{CommitUser: "c", PairedUpdates: true})
		require.NoError(t, err)
		defer func() { require.NoError(t, w.Close(ctx)) }()

		src := newSource()
		changes := row.NewBatch(w.Type())
		keys := rapid.SampledFrom([]int{1, 7, 300}).Draw(t, "keys")
		change := func(n int, into *row.Batch) {
			for range n {
				data := ""
				if rapid.IntRange(0, 3).Draw(t, "what") > 0 {
					data = fmt.Sprintf("v%d", rapid.IntRange(0, 2).Draw(t, "value"))
				}
				src.change(into, int64(rapid.IntRange(0, keys-1).Draw(t, "key")), "d", data)
			}
		}
		change(rapid.IntRange(0, 50).Draw(t, "before"), row.NewBatch(w.Type()))
		src.log = map[string][]string{}
		begin := maps.Clone(src.rows)
		read := row.NewBatch(w.Type())
		rows, replayed := map[string]string{}, map[string]string{}
		moments := rapid.IntRange(1, 5).Draw(t, "moments")
		for m := range moments { // each reads its share of the keys
			change(rapid.IntRange(0, 60).Draw(t, "changes"), changes)
			for k := m; k < keys; k += moments {
				key := fmt.Sprintf("%d/d", k)
				if data, ok := src.rows[key]; ok {
					appendRow(read, row.Insert, int64(k), data, "d")
					rows[key] = data
				}
			}
		}
		change(rapid.IntRange(0, 60).Draw(t, "after"), changes)
		require.NoError(t, w.Write(ctx, read))
		require.NoError(t, w.Checkpoint(ctx, 1, nil))
		require.NoError(t, w.CatchUp(ctx))
		if len(rows) > 0 {
			replay(t, replayed, changesOf(t, tbl, 1))
		}
		require.Equal(t, rows, replayed)

		require.NoError(t, w.Write(ctx, changes))
		require.NoError(t, w.Checkpoint(ctx, 2, nil))
		require.NoError(t, w.Wait(ctx))
		s, err := tbl.Latest(ctx)
		require.NoError(t, err)
		if changes.N > 0 {
			got := changesOf(t, tbl, s.ID)
			want := map[string][]string{}
			for key, log := range src.log {
				data, ok := rows[key]
				state, has := begin[key]
				for len(log) > 0 && (ok != has || data != state) {
					log, state, has = after(log)
				}
				if len(log) > 0 {
					want[key] = log
				}
			}
			require.Equal(t, want, got)
			replay(t, replayed, got)
		}
		require.Equal(t, src.rows, replayed)
		require.Equal(t, src.rows, contents(t, tbl))

		if changes.N == 0 {
			return // the catch-up goes on
		}
		// What comes behind the checkpoint is not held against anything.
		b := row.NewBatch(w.Type())
		appendRow(b, row.Insert, 0, "again", "d")
		require.NoError(t, w.Write(ctx, b))
		require.NoError(t, w.Checkpoint(ctx, 3, nil))
		require.NoError(t, w.Wait(ctx))
		s, err = tbl.Latest(ctx)
		require.NoError(t, err)
		require.Equal(t, map[string][]string{"0/d": {"+I again"}}, changesOf(t, tbl, s.ID))
	})
}

// after cuts the first change off a log and returns what it led to.
func after(log []string) (rest []string, state string, has bool) {
	switch log[0][:2] {
	case "-U":
		return log[2:], log[1][3:], true
	case "+I":
		return log[1:], log[0][3:], true
	}
	return log[1:], "", false
}

// A row was read in a state that the log doesn't show: the changelog ends at the row that the table has all the same.
func TestCatchUpEndsAtTheTable(t *testing.T) {
	_, tbl := guideTable(t, "changelog-producer", "input", "bucket", "1")
	ctx := t.Context()
	w := openWriter(t, tbl, Config{PairedUpdates: true})
	b := row.NewBatch(w.Type())
	for id := range int64(3) {
		appendRow(b, row.Insert, id, "strange", "d")
	}
	require.NoError(t, w.Write(ctx, b))
	require.ErrorContains(t, w.CatchUp(ctx), "no checkpoint")
	require.NoError(t, w.Checkpoint(ctx, 1, nil))
	require.NoError(t, w.CatchUp(ctx))
	b.Reset()
	appendRow(b, row.UpdateBefore, 0, "a", "d")
	appendRow(b, row.UpdateAfter, 0, "b", "d")
	appendRow(b, row.Delete, 1, "a", "d")
	appendRow(b, row.UpdateBefore, 7, "a", "d") // of a row that was not read
	appendRow(b, row.UpdateAfter, 7, "b", "d")
	require.NoError(t, w.Write(ctx, b))
	require.NoError(t, w.Checkpoint(ctx, 2, nil))
	require.NoError(t, w.Wait(ctx))
	require.Equal(t, map[string][]string{"0/d": {"-U strange", "+U b"}, "1/d": {"-D strange"}, "7/d": {"+I b"}}, changesOf(t, tbl, 2))
	require.Equal(t, map[string]string{"0/d": "b", "2/d": "strange", "7/d": "b"}, contents(t, tbl))
}
