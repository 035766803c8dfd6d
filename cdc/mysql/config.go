package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/paimon-go/paimon-go/cdc"
)

// Startup is where a job without a saved position begins (scan.startup.mode).
type Startup string

// The startup modes of Flink CDC.
const (
	StartInitial   Startup = "initial"         // read the table, then the log
	StartEarliest  Startup = "earliest-offset" // the oldest log that the server has
	StartLatest    Startup = "latest-offset"   // changes from now on
	StartSpecific  Startup = "specific-offset" // a file and position, or a GTID set
	StartTimestamp Startup = "timestamp"       // the first transaction committed at or after a time
	StartSnapshot  Startup = "snapshot"        // read the table, then end
)

// Config is what a Source needs; ParseConf makes it from the settings of --mysql_conf.
type Config struct {
	// Hosts are host:port addresses, tried in order; the first that works and has our transactions is used.
	Hosts    []string
	User     string
	Password string
	Database string
	Table    string
	// BinlogDir is a directory of binlog files to replay in place of a server.
	BinlogDir string
	// RowsPerSecond is the pace of such a replay in changed rows of the table; 0 is as fast as it goes.
	RowsPerSecond int64

	ServerID   uint32
	ServerZone string // server-time-zone, empty: the server's own
	TLS        *tls.Config
	TLSMode    string // disabled, preferred, required, verify-ca, verify-identity

	Startup     Startup
	StartFile   string
	StartPos    uint32
	StartGTID   string
	StartMillis int64
	SkipGTID    string // transactions to pass over

	// StopAtLatest ends the source at the position that the server had when it was opened.
	StopAtLatest bool

	ChunkRows      int           // scan.incremental.snapshot.chunk.size: rows of one page
	Readers        int           // connections that read the table
	ConnectTimeout time.Duration // connect.timeout
	ConnectRetries int           // connect.max-retries
	Heartbeat      time.Duration // heartbeat.interval

	// Gather is how long rows of the log may wait for more before Next gives them, or in the server's connection while few come; 0: not
	// at all. Next's context ends the first.
	Gather time.Duration

	// LowerNames: the table's columns have the source's names in lower case.
	LowerNames bool
	Types      TypeOptions
	Values     ValueOptions
}

// confKeys lists the settings that ParseConf takes, with what stands for "accepted without effect here" and why.
var confKeys = map[string]string{
	"hostname": "", "port": "", "username": "", "password": "", "password-file": "", "password-env": "",
	"database-name": "", "table-name": "", "binlog-dir": "", "binlog-dir.rows-per-second": "", "server-id": "", "server-time-zone": "",
	"scan.startup.mode": "", "scan.startup.specific-offset.file": "", "scan.startup.specific-offset.pos": "",
	"scan.startup.specific-offset.gtid-set": "", "scan.startup.specific-offset.skip-events": "",
	"scan.startup.specific-offset.skip-rows": "", "scan.startup.timestamp-millis": "",
	"scan.incremental.snapshot.chunk.size": "", "connect.timeout": "", "connect.max-retries": "",
	"connection.pool.size": "", "heartbeat.interval": "", "skip-gtid-set": "",
	"time-out-of-range": "", "zero-date": "", "invalid-chars": "",
	"jdbc.properties.useSSL": "", "jdbc.properties.sslMode": "", "jdbc.properties.requireSSL": "",
	"jdbc.properties.verifyServerCertificate": "", "jdbc.properties.trustCertificateKeyStoreUrl": "",
	"jdbc.properties.tinyInt1isBit": "", "jdbc.properties.useInformationSchema": "always on here",
	"ssl-mode": "", "ssl-ca": "", "ssl-cert": "", "ssl-key": "",
	"scan.snapshot.fetch.size":                                "pages are streamed here",
	"scan.incremental.snapshot.enabled":                       "always on here",
	"scan.incremental.snapshot.chunk.key-column":              "the whole primary key is used here",
	"scan.incremental.close-idle-reader.enabled":              "there is one reader process here",
	"scan.incremental.snapshot.backfill.skip":                 "there is no backfill here",
	"scan.incremental.snapshot.unbounded-chunk-first.enabled": "chunks are never held in memory here",
	"scan.newly-added-table.enabled":                          "one table is read here",
	"scan.parse.online.schema.changes.enabled":                "a cut-over stops the job here",
	"chunk-meta.group.size":                                   "there is no coordinator here",
	"chunk-key.even-distribution.factor.upper-bound":          "the server chooses the split points here",
	"chunk-key.even-distribution.factor.lower-bound":          "the server chooses the split points here",
	"use.legacy.json.format":                                  "JSON is MySQL's own text here",
}

// ParseConf reads the settings of --mysql_conf, Flink CDC's names. Notes are settings that have no effect here, for the log.
// Every error is a cdc.ErrUsage.
func ParseConf(conf map[string]string) (cfg Config, notes []string, err error) {
	p := confParser{conf: conf}
	cfg = Config{
		User: conf["username"], Database: conf["database-name"], Table: conf["table-name"], BinlogDir: conf["binlog-dir"],
		RowsPerSecond: p.number("binlog-dir.rows-per-second", 0, 1, 1e9),
		ServerZone:    conf["server-time-zone"], Startup: Startup(p.oneOf("scan.startup.mode", "initial", "initial", "earliest-offset",
			"latest-offset", "specific-offset", "timestamp", "snapshot")),
		StartFile: conf["scan.startup.specific-offset.file"], StartGTID: conf["scan.startup.specific-offset.gtid-set"],
		StartPos: uint32(p.number("scan.startup.specific-offset.pos", 4, 0, 1<<32-1)), SkipGTID: conf["skip-gtid-set"],
		StartMillis:    p.number("scan.startup.timestamp-millis", 0, 0, 1<<60),
		ChunkRows:      int(p.number("scan.incremental.snapshot.chunk.size", 8096, 2, 10_000_000)),
		Readers:        int(p.number("connection.pool.size", 4, 1, 1000)),
		ConnectTimeout: p.duration("connect.timeout", 30*time.Second),
		ConnectRetries: int(p.number("connect.max-retries", 3, 0, 1<<30)),
		Heartbeat:      p.duration("heartbeat.interval", 30*time.Second),
	}
	cfg.Readers = min(cfg.Readers, 4) // more connections than this only load the server
	for k := range conf {
		note, known := confKeys[k]
		switch {
		case known && note != "":
			notes = append(notes, fmt.Sprintf("--mysql_conf %s has no effect: %s", k, note))
		case known:
		case strings.HasPrefix(k, "jdbc.properties."), strings.HasPrefix(k, "debezium."):
			notes = append(notes, fmt.Sprintf("--mysql_conf %s is for the Java driver and has no effect", k))
		default:
			p.fail("--mysql_conf %s is not known%s", k, nearest(k))
		}
	}
	sort.Strings(notes)
	p.hosts(&cfg)
	p.serverID(&cfg)
	p.startup(&cfg)
	p.password(&cfg)
	p.tls(&cfg)
	p.policies(&cfg)
	for _, n := range []struct{ key, value string }{{"database-name", cfg.Database}, {"table-name", cfg.Table}} {
		if n.value == "" {
			p.fail("--mysql_conf %s is required", n.key)
		} else if cfg.BinlogDir == "" && !plainName.MatchString(n.value) {
			p.fail("--mysql_conf %s=%s: patterns that match several tables are not supported, give one name", n.key, n.value)
		}
	}
	return cfg, notes, p.err
}

// plainName is a name that is not a pattern; a dot may be escaped as patterns need it.
var plainName = regexp.MustCompile(`^[^*+?()|\[\]{}^]+$`)

// nearest suggests the known setting that is most like k.
func nearest(k string) string {
	best, bestN := "", 0
	for c := range confKeys {
		n := 0
		for n < len(c) && n < len(k) && c[n] == k[n] {
			n++
		}
		m := 0
		for m < len(c)-n && m < len(k)-n && c[len(c)-1-m] == k[len(k)-1-m] {
			m++
		}
		if n+m > bestN || n+m == bestN && c < best {
			best, bestN = c, n+m
		}
	}
	if bestN*2 < len(k) {
		return ""
	}
	return fmt.Sprintf(", did you mean %s?", best)
}

// confParser collects the first error.
type confParser struct {
	conf map[string]string
	err  error
}

func (p *confParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format+": %w", append(args, cdc.ErrUsage)...)
	}
}

func (p *confParser) oneOf(key, def string, allowed ...string) string {
	v := p.conf[key]
	if v == "" {
		return def
	}
	for _, a := range allowed {
		if strings.EqualFold(a, v) {
			return a
		}
	}
	p.fail("--mysql_conf %s=%s is not one of %s", key, v, strings.Join(allowed, ", "))
	return def
}

func (p *confParser) number(key string, def, lo, hi int64) int64 {
	v := p.conf[key]
	if v == "" {
		return def
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil || n < lo || n > hi {
		p.fail("--mysql_conf %s=%s is not a number from %d to %d", key, v, lo, hi)
		return def
	}
	return n
}

var durationText = regexp.MustCompile(`^(\d+)\s*([a-zµ]*)$`)

// duration reads "30s", "30 s", "PT30S" and plain milliseconds.
func (p *confParser) duration(key string, def time.Duration) time.Duration {
	v := strings.ToLower(strings.TrimSpace(p.conf[key]))
	if v == "" {
		return def
	}
	units := map[string]time.Duration{"": time.Millisecond, "ms": time.Millisecond, "s": time.Second, "sec": time.Second,
		"second": time.Second, "seconds": time.Second, "m": time.Minute, "min": time.Minute, "minute": time.Minute,
		"minutes": time.Minute, "h": time.Hour, "hour": time.Hour, "hours": time.Hour, "d": 24 * time.Hour}
	m := durationText.FindStringSubmatch(strings.TrimPrefix(v, "pt"))
	if m != nil {
		if unit, ok := units[m[2]]; ok {
			if n, err := strconv.ParseInt(m[1], 10, 32); err == nil {
				return time.Duration(n) * unit
			}
		}
	}
	p.fail("--mysql_conf %s=%s is not a time such as 30s", key, p.conf[key])
	return def
}

func (p *confParser) hosts(cfg *Config) {
	host := p.conf["hostname"]
	if (host == "") == (cfg.BinlogDir == "") {
		p.fail("one of --mysql_conf hostname and --mysql_conf binlog-dir is required")
		return
	}
	if cfg.RowsPerSecond > 0 && cfg.BinlogDir == "" {
		p.fail("--mysql_conf binlog-dir.rows-per-second is the pace of a replay and needs binlog-dir, not hostname")
	}
	port := p.number("port", 3306, 1, 65535)
	for h := range strings.SplitSeq(host, ",") {
		h = strings.TrimSpace(h)
		if h == "" {
			continue
		}
		if i := strings.LastIndexByte(h, ':'); i < 0 || strings.HasSuffix(h, "]") {
			h = fmt.Sprintf("%s:%d", h, port)
		}
		cfg.Hosts = append(cfg.Hosts, h)
	}
	if cfg.BinlogDir == "" && cfg.User == "" {
		p.fail("--mysql_conf username is required")
	}
}

// serverID takes a number or the first of a range, as "5400-6400".
func (p *confParser) serverID(cfg *Config) {
	v := p.conf["server-id"]
	if v == "" {
		return
	}
	first, _, _ := strings.Cut(v, "-")
	n, err := strconv.ParseUint(strings.TrimSpace(first), 10, 32)
	if err != nil || n == 0 {
		p.fail("--mysql_conf server-id=%s is not a number from 1 to 4294967295 or a range of them", v)
		return
	}
	cfg.ServerID = uint32(n)
}

func (p *confParser) startup(cfg *Config) {
	switch cfg.Startup {
	case StartSpecific:
		if (cfg.StartFile == "") == (cfg.StartGTID == "") {
			p.fail("scan.startup.mode=specific-offset needs scan.startup.specific-offset.file (with .pos) or .gtid-set")
		}
		for _, k := range []string{"skip-events", "skip-rows"} {
			if k = "scan.startup.specific-offset." + k; p.number(k, 0, 0, 1<<40) > 0 {
				p.fail("--mysql_conf %s is not supported: leave it out, and the transaction at the offset is read from its start (its rows are written by key, so those that are in the table already stay right)", k)
			}
		}
	case StartTimestamp:
		if p.conf["scan.startup.timestamp-millis"] == "" {
			p.fail("scan.startup.mode=timestamp needs scan.startup.timestamp-millis")
		}
	}
	if cfg.BinlogDir != "" && cfg.Startup != StartInitial && cfg.Startup != StartEarliest && cfg.Startup != StartSpecific {
		p.fail("scan.startup.mode=%s needs a server, not binlog-dir", cfg.Startup)
	}
}

// password takes it from one of three places; it is never part of an error.
func (p *confParser) password(cfg *Config) {
	cfg.Password = p.conf["password"]
	if f := p.conf["password-file"]; f != "" {
		b, err := os.ReadFile(f)
		if err != nil {
			p.fail("--mysql_conf password-file: %v", err)
		}
		cfg.Password = strings.TrimRight(string(b), "\r\n")
	}
	if e := p.conf["password-env"]; e != "" {
		v, ok := os.LookupEnv(e)
		if !ok {
			p.fail("--mysql_conf password-env=%s: there is no such environment variable", e)
		}
		cfg.Password = v
	}
}

// tls understands MySQL's own names (ssl-mode and so on) and the JDBC driver's (jdbc.properties.sslMode, useSSL...).
func (p *confParser) tls(cfg *Config) {
	mode := strings.ToLower(strings.ReplaceAll(p.conf["ssl-mode"], "_", "-"))
	if mode == "" {
		mode = strings.ToLower(strings.ReplaceAll(p.conf["jdbc.properties.sslMode"], "_", "-"))
	}
	if mode == "" {
		switch {
		case strings.EqualFold(p.conf["jdbc.properties.useSSL"], "false"):
			mode = "disabled"
		case strings.EqualFold(p.conf["jdbc.properties.verifyServerCertificate"], "true"):
			mode = "verify-ca"
		case strings.EqualFold(p.conf["jdbc.properties.requireSSL"], "true"), strings.EqualFold(p.conf["jdbc.properties.useSSL"], "true"):
			mode = "required"
		default:
			mode = "preferred"
		}
	}
	switch mode {
	case "disabled", "preferred", "required", "verify-ca", "verify-identity":
	default:
		p.fail("ssl-mode %s is not one of disabled, preferred, required, verify-ca, verify-identity", mode)
		return
	}
	cfg.TLSMode = mode
	if mode == "disabled" {
		return
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: mode != "verify-identity"} // #nosec G402 -- as asked for
	if ca := p.conf["ssl-ca"]; ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			p.fail("--mysql_conf ssl-ca: %v", err)
			return
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			p.fail("--mysql_conf ssl-ca=%s holds no PEM certificate", ca)
		}
	}
	if mode == "verify-ca" {
		roots := t.RootCAs
		t.VerifyConnection = func(s tls.ConnectionState) error { return verifyChain(s, roots) }
	}
	if cert, key := p.conf["ssl-cert"], p.conf["ssl-key"]; cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			p.fail("--mysql_conf ssl-cert and ssl-key: %v", err)
			return
		}
		t.Certificates = []tls.Certificate{pair}
	}
	cfg.TLS = t
}

// verifyChain checks the certificates of a server without its name (verify-ca).
func verifyChain(s tls.ConnectionState, roots *x509.CertPool) error {
	inter := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		inter.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: inter})
	return err
}

// policies reads what becomes of values that Paimon's types can't hold as they are.
func (p *confParser) policies(cfg *Config) {
	switch p.oneOf("time-out-of-range", "error", "error", "clamp", "modulo", "string") {
	case "clamp":
		cfg.Values.Time = TimeClamp
	case "modulo":
		cfg.Values.Time = TimeModulo
	case "string":
		cfg.Types.TimeAsString = true
	}
	switch p.oneOf("zero-date", "null", "null", "epoch", "fail") {
	case "epoch":
		cfg.Values.ZeroDate = ZeroDateEpoch
	case "fail":
		cfg.Values.ZeroDate = ZeroDateError
	}
	switch p.oneOf("invalid-chars", "replace", "replace", "fail", "keep-bytes") {
	case "fail":
		cfg.Values.Invalid = InvalidError
	case "keep-bytes":
		cfg.Values.Invalid = InvalidKeep
	}
	if strings.EqualFold(p.conf["jdbc.properties.tinyInt1isBit"], "false") {
		cfg.Types.TinyInt1NotBool = true
	}
}
