package mysql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/uuid"
)

// errStreamEnded says that the server ended the stream of its own accord: it shuts down, or an administrator ended it.
var errStreamEnded = errors.New("the server ended the stream of its log")

// receiveBuffer is what the system keeps of the log for us while a tick is flushed.
const receiveBuffer = 4 << 20

// dump is the stream of a server's log. Ending it is closing the connection: the server's thread, which sends a heartbeat when
// there is nothing else, finds out by the second one at the latest, and at once when the same replica asks again.
type dump struct {
	in          *packets
	checksummed bool // events end with a checksum
	lull        lull
}

// register makes a connection that of a replica, so that the server lists it, keeps no checksums, and sends heartbeats.
func register(c *client.Conn, cfg *Config, flavor, replica string, beat time.Duration) error {
	queries := []string{
		// The server gives up on a client that doesn't read for this long; a table may hold us up longer.
		"SET SESSION net_write_timeout = 3600",
		"SET @master_binlog_checksum = 'NONE', @source_binlog_checksum = 'NONE'",
		fmt.Sprintf("SET @master_heartbeat_period = %d, @source_heartbeat_period = %d", beat, beat),
		// The server ends an older stream of the same replica, which a lost connection may have left behind.
		fmt.Sprintf("SET @slave_uuid = '%s', @replica_uuid = '%s'", replica, replica),
	}
	if flavor == flavorMariaDB {
		queries = append(queries, "SET @mariadb_slave_capability = 4") // knows GTIDs
	}
	for _, q := range queries {
		if _, err := c.Execute(q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	host, _ := os.Hostname()
	host = host[:min(len(host), 60)] // older servers refuse longer ones
	user := cfg.User[:min(len(cfg.User), 80)]
	b := append(make([]byte, 4, 64+len(host)+len(user)), gomysql.COM_REGISTER_SLAVE)
	b = le.AppendUint32(b, cfg.ServerID)
	b = append(append(b, byte(len(host))), host...)
	b = append(append(b, byte(len(user))), user...)
	b = append(b, 0)          // no password
	b = le.AppendUint16(b, 0) // nor port
	b = le.AppendUint32(b, 0) // rank, not used
	b = le.AppendUint32(b, 0) // the server's id, not needed
	c.ResetSequence()
	if err := c.WritePacket(b); err != nil {
		return fmt.Errorf("registering as a replica: %w", err)
	}
	if _, err := c.ReadOKPacket(); err != nil {
		return fmt.Errorf("registering as a replica: %w", err)
	}
	return nil
}

// replica is the UUID that the stream's connections have, all the same.
func (s *stream) replica() string {
	if s.uuidOfReplica == "" {
		s.uuidOfReplica = uuid.NewString()
	}
	return s.uuidOfReplica
}

// ask asks a registered connection for the log.
func ask(c *client.Conn, serverID uint32, flavor string, from start, set gtidSet) error {
	b := make([]byte, 4, 128)
	switch {
	case !from.byGTID:
		b = dumpCommand(b, serverID, max(4, from.pos), from.file)
	case flavor == flavorMariaDB:
		for _, q := range []string{"SET @slave_connect_state = '" + set.String() + "'", "SET @slave_gtid_strict_mode = 1"} {
			if _, err := c.Execute(q); err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
		}
		b = dumpCommand(b, serverID, 0, "") // the state says from where
	default:
		known := set.set.Encode()
		b = append(b, gomysql.COM_BINLOG_DUMP_GTID)
		b = le.AppendUint16(b, 0) // flags
		b = le.AppendUint32(b, serverID)
		b = le.AppendUint32(b, 0) // no file name
		b = le.AppendUint64(b, 4)
		b = le.AppendUint32(b, uint32(len(known)))
		b = append(b, known...)
	}
	c.ResetSequence()
	if err := c.WritePacket(b); err != nil {
		return fmt.Errorf("asking for the log: %w", err)
	}
	return nil
}

func dumpCommand(b []byte, serverID, pos uint32, file string) []byte {
	b = append(b, gomysql.COM_BINLOG_DUMP)
	b = le.AppendUint32(b, pos)
	b = le.AppendUint16(b, 0) // flags: wait for more at the end
	b = le.AppendUint32(b, serverID)
	return append(b, file...)
}

// next returns the next event. Its body is valid until the next call.
func (d *dump) next() (event, error) {
	b, err := d.in.next()
	if err != nil {
		return event{}, err
	}
	switch {
	case len(b) > 0 && b[0] == gomysql.ERR_HEADER:
		return event{}, serverError(b)
	case len(b) > 0 && len(b) < 9 && b[0] == gomysql.EOF_HEADER:
		return event{}, errStreamEnded
	case len(b) < 1+eventHeader || b[0] != gomysql.OK_HEADER:
		return event{}, malformed("a packet of %d bytes in the log that is no event", len(b))
	}
	b = b[1:]
	e := eventOf(b)
	if uint64(e.size) != uint64(len(b)) {
		return event{}, malformed("an event of %d bytes in a packet of %d", e.size, len(b))
	}
	switch {
	case e.kind == eventFormat:
		d.checksummed = hasChecksums(e.body)
	case d.checksummed && len(e.body) < 4:
		return event{}, malformed("an event of %d bytes with a checksum", e.size)
	case d.checksummed:
		e.body = e.body[:len(e.body)-4]
	}
	return e, nil
}

// eventOf takes the header of an event apart.
func eventOf(b []byte) event {
	_ = b[eventHeader-1]
	return event{time: le.Uint32(b), kind: b[4], server: le.Uint32(b[5:]), size: le.Uint32(b[9:]), endPos: le.Uint32(b[13:]), flags: le.Uint16(b[17:]),
		body: b[eventHeader:]}
}

// hasChecksums reads from a format description whether the events after it end with a CRC32.
func hasChecksums(body []byte) bool {
	const version = 50
	if len(body) < 2+version+4+1+5 {
		return false
	}
	v := string(body[2 : 2+version])
	v, _, _ = strings.Cut(v, "\x00")
	first := "5.6.1" // that has them at all
	if strings.Contains(strings.ToLower(v), "mariadb") {
		first = "5.3.0"
	}
	if n, err := gomysql.CompareServerVersions(v, first); err == nil && n < 0 {
		return false
	}
	return body[len(body)-5] == 1
}

// follow gives the stream the log of a server, on a connection that is registered and has asked for it.
func (d *dump) follow(s *stream) (err error) {
	defer func() {
		if p := recover(); p != nil { // no new connection mends it
			s.fatal = fmt.Errorf("taking an event at %s: %v\n%s", s.where(), p, debug.Stack())
			err = s.fatal
		}
	}()
	for {
		if d.in.r == d.in.w && !s.txn.open && d.lull.due(d.in.total, time.Now()) {
			if err := d.lull.rest(s.ctx, s.hand); err != nil {
				return err
			}
		}
		e, err := d.next()
		if err != nil {
			return err
		}
		if err := s.take(e); err != nil {
			s.fatal = err
			return err
		}
	}
}

// take takes an event of a server, which tells by events too where its files end.
func (s *stream) take(e event) error {
	if e.kind != eventRotate {
		return s.handle(e)
	}
	if len(e.body) < 8 {
		return s.refuse("a rotate event of %d bytes", len(e.body))
	}
	s.rotate(string(e.body[8:]), le.Uint64(e.body))
	if e.time != 0 && !s.txn.open && s.peek == nil { // a real one, not that which begins a stream
		return s.advance()
	}
	return nil
}

// rawConn is the connection below a client's: with or without TLS, packets are read from it.
func rawConn(c *client.Conn) net.Conn { return c.Conn.Conn }

// socket is the connection below TLS. Closing that ends a read at once, and doesn't wait to tell the server.
func socket(c net.Conn) net.Conn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return c
}

// closeOn closes a connection when ctx ends. The returned function ends the watch and waits until it is over.
func closeOn(ctx context.Context, c net.Conn) (stop func()) {
	done := make(chan struct{})
	undo := context.AfterFunc(ctx, func() { defer close(done); _ = c.Close() })
	return func() {
		if !undo() {
			<-done
		}
	}
}
