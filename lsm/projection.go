package lsm

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// projection says which columns of a schema are wanted, and how files of any schema version give them. Safe for concurrent
// use.
type projection struct {
	table  *table.Table
	schema *table.Schema
	cols   []int     // positions in schema
	rows   *row.Type // of these columns

	mu    sync.Mutex
	plans map[int64]*filePlan // by schema id; guarded by mu
}

// filePlan is how files of one schema version are read.
type filePlan struct {
	physical *row.Type // what the format reads: sequence number, kind, then value columns
	source   []int     // of each wanted column: its position in physical, or one of the below
	casts    []convert // of each wanted column, nil for none
}

const (
	fromNowhere   = -1 // the file is older than the column: null
	fromPartition = -2 // a partition column: the manifest has its value, as in Java; the file's copy is not read
)

func newProjection(t *table.Table, s *table.Schema, cols []int) *projection {
	p := &projection{table: t, schema: s, cols: cols, plans: map[int64]*filePlan{}}
	all := s.RowType()
	fields := make([]row.Field, len(cols))
	for i, c := range cols {
		fields[i] = all.Fields[c]
	}
	rows := row.NewRow(fields...)
	if len(cols) == len(all.Fields) && slices.IsSorted(cols) {
		p.rows = all
	} else {
		p.rows = &rows
	}
	return p
}

// allColumns is the projection of everything.
func allColumns(t *table.Table, s *table.Schema) *projection {
	cols := make([]int, len(s.Fields))
	for i := range cols {
		cols[i] = i
	}
	return newProjection(t, s, cols)
}

// plan returns how files of a schema version are read.
func (p *projection) plan(ctx context.Context, schemaID int64) (*filePlan, error) {
	p.mu.Lock()
	f := p.plans[schemaID]
	p.mu.Unlock()
	if f != nil {
		return f, nil
	}
	written, err := p.table.SchemaByID(ctx, schemaID)
	if err != nil {
		return nil, err
	}
	if f, err = p.newPlan(written); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plans[schemaID] = f
	return f, nil
}

func (p *projection) newPlan(written *table.Schema) (*filePlan, error) {
	f := &filePlan{source: make([]int, len(p.cols)), casts: make([]convert, len(p.cols))}
	fields := []row.Field{
		{ID: seqColumnID, Name: seqColumn, Type: bigintNotNull},
		{ID: kindColumnID, Name: kindColumn, Type: tinyintNotNull},
	}
	for i := range p.rows.Fields {
		want := &p.rows.Fields[i]
		if slices.Contains(p.schema.PartitionKeys, want.Name) {
			f.source[i] = fromPartition
			continue
		}
		at := fieldByID(written.Fields, want.ID)
		if at < 0 {
			f.source[i] = fromNowhere
			continue
		}
		var err error
		if f.casts[i], err = newConvert(&written.Fields[at].Type, &want.Type); err != nil {
			return nil, fmt.Errorf("column %s of schema %d: %w", want.Name, written.ID, err)
		}
		f.source[i] = len(fields)
		fields = append(fields, written.Fields[at])
	}
	t := row.NewRow(fields...)
	f.physical = &t
	return f, nil
}
