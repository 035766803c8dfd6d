package main

import (
	"context"
	"fmt"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
)

// rowArgs choose among rows.
type rowArgs struct {
	Columns string `placeholder:"A,B" help:"Only these columns, in this order."`
	Limit   int64  `placeholder:"N" help:"At most so many rows."`
	Count   bool   `help:"Print only the number of rows."`
}

type scanArgs struct {
	tableArgs
	outputArgs
	optionArgs
	snapshotArgs
	bucketArgs
	rowArgs
}

// Run prints the rows of a snapshot.
func (a *scanArgs) Run(ctx context.Context, env *environment) error {
	t, err := a.open(ctx, a.optionArgs)
	if err != nil {
		return err
	}
	s, err := a.find(ctx, t)
	if err != nil {
		return err
	}
	o := lsm.ScanOptions{Bucket: a.Bucket, Columns: cli.Names(a.Columns)}
	if o.Schema, err = a.schemaOf(ctx, t, s); err != nil {
		return err
	}
	if o.Match, err = a.matcher(t); err != nil {
		return err
	}
	p := &printer{rowArgs: &a.rowArgs, env: env, json: a.JSON}
	for b, err := range lsm.Scan(ctx, t, s, o) {
		if err != nil {
			return err
		}
		if more, err := p.batch(lsm.Changes{Rows: b}); err != nil {
			return err
		} else if !more {
			break
		}
	}
	return p.end()
}

// printer prints rows as the arguments ask; columns about the change come first where extra names them.
type printer struct {
	*rowArgs
	env   *environment
	json  bool
	extra []string

	n    int64
	grid *cli.Grid
	line []byte
}

// batch prints rows; false when there are enough.
func (p *printer) batch(c lsm.Changes) (more bool, err error) {
	if p.Count && p.Limit == 0 {
		p.n += int64(c.Rows.N)
		return true, nil
	}
	if p.grid == nil {
		p.grid = cli.NewGrid(p.env.out, header(p.extra, c.Rows)...)
	}
	for i := 0; i < c.Rows.N && (p.Limit == 0 || p.n < p.Limit); i++ {
		p.n++
		switch {
		case p.Count:
		case p.json:
			p.line = append(appendRow(p.line[:0], c, i), '\n')
			_, err = p.env.out.Write(p.line)
		default:
			err = p.grid.Row(cells(c, i, p.extra != nil)...)
		}
		if err != nil {
			return false, err
		}
	}
	return p.Limit == 0 || p.n < p.Limit, nil
}

// flush makes what was printed visible.
func (p *printer) flush() error {
	if p.grid != nil {
		if err := p.grid.End(); err != nil {
			return err
		}
	}
	return p.env.out.Flush()
}

// end prints what comes last.
func (p *printer) end() error {
	switch {
	case p.Count && p.json:
		return cli.PrintJSON(p.env.out, map[string]int64{"rows": p.n})
	case p.Count:
		_, err := fmt.Fprintln(p.env.out, p.n)
		return err
	case p.grid != nil:
		return p.grid.End()
	}
	return nil
}

func header(extra []string, b *row.Batch) []string {
	names := append([]string{}, extra...)
	for i := range b.Type.Fields {
		names = append(names, b.Type.Fields[i].Name)
	}
	return names
}

func cells(c lsm.Changes, i int, change bool) []any {
	var out []any
	if change {
		out = append(out, c.Snapshot.ID, c.Rows.Kinds[i])
	}
	for k := range c.Rows.Cols {
		out = append(out, cell(&c.Rows.Cols[k], i))
	}
	return out
}

// appendRow appends a row as a JSON object; that of a changelog names its snapshot first.
func appendRow(dst []byte, c lsm.Changes, i int) []byte {
	if c.Snapshot == nil {
		return row.AppendJSONRow(dst, c.Rows, i, true)
	}
	dst = fmt.Appendf(dst, `{"_snapshot":%d,`, c.Snapshot.ID)
	at := len(dst) - 1
	dst = row.AppendJSONRow(dst[:at], c.Rows, i, true)
	dst[at] = ',' // in place of the row's brace
	return dst
}
