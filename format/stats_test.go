package format

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format/row"
)

// statsOf collects the statistics of JSON values of one column and returns "nulls min max".
func statsOf(t *testing.T, typ, mode string, values ...string) string {
	ty, err := row.ParseType(typ)
	require.NoError(t, err)
	m, err := ParseStatsMode(mode)
	require.NoError(t, err)
	rt := row.NewRow(row.Field{Name: "a", Type: ty})
	s := NewStatsCollector(&rt, []StatsMode{m})
	b := row.NewBatch(&rt)
	for _, v := range values {
		if v == "|" { // next batch
			s.Collect(b)
			b.Reset()
			continue
		}
		require.NoError(t, row.ParseJSONValue([]byte(v), &b.Cols[0]))
		b.EndRow(row.Insert)
	}
	s.Collect(b)
	r := s.Result()[0]
	if r.Bounds == nil {
		return fmt.Sprint(r.NullCount)
	}
	require.Equal(t, 2, r.Bounds.N)
	return fmt.Sprintf("%d %s %s", r.NullCount, row.AppendJSONValue(nil, r.Bounds, 0), row.AppendJSONValue(nil, r.Bounds, 1))
}

func TestStatsOfColumns(t *testing.T) {
	for _, c := range []struct{ typ, mode, values, want string }{
		{"INT", "full", "3 null -7 5", "1 -7 5"},
		{"INT", "full", "3 | -7 null | 5 9", "1 -7 9"},
		{"INT", "none", "3 null", "-1"},
		{"INT", "counts", "3 null", "1"},
		{"INT", "full", "null null", "2"},
		{"INT", "full", "", "0"},
		{"BOOLEAN", "full", "true null", "1 true true"},
		{"BIGINT", "full", "-9223372036854775808 9223372036854775807", "0 -9223372036854775808 9223372036854775807"},
		{"FLOAT", "full", "1.5 -2.5", "0 -2.5 1.5"},
		{"DOUBLE", "full", "1.5 \"NaN\" 2", "0"},
		{"DOUBLE", "full", "\"NaN\" | 2", "0"},
		{"DOUBLE", "full", "\"-Infinity\" 2 \"Infinity\"", `0 "-Infinity" "Infinity"`},
		{"DOUBLE", "full", "0 5", "0 -0 5"},
		{"DOUBLE", "full", "-0 -5", "0 -5 0"},
		{"DECIMAL(10, 2)", "full", `"1.5" "-3"`, `0 "-3.00" "1.50"`},
		{"DECIMAL(38, 2)", "full", `"1.5" null | "-3"`, `1 "-3.00" "1.50"`},
		{"DATE", "truncate(1)", `"2024-01-02" "1969-01-01"`, `0 "1969-01-01" "2024-01-02"`},
		{"TIMESTAMP(6)", "full", `"2024-01-02T00:00:00" "1969-01-01T00:00:00.000001"`, `0 "1969-01-01T00:00:00.000001000" "2024-01-02T00:00:00.000000000"`},
		{"TIMESTAMP(9)", "full", `"2024-01-02T00:00:00.000000002" "2024-01-02T00:00:00.000000001"`, `0 "2024-01-02T00:00:00.000000001" "2024-01-02T00:00:00.000000002"`},
		{"STRING", "full", `"b" null "" | "abc" "bb"`, `1 "" "bb"`},
		{"STRING", "truncate(3)", `"abcd" "abc"`, `0 "abc" "abd"`},
		{"STRING", "truncate(3)", `"abc"`, `0 "abc" "abc"`},
		{"STRING", "truncate(2)", `"你好世界"`, `0 "你好" "你奾"`},
		{"STRING", "truncate(2)", `"a😀b"`, `0 "a😀" "a😁"`},
		{"STRING", "truncate(2)", "\"a\U0010ffffb\"", "0 \"a\U0010ffff\" \"b\""},
		{"STRING", "truncate(2)", "\"\U0010ffff\U0010ffffb\"", "0"},
		{"STRING", "truncate(1)", "\"\ud7ffb\"", "0 \"\ud7ff\" \"\ue000\""},
		{"STRING", "truncate(2)", "\"a\x7fb\"", "0 \"a\x7f\" \"a\u0080\""},
		{"BYTES", "full", `"AQID" null`, "1"},
		{"ARRAY<INT>", "full", `[1] null`, "1"},
		{"ARRAY<INT>", "none", `[1] null`, "-1"},
		{"ROW<a INT>", "truncate(16)", `{"a":1} null`, "1"},
	} {
		require.Equal(t, c.want, statsOf(t, c.typ, c.mode, strings.Fields(c.values)...), "%s %s of %s", c.typ, c.mode, c.values)
	}
}

func TestStatsModeText(t *testing.T) {
	for in, want := range map[string]string{"None": "none", "COUNTS": "counts", "full": "full", "Truncate(16)": "truncate(16)"} {
		m, err := ParseStatsMode(in)
		require.NoError(t, err)
		require.Equal(t, want, m.String())
	}
	for _, bad := range []string{"", "all", "truncate", "truncate()", "truncate(0)", "truncate(-1)", "truncate(1", "truncate(99999999999)"} {
		_, err := ParseStatsMode(bad)
		require.Error(t, err, bad)
	}
}

func TestStatsModesOfParquetLeaveOutWhatFootersLack(t *testing.T) {
	rt := row.NewRow(row.Field{Name: "a", Type: row.Type{Root: row.Int}},
		row.Field{Name: "b", Type: row.Type{Root: row.Array, Elem: &row.Type{Root: row.Int}}},
		row.Field{Name: "c", Type: row.Type{Root: row.Timestamp, Precision: 9}})
	modes := []StatsMode{StatsFull, StatsFull, StatsTruncate(16)}
	require.Equal(t, modes, StatsModesOf("avro", &rt, modes))
	require.Equal(t, []StatsMode{StatsFull, StatsNone, StatsCounts}, StatsModesOf("parquet", &rt, modes))
}

func TestStatsOfSmallDecimalsInParquetAreOfWhatIsStored(t *testing.T) {
	rt := row.NewRow(row.Field{Name: "a", Type: row.Type{Root: row.Decimal, Precision: 9}})
	for formatID, want := range map[string][]int64{"parquet": {-1294967296, 7}, "avro": {7, 3000000000}} {
		s := NewStatsCollector(&rt, StatsModesOf(formatID, &rt, []StatsMode{StatsFull}))
		b := row.NewBatch(&rt)
		for _, v := range []int64{7, 3000000000} {
			b.Cols[0].AppendI64(v)
			b.EndRow(row.Insert)
		}
		s.Collect(b)
		require.Equal(t, want, s.Result()[0].Bounds.I64, formatID)
	}
}

// TestStringBoundsHold checks that truncated bounds enclose every value and are not longer than asked.
func TestStringBoundsHold(t *testing.T) {
	rt := row.NewRow(row.Field{Name: "a", Type: row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}})
	alphabet := []rune{0, 1, 'a', 'b', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "n")
		vs := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom(alphabet), 0, 12, -1), 1, 20).Draw(t, "values")
		s := NewStatsCollector(&rt, []StatsMode{StatsTruncate(n)})
		b := row.NewBatch(&rt)
		for _, v := range vs {
			b.Cols[0].AppendString(v)
			b.EndRow(row.Insert)
			if rapid.Bool().Draw(t, "null after") {
				b.Cols[0].AppendNull()
				b.EndRow(row.Insert)
			}
		}
		cut := rapid.IntRange(0, b.N).Draw(t, "cut")
		s.CollectRange(b, 0, cut)
		s.CollectRange(b, cut, b.N)
		r := s.Result()[0]
		require.EqualValues(t, b.N-len(vs), r.NullCount)
		if r.Bounds == nil {
			return
		}
		lo, hi := string(r.Bounds.Value(0)), string(r.Bounds.Value(1))
		require.LessOrEqual(t, len([]rune(lo)), n)
		require.LessOrEqual(t, len([]rune(hi)), n)
		for _, v := range vs {
			require.LessOrEqual(t, lo, v)
			require.GreaterOrEqual(t, hi, v)
		}
	})
}

func BenchmarkStats(b *testing.B) {
	rt := row.NewRow(row.Field{Name: "id", Type: row.Type{Root: row.BigInt}},
		row.Field{Name: "s", Type: row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}},
		row.Field{Name: "n", Type: row.Type{Root: row.Int, Nullable: true}},
		row.Field{Name: "d", Type: row.Type{Root: row.Double}})
	batch := row.NewBatch(&rt)
	for i := range 4096 {
		batch.Cols[0].AppendI64(int64(i))
		batch.Cols[1].AppendString(fmt.Sprintf("customer-%08d", i*7919%4096))
		if i%5 == 0 {
			batch.Cols[2].AppendNull()
		} else {
			batch.Cols[2].AppendI32(int32(i))
		}
		batch.Cols[3].AppendF64(float64(i))
		batch.EndRow(row.Insert)
	}
	m := StatsTruncate(16)
	s := NewStatsCollector(&rt, []StatsMode{m, m, m, m})
	b.ReportAllocs()
	for b.Loop() {
		s.Collect(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch.N), "ns/row")
}
