package main

import (
	"io"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// classes says which error ends with which code and what to do next. The first that matches counts.
var classes = []cli.Class{
	{Is: cli.Wraps(cli.ErrStopped), Code: cli.ExitInternal, What: "stopped at once; start again with the same command: it goes on from the last commit"},
	{Is: cli.Wraps(table.ErrFenced), Code: cli.ExitFenced, What: "fenced; stop the other instance, or give this one a table of its own"},
	{Is: cli.Wraps(table.ErrForeignWriter), Code: cli.ExitForeign, What: "another program assigns buckets in a partition of this table, which only one may do where bucket=-1; nothing was committed twice; stop it, run paimon-go check on the table, then start again with the same command"},
	{Is: cli.Wraps(table.ErrPartitionGone), Code: cli.ExitForeign, What: "partitions are dropped again and again while rows of them come; nothing was committed twice; start again with the same command: it goes on from the last commit"},
	{Is: cli.Wraps(cdc.ErrPositionLost), Code: cli.ExitPosition, What: "binlog position lost; read the table anew into an empty table, or start at a position that the server has (scan.startup.mode=specific-offset)"},
	{Is: cli.Wraps(cli.ErrUsage, fs.ErrConfig, cdc.ErrUsage, table.ErrOption, table.ErrNoTable, table.ErrTableExists), Code: cli.ExitUsage, What: "usage; correct the arguments named above; --help lists them"},
	{Is: cli.Wraps(lsm.ErrRefusedRecord), Code: cli.ExitRefused, What: "the table's merge engine can't take a change of the source; nothing after the last commit was applied; set the option that is named above with --table_conf (ignore-delete can be set at any time), or read into a table of another merge-engine"},
	{Is: cli.Wraps(format.ErrNull), Code: cli.ExitRefused, What: "a column of the table is NOT NULL and a row would have NULL in it, as the merge engine leaves it when rows are retracted; nothing after the last commit was applied; make the column nullable with another engine (for a new table: --type_mapping to-nullable), then start again with the same command"},
	{Is: cli.Wraps(cdc.ErrRefused, table.ErrSchema), Code: cli.ExitRefused, What: "refused change or value; nothing after the last commit was applied; a type change: alter the Paimon table's column; a value: choose a policy; else read the table anew (docs/operating.md, After exit 5)"},
	{Is: cli.Wraps(table.ErrCorrupt, table.ErrNewerFormat, format.ErrCorrupt), Code: cli.ExitCorrupt, What: "table corrupt or of a newer format; run paimon-go check on the table; no file was removed"},
	{Is: cli.Wraps(cdc.ErrSource), Code: cli.ExitSource, What: "source unreachable or refused; see paimon-go-sink check_source; then start again with the same command"},
	{Is: cli.InTheWay, Code: cli.ExitStorage, What: "something else lies at a path named above; remove or rename it, then start again with the same command: it goes on from the last commit"},
	{Is: cli.Denied, Code: cli.ExitStorage, What: "the storage refuses access; give the user or the keys named above the rights, then start again with the same command: it goes on from the last commit"},
	{Is: cli.StorageFailed, Code: cli.ExitStorage, What: "storage unreachable, full or out of commit retries; mend the storage, then start again with the same command: it goes on from the last commit"},
}

func report(w io.Writer, err error) int {
	return cli.Report(w, err, classes, "the table is as the last commit left it, start again with the same command and report this")
}
