package lsm

import (
	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// keyStatsLength is to how many characters Java cuts the bounds of key columns in Parquet and ORC files, whatever the
// table's mode says; in Avro files they go by the mode, as other columns.
const keyStatsLength = 128

// statsPlan says which statistics of a file go into the manifest. The keys' are found out with the value columns that they
// repeat, so that each is looked at once.
type statsPlan struct {
	schema  *table.Schema
	dense   bool
	keys    []int
	collect []format.StatsMode // enough for both of the below
	value   []format.StatsMode // of each column
	key     []format.StatsMode // of each column, none for those that are not in the key
}

// newStatsPlan makes the plan of one format; value has a mode for each column. In thin mode the statistics of the keys are
// those of the value columns.
func newStatsPlan(s *table.Schema, formatID string, value []format.StatsMode, dense, thin bool) *statsPlan {
	p := &statsPlan{schema: s, dense: dense, keys: s.KeyIndexes(), key: make([]format.StatsMode, len(value))}
	for _, k := range p.keys {
		p.key[k] = format.StatsTruncate(keyStatsLength)
		if thin || formatID == "avro" {
			p.key[k] = value[k]
		}
	}
	p.value = format.StatsModesOf(formatID, s.RowType(), value)
	p.key = format.StatsModesOf(formatID, s.RowType(), p.key)
	p.collect = append(p.collect, p.value...)
	for _, k := range p.keys {
		if p.key[k] != p.value[k] {
			p.collect[k] = format.StatsFull
		}
	}
	return p
}

func (p *statsPlan) collector() *format.StatsCollector {
	return format.NewStatsCollector(p.schema.RowType(), p.collect)
}

// results returns the statistics of the keys and of the values, and the names of the columns in the latter.
func (p *statsPlan) results(c *format.StatsCollector) (key, value table.Stats, names []string) {
	all := c.ResultAs(p.key)
	types := make([]*row.Type, len(p.keys))
	keys := make([]format.ColumnStats, len(p.keys))
	for i, k := range p.keys {
		types[i], keys[i] = &p.schema.Fields[k].Type, all[k]
	}
	value, names = table.ValueStats(p.schema, c.ResultAs(p.value), p.dense)
	return table.StatsOf(types, keys), value, names
}
