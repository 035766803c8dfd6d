package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/internal/backoff"
)

// ReadExactly makes the initial read give the table as it was at one place of the log, and the log follow from there, for a
// target where no change may come twice. Called before the first Next. It returns why that can't be, "" when it can, or when
// there is no initial read.
//
// All pages are read in one view of the table, opened on each connection. A server tells what a view has only roughly: it has
// all that was executed before it was opened (low), and nothing that the log didn't have afterwards (high). Both are taken, and
// the log between them, which is that of a moment, is read before the first page. The rows that it names are left out of the
// pages and come from the log instead, as they were at high; all others are at high what they were at low. Such a read can't be
// resumed, since views end with their connections: none of its events has a position but the last.
func (s *Source) ReadExactly() string {
	switch {
	case s.progress == nil:
		return ""
	case s.resume != nil:
		return "an earlier version of this program has begun the initial read"
	case !strings.EqualFold(s.table.Engine, "InnoDB"):
		return fmt.Sprintf("tables of the storage engine %s have no consistent view", s.table.Engine)
	case s.from.File == "" && s.from.GTID == "":
		return "the server doesn't tell where its log is"
	}
	s.exact = true
	s.log.Info("the initial read is of one moment, since changes must not come twice: nothing is committed before its end, and it begins anew when it is interrupted")
	for _, k := range s.key { // by these rows are told apart, so that they must be as exact
		if !slices.ContainsFunc(s.opts.Key, func(t string) bool { return strings.EqualFold(t, k) }) {
			s.opts.Key = append(slices.Clone(s.opts.Key), k)
		}
	}
	return ""
}

// views are connections that see the table as it was at one time, but for the rows in touched.
type views struct {
	conns   []*client.Conn
	at      *Position // the log goes on here
	touched *touched
}

func (v *views) close() {
	for _, c := range v.conns {
		_ = c.Close()
	}
}

// errUnsettled says that views can't be used because of what happened as they were opened; the next ones may.
var errUnsettled = errors.New("the table changed in that moment")

// viewTries is how often views are opened in the hope for a quieter moment.
const viewTries = 20

// openViews opens n views.
func (r *snapshotReader) openViews(ctx context.Context, n int) (*views, error) {
	for try := 0; ; try++ {
		v, err := r.openViewsOnce(ctx, n)
		switch {
		case err == nil:
			return v, nil
		case !errors.Is(err, errUnsettled):
			return nil, err
		case try == viewTries:
			return nil, fmt.Errorf("opening a view of %s.%s: %w: %w", r.table.Database, r.table.Name, err, cdc.ErrSource)
		}
		r.src.log.Warn("opening a view of the table; trying again", "error", err.Error())
		if err := backoff.Sleep(ctx, retryDelay(try)); err != nil {
			return nil, err
		}
	}
}

func (r *snapshotReader) openViewsOnce(ctx context.Context, n int) (_ *views, err error) {
	src := r.src
	v := &views{touched: newTouched(r.target, r.key, len(r.table.PrimaryKey) > 0)}
	v.touched.moment = src.flavor == flavorMariaDB || src.server.gtidOn()
	defer func() {
		if err != nil {
			v.close()
		}
	}()
	cfg := *r.cfg
	cfg.Hosts = []string{src.server.addr}
	var srv *server
	for range n {
		c, s, err := connectAny(ctx, &cfg, src.server.addr, src.log)
		if err != nil {
			return nil, err
		}
		v.conns = append(v.conns, c)
		defer interruptOn(ctx, c)()
		if srv = s; srv.uuid != src.server.uuid {
			return nil, fmt.Errorf("%s is another server now: %w", srv.addr, cdc.ErrSource)
		}
		if err := viewSession(c, srv); err != nil {
			return nil, err
		}
	}
	if slices.Contains(v.touched.key, -1) {
		return nil, fmt.Errorf("a column of the key %v is not in the table: %w", r.key, cdc.ErrRefused)
	}
	low, high, err := startViews(v.conns, srv)
	if err != nil {
		return nil, err
	}
	v.at = low
	if srv.flavor != flavorMariaDB || low.File != high.File || low.Pos != high.Pos {
		if v.at, err = src.readBetween(ctx, low, high, v.touched); err != nil {
			return nil, err
		}
	}
	now, err := readTable(v.conns[0], r.table.Database, r.table.Name)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(savedColumns(now.image), savedColumns(r.table.image)) || !slices.Equal(now.PrimaryKey, r.table.PrimaryKey) {
		return nil, fmt.Errorf("%s.%s was altered while the job began: %w", r.table.Database, r.table.Name, cdc.ErrSource)
	}
	v.at.Columns, v.at.Key = src.definition()
	return v, nil
}

// viewSession prepares a connection that reads in a view and may have to wait long between two pages.
func viewSession(c *client.Conn, srv *server) error {
	if err := snapshotSession(c); err != nil {
		return err
	}
	queries := []string{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET SESSION wait_timeout = 2000000"}
	if _, ok := srv.vars["idle_transaction_timeout"]; ok {
		queries = append(queries, "SET SESSION idle_transaction_timeout = 0")
	}
	for _, q := range queries {
		if _, err := c.Execute(q); err != nil {
			return fmt.Errorf("%s: %w: %w", q, err, cdc.ErrSource)
		}
	}
	return nil
}

// startViews opens a view on each connection, and returns a place of the log that all of them have passed and one that none has.
func startViews(conns []*client.Conn, srv *server) (low, high *Position, err error) {
	if srv.flavor == flavorMariaDB {
		for i, c := range conns {
			if high, err = openView(c, srv); err != nil {
				return nil, nil, err
			}
			if i == 0 {
				low = high
			}
		}
		return low, high, low.nameGTID(conns[0])
	}
	end, err := logEnd(conns[0], srv)
	if err != nil {
		return nil, nil, err
	}
	if low, err = beforeRead(conns[0], srv, end); err != nil {
		return nil, nil, err
	}
	if low.GTID == "" {
		low.Pos = 4
	}
	for _, c := range conns {
		if _, err := c.Execute("START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
			return nil, nil, fmt.Errorf("opening a view: %w: %w", err, cdc.ErrSource)
		}
	}
	high, err = logEnd(conns[0], srv)
	return low, high, err
}

// betweenTime bounds the reading of the log between two places that are, as a rule, moments apart.
const betweenTime = 10 * time.Minute

// readBetween reads the log from low to high and returns where it has stopped, which is at high or a little behind it.
func (s *Source) readBetween(ctx context.Context, low, high *Position, t *touched) (*Position, error) {
	st, from, err := s.newStream(low)
	if err != nil {
		return nil, err
	}
	st.upTo = high
	ctx, cancel := context.WithTimeoutCause(ctx, betweenTime, fmt.Errorf("it can't be read within %v: %w", betweenTime, cdc.ErrSource))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { st.hand.fail(st.follow(ctx, from)) })
	for {
		ev, err := st.hand.next(ctx, st.position)
		if err == io.EOF {
			break
		}
		if err == nil && ev.Changes != nil {
			err = fmt.Errorf("%w: %s", errUnsettled, ev.Statement)
		}
		if err == nil && ev.Rows != nil {
			err = t.take(ev.Rows)
		}
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, fmt.Errorf("the log from %s to %s: %w", low, high, err)
		}
	}
	st.hand.mu.Lock()
	p := st.position().(*Position)
	st.hand.mu.Unlock()
	if p.text != nil {
		p.GTID, p.text = p.text(), nil
	}
	return p, nil
}

// touched are rows that a part of the log names, as they are after it.
type touched struct {
	key    []int // target positions of the source's key
	keys   bool  // that is a key of the table
	moment bool  // the part of the log is no longer than it takes to open the views
	at     map[string]int
	rows   *row.Batch
}

const (
	gone = -1 // in touched.at: there is no such row
	// touchedBytes bounds what touched may hold. The log of a moment has little; that of a server without GTIDs may have more.
	touchedBytes = 64 << 20
)

func newTouched(target *row.Type, key []string, keys bool) *touched {
	t := &touched{keys: keys, at: map[string]int{}, rows: row.NewBatch(target)}
	for _, k := range key {
		t.key = append(t.key, slices.IndexFunc(target.Fields, func(f row.Field) bool { return strings.EqualFold(f.Name, k) }))
	}
	return t
}

func (t *touched) appendKey(dst []byte, b *row.Batch, i int) []byte {
	for _, k := range t.key {
		dst = row.AppendSortField(dst, &b.Cols[k], i, false)
	}
	return dst
}

// take takes changes in the order of the log.
func (t *touched) take(b *row.Batch) error {
	if b.N > 0 && !t.keys { // equal rows can't be told apart
		return fmt.Errorf("%w, and it has no primary key", errUnsettled)
	}
	for i := range b.N {
		k := string(t.appendKey(nil, b, i))
		if b.Kinds[i].IsRetract() {
			t.at[k] = gone
			continue
		}
		t.rows.AppendRange(b, i, i+1)
		t.at[k] = t.rows.N - 1
	}
	size := func() int { return t.rows.Bytes() + 100*len(t.at) }
	if size() > touchedBytes {
		t.shrink()
		if size() > touchedBytes/2 {
			if t.moment { // a large transaction came just then
				return fmt.Errorf("%w, in more than %d MiB", errUnsettled, touchedBytes>>21)
			}
			return fmt.Errorf("too much changed lately to read the table exactly: without GTIDs the log of the last minutes is needed; set gtid_mode=ON, or start in a quieter time: %w", cdc.ErrUsage)
		}
	}
	return nil
}

// shrink forgets the images that later ones have replaced.
func (t *touched) shrink() {
	was := t.rows
	t.rows = row.NewBatch(was.Type)
	for k, i := range t.at {
		if i != gone {
			t.rows.AppendRange(was, i, i+1)
			t.at[k] = t.rows.N - 1
		}
	}
}

// has tells whether row i of a page is one of these. Safe for concurrent use when all are taken.
func (t *touched) has(b *row.Batch, i int) bool {
	if len(t.at) == 0 {
		return false
	}
	var buf [64]byte
	_, ok := t.at[string(t.appendKey(buf[:0], b, i))]
	return ok
}

// state gives the rows that are there in the end, as inserts.
func (t *touched) state() *row.Batch {
	t.shrink()
	for i := range t.rows.N {
		t.rows.Kinds[i] = row.Insert
	}
	return t.rows
}
