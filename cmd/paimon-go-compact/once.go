package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/compactor"
)

// once compacts until nothing is left to do and prints what was done. That it went wrong for some tables doesn't keep it from the
// others.
func (a *serviceArgs) once(ctx context.Context, env *environment, service *compactor.Service) error {
	r, err := service.Once(ctx)
	if a.JSON {
		for i := range r.Tables {
			if perr := cli.PrintJSON(env.stdout, doneOf(&r.Tables[i])); perr != nil {
				return errors.Join(err, perr)
			}
		}
		return err
	}
	return errors.Join(err, printDone(env.stdout, &r))
}

// doneLine is what was done with a table, as JSON.
type doneLine struct {
	Table        string  `json:"table"`
	Refused      string  `json:"refused,omitempty"`
	Compactions  int64   `json:"compactions"`
	Failed       int64   `json:"failed"`
	Lost         int64   `json:"lost"`
	Commits      int64   `json:"commits"`
	BytesRead    int64   `json:"bytesRead"`
	BytesWritten int64   `json:"bytesWritten"`
	RowsRead     int64   `json:"rowsRead"`
	RowsWritten  int64   `json:"rowsWritten"`
	Files        int     `json:"files"` // now
	Bytes        int64   `json:"bytes"`
	Runs         int     `json:"sortedRuns"` // of the worst bucket
	Seconds      float64 `json:"jobSeconds"`
}

func doneOf(t *compactor.TableStats) doneLine {
	return doneLine{t.Name, t.Refused, t.Done, t.Failed, t.Lost, t.Commits, t.BytesRead, t.BytesWritten, t.RowsRead, t.RowsWritten, t.Files, t.Bytes, t.MaxRuns, t.JobTime.Seconds()}
}

func printDone(w io.Writer, r *compactor.Report) error {
	if len(r.Tables) == 0 {
		return noTables(w)
	}
	g := cli.NewGrid(w, "table", "compactions", "failed", "lost", "read", "written", "took", "files now", "size now", "sorted runs")
	for i := range r.Tables {
		if t := &r.Tables[i]; t.Refused == "" {
			if err := g.Row(t.Name, t.Done, t.Failed, t.Lost, cli.Size(t.BytesRead), cli.Size(t.BytesWritten), t.JobTime.Round(time.Millisecond), t.Files, cli.Size(t.Bytes), t.MaxRuns); err != nil {
				return err
			}
		}
	}
	if err := g.End(); err != nil {
		return err
	}
	for i := range r.Tables {
		if t := &r.Tables[i]; t.Refused != "" {
			if _, err := fmt.Fprintf(w, "%s was left as it is: %s\n", t.Name, t.Refused); err != nil {
				return err
			}
		}
	}
	return nil
}

// noTables says so: a mistyped pattern would look as if nothing were due.
func noTables(w io.Writer) error {
	_, err := fmt.Fprintln(w, "no table is chosen: patterns must match the whole name, --including_tables and --excluding_tables that of database.table")
	return err
}
