package main

import (
	"fmt"
	"time"
)

// line returns a function that gives what the terminal shows; it is called once a second.
func (m *metrics) line() func() string {
	last := int64(0)
	return func() string {
		rows := m.pipeline.Rows.Load()
		defer func() { last = rows }()
		return m.show(rows - last)
	}
}

// show is one line, given the rows of the last second.
func (m *metrics) show(perSecond int64) string {
	s := m.writer.Load().Stats()
	if o := m.outage.Load(); o != nil {
		return fmt.Sprintf("the storage has failed for %s, trying again; snapshot %d", time.Since(o.since).Round(time.Second), m.lastSnapshot.Load())
	}
	buffer := fmt.Sprintf("buffer %d/%d MiB", s.BufferBytes>>20, s.BufferLimit>>20)
	if !m.pipeline.Snapshotting.Load() {
		return fmt.Sprintf("log: lag %s, %d rows/s, snapshot %d, %s", m.lag().Round(time.Second), perSecond, m.lastSnapshot.Load(), buffer)
	}
	rows, total := m.pipeline.SnapshotRows.Load(), m.source.Load().Table().RowsEstimate
	bar, eta := "", ""
	if total > 0 {
		share := min(1, float64(rows)/float64(total))
		full := int(share * 20)
		bar = fmt.Sprintf(" [%-20.*s] %3.0f%%", full, "====================", share*100)
		if elapsed := time.Since(m.started).Seconds(); rows > 0 && total > rows {
			eta = fmt.Sprintf(", about %s left", (time.Duration(float64(total-rows)/float64(rows)*elapsed) * time.Second).Round(time.Second))
		}
	}
	return fmt.Sprintf("reading the table%s %d rows, %d rows/s%s, %s", bar, rows, perSecond, eta, buffer)
}
