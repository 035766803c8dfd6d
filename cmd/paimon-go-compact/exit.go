package main

import (
	"io"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// classes says which error ends with which code and what to do next. The first that matches counts.
var classes = []cli.Class{
	{Is: cli.Wraps(cli.ErrStopped), Code: cli.ExitInternal, What: "stopped before it was done; nothing is half done, run it again"},
	{Is: cli.Wraps(cli.ErrUsage, fs.ErrConfig, table.ErrOption, table.ErrNoTable), Code: cli.ExitUsage, What: "usage; correct the arguments or options named above; --help lists the arguments"},
	{Is: cli.Wraps(lsm.ErrUnsupported), Code: cli.ExitUsage, What: "this kind of table is not compacted by this program and was left as it is; compact it with another Paimon engine"},
	{Is: cli.Wraps(table.ErrCorrupt, table.ErrNewerFormat, table.ErrSchema, format.ErrCorrupt), Code: cli.ExitCorrupt, What: "table corrupt or of a newer format; run paimon-go check on the table; no file that it needs was removed"},
	{Is: cli.Wraps(format.ErrNull), Code: cli.ExitRefused, What: "the merge engine leaves NULL in a NOT NULL column, as rows were retracted; the bucket was left as it is; make the column nullable with another engine, then run it again"},
	{Is: cli.InTheWay, Code: cli.ExitStorage, What: "something else lies at a path named above; remove or rename it, then start again with the same command"},
	{Is: cli.Denied, Code: cli.ExitStorage, What: "the storage refuses access; give the user or the keys named above the rights, then start again with the same command"},
	{Is: cli.StorageFailed, Code: cli.ExitStorage, What: "storage unreachable, full or out of commit retries; mend the storage, then start again with the same command"},
}

func report(w io.Writer, err error) int {
	return cli.Report(w, err, classes, "the tables are sound; start again with the same command and report this")
}
