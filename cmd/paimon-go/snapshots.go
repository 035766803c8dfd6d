package main

import (
	"context"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
)

type snapshotsArgs struct {
	tableArgs
	outputArgs
}

// Run lists the snapshots, oldest first.
func (a *snapshotsArgs) Run(ctx context.Context, env *environment) error {
	t, err := a.open(ctx, optionArgs{})
	if err != nil {
		return err
	}
	g := cli.NewGrid(env.out, "snapshot", "committed", "kind", "schema", "records added", "total records", "user", "identifier")
	for s, err := range t.Snapshots(ctx) {
		if err != nil {
			return err
		}
		if a.JSON {
			err = cli.PrintJSON(env.out, s)
		} else {
			err = g.Row(s.ID, cli.Instant(s.TimeMillis), s.CommitKind, s.SchemaID, s.DeltaRecordCount, s.TotalRecordCount, s.CommitUser, s.CommitIdentifier)
		}
		if err != nil {
			return err
		}
	}
	return g.End()
}
