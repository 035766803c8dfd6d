package main

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
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
	batches := func(yield func(lsm.Changes, error) bool) {
		for b, err := range lsm.Scan(ctx, t, s, o) {
			if !yield(lsm.Changes{Rows: b}, err) {
				return
			}
		}
	}
	return a.print(env, batches, a.JSON, nil)
}

type changelogArgs struct {
	tableArgs
	outputArgs
	optionArgs
	bucketArgs
	rowArgs
	From int64 `placeholder:"N" help:"First snapshot; default: the earliest."`
	To   int64 `placeholder:"N" help:"Last snapshot; default: the latest."`
}

// Run prints what snapshots changed.
func (a *changelogArgs) Run(ctx context.Context, env *environment) error {
	t, err := a.open(ctx, a.optionArgs)
	if err != nil {
		return err
	}
	from, to, err := a.span(ctx, t)
	if err != nil {
		return err
	}
	o := lsm.ScanOptions{Bucket: a.Bucket, Columns: cli.Names(a.Columns)}
	if o.Match, err = a.matcher(t); err != nil {
		return err
	}
	return a.print(env, lsm.ReadChangelog(ctx, t, from, to, o), a.JSON, []string{"snapshot", "kind"})
}

// span returns the range of snapshots, an empty one when the table has none.
func (a *changelogArgs) span(ctx context.Context, t *table.Table) (from, to int64, err error) {
	last, err := t.Latest(ctx)
	if last == nil || err != nil {
		return 1, 0, err
	}
	if from, to = a.From, a.To; to == 0 {
		to = last.ID
	}
	if to > last.ID {
		return 0, 0, fmt.Errorf("%w: --to %d: the latest snapshot is %d", cli.ErrUsage, to, last.ID)
	}
	if from == 0 {
		first, err := t.Earliest(ctx)
		if first == nil || err != nil {
			return 1, 0, err
		}
		return first.ID, to, nil
	}
	if _, err := t.SnapshotOrChangelog(ctx, from); errors.Is(err, fs.ErrNotExist) {
		return 0, 0, fmt.Errorf("%w: --from %d: the snapshot does not exist, or has expired", cli.ErrUsage, from)
	} else if err != nil {
		return 0, 0, err
	}
	return from, to, nil
}

// print prints rows; columns about the change come first where extra names them.
func (a *rowArgs) print(env *environment, batches iter.Seq2[lsm.Changes, error], asJSON bool, extra []string) error {
	var n int64
	var g *cli.Grid
	var line []byte
	for c, err := range batches {
		if err != nil {
			return err
		}
		if a.Count && a.Limit == 0 {
			n += int64(c.Rows.N)
			continue
		}
		if g == nil {
			g = cli.NewGrid(env.out, header(extra, c.Rows)...)
		}
		for i := 0; i < c.Rows.N && (a.Limit == 0 || n < a.Limit); i++ {
			n++
			switch {
			case a.Count:
			case asJSON:
				line = append(appendRow(line[:0], c, i), '\n')
				_, err = env.out.Write(line)
			default:
				err = g.Row(cells(c, i, extra != nil)...)
			}
			if err != nil {
				return err
			}
		}
		if a.Limit > 0 && n >= a.Limit {
			break
		}
	}
	switch {
	case a.Count && asJSON:
		return cli.PrintJSON(env.out, map[string]int64{"rows": n})
	case a.Count:
		_, err := fmt.Fprintln(env.out, n)
		return err
	case g != nil:
		return g.End()
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
