package main

import (
	"context"
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
	g := newGrid(env.out, "snapshot", "committed", "kind", "schema", "rows added", "rows", "user", "identifier")
	for s, err := range t.Snapshots(ctx) {
		if err != nil {
			return err
		}
		if a.JSON {
			err = printJSON(env.out, s)
		} else {
			err = g.row(s.ID, instant(s.TimeMillis), s.CommitKind, s.SchemaID, s.DeltaRecordCount, s.TotalRecordCount, s.CommitUser, s.CommitIdentifier)
		}
		if err != nil {
			return err
		}
	}
	return g.end()
}
