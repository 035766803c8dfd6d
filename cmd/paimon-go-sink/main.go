// Command paimon-go-sink streams a MySQL table (its rows, then its binlog) into a Paimon table, exactly once. Its subcommands
// and arguments are those of Paimon's own actions.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
)

var version = "dev"

// A stop ends within stopWithin and hangWithin together, whatever the storage does: those who send SIGTERM, such as Kubernetes,
// kill after 30 s.
const (
	stopWithin = 20 * time.Second // for the last commit
	hangWithin = 5 * time.Second  // for the clean-up
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run parses the arguments, runs the command and returns the exit code. A first SIGTERM or SIGINT asks the job to commit and
// end, a second one ends it at once, which is always safe. So does the end of the time that the first one gave.
func run(args []string, stdout, stderr io.Writer) int {
	a, command, err := parse(args, stdout)
	if err != nil {
		return report(stderr, err)
	}
	if command == "" {
		return cli.ExitDone // --help or --version was answered
	}
	signals := cli.WatchSignals()
	defer signals.Close()
	env := &environment{stdout: stdout, stderr: stderr, stop: signals.Stop, args: a}
	err = signals.Within(stopWithin, hangWithin, func(ctx context.Context) error {
		switch command {
		case "mysql-sync-table":
			return env.syncTable(ctx, &a.SyncTable)
		case "check-source":
			return env.checkSource(ctx, &a.CheckSource)
		}
		return env.demo(ctx, &a.Demo)
	})
	return report(stderr, signals.Error(err))
}
