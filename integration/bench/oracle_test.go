//go:build integration

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

func TestGeneratorsAgree(t *testing.T) {
	oracle := os.Getenv("PAIMON_GO_ORACLE")
	require.NotEmpty(t, oracle)
	for _, data := range []string{"random", "words"} {
		w := workload{Data: data, Seed: 7, Keys: 1000, Partitions: 40, DataLen: 137, Buckets: 4, Format: "avro"}
		var out bytes.Buffer
		cmd := exec.CommandContext(t.Context(), oracle, "bench-rows", "--from", "5", "--rows", "2000", "--data", data,
			"--seed", "7", "--keys", "1000", "--partitions", "40", "--data-len", "137")
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		require.NoError(t, cmd.Run())
		s, err := table.NewSchema(w.spec())
		require.NoError(t, err)
		g, b := newGenerator(w), row.NewBatch(s.RowType())
		var want []byte
		for i := range 2000 {
			g.appendRow(b, 5+i)
			want = append(row.AppendJSONRow(want, b, i, true), '\n')
		}
		require.Equal(t, string(want), out.String(), fmt.Sprintf("data %s", data))
	}
}

// The whole program on a few rows, ours and Java's, with all its checks.
func TestPairsWriteTheSameTable(t *testing.T) {
	r := &runner{scratch: t.TempDir(), oracle: os.Getenv("PAIMON_GO_ORACLE"), javaOpts: "-Xmx512m",
		checked: map[string]bool{}, shapes: map[string]map[string]int64{}}
	r.self = t.TempDir() + "/bench"
	build := exec.CommandContext(t.Context(), "go", "build", "-o", r.self, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	all, err := pairs(workload{Rows: 5000, Keys: 3000, Interval: 2000, Buckets: 2, Partitions: 3, DataLen: 50, Seed: 1, Parallel: 1}, "writer,full-parquet-mixed,minor-avro-random", 3, 10)
	require.NoError(t, err)
	s, err := openStore(t.TempDir() + "/out.json")
	require.NoError(t, err)
	p := plan{rounds: 1, sides: []string{sideOurs, sideJava}, store: s, start: time.Now()}
	if r.python = os.Getenv("PAIMON_GO_RUST_PYTHON"); r.python != "" { // integration/bench/rust/setup.sh
		p.sides = append(p.sides, sideRust)
	}
	require.NoError(t, p.compare(t.Context(), r, all))
	for _, w := range all {
		require.True(t, s.has(runKey{w.name(), sideJava, 1, false, w}), w.name())
	}
	r.warm = true
	all, err = pairs(workload{Rows: 3000, Keys: 3000, Buckets: 2, Partitions: 1, DataLen: 50, Seed: 1, Parallel: 2}, "full-avro-random", 3, 10)
	require.NoError(t, err)
	require.NoError(t, p.compare(t.Context(), r, all))
}
