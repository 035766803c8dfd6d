package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// spread is the least, the middle and the greatest of a figure's rounds.
type spread struct{ min, median, max float64 }

func spreadOf(rs []result, f func(*result) float64) spread {
	if len(rs) == 0 {
		return spread{}
	}
	vs := make([]float64, len(rs))
	for i := range rs {
		vs[i] = f(&rs[i])
	}
	slices.Sort(vs)
	n := len(vs)
	return spread{vs[0], (vs[(n-1)/2] + vs[n/2]) / 2, vs[n-1]}
}

func (s spread) format(verb string) string {
	return fmt.Sprintf(verb+" / "+verb+" / "+verb, s.min, s.median, s.max)
}

// column is what a report shows of each run.
type column struct {
	name, verb string
	of         func(*result) float64
}

var (
	perRow  = column{"CPU us/row", "%.2f", func(r *result) float64 { return 1e6 / r.RowsPerCPU }}
	cpu     = column{"CPU s", "%.2f", func(r *result) float64 { return r.CPU }}
	inner   = column{"generator", "%.2f", func(r *result) float64 { return r.GenCPU }}
	process = column{"process CPU s", "%.2f", func(r *result) float64 { return r.ProcessCPU }}
	wall    = column{"wall s", "%.2f", func(r *result) float64 { return r.Wall }}
	rss     = column{"RSS MB", "%.0f", func(r *result) float64 { return r.PeakMB }}
	written = column{"MB written", "%.1f", func(r *result) float64 { return float64(r.Bytes) / 1e6 }}
	files   = column{"files", "%.0f", func(r *result) float64 { return float64(r.Files) }}
	krows   = column{"1000 rows/CPU s", "%.0f", func(r *result) float64 { return r.RowsPerCPU / 1e3 }}
	rate    = column{"MB/CPU s", "%.1f", func(r *result) float64 { return r.MBPerCPU }}

	floorOf = column{"to bare zstd and write", "%.1fx", func(r *result) float64 {
		if f := r.Floor.Zstd + r.Floor.Write; f > 0 {
			return (r.CPU - r.GenCPU) / f
		}
		return 0
	}}
	buffered  = column{"MB buffered", "%.0f", func(r *result) float64 { return r.Buffered }}
	commitP50 = column{"commit s, median", "%.2f", func(r *result) float64 { return r.CommitP50 }}
	commitP99 = column{"99 %", "%.2f", func(r *result) float64 { return r.CommitP99 }}
	commitMax = column{"max", "%.2f", func(r *result) float64 { return r.CommitMax }}
	writeMax  = column{"longest Write s", "%.3f", func(r *result) float64 { return r.WriteMax }}
	stalls    = column{"stalls", "%.0f", func(r *result) float64 { return float64(r.Stalls) }}
	stalled   = column{"stalled s", "%.2f", func(r *result) float64 { return r.StallTime }}

	tickColumns    = []column{buffered, commitP50, commitP99, commitMax, writeMax, stalls, stalled, perRow, rss}
	writerColumns  = []column{perRow, cpu, inner, process, wall, rss, written, files, floorOf}
	compactColumns = []column{perRow, krows, rate, cpu, process, wall, rss, written, files}
)

// report prints what was measured, by kind.
func report(out io.Writer, results []result) {
	of := func(is func(w workload) bool) []result {
		return slices.DeleteFunc(slices.Clone(results), func(r result) bool { return !is(r.Work) })
	}
	for _, part := range []struct {
		results []result
		columns []column
	}{
		{of(func(w workload) bool { return w.Kind == kindWriter }), writerColumns},
		{of(workload.compacts), compactColumns},
		{of(func(w workload) bool { return w.Kind == kindTick }), tickColumns},
	} {
		if len(part.results) > 0 {
			fmt.Fprintln(out)
			grid(out, part.results, part.columns)
		}
	}
	for i := range curves {
		for _, f := range []string{"parquet", "avro"} {
			if rs := of(func(w workload) bool { return w.Kind == growthPrefix+curves[i].name && w.Format == f }); len(rs) > 0 {
				reportCurve(out, &curves[i], f, costs(rs))
			}
		}
	}
}

// reportCurve prints the points of a curve, and whether the cost of a row is the same at all of them where it has to.
func reportCurve(out io.Writer, c *curve, format string, cs []cost) {
	fmt.Fprintf(out, "\n%s%s, %s\n", growthPrefix, c.name, format)
	t := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintf(t, "| %s\t| files\t| CPU ns/row, with files\t| a, CPU ns/row without\t| b, CPU us/file\t| RSS MB, few rows\t| many\t| rounds\t|\n", c.axis)
	fmt.Fprintln(t, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, p := range cs {
		fmt.Fprintf(t, "| %d\t| %.0f\t| %.0f\t| %.0f\t| %.0f\t| %.0f\t| %.0f\t| %d\t|\n", p.X, p.Files, p.Plain, p.PerRow, p.PerFile, p.PeakMB, p.LargeMB, p.Rounds)
	}
	t.Flush()
	if c.flat > 0 {
		fmt.Fprintf(out, "a is within %.0f %% of its middle up to %d %s\n", 100*flatness(cs, c.flat), c.flat, c.axis)
	}
}

// grid prints min / median / max over the rounds, and how many times as many rows as the others we do in a second of processor
// time, by the medians. What was measured with several workloads or JVMs is kept apart.
func grid(out io.Writer, results []result, columns []column) {
	byPair := map[string][]result{}
	var order []string
	for _, r := range results {
		l := r.label(results)
		if byPair[l] == nil {
			order = append(order, l)
		}
		byPair[l] = append(byPair[l], r)
	}
	t := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	defer t.Flush()
	head, rule := []string{"pair", "side", "rounds"}, []string{"---", "---", "---"}
	for _, c := range columns {
		head, rule = append(head, c.name), append(rule, "---")
	}
	var others []string
	for _, side := range []string{sideJava, sideRust} {
		if slices.ContainsFunc(results, func(r result) bool { return r.Side == side }) {
			others = append(others, side)
			head, rule = append(head, "rows/CPU s to "+side, "bytes to "+side), append(rule, "---", "---")
		}
	}
	line := func(cells []string) { fmt.Fprintf(t, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	line(head)
	line(rule)
	for _, pair := range order {
		of := func(side string) []result {
			return slices.DeleteFunc(slices.Clone(byPair[pair]), func(r result) bool { return r.Side != side })
		}
		for _, side := range []string{sideOurs, sideJava, sideRust} {
			rs := of(side)
			if len(rs) == 0 {
				continue
			}
			cells := []string{pair, side, fmt.Sprint(len(rs))}
			for _, c := range columns {
				cells = append(cells, spreadOf(rs, c.of).format(c.verb))
			}
			for _, other := range others {
				cells = append(cells, ratios(side, rs, of(other))...)
			}
			line(cells)
		}
	}
}

// ratios are ours to another side's: rows a second of processor time, and bytes.
func ratios(side string, rs, other []result) []string {
	if side != sideOurs || len(other) == 0 {
		return []string{"", ""}
	}
	median := func(rs []result, f func(*result) float64) float64 { return spreadOf(rs, f).median }
	rows, size := func(r *result) float64 { return r.RowsPerCPU }, func(r *result) float64 { return float64(r.Bytes) }
	return []string{fmt.Sprintf("%.1fx", median(rs, rows)/median(other, rows)), fmt.Sprintf("%.3f", median(rs, size)/median(other, size))}
}

// label is the name of what a result belongs to: the pair, and its size where the same pair was measured with others.
func (r *result) label(all []result) string {
	l := r.Pair
	if slices.ContainsFunc(all, func(o result) bool { return o.Pair == r.Pair && o.Work != r.Work }) {
		l += fmt.Sprintf(" %d rows, %d buckets, %d partitions, parallel %d", r.Work.Rows, r.Work.Buckets, r.Work.Partitions, r.Work.Parallel)
	}
	if r.Warm {
		l += ", warm"
	}
	return l
}
