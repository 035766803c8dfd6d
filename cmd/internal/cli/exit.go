package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// The exit codes of all our programs.
const (
	ExitDone     = 0
	ExitInternal = 1
	ExitUsage    = 2
	ExitSource   = 3
	ExitCorrupt  = 4
	ExitRefused  = 5
	ExitPosition = 6
	ExitStorage  = 7
	ExitFenced   = 8
	ExitForeign  = 9
)

// ErrStopped is wrapped by the error of a run that a signal ended before its work was done.
var ErrStopped = errors.New("stopped by a signal")

// Class says which errors end with a code, what they are called and what to do next.
type Class struct {
	Is   func(error) bool
	Code int
	What string
}

// Wraps returns a function that tells whether an error wraps one of the targets.
func Wraps(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
}

// Denied tells errors of a storage that refuses access: waiting is of no use, and nothing is wrong with the storage.
func Denied(err error) bool { return errors.Is(fs.Classify(err), fs.ErrPermission) }

// InTheWay tells errors because of a file or directory that lies where something else belongs.
func InTheWay(err error) bool { return errors.Is(fs.Classify(err), fs.ErrInTheWay) }

// StorageFailed tells errors of the storage, or of a commit that ran out of its tries.
func StorageFailed(err error) bool {
	return fs.Unavailable(err) || noPath(err) || Wraps(ErrNotInTime, fs.ErrNotExist, fs.ErrTransient, table.ErrUnknownOutcome, table.ErrConflict)(err)
}

// noPath reports that the warehouse's path can't be one: a file stands where a directory should be, say.
func noPath(err error) bool {
	return Wraps(syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG)(err)
}

// Report prints the error and, as the last line, the first class that it is of, or internal when it is of none. It returns the
// exit code.
func Report(w io.Writer, err error, classes []Class, internal string) int {
	if err == nil {
		return ExitDone
	}
	// The last line says that it is about arguments.
	fmt.Fprintln(w, "error:", strings.NewReplacer(ErrUsage.Error()+": ", "", ": "+ErrUsage.Error(), "").Replace(err.Error()))
	for _, c := range classes {
		if c.Is(err) {
			fmt.Fprintf(w, "exit %d: %s\n", c.Code, c.What)
			return c.Code
		}
	}
	fmt.Fprintf(w, "exit %d: internal error; %s\n", ExitInternal, internal)
	return ExitInternal
}
