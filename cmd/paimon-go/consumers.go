package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

type consumersArgs struct {
	tableArgs
	outputArgs
	Reset  []string `sep:"none" placeholder:"ID=N" help:"Let a consumer, new or not, go on at this snapshot. Repeat it."`
	Delete []string `sep:"none" placeholder:"ID" help:"Forget a consumer; nothing is kept for it any more. Repeat it."`
}

// consumerLine is a consumer for programs.
type consumerLine struct {
	ID      string `json:"id"`
	Next    int64  `json:"nextSnapshot"`
	Behind  int64  `json:"behind"` // snapshots that it has not read
	Changed int64  `json:"changedMillis"`
}

// Run lists the consumers, after having changed some.
func (a *consumersArgs) Run(ctx context.Context, env *environment) error {
	t, err := a.open(ctx, optionArgs{})
	if err != nil {
		return err
	}
	if err := a.change(ctx, t); err != nil {
		return err
	}
	list, err := t.Consumers(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(x, y table.Consumer) int { return cmp.Compare(x.ID, y.ID) })
	latest, err := t.Latest(ctx)
	if err != nil {
		return err
	}
	g := cli.NewGrid(env.out, "consumer", "next snapshot", "behind", "changed")
	for _, c := range list {
		l := consumerLine{ID: c.ID, Next: c.Next, Changed: c.Changed.UnixMilli()}
		behind := "0"
		if latest != nil {
			l.Behind = max(latest.ID-c.Next+1, 0)
			behind = strconv.FormatInt(l.Behind, 10)
			if c.Next > latest.ID+1 { // a reset went too far, or the table was rolled back
				behind = fmt.Sprintf("beyond the latest, %d", latest.ID)
			}
		}
		if a.JSON {
			err = cli.PrintJSON(env.out, l)
		} else {
			err = g.Row(l.ID, l.Next, behind, cli.Instant(l.Changed))
		}
		if err != nil {
			return err
		}
	}
	return g.End()
}

func (a *consumersArgs) change(ctx context.Context, t *table.Table) error {
	next := map[string]int64{}
	for _, kv := range a.Reset {
		id, number, _ := strings.Cut(kv, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("%w: --reset %s: not ID=N with a snapshot N", cli.ErrUsage, kv)
		}
		next[id] = n
	}
	for id, n := range next {
		if err := t.RecordConsumer(ctx, id, n); err != nil {
			return err
		}
	}
	for _, id := range a.Delete {
		if _, err := t.Consumer(ctx, id); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: --delete %s: there is no such consumer", cli.ErrUsage, id)
		} else if err != nil && !errors.Is(err, table.ErrCorrupt) { // what can't be read may go, too
			return fmt.Errorf("--delete %s: %w", id, err)
		}
		if err := t.RemoveConsumer(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
