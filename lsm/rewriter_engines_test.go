package lsm

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// narrowTable has a key and columns that merge functions combine.
func narrowTable(t testing.TB, o table.Options) *table.Table {
	return mustCreateInMemory(t, narrowSpec(t, table.Options{"bucket": "1", "file.format": "avro", "target-file-size": "4 kb"}.With(o)))
}

func narrowSpec(t testing.TB, o table.Options) table.Spec {
	return table.Spec{
		Fields: []row.Field{
			{Name: "id", Type: mustType(t, "INT NOT NULL")}, {Name: "a", Type: mustType(t, "INT")}, {Name: "s", Type: mustType(t, "STRING")},
			{Name: "g", Type: mustType(t, "INT")}, {Name: "b", Type: mustType(t, "BIGINT")},
		},
		PrimaryKeys: []string{"id"}, Options: o,
	}
}

// narrowRows makes +I rows with about every other key below n, in key order.
func narrowRows(tab *table.Table, r *rand.Rand, n int, seq int64) *KeyValues {
	kv := NewKeyValues(tab.Schema().RowType())
	for k := range int32(n) {
		if r.IntN(2) == 0 {
			continue
		}
		c := kv.Rows.Cols
		c[0].AppendI32(k)
		for i, col := range []int{1, 3, 4, 2} {
			switch {
			case r.IntN(3) == 0:
				c[col].AppendNull()
			case i == 2:
				c[col].AppendI64(r.Int64N(100))
			case i == 3:
				c[col].AppendString(fmt.Sprint(seq, "x", k))
			default:
				c[col].AppendI32(r.Int32N(10))
			}
		}
		kv.Rows.EndRow(row.Insert)
		kv.Seq = append(kv.Seq, seq)
		seq++
	}
	return kv
}

// compactRandomly writes and compacts by turns; before are the rows before a compaction.
func compactRandomly(t *testing.T, tab *table.Table, seed uint64, cfg RewriterConfig, wrote func(*KeyValues), compacted func(u Unit, before []string)) {
	commit := tab.NewCommit("test", nil)
	r := rand.New(rand.NewPCG(seed, 3))
	rw := mustRewriter(t, tab, cfg)
	var seq int64
	for id := int64(0); id < 30; {
		kv := narrowRows(tab, r, 1+r.IntN(200), seq)
		if kv.Len() == 0 {
			continue
		}
		seq += int64(kv.Len())
		msg := table.CommitMessage{Partition: noPartition, TotalBuckets: 1}
		msg.Data.New = mustWrite(t, tab, kv, Data)
		_, err := commit.Commit(t.Context(), table.Committable{ID: id, Messages: []table.CommitMessage{msg}})
		require.NoError(t, err)
		wrote(kv)
		id++
		levels := mustLevels(t, tab, liveFiles(t, tab))
		u, ok := randomUnit(levels, r)
		if !ok || r.IntN(3) > 0 {
			continue
		}
		before := scanAll(t, tab, ScanOptions{})
		inc, stats, err := rw.Rewrite(t.Context(), noPartition, 0, levels, u)
		require.NoError(t, err)
		if len(inc.Before) > 0 {
			commitCompact(t, commit, id, inc)
			id++
		}
		require.Equal(t, stats.FilesWritten > 0, stats.BytesWritten > 0)
		compacted(u, before)
	}
	s, err := tab.Latest(t.Context())
	require.NoError(t, err)
	requireFilesSound(t.Context(), t, tab, s)
	requireNoOrphans(t, tab)
}

func TestRewriteFoldsAsReadersDo(t *testing.T) {
	for i, o := range []table.Options{
		{"merge-engine": "partial-update"},
		{"merge-engine": "partial-update", "fields.g.sequence-group": "b,s"},
		{"merge-engine": "partial-update", "fields.g.sequence-group": "b", "fields.b.aggregate-function": "sum"},
		{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "max", "fields.s.aggregate-function": "last_value"},
		{"merge-engine": "aggregation", "sequence.field": "g", "fields.default-aggregate-function": "last_value"},
	} {
		for seed, memory := range []int64{0, 0, 1 << 20} {
			t.Run(fmt.Sprint(i, seed), func(t *testing.T) {
				if seed == 1 {
					o = o.With(table.Options{"sort-spill-threshold": "2"})
				}
				tab := narrowTable(t, o)
				cfg := RewriterConfig{Memory: memory, Spill: mustSpill(t)}
				compactRandomly(t, tab, uint64(i+seed), cfg, func(*KeyValues) {}, func(u Unit, before []string) {
					got := scanAll(t, tab, ScanOptions{})
					require.Equal(t, before, got, "unit to level %d of %d files", u.OutputLevel, len(u.Files))
					for c, name := range []string{"b", "s"} { // columns alone are what they are among all
						cols := scanAll(t, tab, ScanOptions{Columns: []string{name, "id"}})
						require.Len(t, cols, len(got), c)
						for i := range cols {
							require.Equal(t, cut(t, tab, got[i], name), cols[i])
						}
					}
				})
			})
		}
	}
}

// cut keeps a column and the key of a row.
func cut(t *testing.T, tab *table.Table, line, column string) string {
	b := row.NewBatch(tab.Schema().RowType())
	require.NoError(t, row.ParseJSONRow([]byte(line), b))
	typ := row.NewRow(b.Type.Fields[tab.Schema().FieldIndex(column)], b.Type.Fields[0])
	one := &row.Batch{Type: &typ, N: 1, Kinds: []row.Kind{row.Insert}, Cols: []row.Column{b.Cols[tab.Schema().FieldIndex(column)], b.Cols[0]}}
	return string(row.AppendJSONRow(nil, one, 0, false))
}

// TestRewriteOfFirstRowKeepsTheOldestRow: whatever is compacted where, no key ever lies in two levels, and in the end each
// key has its first row.
func TestRewriteOfFirstRowKeepsTheOldestRow(t *testing.T) {
	for seed, memory := range []int64{0, 0, 1 << 20, 1 << 20} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			tab := narrowTable(t, table.Options{"merge-engine": "first-row", "file.format.per.level": "3:parquet", "sort-spill-threshold": fmt.Sprint(2 + 9*(seed%2))})
			cfg := RewriterConfig{Memory: memory, Spill: mustSpill(t)}
			first := map[int32]string{}
			compactRandomly(t, tab, uint64(seed), cfg, func(kv *KeyValues) {
				for i := range kv.Len() {
					if k := kv.Rows.Cols[0].I32[i]; first[k] == "" {
						first[k] = string(row.AppendJSONRow(nil, kv.Rows, i, false))
					}
				}
			}, func(u Unit, _ []string) {
				requireKeysOnce(t, tab)
				for _, line := range scanAll(t, tab, ScanOptions{}) {
					require.Contains(t, slices.Collect(maps.Values(first)), line)
				}
			})
			levels := mustLevels(t, tab, liveFiles(t, tab))
			inc, _, err := mustRewriter(t, tab, cfg).Rewrite(t.Context(), noPartition, 0, levels, unitOf(levels, len(levels.Runs()), rand.New(rand.NewPCG(1, 1))))
			require.NoError(t, err)
			commitCompact(t, tab.NewCommit("test", nil), 1000, inc)
			require.ElementsMatch(t, slices.Collect(maps.Values(first)), scanAll(t, tab, ScanOptions{}))
		})
	}
}

// requireKeysOnce checks that no key has two records above level 0.
func requireKeysOnce(t *testing.T, tab *table.Table) {
	files := slices.DeleteFunc(liveFiles(t, tab), func(f table.DataFile) bool { return f.Level == 0 })
	kv := readAll(t, tab, files, tab.Schema())
	seen := map[int32]bool{}
	for _, k := range kv.Rows.Cols[0].I32 {
		require.False(t, seen[k], "key %d", k)
		seen[k] = true
	}
}

func TestRewriteDropsExpiredRecords(t *testing.T) {
	now := time.Now()
	for _, time32 := range []string{"INT", "BIGINT", "TIMESTAMP(3)"} {
		for _, dense := range []string{"true", "false"} {
			t.Run(time32+dense, func(t *testing.T) {
				tab := mustCreateInMemory(t, table.Spec{
					Fields: []row.Field{
						{Name: "id", Type: mustType(t, "INT NOT NULL")}, {Name: "at", Type: mustType(t, time32)},
					},
					PrimaryKeys: []string{"id"}, Options: table.Options{
						"bucket": "1", "file.format": "parquet", "record-level.expire-time": "1 h", "record-level.time-field": "at",
						"metadata.stats-dense-store": dense, "target-file-size": "1 b", // so that no file is small
					},
				})
				write := func(first int32, ages ...time.Duration) table.DataFile {
					kv := NewKeyValues(tab.Schema().RowType())
					for i, age := range ages {
						kv.Rows.Cols[0].AppendI32(first + int32(i))
						switch at := now.Add(-age); {
						case age < 0:
							kv.Rows.Cols[1].AppendNull()
						case time32 == "INT":
							kv.Rows.Cols[1].AppendI32(int32(at.Unix()))
						case time32 == "BIGINT" && i%2 == 0:
							kv.Rows.Cols[1].AppendI64(at.Unix())
						default:
							kv.Rows.Cols[1].AppendI64(at.UnixMilli())
						}
						kv.Rows.EndRow(row.Insert)
						kv.Seq = append(kv.Seq, int64(first)+int64(i))
					}
					files := mustWrite(t, tab, kv, Data)
					require.Len(t, files, 1)
					return files[0]
				}
				old := write(0, 2*time.Hour, time.Minute, -1)
				young := write(10, time.Minute, -1)
				rw := mustRewriter(t, tab, RewriterConfig{})
				require.True(t, rw.Expired(&old, now))
				require.False(t, rw.Expired(&old, now.Add(-2*time.Hour)))
				require.False(t, rw.Expired(&young, now))
				files := []table.DataFile{old, young}
				levels := mustLevels(t, tab, files)
				inc, stats, err := rw.Rewrite(t.Context(), noPartition, 0, levels, unitOf(levels, 2, nil))
				require.NoError(t, err)
				require.Equal(t, 1, stats.Upgraded, "the young file only moves")
				require.EqualValues(t, 3, stats.RowsRead)
				require.Equal(t, []int32{1, 2, 10, 11}, readAll(t, tab, inc.After, tab.Schema()).Rows.Cols[0].I32)

				levels = mustLevels(t, tab, inc.After)
				strategy, err := NewStrategy(tab.Options())
				require.NoError(t, err)
				_, ok := strategy.PickFull(PickState{Levels: levels}, func(f *table.DataFile) bool { return rw.Expired(f, now) })
				require.False(t, ok)
				u, ok := strategy.PickFull(PickState{Levels: levels}, func(f *table.DataFile) bool { return rw.Expired(f, now.Add(time.Hour)) })
				require.True(t, ok)
				require.True(t, u.FileRewrite)
				require.Len(t, u.Files, len(inc.After))
			})
		}
	}
}

func TestNewRewriterRefusesWhatItWouldCompactWrong(t *testing.T) {
	for _, o := range []table.Options{
		{"deletion-vectors.enabled": "true"},
		{"file.format": "orc"},
		{"file.format.per.level": "4:orc"},
		{"record-level.expire-time": "1 h", "record-level.time-field": "s"},
	} {
		tab := narrowTable(t, table.Options{})
		tab, err := table.Open(t.Context(), tab.FS(), tab.Path(), o)
		if err != nil {
			continue // the table itself knows
		}
		_, err = NewRewriter(tab, tab.Schema(), RewriterConfig{})
		require.Error(t, err, o)
		for name := range o {
			require.ErrorContains(t, err, name[:4])
		}
	}
}
