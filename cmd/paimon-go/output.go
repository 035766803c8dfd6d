package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
)

// outputArgs choose between text for people and JSON lines for programs.
type outputArgs struct {
	JSON bool `help:"Print JSON, one object a line."`
}

// printJSON prints v on a line of its own.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// grid prints cells in aligned columns, in pieces of flushRows, so that a long output neither waits for its end nor stays
// in memory.
type grid struct {
	w      *tabwriter.Writer
	header string
	rows   int
}

const flushRows = 200

func newGrid(w io.Writer, header ...string) *grid {
	return &grid{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.StripEscape), header: strings.Join(header, "\t")}
}

func (g *grid) row(cells ...any) error {
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

func (g *grid) end() error { return g.w.Flush() }

// unquote leaves quotation marks as they are: nothing around a cell needs them escaped.
var unquote = strings.NewReplacer(`\\`, `\\`, `\"`, `"`)

// cell returns a value as text on one line.
func cell(c *row.Column, i int) string {
	if c.IsNull(i) {
		return "NULL"
	}
	s := string(row.AppendJSONValue(nil, c, i))
	if len(s) > 1 && s[0] == '"' {
		s = unquote.Replace(s[1 : len(s)-1])
	}
	return s
}

// size returns bytes as a person reads them.
func size(n int64) string {
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

func instant(millis int64) string {
	return time.UnixMilli(millis).Format("2006-01-02 15:04:05.000")
}
