package table

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

func TestPartitionStatsPruneExactly(t *testing.T) {
	types := []*row.Type{{Root: row.VarChar, Length: row.MaxLength, Nullable: true}}
	collect := func(partitions ...any) Stats {
		p := newPartitionStats(types)
		for _, v := range partitions {
			p.add(binaryRow(v))
		}
		s, err := p.stats()
		require.NoError(t, err)
		return s
	}
	long := "a very long value that must not be cut, as a manifest would be lost"
	s := collect("b", "b", long, nil, nil)
	require.Equal(t, Stats{Min: binaryRow(long), Max: binaryRow("b"), NullCounts: []int64{2}}, s)
	noNulls := collect("b", "d")
	for _, c := range []struct {
		stats  *Stats
		wanted any
		may    bool
	}{
		{&noNulls, "a", false}, {&noNulls, "b", true}, {&noNulls, "c", true}, {&noNulls, "d", true}, {&noNulls, "e", false},
		{&noNulls, nil, false}, {&s, nil, true}, {&s, "c", false}, {&s, "b", true},
		{&Stats{Min: binaryRow(nil), Max: binaryRow(nil)}, "a", true}, // unknown
		{&Stats{}, "a", true},
	} {
		p, err := newPartitionPruner(types, map[string]bool{string(binaryRow(c.wanted)): true})
		require.NoError(t, err)
		require.Equal(t, c.may, p.mayHave(c.stats), "%v in %+v", c.wanted, c.stats)
	}
}

func TestValueStatsLeaveOutUnknownColumns(t *testing.T) {
	big := row.Type{Root: row.BigInt}
	s := &Schema{Fields: []row.Field{{Name: "a", Type: big}, {Name: "b", Type: big}, {Name: "c", Type: big}}}
	bounds := new(row.Column)
	bounds.Init(&big)
	bounds.AppendI64(3)
	bounds.AppendI64(7)
	known := format.ColumnStats{NullCount: 1, Bounds: bounds}
	counted := format.ColumnStats{NullCount: 4}
	unknown := format.ColumnStats{NullCount: -1}

	st, cols := ValueStats(s, []format.ColumnStats{known, unknown, counted}, true)
	require.Equal(t, []string{"a", "c"}, cols)
	require.Equal(t, Stats{Min: binaryRow(3, nil), Max: binaryRow(7, nil), NullCounts: []int64{1, 4}}, st)
	st, cols = ValueStats(s, []format.ColumnStats{known, unknown, counted}, false)
	require.Nil(t, cols)
	require.Equal(t, []int64{1, -1, 4}, st.NullCounts)
	_, cols = ValueStats(s, []format.ColumnStats{known, known, known}, true)
	require.Nil(t, cols)
	st, cols = ValueStats(s, []format.ColumnStats{unknown, unknown, unknown}, true)
	require.Equal(t, []string{}, cols)
	require.Equal(t, EmptyStats(), st)
}
