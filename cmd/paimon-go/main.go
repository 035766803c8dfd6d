// Command paimon-go looks into Paimon tables: their schema, snapshots, files, rows and changes, and whether all of it is
// sound. It changes nothing but by its verbs create and consumers, and changelog with --consumer-id.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	_ "github.com/paimon-go/paimon-go/format/avro"
	_ "github.com/paimon-go/paimon-go/format/parquet"
)

var version = "dev"

type arguments struct {
	Schema    schemaArgs    `cmd:"" help:"Print the table's schema: columns, keys and options."`
	Snapshots snapshotsArgs `cmd:"" help:"List the snapshots."`
	Files     filesArgs     `cmd:"" help:"List the files of a snapshot."`
	Buckets   bucketsArgs   `cmd:"" help:"Sum the files up by bucket and level."`
	Scan      scanArgs      `cmd:"" help:"Read the rows of a snapshot, merged."`
	Changelog changelogArgs `cmd:"" help:"Read what a range of snapshots changed, as a streaming reader sees it."`
	Consumers consumersArgs `cmd:"" help:"List how far streaming readers are, set that or forget them."`
	Check     checkArgs     `cmd:"" help:"Look for damage in metadata and files."`
	Create    createArgs    `cmd:"" help:"Create a table."`

	Version kong.VersionFlag `help:"Print the version."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run parses the arguments, runs the verb and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := bufio.NewWriterSize(stdout, 1<<16)
	k, err := cli.Program{
		Name: "paimon-go", Version: version,
		Description: "Looks into Apache Paimon tables. A table is named by its path, or by --warehouse, --database and --table. Names may be written with _ or -.",
	}.Parse(&arguments{}, args, out)
	if k != nil && err == nil {
		k.BindTo(ctx, (*context.Context)(nil))
		env := &environment{in: stdin, out: out}
		err = k.Run(env)
		if ctx.Err() != nil && !env.endless {
			err = cli.ErrStopped
		}
	}
	if e := out.Flush(); err == nil && e != nil {
		err = fmt.Errorf("writing the output: %w", e)
	}
	return report(stderr, err)
}

// environment is what verbs work with besides their arguments.
type environment struct {
	in  io.Reader
	out *bufio.Writer
	// endless: a signal is how the verb ends, and no failure.
	endless bool
}
