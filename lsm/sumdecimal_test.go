package lsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// sumSpec is a table whose sums get more digits than their columns have.
func sumSpec(t testing.TB, formatID string) table.Spec {
	return table.Spec{
		Fields: []row.Field{
			{Name: "k", Type: mustType(t, "INT NOT NULL")}, {Name: "a", Type: mustType(t, "DECIMAL(9, 0)")},
			{Name: "b", Type: mustType(t, "DECIMAL(9, 2)")}, {Name: "c", Type: mustType(t, "DECIMAL(18, 0)")},
		},
		PrimaryKeys: []string{"k"},
		Options: table.Options{"bucket": "1", "write-only": "true", "file.format": formatID, "merge-engine": "aggregation",
			"fields.default-aggregate-function": "sum", "metadata.stats-mode": "full"},
	}
}

// writeSums commits six records of each of two keys, each in a file of its own.
func writeSums(t testing.TB, tab *table.Table) {
	level0(t, tab, func(yield func(*KeyValues) bool) {
		for i := range int64(6) {
			kv := NewKeyValues(tab.Schema().RowType())
			for k, v := range []int64{1, 500_000_000} {
				kv.Rows.Cols[0].AppendI32(int32(k))
				kv.Rows.Cols[1].AppendI64(v)
				kv.Rows.Cols[2].AppendI64(-v)
				kv.Rows.Cols[3].AppendI64(v * 1_000_000_000)
				kv.Rows.EndRow(row.Insert)
				kv.Seq = append(kv.Seq, 2*i+int64(k))
			}
			if !yield(kv) {
				return
			}
		}
	})
}

func compactFully(t testing.TB, tab *table.Table) {
	levels := mustLevels(t, tab, liveFiles(t, tab))
	u := Unit{OutputLevel: levels.MaxLevel(), DropDelete: true, Reason: "full"}
	for _, r := range levels.Runs() {
		u.Files = append(u.Files, r.Files...)
	}
	inc, _, err := mustRewriter(t, tab, RewriterConfig{}).Rewrite(t.Context(), noPartition, 0, levels, u)
	require.NoError(t, err)
	commitCompact(t, tab.NewCommit("compactor", nil), 0, inc)
}

// TestSumsWithTooManyDigits: as Java's, Parquet files have the low 32 bits of the sum of a DECIMAL of up to 9 digits, and
// Avro files have a sum that readers take for NULL. What the manifest says of a file is true of what can be read from it,
// so that no filter loses the row.
func TestSumsWithTooManyDigits(t *testing.T) {
	for formatID, want := range map[string]string{
		"parquet": `{"k":1,"a":"-1294967296","b":"12949672.96","c":"3000000000000000000"}`,
		"avro":    `{"k":1,"a":null,"b":null,"c":null}`,
	} {
		tab := mustCreateInMemory(t, sumSpec(t, formatID))
		writeSums(t, tab)
		compactFully(t, tab)
		got := scanAll(t, tab, ScanOptions{})
		require.Equal(t, []string{`{"k":0,"a":"6","b":"-0.06","c":"6000000000"}`, want}, got)
		if formatID == "parquet" {
			s, err := tab.Latest(t.Context())
			require.NoError(t, err)
			requireFilesSound(t.Context(), t, tab, s)
		}
	}
}
