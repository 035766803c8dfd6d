package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
)

type createArgs struct {
	tableArgs
	outputArgs
	Columns       string   `placeholder:"'ID BIGINT NOT NULL, V STRING'" help:"Columns with their types."`
	PrimaryKeys   string   `name:"primary-keys" placeholder:"A,B" help:"Primary key columns."`
	PartitionKeys string   `name:"partition-keys" placeholder:"P" help:"Partition columns."`
	TableConf     []string `name:"table-conf" sep:"none" placeholder:"K=V" help:"Table option. Repeat it."`
	Comment       string   `help:"Comment of the table."`
	Spec          string   `placeholder:"JSON" help:"All of it as JSON: {\"fields\":[{\"name\",\"type\",\"description\"}],\"primaryKeys\":[],\"partitionKeys\":[],\"options\":{},\"comment\":\"\"}, types as in schema files."`
	SpecFile      string   `name:"spec-file" placeholder:"FILE" help:"The same from a file; - is standard input."`
	IfNotExists   bool     `name:"if-not-exists" help:"Leave a table that exists alone."`
}

// Run creates a table and prints its schema.
func (a *createArgs) Run(ctx context.Context, env *environment) error {
	spec, err := a.spec(env.in)
	if err != nil {
		return err
	}
	fsys, path, err := a.place(ctx)
	if err != nil {
		return err
	}
	if _, err := spec.Options.Validate(); err != nil {
		return err
	}
	if err := checkMerging(spec); err != nil {
		return err
	}
	t, err := table.Create(ctx, fsys, path, *spec)
	if errors.Is(err, table.ErrTableExists) && a.IfNotExists {
		t, err = table.Open(ctx, fsys, path, nil)
	}
	if err != nil {
		return err
	}
	return showSchema(env, t.Schema(), a.JSON)
}

// checkMerging refuses options of the merge engine that nobody could write the table with, as Java does.
func checkMerging(spec *table.Spec) error {
	s, err := table.NewSchema(*spec)
	if err == nil && len(s.PrimaryKeys) > 0 {
		_, err = lsm.NewMergeFunc(s, s.Options)
	}
	return err
}

func (a *createArgs) spec(in io.Reader) (*table.Spec, error) {
	byFlags := a.Columns != "" || a.PrimaryKeys != "" || a.PartitionKeys != "" || len(a.TableConf) > 0 || a.Comment != ""
	given := 0
	for _, is := range []bool{byFlags, a.Spec != "", a.SpecFile != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, fmt.Errorf("%w: give one of --columns (with --primary-keys and so on), --spec and --spec-file", cli.ErrUsage)
	}
	if byFlags {
		return a.flagSpec()
	}
	data := []byte(a.Spec)
	var err error
	switch a.SpecFile {
	case "":
	case "-":
		data, err = io.ReadAll(in)
	default:
		data, err = os.ReadFile(a.SpecFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cli.ErrUsage, err)
	}
	var s struct {
		Fields        []row.Field
		PrimaryKeys   []string
		PartitionKeys []string
		Options       table.Options
		Comment       string
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("%w: the table's spec: %w", cli.ErrUsage, err)
	}
	return &table.Spec{Fields: s.Fields, PrimaryKeys: s.PrimaryKeys, PartitionKeys: s.PartitionKeys, Options: s.Options, Comment: s.Comment}, nil
}

func (a *createArgs) flagSpec() (*table.Spec, error) {
	columns, err := row.ParseType("ROW<" + a.Columns + ">")
	if err != nil {
		return nil, fmt.Errorf("%w: --columns: %w", cli.ErrUsage, err)
	}
	options, err := cli.Pairs("table-conf", a.TableConf)
	if err != nil {
		return nil, err
	}
	return &table.Spec{
		Fields: columns.Fields, PrimaryKeys: cli.Names(a.PrimaryKeys), PartitionKeys: cli.Names(a.PartitionKeys), Options: options, Comment: a.Comment,
	}, nil
}
