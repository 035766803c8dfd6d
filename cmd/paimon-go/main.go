// Command paimon-go looks into Paimon tables: their schema, snapshots, files, rows and changes, and whether all of it is
// sound. It changes nothing but by its verb create.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	_ "github.com/paimon-go/paimon-go/format/avro"
	_ "github.com/paimon-go/paimon-go/format/parquet"
	_ "github.com/paimon-go/paimon-go/fs/local"
)

var version = "dev"

type arguments struct {
	Schema    schemaArgs    `cmd:"" help:"Print the table's schema: columns, keys and options."`
	Snapshots snapshotsArgs `cmd:"" help:"List the snapshots."`
	Files     filesArgs     `cmd:"" help:"List the files of a snapshot."`
	Buckets   bucketsArgs   `cmd:"" help:"Sum the files up by bucket and level."`
	Scan      scanArgs      `cmd:"" help:"Read the rows of a snapshot, merged."`
	Changelog changelogArgs `cmd:"" help:"Read what a range of snapshots changed, as a streaming reader sees it."`
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
	cli := &arguments{}
	answered := false
	p, err := kong.New(cli, kong.Name("paimon-go"), kong.Writers(out, out), kong.Exit(func(int) { answered = true }),
		kong.Description("Looks into Apache Paimon tables. A table is named by its path, or by --warehouse, --database and --table. Names may be written with _ or -."),
		kong.Vars{"version": version}, kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		return report(stderr, err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := p.Parse(dashes(args))
	switch {
	case answered: // --help or --version; what kong says of the rest doesn't matter
		err = nil
	case err != nil:
		err = fmt.Errorf("%w: %w", errUsage, err)
	default:
		k.BindTo(ctx, (*context.Context)(nil))
		err = k.Run(&environment{in: stdin, out: out})
		if ctx.Err() != nil {
			err = errStopped
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
}

// dashes turns the underscores of argument names into dashes.
func dashes(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if name, value, has := strings.Cut(a, "="); strings.HasPrefix(a, "--") {
			out[i] = strings.ReplaceAll(name, "_", "-")
			if has {
				out[i] += "=" + value
			}
		}
	}
	return out
}
