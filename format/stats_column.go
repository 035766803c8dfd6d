package format

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/paimon-go/paimon-go/format/row"
)

// columnCollector has the bounds of one column so far, in the variables of its store. Strings are kept whole and cut at
// the end: cutting is monotonic, so the result is the same.
type columnCollector struct {
	nulls      int64
	seen       bool // there was a value
	minI, maxI int64
	minN, maxN int32 // nanoseconds of StoreNanos
	minF, maxF float64
	minD, maxD row.Int128
	min, max   []byte
}

// collect adds rows from to to of c.
func (s *columnCollector) collect(c *row.Column, from, to int, m StatsMode) {
	nulls := c.Nulls.Count(to) - c.Nulls.Count(from)
	s.nulls += int64(nulls)
	if m.kind == statsCounts {
		return
	}
	if nulls == 0 {
		s.values(c, from, to, m.low)
		return
	}
	for from < to {
		if from = c.Nulls.Next(from, to, false); from < to {
			end := c.Nulls.Next(from, to, true)
			s.values(c, from, end, m.low)
			from = end
		}
	}
}

// values adds rows from to to, none of which is null. from is below to. With low, only the low 32 bits of integers count.
func (s *columnCollector) values(c *row.Column, from, to int, low bool) {
	switch c.Type.Store() {
	case row.StoreI32:
		lo, hi := minMax(c.I32[from:to])
		s.ints(int64(lo), int64(hi))
	case row.StoreI64:
		lo, hi := minMax(c.I64[from:to])
		if low && (lo < math.MinInt32 || hi > math.MaxInt32) {
			lo, hi = minMaxLow(c.I64[from:to])
		}
		s.ints(lo, hi)
	case row.StoreF32:
		lo, hi := minMaxFloat(c.F32[from:to])
		s.floats(float64(lo), float64(hi))
	case row.StoreF64:
		s.floats(minMaxFloat(c.F64[from:to]))
	case row.StoreI128:
		s.decimals(c.I128[from:to])
	case row.StoreNanos:
		s.nanos(c, from, to)
	case row.StoreBytes:
		if c.Type.Root != row.Char && c.Type.Root != row.VarChar {
			return // Java before 2.0 has no bounds for binary strings
		}
		s.strings(c, from, to)
	default:
		return
	}
	s.seen = true
}

func minMax[T int32 | int64](vs []T) (lo, hi T) {
	lo, hi = vs[0], vs[0]
	for _, v := range vs {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

func minMaxLow(vs []int64) (lo, hi int64) {
	lo, hi = math.MaxInt32, math.MinInt32
	for _, v := range vs {
		v = int64(int32(v))
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// minMaxFloat returns NaN twice when there is any: the builtins propagate it, and put -0 below 0 as Java does.
func minMaxFloat[T float32 | float64](vs []T) (lo, hi T) {
	lo, hi = vs[0], vs[0]
	for _, v := range vs {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

func (s *columnCollector) ints(lo, hi int64) {
	if !s.seen {
		s.minI, s.maxI = lo, hi
		return
	}
	s.minI, s.maxI = min(s.minI, lo), max(s.maxI, hi)
}

func (s *columnCollector) floats(lo, hi float64) {
	if !s.seen {
		s.minF, s.maxF = lo, hi
		return
	}
	s.minF, s.maxF = min(s.minF, lo), max(s.maxF, hi)
}

func (s *columnCollector) decimals(vs []row.Int128) {
	if !s.seen {
		s.minD, s.maxD = vs[0], vs[0]
	}
	for _, v := range vs {
		if v.Cmp(s.minD) < 0 {
			s.minD = v
		}
		if v.Cmp(s.maxD) > 0 {
			s.maxD = v
		}
	}
}

func (s *columnCollector) nanos(c *row.Column, from, to int) {
	if !s.seen {
		s.minI, s.minN = c.I64[from], c.I32[from]
		s.maxI, s.maxN = s.minI, s.minN
	}
	for i := from; i < to; i++ {
		ms, ns := c.I64[i], c.I32[i]
		if ms < s.minI || ms == s.minI && ns < s.minN {
			s.minI, s.minN = ms, ns
		}
		if ms > s.maxI || ms == s.maxI && ns > s.maxN {
			s.maxI, s.maxN = ms, ns
		}
	}
}

// strings finds the bounds by the first eight bytes and looks at the rest only of those that are equal there.
func (s *columnCollector) strings(c *row.Column, from, to int) {
	lo, hi := s.min, s.max
	if !s.seen {
		lo = c.Value(from)
		hi = lo
	}
	loHead, hiHead := head(lo), head(hi)
	for i := from; i < to; i++ {
		v := c.Value(i)
		h := head(v)
		if h < loHead || h == loHead && bytes.Compare(v, lo) < 0 {
			lo, loHead = v, h
		}
		if h > hiHead || h == hiHead && bytes.Compare(v, hi) > 0 {
			hi, hiHead = v, h
		}
	}
	s.min = append(s.min[:0], lo...)
	s.max = append(s.max[:0], hi...)
}

// head returns the first eight bytes as a number that orders as they do, with zeros after a shorter value.
func head(v []byte) (h uint64) {
	if len(v) >= 8 {
		return binary.BigEndian.Uint64(v)
	}
	for _, b := range v {
		h = h<<8 | uint64(b)
	}
	return h << (8 * (8 - len(v)) & 63)
}

// bounds returns the bounds as a column, nil when there are none.
func (s *columnCollector) bounds(t *row.Type, m StatsMode) *row.Column {
	if !s.seen || s.minF != s.minF {
		return nil
	}
	// A reader that takes -0 and 0 for the same number must not miss one because of the other (so does parquet-java).
	lowF, highF := s.minF, s.maxF
	if lowF == 0 {
		lowF = math.Copysign(0, -1)
	}
	if highF == 0 {
		highF = 0
	}
	c := new(row.Column)
	c.Init(t)
	switch t.Store() {
	case row.StoreI32:
		c.AppendI32(int32(s.minI))
		c.AppendI32(int32(s.maxI))
	case row.StoreI64:
		c.AppendI64(s.minI)
		c.AppendI64(s.maxI)
	case row.StoreF32:
		c.AppendF32(float32(lowF))
		c.AppendF32(float32(highF))
	case row.StoreF64:
		c.AppendF64(lowF)
		c.AppendF64(highF)
	case row.StoreI128:
		c.AppendI128(s.minD)
		c.AppendI128(s.maxD)
	case row.StoreNanos:
		c.AppendNanos(s.minI, s.minN)
		c.AppendNanos(s.maxI, s.maxN)
	case row.StoreBytes:
		lo, hi := s.min, s.max
		if m.kind == statsTruncate {
			lo = lo[:prefixLen(lo, m.n)]
			if n := prefixLen(hi, m.n); n < len(hi) {
				if hi = roundUp(hi[:n]); hi == nil {
					return nil
				}
			}
		}
		c.AppendBytes(lo)
		c.AppendBytes(hi)
	}
	return c
}

// prefixLen returns the length in bytes of the first n code points.
func prefixLen(v []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(v); n-- {
		_, size := utf8.DecodeRune(v[at:])
		at += size
	}
	return at
}

// roundUp returns the shortest-changed string above every string that begins with v: its last code point that can be
// incremented is, and what follows is cut. It returns nil when none can.
func roundUp(v []byte) []byte {
	for len(v) > 0 {
		r, size := utf8.DecodeLastRune(v)
		v = v[:len(v)-size]
		if r == utf8.RuneError && size <= 1 || r == utf8.MaxRune {
			continue
		}
		if r++; r == 0xd800 {
			r = 0xe000 // no surrogates; Java writes a lone one here, which is no UTF-8
		}
		return utf8.AppendRune(append([]byte(nil), v...), r)
	}
	return nil
}
