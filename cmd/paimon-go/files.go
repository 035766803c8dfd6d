package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/cmd/internal/cli"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

type filesArgs struct {
	tableArgs
	outputArgs
	snapshotArgs
	bucketArgs
	Which string `name:"scan" default:"all" enum:"all,delta,changelog" help:"all: the live files; delta: what the snapshot added and took away; changelog: its changelog files."`
	Stats bool   `help:"Statistics of the columns too (JSON only)."`
}

// fileLine is a file as JSON.
type fileLine struct {
	Kind           string            `json:"kind"`
	Partition      string            `json:"partition"`
	Bucket         int32             `json:"bucket"`
	TotalBuckets   int32             `json:"totalBuckets"`
	Level          int               `json:"level"`
	FileName       string            `json:"fileName"`
	Path           string            `json:"path"`
	FileSize       int64             `json:"fileSize"`
	RowCount       int64             `json:"rowCount"`
	DeleteRowCount int64             `json:"deleteRowCount"`
	MinKey         rawRow            `json:"minKey"`
	MaxKey         rawRow            `json:"maxKey"`
	MinSequence    int64             `json:"minSequenceNumber"`
	MaxSequence    int64             `json:"maxSequenceNumber"`
	SchemaID       int64             `json:"schemaId"`
	Source         string            `json:"fileSource"`
	Created        string            `json:"creationTime"` // wall clock of the writer's host
	ExtraFiles     []string          `json:"extraFiles,omitempty"`
	Stats          map[string]bounds `json:"stats,omitempty"`

	min, max string // the keys for people
}

// rawRow is a row as JSON already.
type rawRow []byte

// MarshalJSON returns the row.
func (r rawRow) MarshalJSON() ([]byte, error) {
	if r == nil {
		return []byte("null"), nil
	}
	return r, nil
}

type bounds struct {
	Min   rawRow `json:"min"`
	Max   rawRow `json:"max"`
	Nulls *int64 `json:"nulls"`
}

// Run lists files.
func (a *filesArgs) Run(ctx context.Context, env *environment) error {
	t, err := a.open(ctx, optionArgs{})
	if err != nil {
		return err
	}
	entries, err := a.entries(ctx, t)
	if err != nil {
		return err
	}
	g := cli.NewGrid(env.out, "partition", "bucket", "level", "file", "size", "rows", "deletes", "min key", "max key", "sequence", "schema", "source")
	for i := range entries {
		l, err := a.describe(ctx, t, &entries[i])
		if err != nil {
			return err
		}
		if a.JSON {
			err = cli.PrintJSON(env.out, l)
		} else {
			name := l.FileName
			if l.Kind == table.Delete.String() {
				name = "-" + name
			}
			err = g.Row(l.Partition, l.Bucket, l.Level, name, cli.Size(l.FileSize), l.RowCount, l.DeleteRowCount, l.min, l.max,
				fmt.Sprintf("%d..%d", l.MinSequence, l.MaxSequence), l.SchemaID, l.Source)
		}
		if err != nil {
			return err
		}
	}
	return g.End()
}

// entries returns the wanted files by partition, bucket, level and name.
func (a *filesArgs) entries(ctx context.Context, t *table.Table) ([]table.Entry, error) {
	s, err := a.find(ctx, t)
	if s == nil || err != nil {
		return nil, err
	}
	var all iter.Seq2[table.Entry, error]
	switch a.Which {
	case "delta":
		all = t.ScanDelta(ctx, s)
	case "changelog":
		all = t.ScanChangelog(ctx, s)
	default:
		all = t.Scan(ctx, s, table.Filter{Bucket: a.Bucket})
	}
	return collect(t, all, &a.bucketArgs)
}

func collect(t *table.Table, all iter.Seq2[table.Entry, error], a *bucketArgs) ([]table.Entry, error) {
	match, err := a.matcher(t)
	if err != nil {
		return nil, err
	}
	var out []table.Entry
	for e, err := range all {
		if err != nil {
			return nil, err
		}
		if match == nil || match(e.Partition, e.Bucket) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(x, y table.Entry) int {
		return cmp.Or(strings.Compare(string(x.Partition), string(y.Partition)), cmp.Compare(x.Bucket, y.Bucket),
			cmp.Compare(x.File.Level, y.File.Level), cmp.Compare(x.File.MinSeq, y.File.MinSeq), strings.Compare(x.File.Name, y.File.Name))
	})
	return out, nil
}

func (a *filesArgs) describe(ctx context.Context, t *table.Table, e *table.Entry) (*fileLine, error) {
	f := &e.File
	s, err := t.SchemaByID(ctx, f.SchemaID)
	if err != nil {
		return nil, err
	}
	l := &fileLine{
		Kind: e.Kind.String(), Bucket: e.Bucket, TotalBuckets: e.TotalBuckets, Level: f.Level, FileName: f.Name, FileSize: f.Size,
		RowCount: f.RowCount, DeleteRowCount: f.DeleteRows, MinSequence: f.MinSeq, MaxSequence: f.MaxSeq, SchemaID: f.SchemaID,
		Source: sourceName(f.Source), Created: wallClock(f.CreationMillis), ExtraFiles: f.ExtraFiles,
	}
	if l.Partition, err = t.PartitionPath(e.Partition); err != nil {
		return nil, err
	}
	if l.Path, err = t.DataFilePath(e.Partition, e.Bucket, f); err != nil {
		return nil, err
	}
	if l.MinKey, l.min, err = keyRow(s, f.MinKey); err != nil {
		return nil, err
	}
	if l.MaxKey, l.max, err = keyRow(s, f.MaxKey); err != nil {
		return nil, err
	}
	if a.Stats {
		l.Stats, err = statsOf(s, f)
	}
	return l, err
}

func sourceName(s table.FileSource) string {
	switch s {
	case table.SourceAppend:
		return "APPEND"
	case table.SourceCompact:
		return "COMPACT"
	}
	return ""
}

// keyRow returns a serialized key as a JSON object and as text; nothing for tables without keys.
func keyRow(s *table.Schema, key []byte) (rawRow, string, error) {
	if len(s.PrimaryKeys) == 0 {
		return nil, "", nil
	}
	b, err := decode(s, s.KeyIndexes(), key)
	if err != nil {
		return nil, "", err
	}
	return row.AppendJSONRow(nil, b, 0, false), keyText(b), nil
}

// decode returns a serialized row of some columns, any of which may be null.
func decode(s *table.Schema, cols []int, data ...[]byte) (*row.Batch, error) {
	fields := make([]row.Field, len(cols))
	types := make([]*row.Type, len(cols))
	for i, k := range cols {
		fields[i] = s.Fields[k]
		fields[i].Type.Nullable = true
		types[i] = &fields[i].Type
	}
	t := row.NewRow(fields...)
	b := row.NewBatch(&t)
	for _, d := range data {
		if err := row.DecodeSerializedRow(d, types, b); err != nil {
			return nil, fmt.Errorf("%w: %w", table.ErrCorrupt, err)
		}
	}
	return b, nil
}

// statsOf returns the value statistics by column.
func statsOf(s *table.Schema, f *table.DataFile) (map[string]bounds, error) {
	var cols []int
	for i := range s.Fields {
		if f.ValueStatsCols == nil || slices.Contains(f.ValueStatsCols, s.Fields[i].Name) {
			cols = append(cols, i)
		}
	}
	if f.ValueStatsCols != nil { // in their order
		slices.SortFunc(cols, func(x, y int) int {
			return cmp.Compare(slices.Index(f.ValueStatsCols, s.Fields[x].Name), slices.Index(f.ValueStatsCols, s.Fields[y].Name))
		})
	}
	b, err := decode(s, cols, f.ValueStats.Min, f.ValueStats.Max)
	if err != nil {
		return nil, err
	}
	out := map[string]bounds{}
	for i, k := range cols {
		v := bounds{Min: row.AppendJSONValue(nil, &b.Cols[i], 0), Max: row.AppendJSONValue(nil, &b.Cols[i], 1)}
		if n := f.ValueStats.NullCounts; i < len(n) && n[i] >= 0 {
			v.Nulls = &n[i]
		}
		out[s.Fields[k].Name] = v
	}
	return out, nil
}

// keyText returns a key for people: its values, shortened.
func keyText(b *row.Batch) string {
	var parts []string
	for i := range b.Cols {
		parts = append(parts, cell(&b.Cols[i], 0))
	}
	const most = 40
	if r := []rune(strings.Join(parts, ", ")); len(r) > most {
		return string(r[:most]) + "…"
	}
	return strings.Join(parts, ", ")
}
