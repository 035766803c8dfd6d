package lsm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// recordExpiry is record-level.expire-time: compaction drops rows whose time is that long ago. A NULL time never passes
// (Java's RecordLevelExpire).
type recordExpiry struct {
	schema *table.Schema
	col    int // of record-level.time-field
	keep   int64
}

// newRecordExpiry returns nil when rows don't expire.
func newRecordExpiry(s *table.Schema, o table.Options) (*recordExpiry, error) {
	if !o.Has(table.KeyRecordLevelExpireTime) {
		return nil, nil
	}
	name := o.Get(table.KeyRecordLevelTimeField)
	e := &recordExpiry{schema: s, col: s.FieldIndex(name), keep: int64(o.Duration(table.KeyRecordLevelExpireTime) / time.Second)}
	if e.col < 0 {
		return nil, fmt.Errorf("%w: %s is %q, which is no column", table.ErrOption, table.KeyRecordLevelTimeField.Name, name)
	}
	if !isTime(&s.Fields[e.col].Type) {
		return nil, fmt.Errorf("%w: %s names column %s of type %s; INT, BIGINT and timestamps hold times", table.ErrOption,
			table.KeyRecordLevelTimeField.Name, name, s.Fields[e.col].Type.String())
	}
	return e, nil
}

func isTime(t *row.Type) bool {
	return slices.Contains([]row.Root{row.Int, row.BigInt, row.Timestamp, row.TimestampLTZ}, t.Root)
}

// seconds returns the time of row i of a column that isTime holds for; false when there is none.
func seconds(c *row.Column, i int) (int64, bool) {
	if c.IsNull(i) {
		return 0, false
	}
	switch c.Type.Root {
	case row.Int:
		return int64(c.I32[i]), true
	case row.BigInt:
		if v := c.I64[i]; v >= 1_000_000_000_000 { // milliseconds
			return v / 1000, true
		} else {
			return v, true
		}
	}
	ms, _ := c.Millis(i)
	return ms / 1000, true
}

// live lists the rows of a batch that have not expired in idx's memory; all is true when these are all.
func (e *recordExpiry) live(b *row.Batch, now time.Time, idx []int32) (_ []int32, all bool) {
	idx = idx[:0]
	limit, c := now.Unix()-e.keep, &b.Cols[e.col]
	for i := range b.N {
		if s, ok := seconds(c, i); !ok || s >= limit {
			idx = append(idx, int32(i))
		}
	}
	return idx, len(idx) == b.N
}

// gone reports whether a row has expired.
func (e *recordExpiry) gone(b *row.Batch, i int, now time.Time) bool {
	s, ok := seconds(&b.Cols[e.col], i)
	return ok && s < now.Unix()-e.keep
}

// file reports whether a file's statistics show a time that has expired. Without statistics it is not known, as in Java.
func (e *recordExpiry) file(t *table.Table, f *table.DataFile, now time.Time) bool {
	written, err := t.SchemaByID(context.Background(), f.SchemaID)
	if err != nil {
		return false
	}
	at := fieldByID(written.Fields, e.schema.Fields[e.col].ID)
	if at < 0 || !isTime(&written.Fields[at].Type) {
		return false
	}
	fields := written.Fields
	if f.ValueStatsCols != nil {
		name := fields[at].Name
		fields = make([]row.Field, 0, len(f.ValueStatsCols))
		for _, n := range f.ValueStatsCols {
			i := written.FieldIndex(n)
			if i < 0 {
				return false
			}
			fields = append(fields, written.Fields[i])
		}
		if at = slices.Index(f.ValueStatsCols, name); at < 0 {
			return false
		}
	}
	// Statistics are stored with every column nullable.
	types := make([]*row.Type, len(fields))
	for i := range fields {
		types[i] = &fields[i].Type
	}
	all := row.NewRow(fields...)
	low := row.NewBatch(&all)
	if row.DecodeSerializedRow(f.ValueStats.Min, types, low) != nil {
		return false
	}
	s, ok := seconds(&low.Cols[at], 0)
	return ok && now.Unix()-e.keep > s
}
