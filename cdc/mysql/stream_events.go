package mysql

import (
	"strings"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"
)

// safely runs a decoder of the library, some of which index without looking at the length.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = malformed("%v", p)
		}
	}()
	return f()
}

// Flags of MariaDB's GTID events.
const (
	mariaStandalone = 1  // no XID or COMMIT ends it
	mariaPreparedXA = 64 // an XA PREPARE: its outcome comes later
)

// decodeGTID reads the four kinds of GTID events.
func decodeGTID(e *event, t *transaction) error {
	r := reader{b: e.body}
	switch e.kind {
	case eventMariaGTID:
		m := gomysql.MariadbGTID{SequenceNumber: r.u64(), DomainID: r.u32(), ServerID: e.server}
		flags := r.u8()
		if r.bad {
			return malformed("%d bytes", len(e.body))
		}
		t.id = gtid{is: true, isMaria: true, maria: m}
		t.begun = flags&mariaStandalone == 0 // MariaDB logs no BEGIN
		t.xa = flags&mariaPreparedXA != 0
		return nil
	case eventTaggedGTID:
		return decodeTaggedGTID(e, t)
	}
	r.u8() // flags
	sid := r.take(16)
	gno := r.u64()
	if r.bad {
		return malformed("%d bytes", len(e.body))
	}
	if len(r.b) >= 17 && r.b[0] == 2 { // the logical clock
		r.take(17)
		if len(r.b) >= 7 {
			original := r.u56()
			const both = 1 << 55
			immediate := original &^ both
			if original&both != 0 {
				original = r.u56()
			}
			if r.bad {
				return malformed("%d bytes", len(e.body))
			}
			t.timed(original, immediate)
		}
	}
	if e.kind == eventGTID {
		t.id = gtid{is: true, sid: uuid.UUID(sid), gno: int64(gno)}
	}
	return nil
}

// timed notes when a transaction committed first and on this server, in microseconds; 0: not known.
func (t *transaction) timed(original, immediate uint64) {
	if original > 0 {
		t.at = time.UnixMicro(int64(original))
	}
	if immediate > 0 {
		t.logged = time.UnixMicro(int64(immediate))
	}
}

func decodeTaggedGTID(e *event, t *transaction) error {
	var g replication.GtidTaggedLogEvent
	if err := safely(func() error { return g.Decode(e.body) }); err != nil {
		return err
	}
	t.timed(g.OriginalCommitTimestamp, g.ImmediateCommitTimestamp)
	sid, err := uuid.FromBytes(g.SID)
	if err != nil {
		return err
	}
	t.id = gtid{is: true, sid: sid, tag: g.Tag, gno: g.GNO}
	return nil
}

// previousGTIDs reads the list of transactions that came before a file.
func previousGTIDs(e event) (text string, err error) {
	err = safely(func() error {
		if e.kind == eventPreviousGTIDs {
			var p replication.PreviousGTIDsEvent
			err := p.Decode(e.body)
			text = p.GTIDSets
			return err
		}
		var l replication.MariadbGTIDListEvent
		if err := l.Decode(e.body); err != nil {
			return err
		}
		var parts []string
		for i := range l.GTIDs {
			parts = append(parts, l.GTIDs[i].String())
		}
		text = strings.Join(parts, ",")
		return nil
	})
	return text, err
}

// statement is what a query event says.
type statement struct {
	db, text string
	sqlMode  uint64
}

// queryParts cuts a query event: its status variables, database and text, which may be compressed.
func queryParts(body []byte) (vars, db, text []byte, err error) {
	r := reader{b: body}
	r.take(8) // thread and execution time
	n := int(r.u8())
	r.take(2) // error code
	vars = r.take(int(r.u16()))
	db = r.take(n)
	r.u8()
	if r.bad {
		return nil, nil, nil, malformed("%d bytes", len(body))
	}
	return vars, db, r.b, nil
}

// readQuery reads a query event.
func readQuery(e event) (q statement, err error) {
	status, db, text, err := queryParts(e.body)
	if err != nil {
		return q, err
	}
	q.db = string(db)
	vars := reader{b: status}
	for len(vars.b) > 0 { // the SQL mode comes first or after the flags
		switch vars.u8() {
		case 0:
			vars.take(4)
			continue
		case 1:
			q.sqlMode = uintLE(vars.take(8))
		}
		break
	}
	if e.kind == eventMariaQueryZ {
		if text, err = inflateMaria(text); err != nil {
			return q, err
		}
	}
	q.text = string(text)
	return q, nil
}

// firstWords returns the first three words of a statement without leading comments, separated by single blanks.
func firstWords(sql string) string {
	for {
		sql = strings.TrimLeft(sql, " \t\r\n;")
		if !strings.HasPrefix(sql, "/*") || strings.HasPrefix(sql, "/*!") {
			break
		}
		end := strings.Index(sql, "*/")
		if end < 0 {
			break
		}
		sql = sql[end+2:]
	}
	f := strings.Fields(sql[:min(len(sql), 64)])
	return strings.TrimRight(strings.Join(f[:min(len(f), 3)], " "), ";")
}
