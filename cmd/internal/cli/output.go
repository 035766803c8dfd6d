package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// PrintJSON prints v on a line of its own.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Grid prints cells in aligned columns, in pieces of flushRows, so that a long output neither waits for its end nor stays
// in memory.
type Grid struct {
	w      *tabwriter.Writer
	header string
	rows   int
}

const flushRows = 200

// NewGrid returns a grid that prints the header before its first row, and nothing without rows.
func NewGrid(w io.Writer, header ...string) *Grid {
	return &Grid{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.StripEscape), header: strings.Join(header, "\t")}
}

// Row adds a row.
func (g *Grid) Row(cells ...any) error {
	if g.rows == 0 {
		if _, err := fmt.Fprintln(g.w, g.header); err != nil {
			return err
		}
	}
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(g.w, "\t")
		}
		fmt.Fprint(g.w, c) // to memory; an error comes with Flush
	}
	fmt.Fprintln(g.w)
	if g.rows++; g.rows%flushRows == 0 {
		return g.w.Flush()
	}
	return nil
}

// End prints what is left.
func (g *Grid) End() error { return g.w.Flush() }

// Size returns bytes as a person reads them.
func Size(n int64) string {
	const units = "KMGTP"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, u := float64(n)/1024, 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	return fmt.Sprintf("%.1f %ciB", v, units[u])
}

// Instant returns milliseconds since the epoch as local time.
func Instant(millis int64) string {
	return time.UnixMilli(millis).Format("2006-01-02 15:04:05.000")
}
