package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress shows one live line on a terminal.
type progress struct {
	stop, done chan struct{}
}

// startProgress begins to show the line when w is a terminal; elsewhere it does nothing.
func startProgress(w io.Writer, m *metrics) *progress {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
		return nil
	}
	p := &progress{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		t := time.NewTicker(time.Second)
		defer t.Stop()
		last := int64(0)
		for {
			select {
			case <-t.C:
				rows := m.pipeline.Rows.Load()
				fmt.Fprintf(f, "\r\x1b[K%s", m.line(rows-last))
				last = rows
			case <-p.stop:
				fmt.Fprint(f, "\r\x1b[K")
				return
			}
		}
	}()
	return p
}

// close clears the line.
func (p *progress) close() {
	if p == nil {
		return
	}
	close(p.stop)
	<-p.done
}

// line is what the terminal shows, given the rows of the last second.
func (m *metrics) line(perSecond int64) string {
	s := m.writer.Stats()
	buffer := fmt.Sprintf("buffer %d/%d MiB", s.BufferBytes>>20, s.BufferLimit>>20)
	if !m.pipeline.Snapshotting.Load() {
		return fmt.Sprintf("log: lag %s, %d rows/s, snapshot %d, %s", m.lag().Round(time.Second), perSecond, m.lastSnapshot.Load(), buffer)
	}
	rows, total := m.pipeline.SnapshotRows.Load(), m.job.src.Table().RowsEstimate
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
