package table

import (
	"fmt"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

// EmptyStats returns statistics of no columns. As statistics of values they need ValueStatsCols to be an empty list: with
// nil there, readers expect all columns and fail.
func EmptyStats() Stats {
	return Stats{Min: row.EmptySerializedRow(), Max: row.EmptySerializedRow(), NullCounts: []int64{}}
}

// StatsOf returns the stored form of the statistics of these columns, as those of keys are kept: one for every column,
// null where nothing is known.
func StatsOf(types []*row.Type, cs []format.ColumnStats) Stats {
	cols := make([]*row.Column, len(types))
	counts := make([]int64, len(types))
	for i, t := range types {
		cols[i], counts[i] = boundsOf(t, &cs[i]), cs[i].NullCount
	}
	return Stats{
		Min:        row.AppendSerializedRow(nil, cols, 0),
		Max:        row.AppendSerializedRow(nil, cols, 1),
		NullCounts: counts,
	}
}

// boundsOf returns the bounds of a column, or two nulls.
func boundsOf(t *row.Type, s *format.ColumnStats) *row.Column {
	if s.Bounds != nil {
		return s.Bounds
	}
	c := new(row.Column)
	c.Init(t)
	c.AppendNull()
	c.AppendNull()
	return c
}

// ValueStats returns the stored form of the statistics of a table's columns, one in cs for each, and what belongs in
// DataFile.ValueStatsCols. Dense (option metadata.stats-dense-store) leaves out the columns of which nothing is known; nil
// names mean that all columns are there.
func ValueStats(s *Schema, cs []format.ColumnStats, dense bool) (Stats, []string) {
	types := make([]*row.Type, 0, len(cs))
	kept := make([]format.ColumnStats, 0, len(cs))
	names := []string{}
	for i := range cs {
		if dense && cs[i].Bounds == nil && cs[i].NullCount < 0 {
			continue
		}
		types = append(types, &s.Fields[i].Type)
		kept = append(kept, cs[i])
		names = append(names, s.Fields[i].Name)
	}
	if len(kept) == len(cs) {
		names = nil
	}
	return StatsOf(types, kept), names
}

// partitionStats collects the statistics of a manifest over the partitions of its entries. Bounds are exact, never cut: a
// reader drops the whole manifest by them.
type partitionStats struct {
	types  []*row.Type
	counts map[string]int64 // entries by partition
}

func newPartitionStats(types []*row.Type) *partitionStats {
	return &partitionStats{types: types, counts: map[string]int64{}}
}

func (p *partitionStats) add(partition []byte) {
	if n, ok := p.counts[string(partition)]; ok {
		p.counts[string(partition)] = n + 1
		return
	}
	p.counts[string(partition)] = 1
}

func (p *partitionStats) stats() (Stats, error) {
	if len(p.types) == 0 {
		return EmptyStats(), nil
	}
	batch := partitionBatch(p.types)
	entries := make([]int64, 0, len(p.counts)) // by row of batch
	for partition, n := range p.counts {
		if err := row.DecodeSerializedRow([]byte(partition), p.types, batch); err != nil {
			return Stats{}, fmt.Errorf("partition %x: %w: %w", partition, ErrCorrupt, err)
		}
		entries = append(entries, n)
	}
	cs := make([]format.ColumnStats, len(p.types))
	for c := range cs {
		col := &batch.Cols[c]
		low, high := -1, -1
		for i, n := range entries {
			if col.IsNull(i) {
				cs[c].NullCount += n
				continue
			}
			if low < 0 || row.CompareValues(col, i, col, low) < 0 {
				low = i
			}
			if high < 0 || row.CompareValues(col, i, col, high) > 0 {
				high = i
			}
		}
		if low >= 0 {
			cs[c].Bounds = new(row.Column)
			cs[c].Bounds.Init(p.types[c])
			cs[c].Bounds.AppendFrom(col, low)
			cs[c].Bounds.AppendFrom(col, high)
		}
	}
	return StatsOf(p.types, cs), nil
}

// partitionBatch makes a batch for partitions of these types.
func partitionBatch(types []*row.Type) *row.Batch {
	fields := make([]row.Field, len(types))
	for i, t := range types {
		fields[i] = row.Field{ID: i, Type: *t}
	}
	t := row.NewRow(fields...)
	return row.NewBatch(&t)
}

// partitionPruner tells which manifests can't have an entry of some wanted partitions.
type partitionPruner struct {
	types  []*row.Type
	wanted *row.Batch
}

func newPartitionPruner(types []*row.Type, wanted map[string]bool) (*partitionPruner, error) {
	p := &partitionPruner{types: types, wanted: partitionBatch(types)}
	for partition := range wanted {
		if err := row.DecodeSerializedRow([]byte(partition), types, p.wanted); err != nil {
			return nil, fmt.Errorf("partition %x: %w", partition, err)
		}
	}
	return p, nil
}

// mayHave reports whether a manifest may have an entry of a wanted partition. Statistics that can't be read tell nothing.
func (p *partitionPruner) mayHave(s *Stats) bool {
	if len(p.types) == 0 {
		return true
	}
	low, high := partitionBatch(p.types), partitionBatch(p.types)
	if row.DecodeSerializedRow(s.Min, p.types, low) != nil || row.DecodeSerializedRow(s.Max, p.types, high) != nil {
		return true
	}
	for i := range p.wanted.N {
		if p.rowMayBeIn(i, low, high, s.NullCounts) {
			return true
		}
	}
	return false
}

func (p *partitionPruner) rowMayBeIn(i int, low, high *row.Batch, nulls []int64) bool {
	for c := range p.types {
		col, lo, hi := &p.wanted.Cols[c], &low.Cols[c], &high.Cols[c]
		if col.IsNull(i) {
			if c < len(nulls) && nulls[c] == 0 {
				return false
			}
			continue
		}
		if lo.IsNull(0) || hi.IsNull(0) {
			continue // unknown, or there are nulls only; the latter is too rare to look for
		}
		if row.CompareValues(col, i, lo, 0) < 0 || row.CompareValues(col, i, hi, 0) > 0 {
			return false
		}
	}
	return true
}
