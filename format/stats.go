package format

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/paimon-go/paimon-go/format/row"
)

// ColumnStats is what a file's metadata says of a column.
type ColumnStats struct {
	// NullCount is the exact number of nulls, -1 when it is unknown.
	NullCount int64
	// Bounds is nil when no bounds are known, otherwise a column of two values: one not above any value of the column and
	// one not below any. Neither is null.
	Bounds *row.Column
}

// StatsMode says which statistics of a column are kept: Paimon's metadata.stats-mode. The zero value keeps none.
type StatsMode struct {
	kind statsKind
	n    int
	low  bool // of a DECIMAL only the low 32 bits are stored
}

type statsKind uint8

const (
	statsNone statsKind = iota
	statsCounts
	statsTruncate
	statsFull
)

// The modes without a parameter.
var (
	StatsNone   = StatsMode{}
	StatsCounts = StatsMode{kind: statsCounts}
	StatsFull   = StatsMode{kind: statsFull}
)

// StatsTruncate keeps bounds of at most n characters (code points); n is above 0.
func StatsTruncate(n int) StatsMode { return StatsMode{kind: statsTruncate, n: n} }

// ParseStatsMode parses "none", "counts", "truncate(16)" or "full" in any case.
func ParseStatsMode(s string) (StatsMode, error) {
	switch u := strings.ToUpper(s); u {
	case "NONE":
		return StatsNone, nil
	case "COUNTS":
		return StatsCounts, nil
	case "FULL":
		return StatsFull, nil
	default:
		if d, ok := strings.CutPrefix(u, "TRUNCATE("); ok {
			if d, ok = strings.CutSuffix(d, ")"); ok {
				if n, err := strconv.ParseUint(d, 10, 31); err == nil && n > 0 {
					return StatsTruncate(int(n)), nil
				}
			}
		}
	}
	return StatsNone, fmt.Errorf("statistics mode %q is none of none, counts, truncate(n), full", s)
}

// String returns the mode as ParseStatsMode reads it.
func (m StatsMode) String() string {
	switch m.kind {
	case statsCounts:
		return "counts"
	case statsTruncate:
		return "truncate(" + strconv.Itoa(m.n) + ")"
	case statsFull:
		return "full"
	}
	return "none"
}

// StatsModesOf returns the modes as they apply to files of a format. Java takes the statistics of Parquet files from their
// footers, where nested columns have none at all and timestamps above microseconds no bounds; those of the other formats
// it collects itself and so counts the nulls of every column. A Parquet file has the low 32 bits of a DECIMAL of up to 9
// digits, and so have its bounds: the sum of a column may have more, in Java too.
func StatsModesOf(formatID string, t *row.Type, modes []StatsMode) []StatsMode {
	out := append([]StatsMode(nil), modes...)
	if formatID != "parquet" {
		return out
	}
	for i := range out {
		switch t.Fields[i].Type.Store() {
		case row.StoreList, row.StoreRow:
			out[i] = StatsNone
		case row.StoreNanos:
			if out[i].kind > statsCounts {
				out[i] = StatsCounts
			}
		case row.StoreI64:
			out[i].low = t.Fields[i].Type.Root == row.Decimal && t.Fields[i].Type.Precision <= 9
		}
	}
	return out
}

// StatsCollector gathers the statistics of a file while its batches are written. Not safe for concurrent use.
type StatsCollector struct {
	t     *row.Type
	modes []StatsMode
	cols  []columnCollector
}

// NewStatsCollector returns a collector for batches of the ROW type t with one mode a column.
func NewStatsCollector(t *row.Type, modes []StatsMode) *StatsCollector {
	return &StatsCollector{t: t, modes: modes, cols: make([]columnCollector, len(t.Fields))}
}

// Reset forgets everything collected.
func (s *StatsCollector) Reset() {
	for i := range s.cols {
		c := &s.cols[i]
		*c = columnCollector{min: c.min[:0], max: c.max[:0]}
	}
}

// Collect adds the rows of b.
func (s *StatsCollector) Collect(b *row.Batch) { s.CollectRange(b, 0, b.N) }

// CollectRange adds the rows from to to of b.
func (s *StatsCollector) CollectRange(b *row.Batch, from, to int) {
	for i := range s.cols {
		if m := s.modes[i]; m.kind != statsNone && from < to {
			s.cols[i].collect(&b.Cols[i], from, to, m)
		}
	}
}

// Result returns the statistics of all rows since the last Reset.
func (s *StatsCollector) Result() []ColumnStats {
	out := make([]ColumnStats, len(s.cols))
	for i := range s.cols {
		out[i].NullCount = -1
		if s.modes[i].kind == statsNone {
			continue
		}
		out[i].NullCount = s.cols[i].nulls
		if s.modes[i].kind != statsCounts {
			out[i].Bounds = s.cols[i].bounds(&s.t.Fields[i].Type, s.modes[i])
		}
	}
	return out
}
