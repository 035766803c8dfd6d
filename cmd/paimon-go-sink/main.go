// Command paimon-go-sink streams a MySQL table (its rows, then its binlog) into a Paimon table, exactly once. Its subcommands
// and arguments are those of Paimon's own actions.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

var version = "dev"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run parses the arguments, runs the command and returns the exit code. A first SIGTERM or SIGINT asks the job to commit and
// end, a second one ends it at once, which is always safe.
func run(args []string, stdout, stderr io.Writer) int {
	cli, command, err := parse(args, stdout)
	if err != nil {
		return report(stderr, err)
	}
	if command == "" {
		return exitDone // --help or --version was answered
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stop := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for n := 0; ; n++ {
			select {
			case s := <-signals:
				if n == 0 {
					close(stop)
				} else {
					cancel(fmt.Errorf("a second %s", s))
				}
			case <-done:
				return
			}
		}
	}()
	env := &environment{stdout: stdout, stderr: stderr, stop: stop, cli: cli}
	switch command {
	case "mysql-sync-table":
		err = env.syncTable(ctx, &cli.SyncTable)
	case "check-source":
		err = env.checkSource(ctx, &cli.CheckSource)
	case "demo":
		err = env.demo(ctx, &cli.Demo)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w by %w", errStopped, cause)
	}
	return report(stderr, err)
}
