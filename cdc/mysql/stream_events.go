package mysql

import (
	"strings"
	"time"

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

// mariaPreparedXA marks the group of an XA PREPARE: its outcome comes later.
const mariaPreparedXA = 64

// decodeGTID reads the four kinds of GTID events.
func decodeGTID(e event, t *transaction) error {
	if e.kind == eventMariaGTID {
		if len(e.body) < 13 {
			return malformed("%d bytes", len(e.body))
		}
		var m replication.MariadbGTIDEvent
		if err := safely(func() error { return m.Decode(e.body) }); err != nil {
			return err
		}
		m.GTID.ServerID = e.server
		t.id = gtid{is: true, isMaria: true, maria: m.GTID}
		t.begun = !m.IsStandalone() // MariaDB logs no BEGIN
		t.xa = m.Flags&mariaPreparedXA != 0
		return nil
	}
	var g replication.GTIDEvent
	err := safely(func() error {
		if e.kind != eventTaggedGTID {
			return g.Decode(e.body)
		}
		var tagged replication.GtidTaggedLogEvent
		err := tagged.Decode(e.body)
		g = tagged.GTIDEvent
		return err
	})
	if err != nil {
		return err
	}
	if us := g.OriginalCommitTimestamp; us > 0 {
		t.at = time.UnixMicro(int64(us))
	}
	if us := g.ImmediateCommitTimestamp; us > 0 {
		t.logged = time.UnixMicro(int64(us))
	}
	if e.kind == eventAnonymousGTID {
		return nil
	}
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

// readQuery reads a query event.
func readQuery(e event) (q statement, err error) {
	r := reader{b: e.body}
	r.take(8) // thread and execution time
	n := int(r.u8())
	r.take(2) // error code
	vars := reader{b: r.take(int(r.u16()))}
	q.db = string(r.take(n))
	r.u8()
	if r.bad {
		return q, malformed("%d bytes", len(e.body))
	}
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
	text := r.b
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
