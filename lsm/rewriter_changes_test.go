package lsm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// shown is what lies above level 0, by key: the record of the least level, or that of level top if there is one.
func shown(t *testing.T, tab *table.Table, top int) map[int32]string {
	out, at := map[int32]string{}, map[int32]int{}
	for _, f := range liveFiles(t, tab) {
		if f.Level == 0 || top > 0 && f.Level != top {
			continue
		}
		kv := readAll(t, tab, []table.DataFile{f}, tab.Schema())
		for i, k := range kv.Rows.Cols[0].I32 {
			if l, ok := at[k]; ok && l < f.Level {
				continue
			}
			at[k] = f.Level
			if delete(out, k); !kv.Rows.Kinds[i].IsRetract() {
				out[k] = string(row.AppendJSONRow(nil, kv.Rows, i, false))
			}
		}
	}
	return out
}

// replay applies a changelog to a table, and checks that each row is a change to what is there.
func replay(t *testing.T, rows map[int32]string, log *KeyValues, dedup bool) {
	for i, k := range log.Rows.Cols[0].I32 {
		line := string(row.AppendJSONRow(nil, log.Rows, i, false))
		old, was := rows[k]
		switch log.Rows.Kinds[i] {
		case row.Insert:
			require.False(t, was, "key %d is inserted twice", k)
			rows[k] = line
		case row.UpdateBefore:
			require.Equal(t, old, line, "-U of key %d", k)
			require.Equal(t, row.UpdateAfter, log.Rows.Kinds[i+1])
			require.Equal(t, k, log.Rows.Cols[0].I32[i+1])
		case row.UpdateAfter:
			require.Equal(t, row.UpdateBefore, log.Rows.Kinds[i-1])
			require.False(t, dedup && line == old, "an update of key %d changes nothing", k)
			rows[k] = line
		case row.Delete:
			require.Equal(t, old, line, "-D of key %d", k)
			delete(rows, k)
		}
	}
}

// TestChangelogReplaysToTheTable: whatever is written, and compacted where, the changelog is what changes above level 0, or on
// the top level.
func TestChangelogReplaysToTheTable(t *testing.T) {
	deletes := []row.Kind{row.Insert, row.Insert, row.UpdateAfter, row.Delete}
	adds := []row.Kind{row.Insert, row.UpdateAfter}
	for i, c := range []struct {
		o     table.Options
		kinds []row.Kind
	}{
		{table.Options{}, append(deletes, row.UpdateBefore)},
		{table.Options{"sequence.field": "g"}, deletes},
		{table.Options{"changelog-producer.row-deduplicate": "true", "file.format.per.level": "0:parquet"}, deletes},
		{table.Options{"merge-engine": "partial-update"}, adds},
		{table.Options{"merge-engine": "partial-update", "fields.g.sequence-group": "b,s"}, deletes},
		{table.Options{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "aggregation.remove-record-on-delete": "true"}, deletes},
	} {
		for _, producer := range []string{"lookup", "full-compaction"} {
			for seed, memory := range []int64{0, 1 << 20} {
				t.Run(fmt.Sprint(i, producer, seed), func(t *testing.T) {
					o := table.Options{"changelog-producer": producer, "num-levels": "4", "sort-spill-threshold": fmt.Sprint(2 + 20*seed)}.With(c.o)
					replayRandomly(t, narrowTable(t, o), rand.New(rand.NewPCG(uint64(seed), uint64(i))), RewriterConfig{Memory: memory, Spill: mustSpill(t)}, c.kinds)
				})
			}
		}
	}
}

func replayRandomly(t *testing.T, tab *table.Table, r *rand.Rand, cfg RewriterConfig, kinds []row.Kind) {
	top, full := 0, tab.Options().Get(table.KeyChangelogProducer) == "full-compaction"
	if full {
		top = table.NumLevels(tab.Options()) - 1
	}
	commit, rw, rows := tab.NewCommit("test", nil), mustRewriter(t, tab, cfg), map[int32]string{}
	var seq int64
	var changes int
	for id := int64(0); id < 40; id++ {
		kv := narrowRows(tab, r, 1+r.IntN(200), seq)
		for i := range kv.Rows.Kinds {
			kv.Rows.Kinds[i] = kinds[r.IntN(len(kinds))]
			kv.Rows.Cols[1].I32[i] %= 2
		}
		if kv.Len() > 0 {
			seq += int64(kv.Len())
			msg := table.CommitMessage{Partition: noPartition, TotalBuckets: 1}
			msg.Data.New = mustWrite(t, tab, kv, Data)
			_, err := commit.Commit(t.Context(), table.Committable{ID: 2 * id, Messages: []table.CommitMessage{msg}})
			require.NoError(t, err)
		}
		levels := mustLevels(t, tab, liveFiles(t, tab))
		u, ok := randomUnit(levels, r)
		if !ok || r.IntN(2) > 0 || !full && len(u.Files) < levels.DeepestLevel0() {
			continue // lookup compacts all of level 0
		}
		inc, stats, err := rw.Rewrite(t.Context(), noPartition, 0, levels, u)
		require.NoError(t, err)
		if len(inc.Before) == 0 {
			continue
		}
		commitCompact(t, commit, 2*id+1, inc)
		log := NewKeyValues(tab.Schema().RowType())
		if len(inc.Changelog) > 0 {
			log = readAll(t, tab, inc.Changelog, tab.Schema())
		}
		require.EqualValues(t, log.Len(), stats.ChangelogRows)
		for i := range inc.Changelog {
			require.Equal(t, u.OutputLevel, inc.Changelog[i].Level)
		}
		changes += log.Len()
		replay(t, rows, log, tab.Options().Bool(table.KeyChangelogProducerRowDeduplicate))
		require.Equal(t, shown(t, tab, top), rows)
	}
	require.NotZero(t, changes)
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	requireFilesSound(t.Context(), t, tab, s)
	requireNoOrphans(t, tab)
}
