package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

// The exit codes, those of all our programs.
const (
	exitDone     = 0
	exitInternal = 1
	exitUsage    = 2
	exitCorrupt  = 4
	exitStorage  = 7
)

var (
	// errUsage is wrapped by errors about arguments.
	errUsage = errors.New("wrong arguments")
	// errProblems: check has found something.
	errProblems = errors.New("check found problems")
	errStopped  = errors.New("stopped by a signal")
)

// report prints the error and, as the last line, what class it is of and what to do next. It returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(w, "error:", err)
	code, what := classify(err)
	fmt.Fprintf(w, "exit %d: %s\n", code, what)
	return code
}

func classify(err error) (int, string) {
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case is(errStopped):
		return exitInternal, "stopped; nothing was changed, run it again"
	case is(errProblems):
		return exitCorrupt, "check found problems; keep every file, and roll back to a sound snapshot or write the table anew"
	case is(table.ErrCorrupt, format.ErrCorrupt, table.ErrNewerFormat):
		return exitCorrupt, "table corrupt or of a newer format; paimon-go check tells more, no file was changed"
	case is(lsm.ErrUnsupported):
		return exitUsage, "this kind of table is not read by this program; read it with another Paimon engine"
	case is(errUsage, table.ErrOption, table.ErrSchema, table.ErrNoTable, table.ErrTableExists):
		return exitUsage, "usage; correct the arguments named above, --help lists them"
	case fs.Unavailable(err) || is(fs.ErrNotExist, table.ErrUnknownOutcome, table.ErrConflict):
		return exitStorage, "storage unreachable, full, or a file has gone; mend the storage or take a snapshot that has not expired"
	}
	return exitInternal, "internal error; nothing was changed, report this"
}
