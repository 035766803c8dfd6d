package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

type schemaArgs struct {
	tableArgs
	outputArgs
	ID  *int64 `name:"id" placeholder:"N" help:"Version of the schema; default: the latest."`
	All bool   `help:"All versions."`
}

// Run prints schemas.
func (a *schemaArgs) Run(ctx context.Context, env *environment) error {
	t, err := a.open(ctx, optionArgs{})
	if err != nil {
		return err
	}
	schemas := []*table.Schema{t.Schema()}
	switch {
	case a.All:
		schemas = nil
		for id := range t.Schema().ID + 1 {
			s, err := t.SchemaByID(ctx, id)
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed by somebody; no file of that version is left
			} else if err != nil {
				return err
			}
			schemas = append(schemas, s)
		}
	case a.ID != nil:
		s, err := t.SchemaByID(ctx, *a.ID)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: there is no schema %d", cli.ErrUsage, *a.ID)
		} else if err != nil {
			return err
		}
		schemas[0] = s
	}
	for i, s := range schemas {
		if i > 0 && !a.JSON {
			fmt.Fprintln(env.out)
		}
		if err := showSchema(env, s, a.JSON); err != nil {
			return err
		}
	}
	return nil
}

func showSchema(env *environment, s *table.Schema, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(env.out, s)
	}
	fmt.Fprintf(env.out, "schema %d, of %s\n", s.ID, cli.Instant(s.TimeMillis))
	if s.Comment != "" {
		fmt.Fprintf(env.out, "comment        %s\n", s.Comment)
	}
	if len(s.PrimaryKeys) > 0 {
		fmt.Fprintf(env.out, "primary key    %s\n", strings.Join(s.PrimaryKeys, ", "))
	}
	if len(s.PartitionKeys) > 0 {
		fmt.Fprintf(env.out, "partitioned by %s\n", strings.Join(s.PartitionKeys, ", "))
	}
	fmt.Fprintln(env.out)
	g := cli.NewGrid(env.out, "id", "column", "type", "comment")
	for i := range s.Fields {
		f := &s.Fields[i]
		if err := g.Row(f.ID, f.Name, f.Type.String(), f.Comment); err != nil {
			return err
		}
	}
	if err := g.End(); err != nil {
		return err
	}
	if len(s.Options) > 0 {
		fmt.Fprintln(env.out)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Options)) {
		fmt.Fprintf(env.out, "%s = %s\n", k, s.Options[k])
	}
	return nil
}
