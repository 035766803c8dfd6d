package main

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// The vectors are made by `oracle vectors`.
func TestGeneratorMakesTheRowsOfJava(t *testing.T) {
	f, err := os.Open("testdata/bench-row.jsonl")
	require.NoError(t, err)
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var v struct {
			Mode       string `json:"data_mode"`
			Seed       int64
			Keys       int
			Partitions int
			I          int
			H          string
			ID         int64
			Data, DT   string
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		w := workload{Data: v.Mode, Seed: v.Seed, Keys: v.Keys, Partitions: v.Partitions, DataLen: len(v.Data), Buckets: 4, Format: "avro"}
		g := newGenerator(w)
		s, err := table.NewSchema(w.spec())
		require.NoError(t, err)
		b := row.NewBatch(s.RowType())
		g.appendRow(b, v.I)
		require.Equal(t, v.H, strconv.FormatUint(g.hash(v.I), 10))
		require.Equal(t, v.ID, b.Cols[0].I64[0])
		require.Equal(t, v.Data, string(b.Cols[1].Value(0)), lines.Text())
		require.Equal(t, v.DT, string(b.Cols[2].Value(0)))
	}
	require.Equal(t, 10, n)
}

func TestPairsAreSelectedByParts(t *testing.T) {
	names := func(sel string) (out []string) {
		all, err := pairs(workload{Rows: 1000}, sel, 5, 100)
		require.NoError(t, err)
		for _, w := range all {
			out = append(out, w.name())
		}
		return out
	}
	require.Len(t, names(""), 14)
	require.Equal(t, []string{"writer-parquet-words", "writer-avro-words"}, names("words"))
	require.Equal(t, []string{"writer-parquet-random", "writer-avro-words"}, names("writer-parquet-random,avro-words"))
	require.Equal(t, []string{"compact-full-avro-random", "compact-full-avro-mixed"}, names("full-avro"))
	require.Equal(t, []string{"growth-buckets-avro-1", "growth-buckets-avro-1-large", "growth-buckets-avro-4", "growth-buckets-avro-4-large"}, names("growth-buckets-avro")[:4])
	require.Equal(t, []string{"tick-64-avro", "tick-256-avro"}, slices.DeleteFunc(names("tick"), func(s string) bool { return !strings.Contains(s, "avro") }))
	_, err := pairs(workload{}, "orc", 5, 0)
	require.Error(t, err)
}

func TestSpreadHasTheMiddle(t *testing.T) {
	rs := []result{{RowsPerCPU: 3}, {RowsPerCPU: 1}, {RowsPerCPU: 9}}
	require.Equal(t, spread{1, 3, 9}, spreadOf(rs, func(r *result) float64 { return r.RowsPerCPU }))
	require.Equal(t, spread{1, 2, 3}, spreadOf(rs[:2], func(r *result) float64 { return r.RowsPerCPU }))
}
