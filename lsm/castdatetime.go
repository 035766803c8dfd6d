package lsm

import "github.com/paimon-go/paimon-go/format/row"

const millisPerDay = 86_400_000

// toDateTime casts between dates, times and timestamps. TIMESTAMP and TIMESTAMP_LTZ are not cast into each other: Java
// takes the zone of its own machine for that, so two readers would see different rows.
func toDateTime(from, to *row.Type) cast {
	switch {
	case from.Root == to.Root && to.Root == row.Time:
		return func(dst, src *row.Column, i int) error { dst.AppendI32(src.I32[i]); return nil }
	case from.Root == to.Root:
		return func(dst, src *row.Column, i int) error {
			ms, ns := instantAt(src, i)
			if from.Precision > to.Precision {
				ms, ns = cutFraction(ms, ns, to.Precision)
			}
			appendInstant(dst, ms, ns)
			return nil
		}
	case from.Root == row.Timestamp && to.Root == row.Date:
		return func(dst, src *row.Column, i int) error {
			ms, _ := instantAt(src, i)
			dst.AppendI32(int32(ms / millisPerDay)) // as Java: the day before 1970 is cut to the day after
			return nil
		}
	case from.Root == row.Timestamp && to.Root == row.Time:
		return func(dst, src *row.Column, i int) error {
			ms, _ := instantAt(src, i)
			dst.AppendI32(int32(ms % millisPerDay)) // as Java: negative before 1970
			return nil
		}
	case from.Root == row.Date && to.Root == row.Timestamp:
		return func(dst, src *row.Column, i int) error {
			appendInstant(dst, int64(src.I32[i])*millisPerDay, 0)
			return nil
		}
	case (from.Root == row.Int || from.Root == row.BigInt) && to.Root == row.Timestamp:
		ints := integerAt(from)
		return func(dst, src *row.Column, i int) error { appendInstant(dst, ints(src, i)*1000, 0); return nil } // of seconds
	case from.Root == row.Time && to.Root == row.Timestamp:
		return func(dst, src *row.Column, i int) error { appendInstant(dst, int64(src.I32[i]), 0); return nil }
	}
	return nil
}

// instantAt returns a timestamp as milliseconds (floor) and the nanoseconds within that one.
func instantAt(c *row.Column, i int) (ms int64, ns int32) {
	switch p := c.Type.Precision; {
	case p <= 3:
		return c.I64[i], 0
	case p <= 6:
		ms = floorDiv(c.I64[i], 1000)
		return ms, int32(c.I64[i]-ms*1000) * 1000
	}
	return c.I64[i], c.I32[i]
}

func appendInstant(dst *row.Column, ms int64, ns int32) {
	switch p := dst.Type.Precision; {
	case p <= 3:
		dst.AppendI64(ms)
	case p <= 6:
		dst.AppendI64(ms*1000 + int64(ns)/1000)
	default:
		dst.AppendNanos(ms, ns)
	}
}

// cutFraction keeps p digits of the second, as DateTimeUtils.truncate: milliseconds are cut towards zero, what is below
// them towards the past.
func cutFraction(ms int64, ns int32, p int) (int64, int32) {
	if p > 3 {
		unit := int32(1)
		for range 9 - p {
			unit *= 10
		}
		return ms, ns / unit * unit
	}
	unit := int64(1)
	for range 3 - p {
		unit *= 10
	}
	return ms / unit * unit, 0
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
