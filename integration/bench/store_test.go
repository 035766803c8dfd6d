package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/table"
)

func TestFiguresAreKeptRunForRun(t *testing.T) {
	path := t.TempDir() + "/some/where.jsonl"
	s, err := openStore(path)
	require.NoError(t, err)
	w := workload{Kind: kindWriter, Format: "avro", Data: "words", Rows: 10}
	res := func(round int, cpu float64) result {
		return result{Pair: w.name(), Side: sideOurs, Round: round, Work: w, RowsPerCPU: cpu}
	}
	require.NoError(t, s.add(res(1, 100)))
	require.NoError(t, s.add(res(2, 200)))
	require.NoError(t, s.add(res(1, 300)))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"pair":"writer-av`) // the end came
	require.NoError(t, err)
	require.NoError(t, f.Close())

	s, err = openStore(path)
	require.NoError(t, err)
	require.Len(t, s.all, 2)
	require.InDelta(t, 300, s.all[0].RowsPerCPU, 0, "the newer one of a run")
	require.True(t, s.has(runKey{w.name(), sideOurs, 2, false, w}))
	require.False(t, s.has(runKey{w.name(), sideOurs, 3, false, w}))
	require.False(t, s.has(runKey{w.name(), sideJava, 1, false, w}))
	other := w
	other.Rows = 11
	require.False(t, s.has(runKey{w.name(), sideOurs, 2, false, other}), "another size is another run")
	require.Len(t, s.of(map[string]bool{w.name(): true}), 2)
	require.Empty(t, s.of(map[string]bool{"x": true}))

	require.NoError(t, s.add(res(3, 400)), "goes on behind the torn line")
	s, err = openStore(path)
	require.NoError(t, err)
	require.Len(t, s.all, 3)
	require.NoError(t, os.WriteFile(path, []byte("{}\nnonsense\n{}\n"), 0o600))
	_, err = openStore(path)
	require.ErrorContains(t, err, "line 2")
}

func TestRunsThatAreThereAreNotMadeAgain(t *testing.T) {
	s, err := openStore("")
	require.NoError(t, err)
	p := plan{rounds: 2, sides: []string{sideOurs, sideRust}, store: s, start: time.Now(), limit: time.Nanosecond}
	w := workload{Kind: kindFull, Format: "avro", Data: "random", Rows: 10, Keys: 10, Interval: 5, Partitions: 1, Buckets: 1}
	r := &runner{self: "no such program", scratch: t.TempDir(), checked: map[string]bool{}, shapes: map[string]map[string]int64{}}
	p.start = time.Now().Add(-time.Second)
	left, err := p.pair(t.Context(), r, []workload{w})
	require.NoError(t, err)
	require.Equal(t, 2, left, "no time is left; paimon-rust doesn't compact")
	for round := 1; round <= 2; round++ {
		require.NoError(t, s.add(result{Pair: w.name(), Side: sideOurs, Round: round, Work: w}))
	}
	left, err = p.pair(t.Context(), r, []workload{w})
	require.NoError(t, err)
	require.Zero(t, left)
	p.again, p.limit = true, time.Hour
	_, err = p.pair(t.Context(), r, []workload{w})
	require.ErrorContains(t, err, "no such program")
}

func TestReportOfThreeSides(t *testing.T) {
	w := workload{Kind: kindWriter, Format: "avro", Data: "words", Rows: 10}
	big := w
	big.Rows = 20
	var rs []result
	for round, v := range []float64{100, 300, 200} {
		for side, factor := range map[string]float64{sideOurs: 10, sideJava: 1, sideRust: 4} {
			rs = append(rs, result{Pair: w.name(), Side: side, Round: round, Work: w, RowsPerCPU: v * factor, figures: figures{Bytes: 100}})
		}
	}
	rs = append(rs, result{Pair: w.name(), Side: sideOurs, Work: big, RowsPerCPU: 1})
	var out bytes.Buffer
	report(&out, rs)
	var lines []string
	for l := range strings.Lines(out.String()) {
		if strings.Contains(l, sideOurs) {
			lines = append(lines, strings.Join(strings.Fields(l), " "))
		}
	}
	require.Len(t, lines, 2, out.String())
	require.Contains(t, lines[0], "writer-avro-words 10 rows")
	require.Contains(t, lines[0], "| 10.0x | 1.000 | 2.5x | 1.000 |")
	require.Contains(t, lines[0], "333.33 / 500.00 / 1000.00", "min / median / max of microseconds")
	require.Contains(t, lines[1], "writer-avro-words 20 rows")
}

// What paimon-rust is given is what our writer is given: written by our writer from there, it has the same content.
func TestArrowRowsAreTheGenerators(t *testing.T) {
	for _, data := range []string{"random", "mixed"} {
		w := workload{Kind: kindWriter, Format: "parquet", Data: data, Rows: 2500, Keys: 900, Interval: 1000, Partitions: 3, Buckets: 2, DataLen: 30, Seed: 5, Parallel: 1}
		path := t.TempDir() + "/rows.arrow"
		require.NoError(t, writeArrow(w, path))
		texts, err := arrowTexts(path)
		require.NoError(t, err)
		require.Len(t, texts, w.Rows)
		s, err := table.NewSchema(w.spec())
		require.NoError(t, err)
		require.Equal(t, generatorTexts(t, w, s), texts)
	}
}

func TestOursWritesWhatIsExpected(t *testing.T) {
	for _, f := range []string{"avro", "parquet"} {
		w := workload{Kind: kindWriter, Format: f, Data: "mixed", Rows: 2500, Keys: 900, Interval: 1000, Partitions: 3, Buckets: 2, DataLen: 30, Seed: 5, Parallel: 1}
		path := table.TablePath(t.TempDir(), "bench", "t")
		require.NoError(t, writeTable(t.Context(), w, path, nil))
		want, err := expected(w)
		require.NoError(t, err)
		got, err := actual(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
