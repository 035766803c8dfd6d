// Command paimon-go-compact keeps Paimon tables healthy beside their writers: it compacts, expires and cleans, as a service for one
// table or hundreds, or once. Its subcommands and arguments are those of Paimon's own actions.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	_ "github.com/paimon-go/paimon-go/format/avro"
	_ "github.com/paimon-go/paimon-go/format/parquet"
)

var version = "dev"

const stopWithin = 12 * time.Second

// arguments are all commands. Names are written with dashes here; underscores are taken as well.
type arguments struct {
	Compact           compactArgs           `cmd:"" name:"compact" help:"Compact one table, as a service or --once."`
	CompactDatabase   compactDatabaseArgs   `cmd:"" name:"compact-database" help:"Compact all tables of databases (compact_database), those made later too."`
	ExpireSnapshots   expireSnapshotsArgs   `cmd:"" name:"expire-snapshots" help:"Remove old snapshots of a table and what only they need (expire_snapshots)."`
	ExpireChangelogs  expireChangelogsArgs  `cmd:"" name:"expire-changelogs" help:"Remove old changelogs that outlived their snapshots (expire_changelogs)."`
	ExpirePartitions  expirePartitionsArgs  `cmd:"" name:"expire-partitions" help:"Drop old partitions of a table (expire_partitions)."`
	ExpireTags        expireTagsArgs        `cmd:"" name:"expire-tags" help:"Remove tags whose time is over (expire_tags)."`
	RemoveOrphanFiles removeOrphanFilesArgs `cmd:"" name:"remove-orphan-files" help:"Remove files that no snapshot, tag or branch of a table needs (remove_orphan_files)."`

	cli.LogArgs
	Version kong.VersionFlag `name:"version" help:"Print the version."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run parses the arguments, runs the command and returns the exit code. A first SIGTERM or SIGINT asks for an end in good order,
// which takes at most ten seconds, or stopWithin when a call of the storage hangs; a second one ends at once. Both are always
// safe.
func run(args []string, stdout, stderr io.Writer) int {
	a := &arguments{}
	k, err := cli.Program{
		Name: "paimon-go-compact", Version: version, UsageOnError: true,
		Description: "Compacts, expires and cleans Apache Paimon tables beside writers of any engine. Arguments are those of Paimon's Flink actions; names may be written with _ or -.",
	}.Parse(a, args, stdout)
	if k == nil || err != nil {
		return report(stderr, err)
	}
	signals := cli.WatchSignals()
	defer signals.Close()
	release := make(chan struct{})
	defer close(release)
	go func() {
		select {
		case <-signals.Stop:
			signal.Reset(syscall.SIGTERM, os.Interrupt) // the next one kills the process
		case <-release:
		}
	}()
	return report(stderr, signals.Within(0, stopWithin, func(ctx context.Context) error {
		k.BindTo(ctx, (*context.Context)(nil))
		err := k.Run(&environment{stdout: stdout, stderr: stderr, log: a.Logger(stderr)})
		if err != nil && ctx.Err() != nil { // a service ends without one
			err = fmt.Errorf("%w: %w", cli.ErrStopped, err)
		}
		return err
	}))
}
