package main

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The sides.
const (
	ours   = "ours"
	action = "action" // mysql_sync_table by Flink
	sql    = "sql"    // a mysql-cdc source and INSERT INTO by Flink
)

// setting is what a run does.
type setting struct {
	Phase    string        `json:"phase"`
	Side     string        `json:"side"`
	Format   string        `json:"format"`
	Producer string        `json:"changelog_producer"`
	Merged   bool          `json:"merged"`
	Compact  bool          `json:"compaction_beside"`
	Tick     time.Duration `json:"tick"`
	Extra    string        `json:"extra,omitempty"` // further options of tables, sources and Flink
}

func (s *setting) String() string {
	words := []string{s.Phase, s.Side, s.Format, "changelog-producer=" + s.Producer, "tick " + s.Tick.String()}
	if s.Merged {
		words = append(words, "precommit-compact")
	}
	if s.Compact {
		words = append(words, "compaction beside")
	}
	if s.Extra != "" {
		words = append(words, s.Extra)
	}
	return strings.Join(words, ", ")
}

// tableConf are the guide's options.
func (s *setting) tableConf(more []string) []string {
	c := []string{"bucket=4", "write-only=true", "write-buffer-size=256 mb", "num-sorted-run.stop-trigger=2147483647", "sort-spill-threshold=10",
		"file.format=" + s.Format, "file.compression=zstd", "file.compression.zstd-level=3", "changelog-producer=" + s.Producer}
	if s.Merged {
		c = append(c, "precommit-compact=true")
	}
	return append(c, more...)
}

// tools are where programs, servers and settings are.
type tools struct {
	bin, flink         string // directories of our programs and of Flink's jars
	heap               string
	parallelism        int
	scratch            string
	addr, user, secret string // of MySQL
	hadoopConf         string // directory, or empty
	listen             string // of our sink's metrics and profiles, or empty
	conf, mysqlConf    []string
	flinkConf          []string
}

// from is where a job starts in the log; the zero value is an initial read.
type from struct {
	file string
	pos  int64
}

func (t *tools) source() []string {
	host, port, _ := net.SplitHostPort(t.addr)
	return []string{"hostname=" + host, "port=" + port, "username=" + t.user, "password=" + t.secret, "database-name=" + database,
		"table-name=" + tableName, "server-time-zone=UTC", "jdbc.properties.useSSL=false"}
}

// sink starts the job that brings MySQL's changes into the table.
func (t *tools) sink(s *setting, warehouse, name string, at from) (*process, error) {
	if s.Side == ours {
		argv := []string{filepath.Join(t.bin, "paimon-go-sink"), "mysql_sync_table", "--primary_keys", "dt,id", "--partition_keys", "dt", "--commit_interval", s.Tick.String()}
		if t.listen != "" {
			argv = append(argv, "--listen", t.listen)
		}
		return t.ours(name, warehouse, append(append(argv, flags("--mysql_conf", t.source())...), flags("--table_conf", s.tableConf(t.conf))...))
	}
	source := append(t.source(), "server-id=5401-5416", "jdbc.properties.allowPublicKeyRetrieval=true", "jdbc.properties.queryInterceptors=MasterStatus")
	if at.file != "" {
		source = append(source, "scan.startup.mode=specific-offset", "scan.startup.specific-offset.file="+at.file, "scan.startup.specific-offset.pos="+strconv.FormatInt(at.pos, 10))
	}
	return t.java(s, name, warehouse, s.Side, append(flags("--mysql", append(source, t.mysqlConf...)), flags("--table-conf", s.tableConf(t.conf))...))
}

// compaction starts the dedicated compaction of the same maker.
func (t *tools) compaction(s *setting, warehouse, name string) (*process, error) {
	if s.Side == ours {
		return t.ours(name, warehouse, []string{filepath.Join(t.bin, "paimon-go-compact"), "compact"})
	}
	return t.java(s, name, warehouse, "compact", nil)
}

func flags(name string, values []string) []string {
	out := make([]string, 0, 2*len(values))
	for _, v := range values {
		out = append(out, name, v)
	}
	return out
}

func (t *tools) ours(name, warehouse string, argv []string) (*process, error) {
	argv = append(argv, "--warehouse", warehouse, "--database", database, "--table", tableName)
	if t.hadoopConf != "" {
		argv = append(argv, "--catalog_conf", "hadoop-conf-dir="+t.hadoopConf)
	}
	return launch(filepath.Join(t.scratch, name+".log"), nil, argv...)
}

// opens are what Flink's own scripts give to Java 17.
const opens = "lang net io nio lang.reflect text time util util.concurrent util.concurrent.atomic util.concurrent.locks"

func (t *tools) java(s *setting, name, warehouse, job string, more []string) (*process, error) {
	if !strings.Contains(warehouse, ":") {
		warehouse = "file:" + warehouse
	}
	argv := []string{"java", "-Xmx" + t.heap, "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-exports=java.base/sun.net.util=ALL-UNNAMED"}
	for p := range strings.SplitSeq(opens, " ") {
		argv = append(argv, "--add-opens=java.base/java."+p+"=ALL-UNNAMED")
	}
	argv = append(argv, "-Djava.io.tmpdir="+t.scratch, "-cp", filepath.Join(t.flink, "classes")+":"+filepath.Join(t.flink, "lib", "*"), "Pipeline", job,
		"--warehouse", warehouse, "--database", database, "--table", tableName, "--checkpoint-ms", strconv.FormatInt(s.Tick.Milliseconds(), 10),
		"--scratch", filepath.Join(t.scratch, name+"-checkpoints"), "--parallelism", strconv.Itoa(t.parallelism))
	argv = append(append(argv, flags("--flink-conf", t.flinkConf)...), more...)
	var env []string
	if t.hadoopConf != "" {
		env = []string{"HADOOP_CONF_DIR=" + t.hadoopConf}
	}
	return launch(filepath.Join(t.scratch, name+".log"), env, argv...)
}
