package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// plotCurves draws each curve that was measured as DIR/growth-NAME.svg: what a row costs, with and without its files, and memory.
func plotCurves(dir string, results []result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("drawing curves: %w", err)
	}
	for i := range curves {
		c := &curves[i]
		var lines []line
		for _, f := range []string{"parquet", "avro"} {
			cs := costs(slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.Work.Kind != growthPrefix+c.name || r.Work.Format != f }))
			if len(cs) > 0 {
				lines = append(lines, curveLines(f, cs)...)
			}
		}
		if len(lines) == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, growthPrefix+c.name+".svg"), []byte(drawing(c, lines)), 0o644); err != nil {
			return fmt.Errorf("drawing curves: %w", err)
		}
	}
	return nil
}

// line is one of a panel of a drawing.
type line struct {
	name   string
	color  string
	dashed bool
	memory bool // in the right panel
	x, y   []float64
}

func curveLines(format string, cs []cost) []line {
	color := map[string]string{"parquet": "#1f6fb4", "avro": "#d1651a"}[format]
	out := []line{{name: format + ", with files", color: color, dashed: true}, {name: format, color: color}, {name: format, color: color, memory: true}}
	for _, c := range cs {
		for i, y := range []float64{c.Plain, c.PerRow, c.LargeMB} {
			out[i].x, out[i].y = append(out[i].x, float64(c.X)), append(out[i].y, max(y, 0))
		}
	}
	return out
}

const (
	panelWidth, panelHeight = 320., 220.
	marginLeft, marginTop   = 60., 40.
	panelGap                = 80.
)

// drawing is the curve's SVG: two panels, the points on a logarithmic axis.
func drawing(c *curve, lines []line) string {
	var b strings.Builder
	w, h := 2*panelWidth+marginLeft+panelGap+20, panelHeight+marginTop+50
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="sans-serif" font-size="11">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" fill="white"/>`+"\n", w, h)
	for i, title := range []string{"ns of CPU a row", "peak RSS, MB"} {
		of := slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return l.memory != (i == 1) })
		panel(&b, marginLeft+float64(i)*(panelWidth+panelGap), title, c.axis, of)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func panel(b *strings.Builder, left float64, title, axis string, lines []line) {
	var xs, ys []float64
	for _, l := range lines {
		xs, ys = append(xs, l.x...), append(ys, l.y...)
	}
	if len(xs) == 0 {
		return
	}
	lo, hi := math.Log10(max(slices.Min(xs), 1)), math.Log10(max(slices.Max(xs), 1))
	top := nice(slices.Max(ys))
	px := func(x float64) float64 {
		if hi == lo {
			return left + panelWidth/2
		}
		return left + (math.Log10(max(x, 1))-lo)/(hi-lo)*panelWidth
	}
	py := func(y float64) float64 { return marginTop + panelHeight*(1-y/top) }
	fmt.Fprintf(b, `<text x="%.1f" y="16" font-weight="bold">%s</text>`+"\n", left, title)
	for i := range 5 {
		y := top * float64(i) / 4
		fmt.Fprintf(b, `<path d="M%.1f %.1fh%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n", left, py(y), panelWidth, left-5, py(y)+4, short(y))
	}
	for _, x := range slices.Compact(slices.Sorted(slices.Values(xs))) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", px(x), marginTop+panelHeight+16, short(x))
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", left+panelWidth/2, marginTop+panelHeight+36, axis)
	for i, l := range lines {
		dash := ""
		if l.dashed {
			dash = ` stroke-dasharray="5 4"`
		}
		var d strings.Builder
		for k := range l.x {
			fmt.Fprintf(&d, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[k == 0], px(l.x[k]), py(l.y[k]))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`, px(l.x[k]), py(l.y[k]), l.color)
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"%s/>`+"\n", d.String(), l.color, dash)
		at := left + float64(i)*95
		fmt.Fprintf(b, `<path d="M%.1f 29h14" stroke="%s" stroke-width="1.5"%s/><text x="%.1f" y="33">%s</text>`+"\n", at, l.color, dash, at+18, l.name)
	}
}

// nice is a round number at least as great as v.
func nice(v float64) float64 {
	if v <= 0 {
		return 1
	}
	step := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 4, 5, 8, 10} {
		if f*step >= v {
			return f * step
		}
	}
	return 10 * step
}

// short is a number with k or M.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", math.Round(v/1e5)/10)
	case v >= 1e3:
		return fmt.Sprintf("%gk", math.Round(v/1e2)/10)
	}
	return fmt.Sprintf("%.3g", v)
}
