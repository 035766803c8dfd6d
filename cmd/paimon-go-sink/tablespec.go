package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/cdc/mysql"
	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/writer"
)

// prepareTable makes the table, or brings an existing one to what the source has now.
func (j *job) prepareTable(ctx context.Context) error {
	spec, err := j.spec()
	if err != nil {
		return err
	}
	if j.table == nil {
		first, err := table.NewSchema(*spec)
		if err != nil {
			return fmt.Errorf("creating table %s: %w", j.path, err)
		}
		if err := checkWritable(first, first.Options); err != nil {
			return err
		}
		j.table, err = table.Create(ctx, j.fsys, j.path, *spec)
		if err == nil {
			j.log.Info("created the table", "table", j.path)
			return j.setKey()
		}
		if !errors.Is(err, table.ErrTableExists) {
			return err
		}
		if err := j.openTable(ctx); err != nil { // another process was faster
			return err
		}
	}
	if err := j.checkExisting(spec); err != nil {
		return err
	}
	// A start that is refused leaves the table as it is: the options of --table_conf get into it after all that can be said before.
	options := j.table.Schema().Options.With(j.options)
	if err := checkWritable(j.table.Schema(), options); err != nil {
		return err
	}
	if err := writer.CheckMemory(options, j.writerConfig(options)); err != nil {
		return err
	}
	changes, err := j.sourceChanges(spec)
	if err != nil {
		return err
	}
	changes = append(changes, j.optionChanges()...)
	if len(changes) > 0 {
		before := j.table.Schema().Options
		if err := writer.CheckAlone(ctx, j.table, j.user); err != nil {
			return err
		}
		if _, err := j.table.Alter(ctx, changes...); err != nil {
			return err
		}
		j.log.Info("altered the table", "table", j.path, "changes", describe(changes, before))
	}
	return j.setKey()
}

// sourceChanges are what the table lacks of the source as it is now. When the job goes on in the log there are none: the
// statements in it change the table, each in its place.
func (j *job) sourceChanges(spec *table.Spec) ([]table.SchemaChange, error) {
	if j.src.GoesOn() {
		return nil, nil
	}
	changes, err := j.table.Schema().Evolve(spec.Fields, j.evolveOptions())
	if err != nil {
		return nil, fmt.Errorf("the table %s can't hold the source as it is now: %w", j.path, err)
	}
	for i := range changes {
		if changes[i].Kind == table.UpdateType {
			return nil, fmt.Errorf("column %s of the source is %s now and %s in the table %s: type changes are not applied; alter the column of the Paimon table with another engine, then start again: %w",
				changes[i].Column, changes[i].Type.String(), fieldType(j.table.Schema(), changes[i].Column), j.path, cdc.ErrRefused)
		}
	}
	return changes, nil
}

// checkWritable refuses tables that can't be written here; o are the options that they will have.
func checkWritable(s *table.Schema, o table.Options) error {
	if err := s.CheckWritable(o); err != nil {
		return err
	}
	if _, err := lsm.NewMergeFunc(s, o); err != nil {
		return err
	}
	return writer.CheckCompaction(s, o)
}

func fieldType(s *table.Schema, name string) string {
	if i := s.FieldIndex(name); i >= 0 {
		return s.Fields[i].Type.String()
	}
	return "missing"
}

func (j *job) evolveOptions() table.EvolveOptions {
	return table.EvolveOptions{DecimalNoChange: j.source.Types.DecimalNoChange, NonStringToString: j.source.Types.NonStringToString}
}

// setKey tells the source by which columns the rows are told apart.
func (j *job) setKey() error {
	key := j.src.Table().PrimaryKey
	if len(key) == 0 {
		key = j.table.Schema().PrimaryKeys
	}
	// A row whose partition changes moves, even when the primary key lacks the partition keys. With dynamic buckets the writer
	// knows where it was, and what the merge engine makes of that.
	target := slices.Clone(j.table.Schema().PrimaryKeys)
	for _, p := range j.table.Schema().PartitionKeys {
		if !slices.Contains(target, p) && j.table.Options().Int(table.KeyBucket) != -1 {
			target = append(target, p)
		}
	}
	j.src.SetKey(key, target)
	return nil
}

// spec is the table that the source and the arguments ask for.
func (j *job) spec() (*table.Spec, error) {
	info := j.src.Table()
	s := &table.Spec{Options: j.options.Clone(), Comment: info.Comment, PartitionKeys: cli.Names(j.args.PartitionKeys), PrimaryKeys: cli.Names(j.args.PrimaryKeys)}
	if len(s.PrimaryKeys) == 0 && j.args.SyncPKFromSource == "true" {
		s.PrimaryKeys = slices.Clone(info.PrimaryKey)
		for i := range s.PrimaryKeys {
			s.PrimaryKeys[i] = j.name(s.PrimaryKeys[i])
		}
		// By name, not in the order of the index: so JDBC lists them, and the action's tables hash their buckets in that order.
		slices.SortFunc(s.PrimaryKeys, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	}
	if len(s.PrimaryKeys) == 0 && j.table != nil && j.src.GoesOn() { // the log tells what became of the source's
		s.PrimaryKeys = j.table.Schema().PrimaryKeys
	}
	if len(s.PrimaryKeys) == 0 {
		return nil, fmt.Errorf("table %s.%s has no primary key: name a unique set of NOT NULL columns with --primary_keys: %w", info.Database, info.Name, cli.ErrUsage)
	}
	seen := map[string]bool{}
	for i := range info.Columns {
		c := &info.Columns[i]
		t, err := mysql.PaimonType(*c, j.source.Types)
		if err != nil {
			return nil, err
		}
		name := j.name(c.Name)
		if seen[name] {
			return nil, fmt.Errorf("two columns of %s.%s are named %s in lower case: %w", info.Database, info.Name, name, cli.ErrUsage)
		}
		seen[name] = true
		t = j.source.Types.NullableUnlessKey(t, slices.Contains(s.PrimaryKeys, name))
		s.Fields = append(s.Fields, row.Field{Name: name, Type: t, Comment: c.Comment})
	}
	for _, k := range slices.Concat(s.PrimaryKeys, s.PartitionKeys) {
		if !seen[k] {
			return nil, fmt.Errorf("key column %s is not in %s.%s: %w", k, info.Database, info.Name, cli.ErrUsage)
		}
	}
	for flag, keys := range map[string][]string{"primary_keys": s.PrimaryKeys, "partition_keys": s.PartitionKeys} {
		for i, k := range keys {
			if slices.Contains(keys[:i], k) {
				return nil, fmt.Errorf("--%s names column %s twice: %w", flag, k, cli.ErrUsage)
			}
		}
	}
	if !slices.ContainsFunc(s.PrimaryKeys, func(k string) bool { return !slices.Contains(s.PartitionKeys, k) }) {
		return nil, fmt.Errorf("the primary key %v has only partition keys, a partition would hold one row; give --primary_keys and --partition_keys otherwise: %w", s.PrimaryKeys, cli.ErrUsage)
	}
	return s, nil
}

func (j *job) name(s string) string {
	if j.lower {
		return strings.ToLower(s)
	}
	return s
}

// checkExisting refuses to write a table whose keys are not those that the arguments ask for.
func (j *job) checkExisting(spec *table.Spec) error {
	have := j.table.Schema()
	if len(have.PrimaryKeys) == 0 {
		return fmt.Errorf("table %s exists and has no primary key: %w", j.path, cli.ErrUsage)
	}
	sorted := func(s []string) []string { c := slices.Clone(s); slices.Sort(c); return c }
	if len(cli.Names(j.args.PrimaryKeys)) > 0 && !slices.Equal(sorted(spec.PrimaryKeys), sorted(have.PrimaryKeys)) {
		return fmt.Errorf("table %s exists with the primary key %v, not %v; a key can't be changed: %w", j.path, have.PrimaryKeys, spec.PrimaryKeys, cli.ErrUsage)
	}
	if len(spec.PartitionKeys) > 0 && !slices.Equal(spec.PartitionKeys, have.PartitionKeys) {
		return fmt.Errorf("table %s exists with the partition keys %v, not %v; they can't be changed: %w", j.path, have.PartitionKeys, spec.PartitionKeys, cli.ErrUsage)
	}
	for _, k := range []*table.Key{table.KeyBucket, table.KeyBucketKey, table.KeyMergeEngine} {
		if v, ok := spec.Options[k.Name]; ok && v != have.Options.Get(k) {
			return fmt.Errorf("table %s exists with %s=%s, not %s; it can't be changed: %w", j.path, k.Name, have.Options.Get(k), v, cli.ErrUsage)
		}
	}
	return nil
}

// optionChanges are the options of --table_conf that differ from the table's.
func (j *job) optionChanges() []table.SchemaChange {
	var changes []table.SchemaChange
	keys := make([]string, 0, len(j.options))
	for k := range j.options {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	have := j.table.Schema().Options
	for _, k := range keys {
		if v, ok := have[k]; !ok || v != j.options[k] {
			changes = append(changes, table.SchemaChange{Kind: table.SetOption, Key: k, Value: j.options[k]})
		}
	}
	return changes
}

// describe tells what changes do to a table that had these options: one that is set by mistake is seen in the log.
func describe(changes []table.SchemaChange, had table.Options) string {
	words := make([]string, len(changes))
	for i, c := range changes {
		old, ok := had[c.Key]
		switch {
		case c.Kind != table.SetOption:
			words[i] = "column " + c.Column
		case ok:
			words[i] = fmt.Sprintf("%s=%s (was %s)", c.Key, c.Value, old)
		default:
			words[i] = fmt.Sprintf("%s=%s", c.Key, c.Value)
		}
	}
	return strings.Join(words, ", ")
}
