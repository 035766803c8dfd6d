package mysql

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/internal/backoff"
)

const (
	flavorMySQL   = "mysql"
	flavorMariaDB = "mariadb"
)

// server is what is known of the server that a connection leads to.
type server struct {
	addr    string
	flavor  string
	version string
	uuid    string
	vars    map[string]string // global variables, names in lower case
	useTLS  bool
	// foldNames: names of databases and tables are told apart without case (lower_case_table_names).
	foldNames bool
}

// gtidOn reports whether every transaction of the server has a GTID.
func (s *server) gtidOn() bool {
	return s.flavor == flavorMariaDB || strings.EqualFold(s.vars["gtid_mode"], "ON")
}

// fullMetadata reports whether table maps carry column names. A session can't change it, so it holds for the log from now on.
func (s *server) fullMetadata() bool { return strings.EqualFold(s.vars["binlog_row_metadata"], "FULL") }

// atLeast compares the version number.
func (s *server) atLeast(v string) bool {
	n, err := gomysql.CompareServerVersions(s.version, v)
	return err == nil && n >= 0
}

// dial connects to one address and authenticates. With ssl-mode=preferred it falls back to a plain connection when the
// server has no TLS.
func dial(ctx context.Context, cfg *Config, addr string) (*client.Conn, bool, error) {
	connect := func(t *tls.Config) (*client.Conn, error) {
		d := net.Dialer{Timeout: cfg.ConnectTimeout, KeepAlive: 15 * time.Second}
		cctx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
		defer cancel()
		return client.ConnectWithDialer(cctx, "tcp", addr, cfg.User, cfg.Password, "", func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := d.DialContext(ctx, network, address)
			if err == nil { // bounds the handshake; the session's own limits come later
				err = c.SetDeadline(time.Now().Add(cfg.ConnectTimeout))
			}
			return c, err
		}, func(c *client.Conn) error {
			c.SetTLSConfig(t)
			c.UnsetCapability(gomysql.CLIENT_DEPRECATE_EOF) // rowQuery relies on the EOF after the column definitions
			c.BufferSize = 256 << 10
			return nil
		})
	}
	t := cfg.TLS
	if t != nil && t.ServerName == "" {
		t = t.Clone()
		t.ServerName, _, _ = net.SplitHostPort(addr)
	}
	c, err := connect(t)
	if err != nil && t != nil && cfg.TLSMode == "preferred" && !isAccessDenied(err) {
		if p, perr := connect(nil); perr == nil {
			c, err, t = p, nil, nil
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("connecting to %s as %s: %w: %w", addr, cfg.User, err, cdc.ErrSource)
	}
	return c, t != nil, c.SetDeadline(time.Time{})
}

// isAccessDenied reports errors that no retry mends.
func isAccessDenied(err error) bool {
	var e *gomysql.MyError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case gomysql.ER_ACCESS_DENIED_ERROR, gomysql.ER_DBACCESS_DENIED_ERROR, gomysql.ER_TABLEACCESS_DENIED_ERROR,
		gomysql.ER_SPECIFIC_ACCESS_DENIED_ERROR, gomysql.ER_MUST_CHANGE_PASSWORD_LOGIN, 3118 /* ER_ACCOUNT_HAS_BEEN_LOCKED */ :
		return true
	}
	return false
}

// connectAny connects to the first of the configured hosts that answers, preferring one, and tries all again with growing
// pauses up to cfg.ConnectRetries times.
func connectAny(ctx context.Context, cfg *Config, prefer string, log *slog.Logger) (*client.Conn, *server, error) {
	hosts := append([]string(nil), cfg.Hosts...)
	for i, h := range hosts {
		if h == prefer {
			hosts[0], hosts[i] = hosts[i], hosts[0]
		}
	}
	var last error
	for try := 0; ; try++ {
		for _, h := range hosts {
			c, useTLS, err := dial(ctx, cfg, h)
			if err == nil {
				var s *server
				stop := closeOn(ctx, socket(rawConn(c)))
				s, err = describeServer(c, h, cfg.ConnectTimeout)
				if stop(); err == nil {
					s.useTLS = useTLS
					return c, s, nil
				}
				_ = c.Close()
			}
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			last = err
			log.Warn("no connection", "host", h, "error", err.Error())
		}
		if try >= cfg.ConnectRetries || isAccessDenied(last) {
			return nil, nil, last
		}
		if err := backoff.Sleep(ctx, retryDelay(try)); err != nil {
			return nil, nil, err
		}
	}
}

// retryDelay is the pause before connecting again.
func retryDelay(try int) time.Duration {
	return backoff.Delay(200*time.Millisecond, 10*time.Second, try)
}

// within runs a query that a server answers at once: it must not hang when the network is gone.
func within(c *client.Conn, limit time.Duration, query string) (*gomysql.Result, error) {
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	r, err := c.Execute(query)
	if err != nil {
		return nil, err
	}
	return r, c.SetDeadline(time.Time{})
}

// describeServer reads the server's identity and variables.
func describeServer(c *client.Conn, addr string, limit time.Duration) (*server, error) {
	s := &server{addr: addr, flavor: flavorMySQL, version: c.GetServerVersion(), vars: map[string]string{}}
	if strings.Contains(strings.ToLower(s.version), "mariadb") {
		s.flavor = flavorMariaDB
	}
	r, err := within(c, limit, "SHOW GLOBAL VARIABLES")
	if err != nil {
		return nil, fmt.Errorf("reading the variables of %s: %w: %w", addr, err, cdc.ErrSource)
	}
	for i := range r.Values {
		k, _ := r.GetString(i, 0)
		v, _ := r.GetString(i, 1)
		s.vars[strings.ToLower(k)] = v
	}
	s.foldNames = s.vars["lower_case_table_names"] != "0" && s.vars["lower_case_table_names"] != ""
	s.uuid = s.vars["server_uuid"]
	if s.uuid == "" {
		s.uuid = s.vars["server_uid"] // MariaDB
	}
	return s, nil
}

// session prepares a connection that reads rows: text in utf8mb4, TIMESTAMP as UTC, and time to write slowly.
func session(c *client.Conn) error {
	for _, q := range []string{
		"SET NAMES utf8mb4", "SET SESSION sql_mode = ''", "SET time_zone = '+00:00'", "SET SESSION net_write_timeout = 3600",
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
	} {
		if _, err := c.Execute(q); err != nil {
			return fmt.Errorf("%s: %w: %w", q, err, cdc.ErrSource)
		}
	}
	return nil
}

// logEnd returns the server's current end of the log.
func logEnd(c *client.Conn, s *server) (*Position, error) {
	q := "SHOW MASTER STATUS"
	if s.flavor == flavorMySQL && s.atLeast("8.4.0") {
		q = "SHOW BINARY LOG STATUS"
	}
	r, err := c.Execute(q)
	if err != nil {
		return nil, fmt.Errorf("%s on %s (grant REPLICATION CLIENT): %w: %w", q, s.addr, err, cdc.ErrSource)
	}
	if len(r.Values) == 0 {
		return nil, fmt.Errorf("%s has no binary log: set log_bin: %w", s.addr, cdc.ErrSource)
	}
	p := &Position{Flavor: s.flavor, ServerUUID: s.uuid}
	p.File, _ = r.GetString(0, 0)
	n, _ := r.GetUint(0, 1)
	p.Pos = n
	if !s.gtidOn() {
		return p, nil
	}
	q = "SELECT @@GLOBAL.gtid_executed"
	if s.flavor == flavorMariaDB {
		q = "SELECT @@GLOBAL.gtid_binlog_pos"
	}
	if r, err = c.Execute(q); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", q, err, cdc.ErrSource)
	}
	p.GTID, _ = r.GetString(0, 0)
	p.GTID = strings.ReplaceAll(p.GTID, "\n", "")
	return p, nil
}

// snapshotStart is a point of a MariaDB server's log at or before what a SELECT sees from now on. The end of the log is not:
// there a transaction is in the log before others see its rows.
func snapshotStart(c *client.Conn, s *server) (*Position, error) {
	const repeatable, committed = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
	if _, err := c.Execute(repeatable); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", repeatable, err, cdc.ErrSource)
	}
	p, err := openView(c, s)
	if err == nil {
		err = p.nameGTID(c)
	}
	if err != nil {
		return nil, err
	}
	for _, q := range []string{"COMMIT", committed} {
		if _, err := c.Execute(q); err != nil {
			return nil, fmt.Errorf("%s: %w: %w", q, err, cdc.ErrSource)
		}
	}
	return p, nil
}

// openView begins a transaction of isolation REPEATABLE READ on a MariaDB server, and returns the place of the log up to which
// it sees all, and nothing after.
func openView(c *client.Conn, s *server) (*Position, error) {
	ask := func(q string) (*gomysql.Result, error) {
		r, err := c.Execute(q)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", q, err, cdc.ErrSource)
		}
		return r, nil
	}
	if _, err := ask("START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
		return nil, err
	}
	r, err := ask("SHOW STATUS LIKE 'binlog_snapshot_%'")
	if err != nil {
		return nil, err
	}
	p := &Position{Flavor: s.flavor, ServerUUID: s.uuid}
	for i := range r.Values {
		name, _ := r.GetString(i, 0)
		switch strings.ToLower(name) {
		case "binlog_snapshot_file":
			p.File, _ = r.GetString(i, 1)
		case "binlog_snapshot_position":
			v, _ := r.GetString(i, 1)
			p.Pos, _ = strconv.ParseUint(v, 10, 64)
		}
	}
	if p.File == "" || p.Pos == 0 {
		return nil, fmt.Errorf("%s does not tell where its log is (SHOW STATUS LIKE 'binlog_snapshot_%%'): %w", s.addr, cdc.ErrSource)
	}
	return p, nil
}

// nameGTID asks a MariaDB server for the transactions before a place of its log.
func (p *Position) nameGTID(c *client.Conn) error {
	const q = "SELECT BINLOG_GTID_POS(?, ?)"
	r, err := c.Execute(q, p.File, p.Pos)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", q, err, cdc.ErrSource)
	}
	p.GTID, _ = r.GetString(0, 0)
	return nil
}

// serverZone resolves the zone in which TIMESTAMP values are shown.
func serverZone(cfg *Config, s *server) (*time.Location, error) {
	name := cfg.ServerZone
	if name == "" {
		if name = s.vars["time_zone"]; strings.EqualFold(name, "SYSTEM") || name == "" {
			name = s.vars["system_time_zone"]
		}
	}
	if name == "" || strings.EqualFold(name, "UTC") || strings.EqualFold(name, "GMT") || strings.EqualFold(name, "Z") {
		return time.UTC, nil
	}
	if t, err := time.Parse("-07:00", strings.TrimPrefix(name, "GMT")); err == nil {
		_, off := t.Zone()
		return time.FixedZone(name, off), nil
	}
	if len(name) > 4 || strings.Contains(name, "/") {
		if z, err := time.LoadLocation(name); err == nil {
			return z, nil
		}
	}
	return nil, fmt.Errorf("the time zone %q is ambiguous or unknown: give --mysql_conf server-time-zone as a name such as Asia/Shanghai or an offset such as +08:00: %w", name, cdc.ErrUsage)
}
