package main

import (
	"fmt"
	"strings"
)

// growthPrefix begins the kinds of workloads that are points of a curve: our writer alone, while one thing grows. Each point is
// measured with few rows and with six times as many in the same number of files, so that what a row costs and what a file
// costs can be told apart.
const growthPrefix = "growth-"

// growthTimes is how many times as many rows the large run of a point has. With many more, its commits would not fit into the write buffer.
const growthTimes = 6

// curve is what grows.
type curve struct {
	name, axis string
	flat       int // up to where the cost of a row may not depend on it
	points     []int
	at         func(w *workload, x int) // sets the point
}

var curves = []curve{
	{"partitions", "partitions", 1000, []int{1, 10, 100, 1000, 10_000}, func(w *workload, x int) { w.Partitions, w.Buckets = x, 1 }},
	{"buckets", "buckets", 256, []int{1, 4, 16, 64, 256}, func(w *workload, x int) { w.Buckets = x }},
	{"columns", "columns", 0, []int{10, 30, 100, 200, 500}, func(w *workload, x int) {
		w.Data, w.Columns = "columns", x
		w.Rows = max(w.Rows*10/x, 100)
	}},
	{"rowsize", "bytes of a row", 0, []int{100, 1000, 10_000, 100_000, 1_000_000}, func(w *workload, x int) {
		w.DataLen = x
		w.Rows = max(min(w.Rows, w.Rows*75/x), 10)
	}},
	{"existing", "rows in the bucket before", 100_000_000, []int{1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000}, func(w *workload, x int) {
		w.Existing, w.Buckets, w.DataLen = x, 1, 16
	}},
	{"tables", "tables", 300, []int{1, 3, 10, 30, 100, 300}, func(w *workload, x int) { w.Tables = x }},
}

// grows tells whether the workload is a point of a curve.
func (w workload) grows() bool { return strings.HasPrefix(w.Kind, growthPrefix) }

// growth are all points of all curves up to a greatest one, few rows and many rows one after the other.
func (w workload) growth(selection string, most int) (out []workload) {
	for i := range curves {
		c := &curves[i]
		for _, f := range []string{"parquet", "avro"} {
			for _, x := range c.points {
				p := w
				p.Kind, p.Format, p.Data, p.Point = growthPrefix+c.name, f, "random", x
				p.Rows = w.Rows * 2 / 5
				c.at(&p, x)
				if !selected(p.name(), selection) || most > 0 && x > most {
					continue
				}
				for _, large := range []bool{false, true} {
					if large {
						p.Rows *= growthTimes
						p.Large = true
					}
					p.Keys = 8 * p.Rows // the same share of keys comes twice
					p.Interval = p.Rows // one commit, whose files have each key once
					if p.Existing > 0 {
						out = append(out, p)
						continue
					}
					p.Interval = (p.Rows + 1) / 2
					q := p
					q.Uncounted = p.Interval
					q.Rows += q.Uncounted
					out = append(out, q)
				}
			}
		}
	}
	return out
}

// group is the name that runs alternate below: all points of a curve are one, so that each round sees the machine at the same speed
// everywhere. Where rows are there before, few rows and many rows of a point are one, since its table is made once.
func (w workload) group() string {
	if w.grows() && w.Existing == 0 {
		return w.Kind + "-" + w.Format
	}
	w.Large = false
	return w.name()
}

func (w workload) pointName() string {
	large := ""
	if w.Large {
		large = "-large"
	}
	return fmt.Sprintf("%s-%s-%d%s", w.Kind, w.Format, w.Point, large)
}

// cost is a point of a curve as measured.
type cost struct {
	X               int
	Files           float64
	PerRow          float64 // nanoseconds of CPU, without files
	PerFile         float64 // microseconds of CPU
	Plain           float64 // nanoseconds a row with the files, of the large run
	PeakMB, LargeMB float64
	Rounds          int
}

// costs solves CPU = a * rows + b * files for each point, by the medians of few rows and of many.
func costs(results []result) (out []cost) {
	byPoint := map[int][2][]result{}
	var order []int
	for _, r := range results {
		p, ok := byPoint[r.Work.Point]
		if !ok {
			order = append(order, r.Work.Point)
		}
		i := 0
		if r.Work.Large {
			i = 1
		}
		p[i] = append(p[i], r)
		byPoint[r.Work.Point] = p
	}
	cpu := func(r *result) float64 { return r.CPU - r.GenCPU }
	for _, x := range order {
		p := byPoint[x]
		if len(p[0]) == 0 || len(p[1]) == 0 {
			continue
		}
		few, many := p[0][0], p[1][0]
		s, l := spreadOf(p[0], cpu).median, spreadOf(p[1], cpu).median
		filesS := spreadOf(p[0], func(r *result) float64 { return float64(r.Files) }).median
		filesL := spreadOf(p[1], func(r *result) float64 { return float64(r.Files) }).median
		filesS, filesL = filesS*few.Work.counted(), filesL*many.Work.counted()
		rowsS, rowsL := float64(few.Work.Rows-few.Work.Uncounted), float64(many.Work.Rows-many.Work.Uncounted)
		c := cost{X: x, Files: filesL, Plain: l / rowsL * 1e9, Rounds: min(len(p[0]), len(p[1])), PeakMB: spreadOf(p[0], rss.of).median, LargeMB: spreadOf(p[1], rss.of).median}
		// Two equations in a and b; with files in both alike it is the slope.
		if det := rowsS*filesL - rowsL*filesS; det != 0 {
			c.PerRow = (s*filesL - l*filesS) / det * 1e9
			c.PerFile = (rowsS*l - rowsL*s) / det * 1e6
		}
		out = append(out, c)
	}
	return out
}

// flatness is how far the cost of a row is from its middle at the worst point up to a greatest one, as a part of the middle.
func flatness(cs []cost, upTo int) float64 {
	if len(cs) == 0 {
		return 0
	}
	least, most := cs[0].PerRow, cs[0].PerRow
	for _, c := range cs {
		if c.X <= upTo {
			least, most = min(least, c.PerRow), max(most, c.PerRow)
		}
	}
	middle := (least + most) / 2
	return (most - middle) / middle
}
