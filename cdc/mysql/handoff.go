package mysql

import (
	"context"
	"sync"
	"time"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

const (
	// softRows and softBytes make the reader of the log wait at the end of a transaction until the rows are taken.
	softRows  = 4096
	softBytes = 2 << 20
	// hardRows and hardBytes make it wait inside a transaction too.
	hardRows  = 4 * softRows
	hardBytes = 4 * softBytes
	// quietEvery is how often a position without rows is handed over.
	quietEvery = time.Second
)

// chunk is what the reader of the log has gathered for the pipeline.
type chunk struct {
	batch     *row.Batch
	boundary  bool // nothing came after the last transaction end
	whole     int  // rows up to the last transaction end in this chunk
	moved     bool // the position changed
	changes   []table.SchemaChange
	statement string
	at        time.Time
	first     logPlace // where the transaction of the first row begins
	// size is what the batch took when it had counted rows; uncounted is how long the images of those since are.
	size, counted, uncounted int
}

const (
	// A chunk's size is counted anew after so many rows or bytes of their images: that goes over all columns.
	countEvery      = 32
	countEveryBytes = 16 << 10
)

// bytes is about what the rows take.
func (c *chunk) bytes() int {
	if n := c.batch.N - c.counted; n < 0 || n >= countEvery || c.uncounted >= countEveryBytes {
		c.size, c.counted, c.uncounted = c.batch.Bytes(), c.batch.N, 0
	}
	return c.size
}

// logPlace is a place in a server's log.
type logPlace struct {
	server, file string
	pos          uint64
}

func (c *chunk) reset() {
	if c.batch.Bytes() > 2*hardBytes { // what a huge row has grown is not kept
		c.batch = row.NewBatch(c.batch.Type)
	}
	c.batch.Reset()
	c.size, c.counted, c.uncounted = 0, 0, 0
	c.boundary, c.whole, c.moved, c.changes, c.statement, c.at, c.first = false, 0, false, nil, "", time.Time{}, logPlace{}
}

func (c *chunk) over(rows, bytes int) bool {
	return c.batch.N >= rows || c.batch.N > 0 && c.bytes() >= bytes
}

// handoff passes rows from the goroutine that reads the log to the one that calls Next. The reader fills one chunk while
// the other is being written to the table; that bounds the memory and lets many small transactions share a chunk. A chunk
// that is handed over ends at the end of a transaction unless one is too large.
type handoff struct {
	mu    sync.Mutex // guards all below, and the position (see stream)
	fill  *chunk
	spare *chunk
	err   error // no more chunks after what is in fill
	given time.Time
	first logPlace // of what was given last
	cut   bool     // what was given last ended inside a transaction
	// gather is how long rows wait for more before Next gives them: each time wakes other goroutines. gathering: Next waits for that.
	gather    time.Duration
	gathering bool
	resting   bool          // the reader has nothing more for a while
	blocked   bool          // the reader waits for rows to be taken
	ready     chan struct{} // a token: look again (for Next)
	taken     chan struct{} // a token: look again (for the reader)
}

func newHandoff(t *row.Type, gather time.Duration) *handoff {
	return &handoff{gather: gather, fill: &chunk{batch: row.NewBatch(t)}, spare: &chunk{batch: row.NewBatch(t)},
		ready: make(chan struct{}, 1), taken: make(chan struct{}, 1), given: time.Now()}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// retype makes new batches after a schema change; both chunks are empty then.
func (h *handoff) retype(t *row.Type) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fill.batch, h.spare.batch = row.NewBatch(t), row.NewBatch(t)
}

// fail ends the stream after the last whole transaction that was gathered.
func (h *handoff) fail(err error) {
	h.mu.Lock()
	if h.err == nil {
		h.err = err
	}
	if f := h.fill; !f.boundary && f.whole > 0 {
		f.batch.Truncate(f.whole)
		f.boundary = true
	}
	h.mu.Unlock()
	signal(h.ready)
}

// waitBelow blocks the reader until fill has less than the given size. h.mu is held before and after.
func (h *handoff) waitBelow(ctx context.Context, rows, bytes int) error {
	for h.fill.over(rows, bytes) || h.fill.changes != nil {
		h.blocked = true
		h.mu.Unlock()
		signal(h.ready)
		select {
		case <-h.taken:
		case <-ctx.Done():
		}
		h.mu.Lock()
		h.blocked = false
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// wake tells Next of rows, unless it waits for more of them. h.mu is held.
func (h *handoff) wake() {
	if !h.gathering || h.many() {
		signal(h.ready)
	}
}

// rest tells whether the reader rests: rows don't wait for more then.
func (h *handoff) rest(rests bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resting = rests
	if rests && h.fill.batch.N > 0 {
		signal(h.ready)
	}
}

// many reports whether fill is worth to be given. h.mu is held.
func (h *handoff) many() bool { return h.fill.over(softRows/2, softBytes/2) }

// waitEmpty blocks the reader until everything was taken. h.mu is held before and after.
func (h *handoff) waitEmpty(ctx context.Context) error { return h.waitBelow(ctx, 1, 1) }

// takeable reports whether Next should give fill now; idle says that its caller can't wait any longer.
func (h *handoff) takeable(idle bool) bool {
	c := h.fill
	switch {
	case c.changes != nil:
		return true
	case c.batch.N > 0:
		return c.boundary || c.over(hardRows, hardBytes)
	case c.moved && c.boundary:
		return idle || h.cut || h.err != nil || time.Since(h.given) >= quietEvery
	}
	return false
}

// gathers reports whether nobody minds if the rows of fill wait for more. h.mu is held.
func (h *handoff) gathers(idle bool) bool {
	c := h.fill
	return h.gather > 0 && c.batch.N > 0 && c.changes == nil && !idle && !h.cut && !h.blocked && !h.resting && h.err == nil && !h.many()
}

// next waits for a chunk and swaps it for the spare one, which the caller must be done with. makePos is called under the
// lock when the chunk ends at a boundary.
func (h *handoff) next(ctx context.Context, makePos func() cdc.Position) (*cdc.Event, error) {
	var due time.Time // of rows that wait for more
	for {
		h.mu.Lock()
		idle := ctx.Err() != nil
		h.gathering = false
		if h.takeable(idle) {
			c := h.fill
			if h.gathers(idle) {
				if due.IsZero() {
					due = time.Now().Add(h.gather)
				}
				if wait := time.Until(due); wait > 0 {
					h.gathering = true
					h.mu.Unlock()
					h.wait(ctx, wait)
					continue
				}
			}
			ev := &cdc.Event{Changes: c.changes, Statement: c.statement, At: c.at}
			if c.batch.N > 0 {
				ev.Rows = c.batch
			}
			if c.boundary {
				ev.Pos = makePos()
			}
			h.fill, h.spare = h.spare, c
			h.fill.reset()
			h.fill.boundary = c.boundary
			h.given, h.cut, h.first = time.Now(), !c.boundary, c.first
			h.mu.Unlock()
			signal(h.taken)
			return ev, nil
		}
		err := h.err
		h.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if idle {
			return nil, ctx.Err()
		}
		select {
		case <-h.ready:
		case <-ctx.Done():
		}
	}
}

// wait waits for a token of ready, for some time.
func (h *handoff) wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-h.ready:
	case <-t.C:
	case <-ctx.Done():
	}
}
