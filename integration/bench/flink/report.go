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
	{"s to the first commit", "%.1f", func(r *result) float64 { return r.First }},
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
		k := r.label(results)
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
	compare(out, results)
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

// label is the setting, and the size where a setting was measured with several.
func (r *result) label(all []*result) string {
	l := r.setting.String()
	if slices.ContainsFunc(all, func(o *result) bool { return o.setting == r.setting && o.Plan != r.Plan }) {
		l += fmt.Sprintf(", %d rows, %d changes, %d a second for %s", r.Plan.Rows, r.Plan.Events, r.Plan.Rate, r.Plan.Length)
	}
	return l
}

// compare prints how many times as much Flink's jobs took as ours did, by the medians, and ours to the floor.
func compare(out io.Writer, results []*result) {
	byLabel := map[string]map[string][]*result{}
	var order []string
	for _, r := range results {
		c := *r
		c.Side = "all"
		l := c.label(nil) + fmt.Sprintf(", %d rows", r.Plan.Rows)
		if byLabel[l] == nil {
			byLabel[l] = map[string][]*result{}
			order = append(order, l)
		}
		byLabel[l][r.Side] = append(byLabel[l][r.Side], r)
	}
	median := func(rs []*result, of func(*result) float64) float64 {
		vs := make([]float64, len(rs))
		for i, r := range rs {
			vs[i] = of(r)
		}
		slices.Sort(vs)
		n := len(vs)
		return (vs[(n-1)/2] + vs[n/2]) / 2
	}
	perEvent := func(r *result) float64 { return r.PerEvent }
	peak := func(r *result) float64 { return r.Peak + r.CompactRSS }
	bytes := func(r *result) float64 { return float64(r.DataBytes + r.ChangelogBytes) }
	t := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	defer t.Flush()
	fmt.Fprintln(t, "\n| ours\t| side\t| rounds\t| changes per CPU second, to it\t| RSS, part of its\t| bytes, part of its\t|\n| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, l := range order {
		us := byLabel[l][ours]
		if len(us) == 0 {
			continue
		}
		for _, side := range []string{action, sql} {
			if it := byLabel[l][side]; len(it) > 0 {
				fmt.Fprintf(t, "| %s\t| %s\t| %d\t| %.1fx\t| %.3f\t| %.3f\t|\n", l, side, min(len(us), len(it)), median(it, perEvent)/median(us, perEvent), median(us, peak)/median(it, peak), median(us, bytes)/median(it, bytes))
			}
		}
		if f := median(us, (*result).floor); f > 0 {
			fmt.Fprintf(t, "| %s\t| floor\t| %d\t| %.2fx its CPU\t| \t| \t|\n", l, len(us), median(us, func(r *result) float64 { return r.CPU })/f)
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
