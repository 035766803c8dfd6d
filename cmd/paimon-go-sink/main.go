// Command paimon-go-sink streams a MySQL table (its rows, then its binlog) into a Paimon table, exactly once. Its subcommands
// and arguments are those of Paimon's own actions.
package main

import (
	"io"
	"os"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
)

var version = "dev"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run parses the arguments, runs the command and returns the exit code. A first SIGTERM or SIGINT asks the job to commit and
// end, a second one ends it at once, which is always safe.
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
	switch command {
	case "mysql-sync-table":
		err = env.syncTable(signals.Ctx, &a.SyncTable)
	case "check-source":
		err = env.checkSource(signals.Ctx, &a.CheckSource)
	case "demo":
		err = env.demo(signals.Ctx, &a.Demo)
	}
	return report(stderr, signals.Error(err))
}
