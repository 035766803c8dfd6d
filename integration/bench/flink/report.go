package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// column is a figure of a run.
type column struct {
	name, verb string
	of         func(*result) float64
}

var columns = []column{
	{"us of CPU a change", "%.1f", func(r *result) float64 { return r.PerEvent }},
	{"in the last third", "%.1f", func(r *result) float64 { return r.LastThird }},
	{"peak RSS MB", "%.0f", func(r *result) float64 { return r.Peak + r.CompactRSS }},
	{"commits", "%.0f", func(r *result) float64 { return float64(r.Commits) }},
	{"s between", "%.1f", func(r *result) float64 { return r.GapMedian }},
	{"changelog files a commit and partition", "%.2f", func(r *result) float64 { return perPlace(r.ChangelogFiles, r.ChangelogPlaces) }},
	{"at most", "%.0f", func(r *result) float64 { return float64(r.MostChangelogFiles) }},
	{"data files a commit and partition", "%.2f", func(r *result) float64 { return perPlace(r.DataFiles, r.DataPlaces) }},
	{"at most", "%.0f", func(r *result) float64 { return float64(r.MostDataFiles) }},
	{"changelog MB", "%.1f", func(r *result) float64 { return float64(r.ChangelogBytes) / 1e6 }},
	{"data MB", "%.1f", func(r *result) float64 { return float64(r.DataBytes) / 1e6 }},
	{"latency s, median", "%.2f", func(r *result) float64 { return r.Median }},
	{"99 %", "%.2f", func(r *result) float64 { return r.P99 }},
	{"RPCs a commit", "%.1f", func(r *result) float64 { return r.Total }},
	{"files created a commit", "%.1f", func(r *result) float64 { return r.Files }},
}

// report prints min / median / max of the rounds of each setting, then a name node's calls by kind.
func report(out io.Writer, results []*result) {
	bySetting := map[string][]*result{}
	var order []string
	for _, r := range results {
		k := r.setting.String()
		if bySetting[k] == nil {
			order = append(order, k)
		}
		bySetting[k] = append(bySetting[k], r)
	}
	t := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	head, rule := []string{""}, []string{"---"}
	for _, c := range columns {
		head, rule = append(head, c.name), append(rule, "---")
	}
	line := func(cells []string) { fmt.Fprintf(t, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	line(head)
	line(rule)
	for _, k := range order {
		cells := []string{k}
		for _, c := range columns {
			cells = append(cells, spread(bySetting[k], c))
		}
		line(cells)
	}
	t.Flush()
	for _, k := range order {
		for _, r := range bySetting[k] {
			if r.Counted == 0 {
				continue
			}
			fmt.Fprintf(out, "\n%s: calls per commit, over %d commits\n", k, r.Counted)
			for _, kind := range slices.Sorted(maps.Keys(r.PerCommit)) {
				fmt.Fprintf(out, "  %-28s %6.1f\n", kind, r.PerCommit[kind])
			}
		}
	}
}

func spread(rs []*result, c column) string {
	vs := make([]float64, len(rs))
	for i, r := range rs {
		vs[i] = c.of(r)
	}
	slices.Sort(vs)
	n := len(vs)
	if vs[0] == vs[n-1] {
		return fmt.Sprintf(c.verb, vs[0])
	}
	return fmt.Sprintf(c.verb+" / "+c.verb+" / "+c.verb, vs[0], vs[n/2], vs[n-1])
}
