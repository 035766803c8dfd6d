package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeyValuesAreLiterals(t *testing.T) {
	cols := columns(t, "i bigint", "u bigint unsigned", "s varchar(9)", "b varbinary(9)", "t time(6)", "d datetime(6)", "n decimal(5,2)")
	cols[2].Charset = "utf8mb4"
	for _, c := range []struct {
		col  int
		data string
		want KeyValue
	}{
		{0, "\xff\xff\xff\xff\xff\xff\xff\xff", "-1"},
		{1, "\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
		{2, "é", "_utf8mb4 0xC3A9"},
		{2, "", "_utf8mb4 ''"},
		{3, "\x00'", "_binary 0x0027"},
		{3, "", "_binary ''"},
		{4, "\x01\x01\x00\x00\x00\x02\x03\x04\x05\x00\x00\x00", "'-26:03:04.000005'"},
		{4, "", "'00:00:00.000000'"},
		{5, "\xea\x07\x0b\x1d", "'2026-11-29 00:00:00.000000'"},
		{6, "-1.50", "-1.50"},
	} {
		v, err := literal(&cols[c.col], cell{data: []byte(c.data)})
		require.NoError(t, err)
		require.Equal(t, c.want, v)
		require.NoError(t, v.check())
	}
	for _, bad := range []KeyValue{"", "0x", "_binary 0x", "1 OR 1=1", "'x'", "_utf8mb4 'x'"} {
		require.Error(t, bad.check(), bad)
	}
}

func TestMidpointsAreText(t *testing.T) {
	cols := columns(t, "s varchar(9)", "i int")
	cols[0].Charset = "utf8mb4"
	for _, c := range []struct {
		col     int
		lo, hi  string
		want    KeyValue
		between bool
	}{
		{0, "_utf8mb4 0x6B31", "_utf8mb4 0x6B39", "_utf8mb4 0x6B3520", true},
		{0, "_utf8mb4 0x4BC3A931", "_utf8mb4 0x4BC38939", "_utf8mb4 0x4B7E7E", true}, // not 4BC3
		{0, "_utf8mb4 0x4BC3A931", "_utf8mb4 0x4BC3A9", "_utf8mb4 0x4BC3A9287E", true},
		{0, "_utf8mb4 0xE4B8AD", "_utf8mb4 0xE4B88B", "_utf8mb4 0x7E7E", true},
		{1, "-4", "8", "2", true},
		{1, "7", "7", "7", false},
	} {
		v, ok := midpoint(&cols[c.col], KeyValue(c.lo), KeyValue(c.hi))
		require.Equal(t, c.between, ok)
		require.Equal(t, c.want, v)
	}
}

func TestRangesAreConditions(t *testing.T) {
	require.Empty(t, Range{}.where([]string{"a"}))
	require.Equal(t, "`a` > 1 AND `a` <= 5", Range{After: []KeyValue{"1"}, To: []KeyValue{"5"}}.where([]string{"a"}))
	require.Equal(t, "`a` >= 1 AND ((`a` > 1) OR (`a` = 1 AND `b` > 2)) AND `a` <= 5",
		Range{After: []KeyValue{"1", "2"}, To: []KeyValue{"5"}}.where([]string{"a", "b"}))
}
