package mysql

import (
	"context"
	"net"
	"time"

	"github.com/paimon-go/paimon-go/internal/backoff"
)

// lullBytes is how much of the log the time of a rest may bring and still be little.
const lullBytes = 256 << 10

// lull makes a reader of the log rest while little comes, so that the changes of that time are read at once: a calm server sends
// each transaction by itself, and being woken for it costs more than taking it.
type lull struct {
	conn   net.Conn
	length time.Duration // of a rest; 0: never rest
	few    int           // bytes in a rest
	since  time.Time     // the last look
	read   int           // what had been read then
}

// newLull is for a connection below TLS. It never rests where the system doesn't tell what waits.
func newLull(conn net.Conn, length time.Duration) lull {
	// A server that had to wait during a rest, as the system could take no more, is not made to again: what is little fits in.
	return lull{conn: conn, length: length, few: min(lullBytes, receiveRoom(conn)/4)}
}

// due reports whether to rest, when all that was read, so many bytes since the start, is taken.
func (l *lull) due(read int, now time.Time) bool {
	if l.few == 0 || now.Sub(l.since) < l.length {
		return false
	}
	little := !l.since.IsZero() && read-l.read < l.few
	l.since, l.read = now, read
	return little && nothingWaits(l.conn)
}

// rest lets what was gathered be taken, as nothing will come for a while, and waits.
func (l *lull) rest(ctx context.Context, h *handoff) error {
	h.rest(true)
	defer h.rest(false)
	wakeFrom(l.conn, l.few)
	defer wakeFrom(l.conn, 1)
	return backoff.Sleep(ctx, l.length)
}
