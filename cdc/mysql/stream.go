package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/cdc"
)

// Event types that the stream looks at; those with rows are in rowsevent.go.
const (
	eventQuery         = 2
	eventStop          = 3
	eventRotate        = 4
	eventIntvar        = 5
	eventRand          = 13
	eventUserVar       = 14
	eventFormat        = 15
	eventXID           = 16
	eventBeginLoad     = 17
	eventExecuteLoad   = 18
	eventTableMap      = 19
	eventIncident      = 26
	eventHeartbeat     = 27
	eventIgnorable     = 28
	eventRowsQuery     = 29
	eventGTID          = 33
	eventAnonymousGTID = 34
	eventPreviousGTIDs = 35
	eventTxnContext    = 36
	eventViewChange    = 37
	eventXAPrepare     = 38
	eventPayload       = 40
	eventHeartbeatV2   = 41
	eventTaggedGTID    = 42
	eventMariaAnnotate = 160
	eventMariaCheckpt  = 161
	eventMariaGTID     = 162
	eventMariaGTIDList = 163
	eventMariaEncrypt  = 164
	eventMariaQueryZ   = 165

	flagIgnorable = 0x80
)

// event is one event of the log without its header and checksum. The body is valid only until the event is handled: the next one
// may be read into the same memory.
type event struct {
	kind   byte
	flags  uint16
	time   uint32 // seconds
	size   uint32
	endPos uint32 // 0: not a place in the file
	server uint32 // that wrote it first
	body   []byte
}

// transaction is the group of events that the stream is in.
type transaction struct {
	id      gtid
	start   uint64 // offset of its first event
	at      time.Time
	logged  time.Time // when this server wrote it, zero when it doesn't say
	open    bool      // BEGIN or a GTID was seen
	begun   bool      // BEGIN was seen: it ends with XID or COMMIT
	xa      bool
	applied int  // changed rows of the table that were taken
	skip    bool // not to be applied
}

// stream turns the events of a log into chunks. Its methods are called by the goroutine that reads the log, except for
// position and what handoff says.
type stream struct {
	src  *Source
	hand *handoff
	ctx  context.Context // of the reading goroutine; a field because the library's callback has none

	file string
	pos  uint64 // end of the last event
	txn  transaction
	uuid string // of the server, for positions; guarded by hand.mu
	// gset, doneFile and donePos are of the last transaction end. They are written with hand.mu held, and read so by others than
	// the goroutine that reads the log.
	gset gtidSet
	// doneFile and donePos are the file and offset after the last transaction end.
	doneFile string
	donePos  uint64

	maps     map[uint64]*watched
	decoder  *watched // the newest; written with hand.mu held
	inflater inflater
	// rowsEnded counts the rows of the table in the transactions that have ended.
	rowsEnded int64

	// skipUntil passes over transactions that start before this offset of skipFile, skipBefore over those committed earlier,
	// skipLogged over those that this server logged earlier (Position.Since).
	skipUntil  uint64
	skipFile   string
	skipBefore time.Time
	skipLogged time.Time
	skipSet    gtidSet // skip-gtid-set
	// replay is the transaction that a lost connection cut, and how many of its rows were taken already. Rows, not events:
	// another replica may cut the same transaction into other events.
	replay transaction
	// retargeted gets a token from Retarget after a schema change.
	retargeted chan struct{}
	// awaited is a transaction before the end that the source asks for, if one is known that has not come.
	awaited gtid
	// upTo ends the stream at or behind this place, nil: where the source ends.
	upTo *Position
	// peek, when set, sees the events in place of all else: for looking at the start of a file.
	peek          func(event) error
	fatal         error  // of our own handling of an event, which no new connection mends
	uuidOfReplica string // what the server knows us as, "" before the first connection
}

// watched is a table map of the watched table with the decoder of its rows.
type watched struct {
	tm  *TableMap
	dec *Decoder
	key []int    // target positions of the primary key
	n   Counters // of dec, as far as they were counted
}

func (s *stream) where() string {
	if s.txn.id.is {
		return fmt.Sprintf("%s:%d (transaction %s)", s.file, s.pos, s.txn.id)
	}
	return fmt.Sprintf("%s:%d", s.file, s.pos)
}

func (s *stream) refuse(format string, args ...any) error {
	return fmt.Errorf("%s at %s: %w", fmt.Sprintf(format, args...), s.where(), cdc.ErrRefused)
}

// position is the resume point after the last transaction. h.mu is held.
func (s *stream) position() cdc.Position {
	p := &Position{Flavor: s.src.flavor, ServerUUID: s.uuid, File: s.doneFile, Pos: s.donePos}
	if s.gset.set != nil {
		g := s.gset.clone()
		p.text = g.String
	}
	p.Columns, p.Key = s.src.definition()
	return p
}

// handle takes one event.
func (s *stream) handle(e event) error {
	if s.peek != nil {
		return s.peek(e)
	}
	if e.kind == eventHeartbeat || e.kind == eventHeartbeatV2 {
		if s.upTo == nil || s.txn.open || e.endPos == 0 {
			return nil // says that the server lives; its position is not that of an event
		}
		s.pos = uint64(e.endPos) // it has nothing more for us up to there
		return s.advance()
	}
	if e.endPos > 0 {
		s.pos = uint64(e.endPos)
	}
	if err := s.dispatch(e); err != nil {
		return err
	}
	if !s.txn.open && e.endPos > 0 {
		return s.advance()
	}
	return nil
}

func (s *stream) dispatch(e event) error {
	switch e.kind {
	case eventFormat, eventStop:
		clear(s.maps)
		if s.txn.open && s.txn.applied > 0 && e.kind == eventFormat && e.endPos > 0 {
			return s.refuse("the server stopped inside a transaction")
		}
		s.txn = transaction{}
	case eventGTID, eventAnonymousGTID, eventTaggedGTID, eventMariaGTID:
		return s.begin(e)
	case eventPreviousGTIDs, eventMariaGTIDList:
		return s.previous(e)
	case eventQuery, eventMariaQueryZ:
		return s.query(e)
	case eventXID:
		return s.commit()
	case eventXAPrepare:
		return s.commit()
	case eventTableMap:
		return s.tableMap(e)
	case eventPayload:
		return s.payload(e)
	case eventIncident:
		return s.refuse("the server lost events (an incident event)")
	case eventExecuteLoad:
		return s.refuse("a LOAD DATA in statement format (the session's binlog_format was not ROW)")
	case eventIntvar, eventRand, eventUserVar, eventBeginLoad, eventIgnorable, eventRowsQuery,
		eventTxnContext, eventViewChange, eventMariaAnnotate, eventMariaCheckpt, eventMariaEncrypt:
		s.src.ignored[e.kind].Add(1)
	default:
		if IsRowsEvent(e.kind) {
			return s.rows(e)
		}
		if e.flags&flagIgnorable == 0 {
			return s.refuse("an event of type %d, which is not known", e.kind)
		}
		s.src.ignored[e.kind].Add(1)
	}
	return nil
}

// rotate notes that the log goes on in another file.
func (s *stream) rotate(file string, pos uint64) {
	if s.skipFile != file {
		s.skipUntil = 0
	}
	s.file, s.pos = file, pos
	clear(s.maps)
}

// begin starts a transaction at its GTID event.
func (s *stream) begin(e event) error {
	if s.txn.open && s.txn.applied > 0 {
		return s.refuse("a transaction begins inside another")
	}
	t := transaction{open: true, at: time.Unix(int64(e.time), 0), start: s.startOf(e)}
	if err := decodeGTID(&e, &t); err != nil {
		return s.refuse("a GTID event that can't be read (%v)", err)
	}
	t.skip = s.gset.has(&t.id) || s.skipSet.has(&t.id) || s.beforeStart(&t)
	if s.replay.applied > 0 && !t.id.is && t.start != s.replay.start {
		return s.refuse("the server went on with a transaction at %d after the connection was lost inside the one at %d", t.start, s.replay.start)
	}
	s.txn = t
	return nil
}

// startOf is the offset of an event's first byte.
func (s *stream) startOf(e event) uint64 {
	if e.endPos > 0 {
		return uint64(e.endPos) - uint64(e.size)
	}
	return s.pos
}

// beforeStart reports whether a transaction comes before the place or time that the log is to be read from.
func (s *stream) beforeStart(t *transaction) bool {
	return t.start < s.skipUntil || t.at.Before(s.skipBefore) || !t.logged.IsZero() && t.logged.Before(s.skipLogged)
}

// replaying reports whether the transaction under way is the one that a lost connection cut.
func (s *stream) replaying() bool {
	return s.replay.applied > 0 && s.txn.id == s.replay.id && (s.txn.id.is || s.txn.start == s.replay.start)
}

// commit ends a transaction.
func (s *stream) commit() error {
	t := s.txn
	if s.replaying() {
		if t.applied < s.replay.applied {
			return s.refuse("the transaction has %d rows of the table now, %d were read before the connection was lost", t.applied, s.replay.applied)
		}
		s.replay = transaction{}
	}
	s.txn = transaction{}
	s.rowsEnded += int64(t.applied)
	h := s.hand
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := s.gset.add(&t.id); err != nil {
		return s.refuse("adding transaction %s: %v", t.id, err)
	}
	if s.awaited.is && t.id == s.awaited {
		s.awaited = gtid{}
	}
	s.doneFile, s.donePos = s.file, s.pos
	f := h.fill
	f.moved = true
	// Another replica may log transactions in another order: as long as the cut one has not come again, there is no point
	// to resume from.
	if f.boundary = s.replay.applied == 0; f.boundary {
		f.whole = f.batch.N
	}
	if t.applied > 0 {
		f.at = t.at
		h.wake()
	}
	if s.atEnd() && f.boundary {
		h.err = io.EOF
		signal(h.ready)
		return io.EOF
	}
	if !f.boundary { // Next takes it only when it is far larger: rows waits for that
		return nil
	}
	return h.waitBelow(s.ctx, softRows, softBytes)
}

// advance moves the position over events between transactions.
func (s *stream) advance() error {
	if s.donePos == s.pos && s.doneFile == s.file {
		return nil
	}
	s.hand.mu.Lock()
	defer s.hand.mu.Unlock()
	s.doneFile, s.donePos = s.file, s.pos
	s.hand.fill.moved = true
	if s.atEnd() && s.replay.applied == 0 {
		s.hand.err = io.EOF
		signal(s.hand.ready)
		return io.EOF
	}
	return nil
}

// atEnd reports whether the stream has come to where it ends. h.mu is held.
func (s *stream) atEnd() bool {
	if s.upTo == nil {
		return s.src.atEnd(s)
	}
	return s.doneFile == s.upTo.File && s.donePos >= s.upTo.Pos || compareBinlogs(s.upTo.File, s.doneFile) < 0
}

// previous takes the list of transactions before a file. It matters when reading begins at a file, not at a set.
func (s *stream) previous(e event) error {
	s.hand.mu.Lock()
	defer s.hand.mu.Unlock()
	if s.gset.set == nil {
		return nil
	}
	text, err := previousGTIDs(e)
	if err == nil && s.gset.set.IsEmpty() {
		err = s.gset.addAll(text)
		s.awaited = gtid{}
	}
	if err != nil {
		return s.refuse("the list of earlier transactions can't be read (%v)", err)
	}
	return nil
}

// query looks at a statement: the ends of transactions, XA, and DDL.
func (s *stream) query(e event) error {
	if e.kind == eventQuery {
		switch _, _, text, _ := queryParts(e.body); string(text) { // nearly all are these
		case "BEGIN":
			return s.beginStatement(e)
		case "COMMIT":
			return s.commit()
		}
	}
	q, err := readQuery(e)
	if err != nil {
		return s.refuse("a query event that can't be read (%v)", err)
	}
	head := strings.ToUpper(firstWords(q.text))
	switch {
	case head == "BEGIN":
		return s.beginStatement(e)
	case head == "COMMIT":
		return s.commit()
	case head == "ROLLBACK":
		if s.txn.applied > 0 {
			return s.refuse("a transaction with rows of the table was rolled back in the log")
		}
		return s.commit()
	case strings.HasPrefix(head, "ROLLBACK TO"): // logged when the transaction changed a table without transactions too
		if s.txn.applied > 0 {
			return s.refuse("a transaction with rows of the table was rolled back to a savepoint in the log")
		}
		return nil
	case strings.HasPrefix(head, "SAVEPOINT"), strings.HasPrefix(head, "RELEASE SAVEPOINT"):
		return nil
	case strings.HasPrefix(head, "XA START"), strings.HasPrefix(head, "XA BEGIN"):
		s.txn.open, s.txn.begun, s.txn.xa = true, true, true
		return nil
	case strings.HasPrefix(head, "XA END"):
		return nil
	case strings.HasPrefix(head, "XA COMMIT"), strings.HasPrefix(head, "XA ROLLBACK"):
		return s.commit()
	}
	if !s.txn.skip {
		if err := s.statement(q); err != nil {
			return err
		}
	}
	if s.txn.begun {
		return nil
	}
	return s.commit()
}

// beginStatement takes a BEGIN.
func (s *stream) beginStatement(e event) error {
	s.txn.open, s.txn.begun = true, true
	if s.txn.start == 0 && e.endPos > 0 { // servers without GTID events
		s.txn.start = s.startOf(e)
		s.txn.at = time.Unix(int64(e.time), 0)
		s.txn.skip = s.beforeStart(&s.txn)
	}
	return nil
}

// tableMap notes the table behind an id when it is the watched one.
func (s *stream) tableMap(e event) error {
	id, err := TableMapID(e.body)
	if err != nil {
		return s.refuse("a table map that can't be read (%v)", err)
	}
	if w := s.maps[id]; w != nil && w.tm.Same(e.body) {
		return nil
	}
	schema, table, err := TableMapName(e.body)
	if err != nil {
		return s.refuse("a table map that can't be read (%v)", err)
	}
	if s.txn.skip || !s.src.watches(schema, table) {
		delete(s.maps, id)
		return nil
	}
	tm, err := ParseTableMap(e.body, s.src.flavor == flavorMariaDB)
	if err != nil {
		return s.refuse("a table map that can't be read (%v)", err)
	}
	w, err := s.src.watch(tm)
	if err != nil {
		return fmt.Errorf("%w (at %s)", err, s.where())
	}
	s.maps[id] = w
	s.hand.mu.Lock()
	s.decoder = w
	s.hand.mu.Unlock()
	return nil
}

// payload takes a compressed transaction apart.
func (s *stream) payload(e event) error {
	err := s.inflater.events(e.body, s.dispatch)
	if errors.Is(err, ErrMalformed) && !errors.Is(err, cdc.ErrRefused) {
		return s.refuse("a compressed transaction that can't be read (%v)", err)
	}
	return err
}

// cut notes that the connection was lost and forgets what belonged to it.
func (s *stream) cut() {
	switch {
	case !s.txn.open || s.txn.applied == 0:
	case s.replaying():
		s.replay.applied = max(s.txn.applied, s.replay.applied)
	case s.replay.applied == 0:
		s.replay = s.txn
	}
	s.txn = transaction{}
	clear(s.maps)
}
