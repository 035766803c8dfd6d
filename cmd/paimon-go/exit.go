package main

import (
	"errors"
	"io"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// errProblems: check has found something.
var errProblems = errors.New("check found problems")

// errOrphans: check --strict has found nothing worse.
var errOrphans = errors.New("check found files that nothing refers to")

// classes says which error ends with which code and what to do next. The first that matches counts.
var classes = []cli.Class{
	{Is: cli.Wraps(cli.ErrStopped), Code: cli.ExitInternal, What: "stopped; nothing was changed, run it again"},
	{Is: cli.Wraps(errProblems), Code: cli.ExitCorrupt, What: "check found problems; keep every file, and roll back to a sound snapshot (Paimon's rollback_to) or write the table anew"},
	{Is: cli.Wraps(errOrphans), Code: cli.ExitCorrupt, What: "only orphans; they do no harm, paimon-go-compact remove_orphan_files removes old ones"},
	{Is: cli.Wraps(table.ErrCorrupt, format.ErrCorrupt, table.ErrNewerFormat), Code: cli.ExitCorrupt, What: "table corrupt or of a newer format; paimon-go check tells more, no file was changed"},
	{Is: cli.Wraps(lsm.ErrUnsupported), Code: cli.ExitUsage, What: "this kind of table is not read by this program; read it with another Paimon engine"},
	{Is: cli.Wraps(cli.ErrUsage, fs.ErrConfig, table.ErrOption, table.ErrSchema, table.ErrNoTable, table.ErrTableExists), Code: cli.ExitUsage, What: "usage; correct the arguments named above, --help lists them"},
	{Is: cli.InTheWay, Code: cli.ExitStorage, What: "something else lies at a path named above; remove or rename it, then run it again"},
	{Is: cli.Denied, Code: cli.ExitStorage, What: "the storage refuses access; give the user or the keys named above the right to read"},
	{Is: cli.StorageFailed, Code: cli.ExitStorage, What: "storage unreachable, full, or a file has gone; mend the storage or take a snapshot that has not expired"},
}

// report prints the error and, as the last line, what class it is of and what to do next. It returns the exit code.
func report(w io.Writer, err error) int {
	return cli.Report(w, err, classes, "nothing was changed, report this")
}
