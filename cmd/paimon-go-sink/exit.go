package main

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// The exit codes.
const (
	exitDone     = 0
	exitInternal = 1
	exitUsage    = 2
	exitSource   = 3
	exitCorrupt  = 4
	exitRefused  = 5
	exitPosition = 6
	exitStorage  = 7
	exitFenced   = 8
)

// errStopped is wrapped by the end that a second signal asks for.
var errStopped = errors.New("stopped without a last commit")

// errUsage is wrapped by errors about arguments.
var errUsage = errors.New("wrong arguments")

// classes says which error ends with which code, what it is called and what to do next. The first that matches counts.
var classes = []struct {
	is   func(error) bool
	code int
	what string
	next string
}{
	{wraps(errStopped), exitInternal, "stopped at once", "start again with the same command: it goes on from the last commit"},
	{wraps(table.ErrFenced), exitFenced, "fenced", "stop the other instance, or give this one a table of its own"},
	{wraps(cdc.ErrPositionLost), exitPosition, "binlog position lost", "read the table anew into an empty table, or start at a position that the server has (scan.startup.mode=specific-offset)"},
	{wraps(errUsage, cdc.ErrUsage, table.ErrOption, table.ErrNoTable, table.ErrTableExists), exitUsage, "usage", "correct the arguments named above; --help lists them"},
	{wraps(cdc.ErrRefused, table.ErrSchema), exitRefused, "refused change or value", "nothing after the last commit was applied; correct the source or the table's schema, or choose a policy, and start again"},
	{wraps(table.ErrCorrupt, table.ErrNewerFormat, format.ErrCorrupt), exitCorrupt, "table corrupt or of a newer format", "run paimon-go check on the table; no file was removed"},
	{wraps(cdc.ErrSource), exitSource, "source unreachable or refused", "see paimon-go-sink check_source; then start again with the same command"},
	{func(err error) bool {
		return fs.Unavailable(err) || noPath(err) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrTransient) || errors.Is(err, table.ErrUnknownOutcome) || errors.Is(err, table.ErrConflict)
	}, exitStorage, "storage unreachable, full or out of commit retries", "mend the storage, then start again with the same command: it goes on from the last commit"},
}

// noPath reports that the warehouse's path can't be one: a file stands where a directory should be, say.
func noPath(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENAMETOOLONG)
}

func wraps(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
}

// report prints the error and, as the last line, its class and what to do next. It returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(w, "error:", err)
	for _, c := range classes {
		if c.is(err) {
			fmt.Fprintf(w, "exit %d: %s; %s\n", c.code, c.what, c.next)
			return c.code
		}
	}
	fmt.Fprintf(w, "exit %d: internal error; the table is as the last commit left it, start again with the same command and report this\n", exitInternal)
	return exitInternal
}
