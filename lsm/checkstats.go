package lsm

import (
	"fmt"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// columnCheck checks one column of the statistics in a manifest entry.
type columnCheck struct {
	what   string // "key statistics of id"
	col    int
	bounds *row.Column // row 0 is the lower one, row 1 the upper; either may be null
	nulls  int64       // as the manifest says, -1 when it doesn't
	seen   int64
	failed bool
}

// prepareStats takes the statistics of the entry apart.
func (c *fileCheck) prepareStats() {
	c.statsOf("key statistics", c.meta.KeyStats, c.layout.keys)
	cols := make([]int, len(c.schema.Fields))
	for i := range cols {
		cols[i] = i
	}
	if c.meta.ValueStatsCols != nil {
		cols = cols[:0]
		for _, name := range c.meta.ValueStatsCols {
			i := c.schema.FieldIndex(name)
			if i < 0 {
				c.addf("file-stats", "value statistics name a column %q, which the schema %d doesn't have", name, c.schema.ID)
				return
			}
			cols = append(cols, i)
		}
	}
	c.statsOf("value statistics", c.meta.ValueStats, cols)
}

func (c *fileCheck) statsOf(what string, s table.Stats, cols []int) {
	fields := make([]row.Field, len(cols))
	types := make([]*row.Type, len(cols))
	for i, k := range cols {
		fields[i] = c.schema.Fields[k]
		fields[i].Type.Nullable = true
		types[i] = &fields[i].Type
	}
	t := row.NewRow(fields...)
	bounds := row.NewBatch(&t)
	for _, b := range [][]byte{s.Min, s.Max} {
		if err := row.DecodeSerializedRow(b, types, bounds); err != nil {
			c.addf("file-stats", "%s: %s", what, err.Error())
			return
		}
	}
	if len(s.NullCounts) != len(cols) {
		c.addf("file-stats", "%s: %d null counts of %d columns", what, len(s.NullCounts), len(cols))
		return
	}
	for i, k := range cols {
		c.stats = append(c.stats, &columnCheck{
			what: fmt.Sprintf("%s of %s", what, fields[i].Name), col: k, bounds: &bounds.Cols[i], nulls: s.NullCounts[i],
		})
	}
}

// collect looks at the column's next values. Of nested types there is only the null count.
func (s *columnCheck) collect(c *fileCheck, v *row.Column) {
	low, high := !s.bounds.IsNull(0), !s.bounds.IsNull(1)
	for i := range v.N {
		if v.IsNull(i) {
			s.seen++
		} else if !s.failed && (low && row.CompareValues(v, i, s.bounds, 0) < 0 || high && row.CompareValues(v, i, s.bounds, 1) > 0) {
			if isNaN(v, i) {
				continue // Java leaves NaN out of the bounds, or not
			}
			s.failed = true
			c.addf("file-stats", "%s: the value of row %d is outside the bounds", s.what, c.rows+int64(i))
		}
	}
}

func isNaN(v *row.Column, i int) bool {
	switch v.Type.Store() {
	case row.StoreF32:
		return v.F32[i] != v.F32[i]
	case row.StoreF64:
		return v.F64[i] != v.F64[i]
	}
	return false
}

func (s *columnCheck) finish(c *fileCheck) {
	if s.nulls >= 0 && s.nulls != s.seen {
		c.addf("file-stats", "%s: %d nulls, the manifest says %d", s.what, s.seen, s.nulls)
	}
}
