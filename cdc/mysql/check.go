package mysql

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/paimon-go/paimon-go/cdc"
)

// Finding is something that a source server lacks or that its user should know.
type Finding struct {
	// Fatal findings keep a job from starting.
	Fatal bool
	What  string
	// Remedy is the statement or setting that mends it.
	Remedy string
	cause  error
}

// Err makes an error of a fatal finding.
func (f Finding) Err(addr string) error {
	cause := f.cause
	if cause == nil {
		cause = cdc.ErrSource
	}
	return fmt.Errorf("%s: %s; remedy: %s: %w", addr, f.What, f.Remedy, cause)
}

// checkServer looks at what a server must have before its log can be followed.
func checkServer(c *client.Conn, s *server, cfg *Config) []Finding {
	var fs []Finding
	if cfg.Startup != StartSnapshot {
		fs = append(checkVariables(s, isReplica(c, s)), checkFilters(c, s, cfg)...)
	}
	return append(fs, checkGrants(c, cfg)...)
}

// checkVariables looks at the settings of the log.
func checkVariables(s *server, replica bool) []Finding {
	var fs []Finding
	fatal := func(what, remedy string) { fs = append(fs, Finding{Fatal: true, What: what, Remedy: remedy}) }
	warn := func(what, remedy string) { fs = append(fs, Finding{What: what, Remedy: remedy}) }
	if !isOn(s.vars["log_bin"]) {
		fatal("the server writes no binary log (log_bin is OFF)", "start the server with --log-bin")
	}
	if f := s.vars["binlog_format"]; f != "" && !strings.EqualFold(f, "ROW") {
		fatal("binlog_format is "+f+", not ROW: statements can't be replayed into a table", "SET PERSIST binlog_format = 'ROW' and reconnect the applications")
	}
	if f := s.vars["binlog_row_image"]; f != "" && !strings.EqualFold(f, "FULL") {
		fatal("binlog_row_image is "+f+", not FULL: changes lack the columns that they don't change", "SET PERSIST binlog_row_image = 'FULL' and reconnect the applications")
	}
	if v := s.vars["binlog_row_value_options"]; v != "" {
		fatal("binlog_row_value_options is "+v+": JSON changes are logged in part", "SET PERSIST binlog_row_value_options = '' and reconnect the applications")
	}
	replicaUpdates := s.vars["log_replica_updates"]
	if replicaUpdates == "" {
		replicaUpdates = s.vars["log_slave_updates"]
	}
	if replica && !isOn(replicaUpdates) {
		fatal("the server is a replica that doesn't log what it applies (log_replica_updates is OFF)", "start the server with --log-replica-updates")
	}
	checkRetention(s, warn)
	if !s.gtidOn() {
		warn("gtid_mode is OFF: the job can't move to another replica", "turn on gtid_mode (see the server's manual: enforce_gtid_consistency, then OFF_PERMISSIVE, ON_PERMISSIVE, ON)")
	}
	if !s.fullMetadata() {
		warn("binlog_row_metadata is not FULL: the log doesn't name its columns, and a change of the table while the job is stopped can stop it", "SET PERSIST binlog_row_metadata = 'FULL'")
	}
	return fs
}

func isOn(v string) bool { return strings.EqualFold(v, "ON") || v == "1" }

func isReplica(c *client.Conn, s *server) bool {
	q := "SHOW SLAVE STATUS"
	if s.flavor == flavorMySQL && s.atLeast("8.0.22") {
		q = "SHOW REPLICA STATUS"
	}
	r, err := c.Execute(q)
	return err == nil && len(r.Values) > 0
}

func checkRetention(s *server, warn func(what, remedy string)) {
	seconds, err := strconv.ParseFloat(s.vars["binlog_expire_logs_seconds"], 64)
	if err != nil || seconds == 0 {
		days, derr := strconv.ParseFloat(s.vars["expire_logs_days"], 64)
		if derr != nil {
			return
		}
		seconds = days * 86400
	}
	if seconds > 0 && seconds < 86400 {
		warn(fmt.Sprintf("the binary log is kept for %.1f hours only: a job that is down for longer has to read the table anew", seconds/3600),
			"SET PERSIST binlog_expire_logs_seconds = 604800")
	}
}

// checkFilters looks for --binlog-do-db and --binlog-ignore-db, with which a database silently yields nothing.
func checkFilters(c *client.Conn, s *server, cfg *Config) []Finding {
	q := "SHOW MASTER STATUS"
	if s.flavor == flavorMySQL && s.atLeast("8.4.0") {
		q = "SHOW BINARY LOG STATUS"
	}
	r, err := c.Execute(q)
	if err != nil {
		return []Finding{{Fatal: true, What: fmt.Sprintf("the position of the binary log can't be read: %v", err),
			Remedy: fmt.Sprintf("GRANT REPLICATION CLIENT ON *.* TO %s", accountText(cfg))}}
	}
	if len(r.Values) == 0 {
		return nil // reported as log_bin
	}
	do, _ := r.GetString(0, 2)
	ignore, _ := r.GetString(0, 3)
	has := func(list string) bool {
		for n := range strings.SplitSeq(list, ",") {
			if n == cfg.Database {
				return true
			}
		}
		return false
	}
	if do != "" && !has(do) || has(ignore) {
		return []Finding{{Fatal: true, What: fmt.Sprintf("the server doesn't log database %s (binlog-do-db or binlog-ignore-db)", cfg.Database), Remedy: "start the server without that filter"}}
	}
	return nil
}

func accountText(cfg *Config) string { return "'" + cfg.User + "'@'...'" }

// checkGrants looks for the privileges that following the log needs.
func checkGrants(c *client.Conn, cfg *Config) []Finding {
	r, err := c.Execute("SHOW GRANTS")
	if err != nil {
		return nil // the privileges show when they are used
	}
	all := ""
	for i := range r.Values {
		g, _ := r.GetString(i, 0)
		all += strings.ToUpper(g) + "\n"
	}
	var fs []Finding
	need := func(privilege string, names ...string) {
		if strings.Contains(all, "ALL PRIVILEGES ON *.*") || strings.Contains(all, "GRANT `") { // a role may have it
			return
		}
		for _, n := range names {
			if strings.Contains(all, n) {
				return
			}
		}
		fs = append(fs, Finding{Fatal: true, What: fmt.Sprintf("user %s lacks the privilege %s", cfg.User, privilege),
			Remedy: fmt.Sprintf("GRANT %s ON *.* TO %s", privilege, accountText(cfg))})
	}
	if cfg.Startup != StartSnapshot {
		need("REPLICATION SLAVE", "REPLICATION SLAVE", "REPLICATION REPLICA")
		need("REPLICATION CLIENT", "REPLICATION CLIENT", "BINLOG MONITOR", "SUPER")
	}
	return fs
}

// checkTable looks at the watched table: a key, an engine with transactions, and foreign keys whose effects are not logged.
func checkTable(c *client.Conn, s *server, t *TableInfo) []Finding {
	var fs []Finding
	if len(t.PrimaryKey) == 0 {
		fs = append(fs, Finding{Fatal: true, What: fmt.Sprintf("table %s.%s has no primary key", t.Database, t.Name),
			Remedy: "add a primary key, or name a unique set of NOT NULL columns with --primary_keys", cause: cdc.ErrUsage})
	}
	r, err := c.Execute(`SELECT CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS
		WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME = ?`, t.Database, t.Name)
	if err != nil {
		return fs
	}
	for i := range r.Values {
		name, _ := r.GetString(i, 0)
		up, _ := r.GetString(i, 1)
		del, _ := r.GetString(i, 2)
		for _, rule := range []string{"UPDATE " + up, "DELETE " + del} {
			if strings.HasSuffix(rule, "CASCADE") || strings.HasSuffix(rule, "SET NULL") {
				fs = append(fs, Finding{What: fmt.Sprintf("foreign key %s of %s.%s has ON %s: the server changes these rows inside the engine and may not log it, so the table here would keep the old rows",
					name, t.Database, t.Name, rule), Remedy: fmt.Sprintf("ALTER TABLE %s.%s DROP FOREIGN KEY %s, and let the application change the rows", quoteName(t.Database), quoteName(t.Name), quoteName(name))})
			}
		}
	}
	return fs
}

// CheckSource connects and makes all checks without starting anything. It returns a line about the server and what it
// lacks; the error is one of connecting.
func CheckSource(ctx context.Context, cfg Config, log *slog.Logger) (string, []Finding, error) {
	if cfg.BinlogDir != "" {
		s, err := Open(ctx, cfg, "", log)
		if err != nil {
			return "", nil, err
		}
		return fmt.Sprintf("binlog files in %s with %d columns of %s.%s", cfg.BinlogDir, len(s.table.Columns), cfg.Database, cfg.Table), nil, s.Close()
	}
	c, srv, err := connectAny(ctx, &cfg, "", log)
	if err != nil {
		return "", nil, err
	}
	defer c.Close()
	defer interruptOn(ctx, c)()
	if err := session(c); err != nil {
		return "", nil, err
	}
	findings := checkServer(c, srv, &cfg)
	t, err := readTable(c, cfg.Database, cfg.Table)
	if err != nil {
		findings = append(findings, Finding{Fatal: true, What: err.Error(), Remedy: fmt.Sprintf("create the table, or GRANT SELECT ON %s.* TO %s", quoteName(cfg.Database), accountText(&cfg))})
	} else {
		findings = append(findings, checkTable(c, srv, t)...)
		for i := range t.Columns {
			if _, err := PaimonType(t.Columns[i], cfg.Types); err != nil {
				findings = append(findings, Finding{Fatal: true, What: err.Error(), Remedy: "drop the column, or map its type with --type_mapping to-string"})
			}
		}
	}
	if _, err := serverZone(&cfg, srv); err != nil {
		findings = append(findings, Finding{Fatal: true, What: err.Error(), Remedy: "--mysql_conf server-time-zone=..."})
	}
	return fmt.Sprintf("%s is %s %s, GTIDs %v, row metadata %s, TLS %v", srv.addr, srv.flavor, srv.version, srv.gtidOn(), srv.vars["binlog_row_metadata"], srv.useTLS), findings, nil
}
