package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
)

// Source is a MySQL table as a change stream: what is in it, then what changes. It implements cdc.Source. Reading begins
// with the first Next.
type Source struct {
	cfg       *Config
	log       *slog.Logger
	flavor    string
	server    *server // nil for binlog-dir
	table     *TableInfo
	key       []string // that orders the initial read
	targetKey []string // that tells rows apart in the target
	opts      ValueOptions

	resume  *Position // saved position, nil at a first start
	endGTID gtidSet   // StopAtLatest: the end
	endFile string
	endPos  uint64

	target     *row.Type
	logColumns []Column      // at the point of the log that is read, in the order of row images
	saved      []SavedColumn // logColumns, for positions

	ignored                               [256]atomic.Int64 // events without effect, by their type
	zeroDates, invalidChars, timesChanged atomic.Int64      // values that needed a policy

	markCatchUp bool // MarkCatchUp
	exact       bool // ReadExactly

	// Only Next and Retarget use these.
	snap     *snapshotReader
	progress *Progress
	read     bool // the initial read is over, but its end not known
	plan     background[[]Range]
	opening  background[*views]
	end      background[*Position]
	from     *Position // where the log is read from after the initial read
	catchUp  *LogEnd   // up to where that meets what was read; nil: it is behind
	last     *row.Batch
	stream   *stream
	ctx      context.Context // of the background goroutines
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	tableMu  sync.Mutex // guards target, logColumns and saved against the reader of the log
}

// Open connects, checks what the log needs, and reads the definition of the table. saved is the text of the position to go
// on from, "" for a first start. It starts no goroutine. Every failure is a cdc.ErrSource, cdc.ErrUsage, cdc.ErrRefused or
// cdc.ErrPositionLost.
func Open(ctx context.Context, cfg Config, saved string, log *slog.Logger) (*Source, error) {
	if cfg.ServerID == 0 {
		cfg.ServerID = 1<<30 + rand.Uint32N(1<<30)
	}
	cfg.StopAtLatest = cfg.StopAtLatest || cfg.Startup == StartSnapshot
	s := &Source{cfg: &cfg, log: log, opts: cfg.Values}
	s.opts.Types = cfg.Types
	if saved != "" {
		p, err := parsePosition(saved)
		if err != nil {
			return nil, err
		}
		s.resume = p
	}
	var err error
	if cfg.BinlogDir != "" {
		err = s.openDir(ctx)
	} else {
		err = s.openServer(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

func (s *Source) openServer(ctx context.Context) error {
	c, srv, err := connectAny(ctx, s.cfg, "", s.log)
	if err != nil {
		return err
	}
	defer c.Close()
	defer interruptOn(ctx, c)()
	s.server, s.flavor = srv, srv.flavor
	if err := s.fits(); err != nil {
		return err
	}
	if s.opts.ServerZone, err = serverZone(s.cfg, srv); err != nil {
		return err
	}
	if err := session(c); err != nil {
		return err
	}
	findings := checkServer(c, srv, s.cfg)
	if s.table, err = readTable(c, s.cfg.Database, s.cfg.Table); err == nil {
		findings = append(findings, checkTable(c, srv, s.table)...)
	} else if gone := s.lastDefinition(); gone != nil && errors.Is(err, errNoTable) {
		s.log.Warn("the table is gone from the server; the log is read up to where it went", "table", s.cfg.Database+"."+s.cfg.Table)
		s.table, err = gone, nil
	}
	for _, f := range findings {
		if f.Fatal && f.cause == nil {
			return f.Err(srv.addr)
		}
		if !f.Fatal {
			s.log.Warn(f.What, "remedy", f.Remedy)
		}
	}
	if err != nil {
		return err
	}
	if err := s.defineFromStart(); err != nil {
		return err
	}
	end, err := logEnd(c, srv)
	if err != nil && s.cfg.Startup != StartSnapshot {
		return err
	}
	if s.cfg.StopAtLatest && end != nil {
		if err := s.endAt(end); err != nil {
			return err
		}
	}
	if err := s.chooseStart(ctx, c, end); err != nil {
		return err
	}
	return s.checkOwn(ctx, c, end)
}

// fits refuses a saved position of another kind of server, and, without GTIDs, of another server: its files may have the
// same names.
func (s *Source) fits() error {
	r := s.resume
	if r == nil {
		return nil
	}
	if r.Flavor != s.flavor {
		return fmt.Errorf("the saved position is of a %s server, this one is %s: %w", r.Flavor, s.flavor, cdc.ErrPositionLost)
	}
	if s.server != nil && r.GTID == "" && r.ServerUUID != "" && s.server.uuid != r.ServerUUID {
		return fmt.Errorf("the saved position %s is of the server %s, %s is %s, and without GTIDs it can't be found there: %w",
			r, r.ServerUUID, s.server.addr, s.server.uuid, cdc.ErrPositionLost)
	}
	return nil
}

// Table is the table's definition now.
func (s *Source) Table() *TableInfo { return s.table }

// SetKey names the columns that order the initial read (the source's primary key, or the unique key that the user chose) and
// those that tell rows apart in the target. Called before the first Next.
func (s *Source) SetKey(order, target []string) {
	s.key, s.targetKey, s.opts.Key = order, target, target
}

// watches reports whether a table map is that of the watched table.
func (s *Source) watches(schema, table []byte) bool {
	if s.server != nil && s.server.foldNames {
		return strings.EqualFold(string(schema), s.cfg.Database) && strings.EqualFold(string(table), s.cfg.Table)
	}
	return string(schema) == s.cfg.Database && string(table) == s.cfg.Table
}

// watch makes the decoder for a table map.
func (s *Source) watch(tm *TableMap) (*watched, error) {
	s.tableMu.Lock()
	defer s.tableMu.Unlock()
	cols := s.logColumns
	if tm.ColumnNames() != nil {
		var err error
		if cols, err = columnsFor(tm, s.logColumns); err != nil {
			return nil, err
		}
	}
	dec, err := NewDecoder(cols, s.target, s.opts)
	if err != nil {
		return nil, fmt.Errorf("%s.%s: %w", tm.Schema, tm.Table, err)
	}
	w := &watched{tm: tm, dec: dec}
	for _, k := range s.targetKey {
		for i := range s.target.Fields {
			if strings.EqualFold(s.target.Fields[i].Name, k) {
				w.key = append(w.key, i)
			}
		}
	}
	return w, nil
}

// Retarget implements cdc.Source.
func (s *Source) Retarget(t *row.Type) error {
	s.tableMu.Lock()
	s.target = t
	s.tableMu.Unlock()
	if s.stream != nil {
		s.stream.hand.retype(t)
		signal(s.stream.retargeted)
		return nil
	}
	if s.table == nil {
		return nil
	}
	cols := s.table.image
	if s.GoesOn() {
		cols = s.logColumns
	}
	_, err := NewDecoder(cols, t, s.opts)
	return err
}

// GoesOn reports whether the source goes on in the log from a position that carries the table's definition: the log itself
// tells then how the table has changed since.
func (s *Source) GoesOn() bool {
	return s.resume != nil && s.resume.Snapshot == nil && len(s.resume.Columns) > 0
}

// Next implements cdc.Source.
func (s *Source) Next(ctx context.Context) (*cdc.Event, error) {
	if s.progress != nil {
		ev, err := s.nextPage(ctx)
		if ev != nil || err != nil {
			return ev, err
		}
		s.read = true
		if err := s.endAfterRead(ctx); err != nil {
			return nil, err
		}
		end, err := s.catchUpEnd(ctx)
		if err != nil {
			return nil, err
		}
		s.progress = nil
		p := *s.from
		p.Snapshot, p.CatchUp = nil, end
		s.from = &p
		return &cdc.Event{Pos: &p}, nil
	}
	if s.stream == nil {
		if s.nothingToRead() {
			return nil, io.EOF
		}
		if err := s.startStream(); err != nil {
			return nil, err
		}
	}
	return s.nextOfLog(ctx)
}

// nextPage gives the next rows of the initial read; nil after the last.
func (s *Source) nextPage(ctx context.Context) (*cdc.Event, error) {
	if s.read {
		return nil, nil
	}
	if s.snap == nil {
		if err := s.startSnapshot(ctx); err != nil {
			return nil, err
		}
	}
	if s.last != nil {
		s.snap.pool.Put(s.last)
		s.last = nil
	}
	var p page
	var ok bool
	select {
	case p, ok = <-s.snap.pages:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !ok {
		v := s.snap.views
		s.snap.stop()
		s.snap = nil
		s.read = true
		if v != nil {
			if b := v.touched.state(); b.N > 0 {
				return &cdc.Event{Snapshot: true, Rows: b}, nil
			}
		}
		return nil, nil
	}
	if p.err != nil {
		return nil, p.err
	}
	s.progress.Rows += int64(p.batch.N)
	s.last = p.batch
	r := &s.progress.Ranges[p.index]
	if s.snap.walk {
		r.After = p.after
	}
	if p.done {
		r.Done = true
	}
	ev := &cdc.Event{Snapshot: true}
	if p.batch.N > 0 {
		ev.Rows = p.batch
	}
	if !s.exact && (s.snap.walk || p.done) {
		ev.Pos = s.snapshotPosition()
	}
	return ev, nil
}

// snapshotPosition is the position inside the initial read: a copy of what is left of it.
func (s *Source) snapshotPosition() *Position {
	p := *s.from
	left := &Progress{Planned: true, Rows: s.progress.Rows}
	for _, r := range s.progress.Ranges {
		if !r.Done {
			left.Ranges = append(left.Ranges, r)
		}
	}
	p.Snapshot = left
	return &p
}

func (s *Source) startSnapshot(ctx context.Context) error {
	r := &snapshotReader{cfg: s.cfg, table: s.table, key: s.key, src: s, target: s.target, walk: len(s.key) > 0}
	if s.exact && len(s.table.PrimaryKey) == 0 {
		r.walk = false // a key that the user names may have equal rows, which pages would lose
	}
	for _, k := range s.key {
		c := s.table.column(k)
		if c == nil {
			return fmt.Errorf("key column %s is not in %s.%s: %w", k, s.table.Database, s.table.Name, cdc.ErrUsage)
		}
		r.walk = r.walk && walkable(c)
	}
	if !r.walk && !s.exact {
		s.log.Warn("the initial read goes in one piece and begins anew when it is interrupted: the key has a column whose values can't be compared as they sort", "key", s.key)
		s.progress = &Progress{}
	}
	var err error
	if r.decoder, err = NewDecoder(s.table.image, s.target, s.opts); err != nil {
		return err
	}
	if !s.progress.Planned {
		ranges := []Range{{}}
		if r.walk {
			if ranges, err = s.plan.wait(ctx, s, r.planRanges); err != nil {
				return err
			}
		}
		s.progress.Ranges, s.progress.Planned = ranges, true
	}
	if s.exact {
		if r.views, err = s.opening.wait(ctx, s, func(ctx context.Context) (*views, error) {
			return r.openViews(ctx, min(s.cfg.Readers, len(s.progress.Ranges)))
		}); err != nil {
			return err
		}
		s.from = r.views.at
	}
	s.log.Info("reading the table", "table", s.table.Database+"."+s.table.Name, "rows_estimate", s.table.RowsEstimate, "ranges", len(s.progress.Ranges), "done", s.progress.Rows)
	s.snap = r
	r.start(s.ctx, slices.Clone(s.progress.Ranges))
	return nil
}

// newStream returns a stream of the log after a position, and where it begins to read.
func (s *Source) newStream(after *Position) (*stream, start, error) {
	st := &stream{src: s, hand: newHandoff(s.target, s.cfg.Gather), maps: map[uint64]*watched{}, retargeted: make(chan struct{}, 1)}
	st.hand.fill.boundary, st.hand.spare.boundary = true, true
	from := start{byGTID: after.GTID != "", file: after.File, pos: uint32(after.Pos)}
	var err error
	if after.GTID != "" || s.server == nil || s.server.gtidOn() {
		if st.gset, err = parseGTIDSet(s.flavor, after.GTID); err != nil {
			return nil, from, err
		}
	}
	st.file, st.pos, st.doneFile, st.donePos = after.File, after.Pos, after.File, after.Pos
	if !from.byGTID && st.gset.set != nil && from.pos > 4 && s.server != nil {
		// The transactions before the position are known only from the start of its file.
		st.skipUntil, from.pos = after.Pos, 4
	}
	st.skipFile = after.File
	if after.Since > 0 {
		st.skipLogged = time.UnixMicro(after.Since)
	}
	if s.server == nil {
		st.skipUntil = after.Pos
	} else {
		st.uuid = s.server.uuid
	}
	return st, from, nil
}

func (s *Source) startStream() error {
	st, from, err := s.newStream(s.from)
	if err != nil {
		return err
	}
	if s.cfg.SkipGTID != "" && st.gset.set != nil {
		s.log.Warn("transactions are passed over, as skip-gtid-set says", "set", s.cfg.SkipGTID)
		if st.skipSet, err = parseGTIDSet(s.flavor, s.cfg.SkipGTID); err != nil {
			return fmt.Errorf("skip-gtid-set: %w", err)
		}
	}
	if s.resume == nil && s.cfg.Startup == StartTimestamp {
		st.skipBefore = time.UnixMilli(s.cfg.StartMillis)
	}
	s.catchUp = s.from.CatchUp
	s.stream = st
	s.wg.Go(func() {
		var err error
		if s.server == nil {
			err = st.replayDir(s.ctx, from)
		} else {
			err = st.follow(s.ctx, from)
		}
		st.hand.fail(err)
	})
	return nil
}

// Close implements cdc.Source: it ends the background goroutines and waits for them.
func (s *Source) Close() error {
	s.cancel()
	s.wg.Wait()
	if s.snap != nil {
		s.snap.stop()
	}
	if v := s.opening.value; v != nil {
		v.close()
	}
	return nil
}

// background is work that Next waits for. It goes on when the caller's wait ends, and the next call waits for it again: begun
// anew at each tick, it might never end.
type background[T any] struct {
	done  chan struct{} // nil: not begun
	value T             // written before done is closed, as is err
	err   error
}

func (b *background[T]) wait(ctx context.Context, s *Source, work func(context.Context) (T, error)) (T, error) {
	if b.done == nil {
		b.done = make(chan struct{})
		s.wg.Go(func() {
			defer close(b.done)
			b.value, b.err = work(s.ctx)
		})
	}
	select {
	case <-b.done:
		return b.value, b.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Values are the values so far that needed a policy (see ValueOptions). Safe for concurrent use.
func (s *Source) Values() Counters {
	return Counters{ZeroDates: s.zeroDates.Load(), InvalidChars: s.invalidChars.Load(), TimesChanged: s.timesChanged.Load()}
}

// count adds what a decoder has counted since seen.
func (s *Source) count(d *Decoder, seen *Counters) {
	n := d.Counters()
	if n == *seen {
		return
	}
	s.zeroDates.Add(n.ZeroDates - seen.ZeroDates)
	s.invalidChars.Add(n.InvalidChars - seen.InvalidChars)
	s.timesChanged.Add(n.TimesChanged - seen.TimesChanged)
	*seen = n
}

// IgnoredEvents are the events of the log so far that are without effect on the table, by the names of their types. Safe for
// concurrent use.
func (s *Source) IgnoredEvents() map[string]int64 {
	out := map[string]int64{}
	for i := range s.ignored {
		if n := s.ignored[i].Load(); n > 0 {
			out[replication.EventType(i).String()] = n
		}
	}
	return out
}
