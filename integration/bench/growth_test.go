package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/table"
)

// points makes results of a curve whose costs are known.
func points(kind, format string, xs []int, perRow func(x int) float64, perFile float64) (out []result) {
	for _, x := range xs {
		for _, rows := range []int{1000, 1000 * growthTimes} {
			for round, noise := range []float64{1, 0.5, 3} { // the middle counts
				w := workload{Kind: kind, Format: format, Data: "random", Rows: rows, Point: x, Large: rows > 1000}
				cpu := perRow(x)*float64(rows) + perFile*float64(8*x)
				out = append(out, result{Pair: w.name(), Side: sideOurs, Round: round, Work: w, GenCPU: 1, figures: figures{CPU: 1 + cpu*noise, Files: 8 * x, PeakMB: 50}})
			}
		}
	}
	return out
}

func TestRowsAndFilesAreToldApart(t *testing.T) {
	rs := points("growth-tables", "avro", []int{1, 10, 100}, func(int) float64 { return 700e-9 }, 800e-6)
	cs := costs(rs)
	require.Len(t, cs, 3)
	for _, c := range cs {
		require.InDelta(t, 700, c.PerRow, 0.01)
		require.InDelta(t, 800, c.PerFile, 0.01)
		require.Equal(t, 3, c.Rounds)
	}
	require.InDelta(t, 0, flatness(cs, 100), 1e-4)
	rs = points("growth-tables", "avro", []int{1, 10}, func(x int) float64 { return (1 + float64(x)/10) * 1e-6 }, 0) // 1.1 and 2
	require.InDelta(t, 0.45/1.55, flatness(costs(rs), 10), 1e-6)
	require.InDelta(t, 0, flatness(costs(rs), 9), 1e-6, "the second point is beyond")
	require.Empty(t, costs(rs[:3]), "many rows are missing")
}

func TestCurvesAreDrawn(t *testing.T) {
	dir := t.TempDir()
	rs := points("growth-tables", "avro", []int{1, 10, 300}, func(int) float64 { return 700e-9 }, 800e-6)
	rs = append(rs, points("growth-tables", "parquet", []int{1, 10, 300}, func(int) float64 { return 500e-9 }, 800e-6)...)
	rs = append(rs, points("growth-columns", "avro", []int{10}, func(int) float64 { return 500e-9 }, 800e-6)...)
	require.NoError(t, plotCurves(dir, rs))
	names, err := filepath.Glob(dir + "/*")
	require.NoError(t, err)
	require.Equal(t, []string{dir + "/growth-columns.svg", dir + "/growth-tables.svg"}, names)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		paths := 0
		for d := xml.NewDecoder(bytes.NewReader(b)); ; {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "circle" {
				paths++
			}
		}
		require.Positive(t, paths)
		require.NotContains(t, string(b), "NaN")
	}
	var out bytes.Buffer
	report(&out, rs)
	require.Contains(t, out.String(), "growth-tables, parquet")
	require.Contains(t, out.String(), "a is within 0 % of its middle up to 300 tables")
}

// Each curve's first points are written and read back: the content is the generator's, over all tables, and beside rows that were there.
func TestPointsOfCurvesHaveTheirContent(t *testing.T) {
	base := workload{Rows: 250, Buckets: 2, Partitions: 1, DataLen: 20, Seed: 3, Parallel: 1}
	all := base.growth("growth-tables-avro-3,growth-columns-parquet-30,growth-rowsize-avro-1000,growth-partitions-parquet-10", 30)
	require.NotEmpty(t, all)
	for _, w := range all {
		path := table.TablePath(t.TempDir(), "bench", "t")
		var err error
		begun := 0
		if w.Tables > 0 {
			err = writeTables(t.Context(), w, path, func() { begun++ })
		} else {
			err = writeTable(t.Context(), w, path, func() { begun++ })
		}
		require.NoError(t, err, w.name())
		require.Equal(t, 1, begun, "the first commit doesn't count")
		want, err := expected(w)
		require.NoError(t, err)
		got, err := grown(t.Context(), w, path)
		require.NoError(t, err)
		require.Equal(t, want, got, w.name())
	}
	w := base
	w.Kind, w.Format, w.Data = growthPrefix+"existing", "avro", "random"
	w.Existing, w.Buckets, w.Keys, w.Interval = 700, 1, 1000, w.Rows
	r := &runner{scratch: t.TempDir()}
	warehouse := r.scratch + "/copy"
	st, err := r.existing(t.Context(), w, warehouse)
	require.NoError(t, err)
	require.Len(t, st.files, 1)
	path := table.TablePath(warehouse, "bench", "t")
	require.NoError(t, writeExisting(t.Context(), w, path))
	want, err := expected(w)
	require.NoError(t, err)
	got, err := grown(t.Context(), w, path)
	require.NoError(t, err)
	require.Equal(t, want, got)
	w.Existing++
	_, err = grown(t.Context(), w, path)
	require.ErrorContains(t, err, "rows, not")
}

func TestTicksAreTimed(t *testing.T) {
	w := workload{Kind: kindTick, Format: "avro", Data: "random", Rows: 2, Point: 1, Keys: 1000, Buckets: 2, Partitions: 1, DataLen: 50, Parallel: 1, Interval: 1 << 30}
	path := table.TablePath(t.TempDir(), "bench", "t")
	f, rows, err := tickTable(t.Context(), w, path)
	require.NoError(t, err)
	require.Equal(t, 2, f.Ticks)
	require.Positive(t, f.CommitP50)
	require.GreaterOrEqual(t, f.CommitMax, f.CommitP99)
	require.Positive(t, f.WriteMax)
	w.Rows = int(rows)
	want, err := expected(w)
	require.NoError(t, err)
	got, err := grown(t.Context(), w, path)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
