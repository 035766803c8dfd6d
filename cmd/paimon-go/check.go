package main

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

type checkArgs struct {
	tableArgs
	outputArgs
	snapshotArgs
	Deep   bool `help:"Look at the files of every snapshot, not only of one."`
	Fast   bool `help:"Don't read the files' rows."`
	Strict bool `help:"Warnings and orphans fail the check too."`
}

// Run looks for damage.
func (a *checkArgs) Run(ctx context.Context, env *environment) error {
	t, err := a.open(ctx, optionArgs{})
	if err != nil {
		return err
	}
	var s *table.Snapshot
	if a.Snapshot != 0 {
		if s, err = a.find(ctx, t); err != nil {
			return err
		}
	}
	checker := table.FileChecker(lsm.CheckFile)
	if a.Fast || len(t.Schema().PrimaryKeys) == 0 {
		checker = nil
	}
	count := map[table.Severity]int{}
	problems := t.Check(ctx, s, a.Deep, checker)
	if checker != nil && t.Options().Int(table.KeyBucket) == -1 {
		problems = checkedBuckets(ctx, t, s, problems)
	}
	for p := range problems {
		count[p.Severity]++
		if a.JSON {
			err = cli.PrintJSON(env.out, map[string]string{"severity": string(p.Severity), "check": p.Check, "at": p.At, "msg": p.Msg})
		} else {
			_, err = fmt.Fprintln(env.out, strings.Replace(p.String(), "orphan orphan ", "orphan ", 1))
		}
		if err != nil {
			return err
		}
	}
	errors, warnings, orphans := count[table.SeverityError], count[table.SeverityWarn], count[table.SeverityOrphan]
	bad := errors > 0 || a.Strict && warnings+orphans > 0
	if a.JSON {
		err = cli.PrintJSON(env.out, map[string]any{"summary": map[string]any{"ok": !bad, "errors": errors, "warnings": warnings, "orphans": orphans}})
	} else {
		hint := ""
		if orphans > 0 {
			hint = " (paimon-go-compact remove_orphan_files removes old ones)"
		}
		_, err = fmt.Fprintf(env.out, "%d errors, %d warnings, %d orphans%s\n", errors, warnings, orphans, hint)
	}
	if err == nil && bad && errors+warnings == 0 {
		return fmt.Errorf("%w in %s", errOrphans, t.Path())
	}
	if err == nil && bad {
		err = fmt.Errorf("%w in %s", errProblems, t.Path())
	}
	return err
}

// checkedBuckets adds to the problems those of the keys of a dynamic-bucket table.
func checkedBuckets(ctx context.Context, t *table.Table, s *table.Snapshot, problems iter.Seq[table.Problem]) iter.Seq[table.Problem] {
	return func(yield func(table.Problem) bool) {
		for p := range problems {
			if !yield(p) {
				return
			}
		}
		if s == nil {
			var err error
			if s, err = t.Latest(ctx); err != nil {
				yield(table.Problem{Severity: table.SeverityError, Check: "index-keys", At: t.Path(), Msg: err.Error()})
				return
			}
		}
		found := lsm.CheckBuckets(ctx, t, s)
		if t.Schema().CrossPartition() {
			found = keyPlaces(ctx, t, s)
		}
		for p := range found {
			if !yield(p) {
				return
			}
		}
	}
}
