//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// An engineCase is a table whose rows are merged at flush, by Java's writer and by ours.
type engineCase struct {
	name   string
	conf   table.Options
	kinds  []row.Kind // that rows have
	big    bool       // commits with many rows
	paired bool       // each -U has its +U behind it, our writer is told so, and Java's to ignore it
}

var (
	engineAdds    = []row.Kind{row.Insert, row.UpdateAfter}
	engineChanges = []row.Kind{row.Insert, row.UpdateAfter, row.Insert, row.UpdateBefore, row.Delete}
	engineDeletes = []row.Kind{row.Insert, row.UpdateAfter, row.Insert, row.Delete}

	engineGroups = table.Options{
		"merge-engine": "partial-update", "fields.g.sequence-group": "a,sum,max", "fields.h,i.sequence-group": "b,list",
		"fields.sum.aggregate-function": "sum", "fields.max.aggregate-function": "max", "fields.max.ignore-retract": "true",
		"fields.list.aggregate-function": "listagg", "fields.list.ignore-retract": "true", "fields.dec.aggregate-function": "last_non_null_value",
	}
	engineSums = table.Options{
		"merge-engine": "aggregation", "fields.sum.aggregate-function": "sum", "fields.dec.aggregate-function": "sum", "fields.a.aggregate-function": "last_value",
		"fields.max.aggregate-function": "max", "fields.max.ignore-retract": "true", "fields.list.aggregate-function": "listagg",
		"fields.list.ignore-retract": "true", "fields.h.aggregate-function": "first_value", "fields.h.ignore-retract": "true", "fields.set.aggregate-function": "collect",
	}
	engineSpills = table.Options{"write-buffer-size": "64 kb", "page-size": "2 kb", "local-sort.max-num-file-handles": "3"}
)

// With returns the case with other options.
func (c engineCase) With(o table.Options) engineCase { c.conf = c.conf.With(o); return c }

var engineCases = []engineCase{
	{name: "partial-update", kinds: engineAdds, conf: table.Options{"merge-engine": "partial-update"}},
	{name: "partial-update of images", paired: true, kinds: engineAdds, conf: table.Options{"merge-engine": "partial-update"}},
	{name: "partial-update ignore-delete", kinds: engineChanges, conf: table.Options{"merge-engine": "partial-update", "ignore-delete": "true", "file.format": "parquet"}},
	{name: "partial-update ignore-update-before", kinds: []row.Kind{row.Insert, row.UpdateBefore, row.UpdateAfter},
		conf: table.Options{"merge-engine": "partial-update", "ignore-update-before": "true", "sequence.field": "g"}},
	{name: "partial-update removes", kinds: engineChanges, conf: table.Options{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}},
	{name: "partial-update removes, by sequence", kinds: engineChanges, conf: table.Options{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true",
		"sequence.field": "h,a", "changelog-producer": "input"}},
	{name: "partial-update for lookup", kinds: engineAdds, conf: table.Options{"merge-engine": "partial-update", "changelog-producer": "lookup", "file.format.per.level": "0:parquet"}},
	{name: "sequence groups", kinds: engineChanges, conf: engineGroups},
	{name: "sequence groups of images", paired: true, kinds: engineAdds, conf: engineGroups},
	{name: "sequence groups with a changelog", kinds: engineChanges, conf: engineGroups.With(table.Options{"changelog-producer": "input", "file.format": "parquet"})},
	{name: "sequence groups remove", kinds: engineChanges, conf: engineGroups.With(table.Options{"partial-update.remove-record-on-sequence-group": "g,i"})},
	{name: "sequence groups spilled", big: true, kinds: engineChanges, conf: engineGroups.With(engineSpills)},
	{name: "aggregation", kinds: engineChanges, conf: engineSums},
	{name: "aggregation of images", paired: true, kinds: engineAdds, conf: engineSums},
	{name: "aggregation by sequence", kinds: engineChanges, conf: engineSums.With(table.Options{"sequence.field": "g", "file.format": "parquet"})},
	{name: "aggregation ignore-delete", kinds: engineChanges, conf: engineSums.With(table.Options{"ignore-delete": "true", "changelog-producer": "full-compaction"})},
	{name: "aggregation removes", kinds: engineDeletes, conf: table.Options{"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true",
		"fields.default-aggregate-function": "last_non_null_value", "fields.sum.aggregate-function": "sum", "fields.max.aggregate-function": "max"}},
	{name: "aggregation with a changelog", kinds: engineChanges, conf: engineSums.With(table.Options{"changelog-producer": "input"})},
	{name: "aggregation spilled", big: true, kinds: engineChanges, conf: engineSums.With(engineSpills).With(table.Options{"sequence.field": "i", "file.format": "parquet"})},
	{name: "first-row", kinds: engineAdds, conf: table.Options{"merge-engine": "first-row"}},
	{name: "first-row of images", paired: true, kinds: engineAdds, conf: table.Options{"merge-engine": "first-row", "changelog-producer": "lookup"}},
	{name: "first-row ignore-delete", kinds: engineChanges, conf: table.Options{"merge-engine": "first-row", "ignore-delete": "true", "file.format": "parquet"}},
	{name: "first-row spilled", big: true, kinds: engineAdds, conf: table.Options{"merge-engine": "first-row"}.With(engineSpills)},
}

// TestEnginesFlushAsJavas: from the same rows, the files of level 0 and of the changelog are the same, row by row with kinds
// and sequence numbers, and so are the rows that Java and we read. PAIMON_GO_TEST_SEEDS is how many histories there are of
// each case, by hand.
func TestEnginesFlushAsJavas(t *testing.T) {
	rounds := 1
	if v := os.Getenv("PAIMON_GO_TEST_SEEDS"); v != "" {
		var err error
		rounds, err = strconv.Atoi(v)
		require.NoError(t, err)
	}
	for _, c := range engineCases {
		t.Run(c.name, func(t *testing.T) {
			for range rounds {
				c.run(t, testkit.JavaVersions[0], seed(t)) // 1.3 removes and aggregates otherwise
			}
		})
	}
}

func (c *engineCase) run(t *testing.T, java string, rng *rand.Rand) {
	partitioned := rng.IntN(2) == 0
	ours, theirs := c.create(t, partitioned, c.conf), c.create(t, partitioned, c.javaConf())
	keys := []int{2, 8, 60}[rng.IntN(3)]
	commits := int64(0)
	for range 2 { // each by a new process, as it were
		var input bytes.Buffer
		w, err := writer.Open(t.Context(), ours.Open(), writer.Config{CommitUser: "ours", PairedUpdates: c.paired})
		require.NoError(t, err)
		for range 1 + rng.IntN(3) {
			b := engineRows(w.Type(), rng, c, keys)
			for i := range b.N {
				input.Write(append(row.AppendJSONRow(nil, b, i, true), '\n'))
			}
			input.WriteString(`{"_commit":1}` + "\n")
			writeInParts(t, w, b, rng)
			commits++
			require.NoError(t, w.Checkpoint(t.Context(), commits, nil))
		}
		require.NoError(t, w.Wait(t.Context()))
		require.NoError(t, w.Close(t.Context()))
		file := filepath.Join(t.TempDir(), "rows")
		require.NoError(t, os.WriteFile(file, input.Bytes(), 0o600))
		theirs.Java(java, "write", "--input", file)
	}
	require.Equal(t, commits, theirs.Latest())
	require.Equal(t, commits, ours.Latest())
	for id := int64(1); id <= commits; id++ {
		for _, changelog := range []bool{false, true} {
			require.Equal(t, filesOfSnapshot(t, theirs, id, changelog), filesOfSnapshot(t, ours, id, changelog), "snapshot %d, changelog %v", id, changelog)
		}
	}
	want := theirs.JavaRows(java)
	testkit.RequireSameRows(t, "java", want, ours.JavaRows(java))
	testkit.RequireSameRows(t, "we", want, scanned(t, ours))
	testkit.RequireSameChanges(t, theirs.JavaChanges(java), ours.JavaChanges(java))
	ours.RequireCleanFiles()
}

// javaConf are the options of Java's table: it doesn't know of pairs.
func (c *engineCase) javaConf() table.Options {
	if c.paired && c.conf["merge-engine"] != "aggregation" && c.conf["fields.g.sequence-group"] == "" {
		return c.conf.With(table.Options{"ignore-update-before": "true"})
	}
	return c.conf
}

func (c *engineCase) create(t *testing.T, partitioned bool, conf table.Options) *testkit.Table {
	field := func(name, s string) row.Field {
		x, err := row.ParseType(s)
		require.NoError(t, err)
		return row.Field{Name: name, Type: x}
	}
	spec := table.Spec{
		Fields: []row.Field{field("a", "INT"), field("k", "INT NOT NULL"), field("sum", "BIGINT"), field("max", "STRING"), field("p", "STRING NOT NULL"), field("g", "INT"),
			field("b", "DOUBLE"), field("h", "BIGINT"), field("i", "STRING"), field("list", "STRING"), field("set", "ARRAY<INT>"), field("dec", "DECIMAL(20,2)")},
		PrimaryKeys: []string{"p", "k"},
		Options:     table.Options{"bucket": "2", "write-only": "true", "file.format": "avro"}.With(conf),
	}
	if partitioned {
		spec.PartitionKeys = []string{"p"}
	}
	x := testkit.TableAt(t, t.TempDir(), "d", "t")
	_, err := table.Create(t.Context(), local.FS{}, x.Path(), spec)
	require.NoError(t, err)
	return x
}

// engineRows makes the rows of a commit.
func engineRows(typ *row.Type, rng *rand.Rand, c *engineCase, keys int) *row.Batch {
	b := row.NewBatch(typ)
	n := 1 + rng.IntN(100)
	if c.big {
		n, keys = n+3000, 20*keys
	}
	for b.N < n {
		k, kind := rng.IntN(keys), c.kinds[rng.IntN(len(c.kinds))]
		if c.paired && kind == row.UpdateAfter {
			engineRow(b, rng, k, row.UpdateBefore)
		}
		engineRow(b, rng, k, kind)
	}
	return b
}

func engineRow(b *row.Batch, rng *rand.Rand, k int, kind row.Kind) {
	cell := func(none int, format string, value any) string {
		if rng.IntN(none) == 0 {
			return "null"
		}
		return fmt.Sprintf(format, value)
	}
	line := fmt.Sprintf(`{"_kind":%q,"a":%s,"k":%d,"sum":%s,"max":%s,"p":"p%d","g":%s,"b":%s,"h":%s,"i":%s,"list":%s,"set":%s,"dec":%s}`, kind.String(),
		cell(3, "%d", rng.IntN(9)), k/3, cell(4, "%d", rng.IntN(100)-50), cell(4, "%q", strings.Repeat("x", rng.IntN(4))), k%3, cell(4, "%d", rng.IntN(6)),
		cell(3, "%v", float64(rng.IntN(9))+0.5), cell(3, "%d", rng.IntN(3)), cell(3, `"%d"`, rng.IntN(4)), cell(3, `"w%d"`, rng.IntN(9)),
		cell(3, "[%d]", rng.IntN(5)), cell(3, `"%d.25"`, rng.IntN(30)-10))
	if err := row.ParseJSONRow([]byte(line), b); err != nil {
		panic(err)
	}
}

// scanned are the rows of a table as we read them, in the form of JavaRows.
func scanned(t *testing.T, x *testkit.Table) (rows []string) {
	tbl := x.Open()
	s, err := tbl.Latest(t.Context())
	require.NoError(t, err)
	for b, err := range lsm.Scan(t.Context(), tbl, s, lsm.ScanOptions{}) {
		require.NoError(t, err)
		for i := range b.N {
			rows = append(rows, string(row.AppendJSONRow(nil, b, i, false)))
		}
	}
	slices.Sort(rows)
	return rows
}

// TestEngineRetractsThatAreNotTaken: Java writes a lone one and can't read or compact the table once the key has another row;
// our writer ends with an error that names the key and what helps, and the table stays as it was.
func TestEngineRetractsThatAreNotTaken(t *testing.T) {
	for name, c := range map[string]struct {
		conf table.Options
		help string
	}{
		"partial-update": {table.Options{"merge-engine": "partial-update"}, "partial-update.remove-record-on-delete=true"},
		"first-row":      {table.Options{"merge-engine": "first-row"}, "ignore-delete=true"},
		"aggregation":    {table.Options{"merge-engine": "aggregation", "fields.max.aggregate-function": "max"}, "fields.max.ignore-retract=true"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &engineCase{conf: maps.Clone(c.conf)}
			x := e.create(t, true, e.conf)
			w, err := writer.Open(t.Context(), x.Open(), writer.Config{CommitUser: "ours"})
			require.NoError(t, err)
			b := row.NewBatch(w.Type())
			require.NoError(t, row.ParseJSONRow([]byte(`{"k":1,"p":"x","max":"m"}`), b))
			require.NoError(t, w.Write(t.Context(), b))
			require.NoError(t, w.Checkpoint(t.Context(), 1, nil))
			require.NoError(t, w.Wait(t.Context()))
			theirs := x.Copy(t.TempDir())
			b.Kinds[0] = row.Delete
			require.NoError(t, w.Write(t.Context(), b))
			require.NoError(t, w.Checkpoint(t.Context(), 2, nil))
			err = w.Wait(t.Context())
			require.ErrorIs(t, err, lsm.ErrRefusedRecord)
			for _, part := range []string{x.Path(), "partition p=x", `"k":1`, c.help} {
				require.ErrorContains(t, err, part)
			}
			require.Equal(t, err, w.Close(t.Context()))
			require.EqualValues(t, 1, x.Latest())
			x.RequireCleanFiles()

			file := filepath.Join(t.TempDir(), "rows")
			require.NoError(t, os.WriteFile(file, append(row.AppendJSONRow(nil, b, 0, true), "\n{\"_commit\":1}\n"...), 0o600))
			theirs.Java(testkit.JavaVersions[0], "write", "--input", file)
			_, err = theirs.TryJava(testkit.JavaVersions[0], "compact", "--full")
			require.Error(t, err, "then there is no need to be stricter")
		})
	}
}
