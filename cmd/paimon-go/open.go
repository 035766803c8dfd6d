package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/cmd/internal/partition"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// tableArgs say which table.
type tableArgs struct {
	Path        string   `arg:"" optional:"" help:"The table's directory: a path or URI."`
	Warehouse   string   `placeholder:"URI" help:"Root of the warehouse, in place of the path."`
	Database    string   `help:"Database of the table."`
	Table       string   `help:"Name of the table."`
	CatalogConf []string `name:"catalog-conf" sep:"none" placeholder:"K=V" help:"Setting of catalog and storage. Repeat it."`
}

// optionArgs lay options over those of the table.
type optionArgs struct {
	Option []string `sep:"none" placeholder:"K=V" help:"Table option for this call. Repeat it."`
}

// place returns where the table is.
func (a *tableArgs) place(ctx context.Context) (fs.FileSystem, string, error) {
	named := a.Warehouse != "" || a.Database != "" || a.Table != ""
	path := a.Path
	switch {
	case path == "" && !named:
		return nil, "", fmt.Errorf("%w: no table: give its path, or --warehouse, --database and --table", cli.ErrUsage)
	case path != "" && named:
		return nil, "", fmt.Errorf("%w: both a path and --warehouse, --database or --table", cli.ErrUsage)
	case named && (a.Warehouse == "" || a.Database == "" || a.Table == ""):
		return nil, "", fmt.Errorf("%w: --warehouse, --database and --table belong together", cli.ErrUsage)
	case named:
		path = table.TablePath(strings.TrimRight(a.Warehouse, "/"), a.Database, a.Table)
	}
	fsys, path, _, err := cli.Storage(ctx, "table", path, a.CatalogConf)
	return fsys, path, err
}

// open opens the table.
func (a *tableArgs) open(ctx context.Context, o optionArgs) (*table.Table, error) {
	fsys, path, err := a.place(ctx)
	if err != nil {
		return nil, err
	}
	options, _, err := cli.TableOptions("option", o.Option)
	if err != nil {
		return nil, err
	}
	return table.Open(ctx, fsys, path, options)
}

// snapshotArgs choose a snapshot.
type snapshotArgs struct {
	Snapshot int64 `placeholder:"N" help:"Snapshot to look at; default: the latest."`
}

// find returns the snapshot, nil when the table has none yet.
func (a *snapshotArgs) find(ctx context.Context, t *table.Table) (*table.Snapshot, error) {
	if a.Snapshot == 0 {
		return t.Latest(ctx)
	}
	s, err := t.Snapshot(ctx, a.Snapshot)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: snapshot %d does not exist, or has expired", cli.ErrUsage, a.Snapshot)
	}
	return s, err
}

// schemaOf returns the schema to read rows with: the table's, or that of the snapshot that was asked for.
func (a *snapshotArgs) schemaOf(ctx context.Context, t *table.Table, s *table.Snapshot) (*table.Schema, error) {
	if a.Snapshot == 0 || s == nil {
		return t.Schema(), nil
	}
	return t.SchemaByID(ctx, s.SchemaID)
}

// bucketArgs choose buckets.
type bucketArgs struct {
	Partition []string `sep:"none" placeholder:"K=V,..." help:"Only partitions with these values, as in directory names. Repeat it for more."`
	Bucket    *int32   `placeholder:"N" help:"Only this bucket."`
}

// matcher returns a function that tells whether a partition and bucket is wanted, nil when all are.
func (a *bucketArgs) matcher(t *table.Table) (func(partition []byte, bucket int32) bool, error) {
	if len(a.Partition) == 0 && a.Bucket == nil {
		return nil, nil
	}
	chosen, err := partition.New(t, a.Partition, "")
	if err != nil {
		return nil, err
	}
	return func(p []byte, bucket int32) bool {
		if a.Bucket != nil && *a.Bucket != bucket {
			return false
		}
		ok, err := chosen.Match(p)
		return ok || err != nil // whoever reads it will say what is wrong
	}, nil
}
