package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/internal/backoff"
)

// snapshotReader reads a table without locks, in pages of its key, with several connections. Each page is one short
// statement of its own; the log that is read afterwards, from a position taken before the first page, makes up for what
// changed meanwhile, since writing a row again with the same key changes nothing. Where it does, see Source.ReadExactly.
type snapshotReader struct {
	cfg     *Config
	table   *TableInfo
	key     []string
	walk    bool // the key orders the rows; else everything is one statement that can't be resumed
	decoder *Decoder
	target  *row.Type
	src     *Source
	views   *views // that it reads in, nil: none (see ReadExactly)

	pages chan page
	pool  sync.Pool
	end   context.CancelFunc
	wg    sync.WaitGroup
}

// page is a run of rows of one range, in the order of the key.
type page struct {
	batch *row.Batch
	index int        // of the range
	after []KeyValue // the key of its last row
	done  bool       // the range has no more rows
	err   error
}

const (
	pageBatchRows  = 4096
	pageBatchBytes = 1 << 20
)

// planRanges connects and splits the key space.
func (r *snapshotReader) planRanges(ctx context.Context) ([]Range, error) {
	c, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer interruptOn(ctx, c)()
	return planRanges(c, r.cfg, r.table, r.key)
}

// start begins reading the ranges in the background.
func (r *snapshotReader) start(ctx context.Context, ranges []Range) {
	ctx, r.end = context.WithCancel(ctx)
	r.pages = make(chan page, r.cfg.Readers)
	r.pool.New = func() any { return row.NewBatch(r.target) }
	work := make(chan int, len(ranges))
	for i := range ranges {
		work <- i
	}
	close(work)
	var workers sync.WaitGroup
	for i := range min(r.cfg.Readers, len(ranges)) {
		d := r.decoder.Clone()
		var c *client.Conn
		if r.views != nil {
			c = r.views.conns[i]
		}
		workers.Go(func() { r.worker(ctx, c, d, work, ranges) })
	}
	r.wg.Go(func() {
		workers.Wait()
		close(r.pages)
	})
}

// stop ends the reading and waits for it.
func (r *snapshotReader) stop() {
	if r.end == nil {
		return
	}
	r.end()
	for range r.pages { // unblock the workers
	}
	r.wg.Wait()
}

func (r *snapshotReader) send(ctx context.Context, p page) bool {
	select {
	case r.pages <- p:
		return true
	case <-ctx.Done():
		return false
	}
}

// worker reads ranges by the connection c, nil for one of its own.
func (r *snapshotReader) worker(ctx context.Context, c *client.Conn, d *Decoder, work <-chan int, ranges []Range) {
	defer func() {
		if c != nil {
			_ = c.Close()
		}
	}()
	for i := range work {
		rng := ranges[i]
		for try := 0; ; {
			var err error
			if c == nil {
				c, err = r.connect(ctx)
			}
			moved := false
			if err == nil {
				moved, err = r.readRange(ctx, c, d, i, &rng)
			}
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return
			}
			if c != nil {
				_ = c.Close()
				c = nil
			}
			if moved {
				try = 0
			}
			if !errors.Is(err, cdc.ErrSource) || isAccessDenied(err) || try >= r.cfg.ConnectRetries || !r.walk || r.views != nil {
				r.send(ctx, page{err: err})
				return
			}
			r.src.log.Warn("reading the table; trying again", "error", err.Error())
			if backoff.Sleep(ctx, retryDelay(try)) != nil {
				return
			}
			try++
		}
	}
}

func (r *snapshotReader) connect(ctx context.Context) (*client.Conn, error) {
	c, _, err := connectAny(ctx, r.cfg, r.src.server.addr, r.src.log)
	if err != nil {
		return nil, err
	}
	if err := snapshotSession(c); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// snapshotSession prepares a connection that reads rows for the Decoder: text in each column's own character set.
func snapshotSession(c *client.Conn) error {
	if err := session(c); err != nil {
		return err
	}
	if _, err := c.Execute("SET character_set_results = NULL"); err != nil {
		return fmt.Errorf("SET character_set_results: %w: %w", err, cdc.ErrSource)
	}
	return nil
}

// readRange reads one range to its end and moves rng.After along, so that a retry goes on where it stopped. It returns
// whether any rows were handed over.
func (r *snapshotReader) readRange(ctx context.Context, c *client.Conn, d *Decoder, index int, rng *Range) (moved bool, err error) {
	release := interruptOn(ctx, c)
	defer release()
	names := d.SelectColumns()
	keyAt := make([]int, len(r.key))
	for i, k := range r.key {
		keyAt[i] = slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, k) })
		if keyAt[i] < 0 {
			return false, fmt.Errorf("key column %s is not read: %w", k, cdc.ErrRefused)
		}
	}
	for {
		n, err := r.readPage(ctx, c, d, index, rng, names, keyAt)
		if err != nil {
			return moved, err
		}
		moved = moved || n > 0
		if !r.walk || n < r.cfg.ChunkRows {
			return moved, nil
		}
	}
}

// readPage runs one statement and hands its rows over in batches; the last one says done when the range has no more.
func (r *snapshotReader) readPage(ctx context.Context, c *client.Conn, d *Decoder, index int, rng *Range, names []string, keyAt []int) (int, error) {
	seen := d.Counters()
	q, err := startQuery(c, r.query(names, rng))
	if err != nil {
		return 0, err
	}
	b := r.pool.Get().(*row.Batch)
	b.Reset()
	rows := 0
	var last []byte
	hand := func(done bool) error {
		p := page{batch: b, index: index, done: done}
		if r.walk && rows > 0 {
			v, err := cells(last, q.types)
			if err != nil {
				return err
			}
			p.after = make([]KeyValue, len(keyAt))
			for i, at := range keyAt {
				if p.after[i], err = literal(r.table.column(r.key[i]), v[at]); err != nil {
					return err
				}
			}
		} else if rows == 0 {
			p.after = rng.After
		}
		if !r.send(ctx, p) {
			return ctx.Err()
		}
		if r.walk {
			rng.After = p.after
		}
		b = r.pool.Get().(*row.Batch)
		b.Reset()
		return nil
	}
	for {
		packet, err := q.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return rows, err
		}
		if err := d.AppendBinaryRow(b.Cols, packet); err != nil {
			return rows, fmt.Errorf("%s.%s: after %d rows of a page after key %v: %w", r.table.Database, r.table.Name, rows, rng.After, err)
		}
		b.EndRow(row.Insert)
		if r.views != nil && r.views.touched.has(b, b.N-1) {
			b.Truncate(b.N - 1)
		}
		rows++
		last = append(last[:0], packet...)
		if b.N >= pageBatchRows || b.N&63 == 0 && b.Bytes() >= pageBatchBytes || len(packet) >= pageBatchBytes {
			if err := hand(false); err != nil {
				return rows, err
			}
		}
	}
	r.src.count(d, &seen)
	// A page whose rows were all left out moves the range along as well.
	if done := !r.walk || rows < r.cfg.ChunkRows; done || b.N > 0 || rows > 0 && r.views != nil {
		if err := hand(done); err != nil {
			return rows, err
		}
	}
	return rows, q.close()
}

func (r *snapshotReader) query(names []string, rng *Range) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quoteName(n)
	}
	s := fmt.Sprintf("SELECT %s FROM %s.%s", strings.Join(quoted, ", "), quoteName(r.table.Database), quoteName(r.table.Name))
	if !r.walk {
		return s
	}
	if w := rng.where(r.key); w != "" {
		s += " WHERE " + w
	}
	keys := make([]string, len(r.key))
	for i, k := range r.key {
		keys[i] = quoteName(k)
	}
	return fmt.Sprintf("%s ORDER BY %s LIMIT %d", s, strings.Join(keys, ", "), r.cfg.ChunkRows)
}
