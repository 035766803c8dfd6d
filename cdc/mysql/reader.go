package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/internal/backoff"
)

// start says where reading of the log begins: at a set of transactions, or at a place in a file.
type start struct {
	byGTID bool
	file   string
	pos    uint32
}

// follow reads the log of a server until ctx ends, the end is reached or an error that no retry mends. After a lost
// connection it goes on at the last transaction end, on another host if need be.
func (s *stream) follow(ctx context.Context, from start) error {
	s.ctx = ctx
	prefer := s.src.server.addr
	failing := time.Now()
	for try := 0; ; try++ {
		before := s.progress()
		err := s.followOnce(ctx, from, prefer)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s.fatal != nil {
			return s.fatal
		}
		if err := terminal(err, s.where()); err != nil {
			return err
		}
		if s.progress() != before {
			try, failing = 0, time.Now()
		} else if try >= max(s.src.cfg.ConnectRetries, 3) && time.Since(failing) > outage {
			return fmt.Errorf("reading the log: %w: %w", err, cdc.ErrSource)
		}
		s.src.log.Warn("the connection to the log was lost; connecting again", "error", err.Error(), "position", s.where())
		s.cut()
		switch {
		case s.gset.set == nil && s.doneFile != "":
			from = start{file: s.doneFile, pos: uint32(s.donePos)}
		case s.gset.set != nil && !s.gset.set.IsEmpty():
			from = start{byGTID: true}
		} // else: the transactions before the start are not known yet, so it starts over
		if err := backoff.Sleep(ctx, retryDelay(try)); err != nil {
			return err
		}
	}
}

// outage is how long a stream at least tries to get its server back: a restart of a server should not end the job.
const outage = time.Minute

func (s *stream) progress() string { return fmt.Sprint(s.file, s.pos, s.doneFile, s.donePos) }

// mariaSameID is MariaDB's error to a replica when another has its id.
const mariaSameID = 4052

// terminal returns the error that ends the job when a new connection can't help, else nil.
func terminal(err error, where string) error {
	switch {
	case errors.Is(err, cdc.ErrPositionLost), errors.Is(err, cdc.ErrUsage):
		return err
	case isAccessDenied(err):
		return fmt.Errorf("reading the log: %w: %w", err, cdc.ErrSource)
	}
	var e *gomysql.MyError
	if !errors.As(err, &e) || e.Code != gomysql.ER_MASTER_FATAL_ERROR_READING_BINLOG && e.Code != mariaSameID {
		return nil
	}
	switch m := strings.ToLower(e.Message); {
	case e.Code == mariaSameID, strings.Contains(m, "same server_uuid"), strings.Contains(m, "same server_id"), strings.Contains(m, "same server id"):
		return fmt.Errorf("another client with our server-id follows this server (%s): give each job its own --mysql_conf server-id: %w", e.Message, cdc.ErrSource)
	case strings.Contains(m, "max_allowed_packet"):
		return fmt.Errorf("the server can't send an event at %s (%s): raise its max_allowed_packet: %w", where, e.Message, cdc.ErrSource)
	}
	return fmt.Errorf("the server no longer has the log after %s (%s): read the table anew into an empty table (scan.startup.mode=initial), or give a position that the server has (scan.startup.mode=specific-offset): %w", where, e.Message, cdc.ErrPositionLost)
}

// followOnce connects and reads until the connection ends.
func (s *stream) followOnce(ctx context.Context, from start, prefer string) error {
	c, srv, err := s.choose(ctx, prefer, from.byGTID)
	if err != nil {
		return err
	}
	conn := rawConn(c)
	defer conn.Close()
	defer closeOn(ctx, socket(conn))()
	beat := min(10*time.Second, s.src.cfg.Heartbeat)
	if s.upTo != nil {
		beat = 50 * time.Millisecond
	}
	if err := conn.SetDeadline(time.Now().Add(s.src.cfg.ConnectTimeout)); err != nil {
		return err
	}
	if tcp, ok := socket(conn).(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(receiveBuffer) // a wish
	}
	if err := register(c, s.src.cfg, srv.flavor, s.replica(), beat); err != nil {
		return err
	}
	if !from.byGTID {
		s.file, s.pos = from.file, uint64(from.pos)
	}
	if err := ask(c, s.src.cfg.ServerID, srv.flavor, from, s.gset); err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if s.upTo == nil {
		s.src.log.Info("following the log", "host", srv.addr, "from", s.where())
	}
	d := &dump{in: newPackets(conn, 3*beat+s.src.cfg.ConnectTimeout), lull: s.lull(socket(conn))}
	return d.follow(s)
}

// lull is how the reader of a connection rests: not at all when an end is near.
func (s *stream) lull(conn net.Conn) lull {
	if s.upTo != nil || s.src.cfg.Gather == 0 {
		return lull{}
	}
	return newLull(conn, s.src.cfg.Gather)
}

// choose finds a host that has the transactions we need and not fewer than we have. A place in a file is one of the
// preferred host only, which may be down for a while. It returns a connection to the host.
func (s *stream) choose(ctx context.Context, prefer string, byGTID bool) (_ *client.Conn, _ *server, err error) {
	cfg := *s.src.cfg
	if !byGTID || s.upTo != nil {
		cfg.Hosts = []string{prefer}
	}
	c, srv, err := connectAny(ctx, &cfg, prefer, s.src.log)
	if err != nil {
		return nil, nil, err
	}
	defer closeOn(ctx, socket(rawConn(c)))()
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	if !byGTID || s.upTo != nil {
		if was := s.src.server; was.uuid != "" && srv.uuid != was.uuid {
			return nil, nil, fmt.Errorf("%s is not the server that the position %s belongs to, and without GTIDs it can't be found there: %w", srv.addr, s.where(), cdc.ErrPositionLost)
		}
		return c, srv, nil
	}
	if srv.flavor != flavorMySQL {
		return c, srv, nil
	}
	r, err := within(c, cfg.ConnectTimeout, "SELECT @@GLOBAL.gtid_purged")
	if err != nil {
		return nil, nil, fmt.Errorf("reading gtid_purged of %s: %w: %w", srv.addr, err, cdc.ErrSource)
	}
	text, _ := r.GetString(0, 0)
	purged, err := parseGTIDSet(srv.flavor, text)
	if err != nil {
		return nil, nil, err
	}
	if !s.gset.contains(purged) {
		return nil, nil, fmt.Errorf("%s has purged transactions that are not read yet (its gtid_purged is %s, we have read %s): read the table anew into an empty table (scan.startup.mode=initial), or give a position that the server has: %w",
			srv.addr, purged, s.gset, cdc.ErrPositionLost)
	}
	for try := 0; ; try++ {
		if r, err = within(c, cfg.ConnectTimeout, "SELECT @@GLOBAL.gtid_executed"); err != nil {
			return nil, nil, fmt.Errorf("reading gtid_executed of %s: %w: %w", srv.addr, err, cdc.ErrSource)
		}
		text, _ = r.GetString(0, 0)
		executed, err := parseGTIDSet(srv.flavor, text)
		if err != nil {
			return nil, nil, err
		}
		if executed.contains(s.gset) {
			break
		}
		if missing := s.gset.ownMissing(srv.uuid, executed); missing != "" && try >= ownTries {
			return nil, nil, lostOwn(srv.addr, executed, missing)
		}
		if try == 20 {
			return nil, nil, fmt.Errorf("%s lacks transactions that we have read (it has %s, we have read %s): %w", srv.addr, executed, s.gset, cdc.ErrSource)
		}
		if try == 0 {
			s.src.log.Info("waiting for the host to catch up with what was read already", "host", srv.addr)
		}
		if err := backoff.Sleep(ctx, retryDelay(try)); err != nil {
			return nil, nil, err
		}
	}
	s.hand.mu.Lock()
	s.src.server, s.uuid = srv, srv.uuid // position reads both
	s.hand.mu.Unlock()
	return c, srv, nil
}

// replayDir reads the binlog files of a directory in the order of their names.
func (s *stream) replayDir(ctx context.Context, from start) error {
	s.ctx = ctx
	files, err := binlogFiles(s.src.cfg.BinlogDir)
	if err != nil {
		return err
	}
	pace := pacer{perSecond: s.src.cfg.RowsPerSecond}
	take := func(e event) error {
		if err := s.handle(e); err != nil || s.txn.open {
			return err
		}
		return pace.wait(ctx, s.rowsEnded)
	}
	for _, f := range files {
		name := filepath.Base(f)
		if from.file != "" && compareBinlogs(name, from.file) < 0 {
			continue
		}
		s.rotate(name, 4)
		if err := scanBinlog(ctx, f, take); err != nil {
			return err
		}
		if s.txn.open {
			return fmt.Errorf("%s ends inside a transaction: %w", f, cdc.ErrRefused)
		}
	}
	return io.EOF
}
