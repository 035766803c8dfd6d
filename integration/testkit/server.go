//go:build integration

package testkit

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/stretchr/testify/require"
)

// Server is a MySQL or MariaDB server that tests may write to.
type Server struct {
	Addr, User, Password string
	Flavor               string // mysql or mariadb
}

// MySQL is the main server.
func MySQL(t testing.TB) *Server { return server(t, "PAIMON_GO_MYSQL_ADDR", gomysql.MySQLFlavor) }

// Replica follows the main server by GTID and logs what it applies.
func Replica(t testing.TB) *Server { return server(t, "PAIMON_GO_REPLICA_ADDR", gomysql.MySQLFlavor) }

// MariaDB is a MariaDB server.
func MariaDB(t testing.TB) *Server { return server(t, "PAIMON_GO_MARIADB_ADDR", gomysql.MariaDBFlavor) }

func server(t testing.TB, variable, flavor string) *Server {
	return &Server{Addr: env(t, variable), User: "cdc", Password: "cdc", Flavor: flavor}
}

// env returns a variable that integration/run.sh sets.
func env(t testing.TB, name string) string {
	v := os.Getenv(name)
	if v == "" {
		t.Fatalf("%s is not set: run the integration tests by integration/run.sh", name)
	}
	return v
}

// Connect opens a connection that is closed with the test.
func (s *Server) Connect(t testing.TB, db string) *Conn {
	c, err := client.Connect(s.Addr, s.User, s.Password, db)
	require.NoError(t, err, s.Addr)
	t.Cleanup(func() { _ = c.Close() })
	conn := &Conn{Conn: c, t: t}
	conn.Exec("SET NAMES utf8mb4")
	conn.Exec("SET SESSION time_zone='+00:00', sql_mode=''")
	return conn
}

// Conn is a session. Its methods fail the test.
type Conn struct {
	*client.Conn
	t testing.TB
}

// Exec runs a statement; with arguments it is prepared, so that values come by the binary protocol.
func (c *Conn) Exec(query string, args ...any) *gomysql.Result {
	r, err := c.Execute(query, args...)
	if err != nil {
		c.t.Helper()
		c.t.Fatalf("%s: %v", query[:min(len(query), 300)], err)
	}
	return r
}

// Value runs a query for one text.
func (c *Conn) Value(query string, args ...any) string {
	c.t.Helper()
	r := c.Exec(query, args...)
	require.NotEmpty(c.t, r.Values, query)
	v, err := r.GetString(0, 0)
	require.NoError(c.t, err)
	return v
}

// DB is a private database of one test.
type DB struct {
	*Conn
	Server *Server
	Name   string
	t      testing.TB
}

var databases atomic.Int64

// Database makes a database and drops it when the test ends.
func (s *Server) Database(t testing.TB) *DB {
	name := fmt.Sprintf("pgt_%d_%d", time.Now().UnixMicro()%1e12, databases.Add(1))
	c := s.Connect(t, "")
	c.Exec("CREATE DATABASE " + name + " CHARACTER SET utf8mb4")
	t.Cleanup(func() {
		if _, err := c.Execute("DROP DATABASE " + name); err != nil { // the test may have killed the session
			if again, err := client.Connect(s.Addr, s.User, s.Password, ""); err == nil {
				_, _ = again.Execute("DROP DATABASE " + name)
				_ = again.Close()
			}
		}
	})
	c.Exec("USE " + name)
	return &DB{Conn: c, Server: s, Name: name, t: t}
}

// Session opens another session in the database.
func (d *DB) Session() *Conn { return d.Server.Connect(d.t, d.Name) }

// Txn runs statements in one transaction.
func (c *Conn) Txn(statements ...string) {
	c.t.Helper()
	c.Exec("BEGIN")
	for _, q := range statements {
		c.Exec(q)
	}
	c.Exec("COMMIT")
}

// InsertRows inserts rows [from, to) by multi-row statements; values gives the text of one row, without parentheses.
func (c *Conn) InsertRows(table string, from, to, perStatement int, values func(i int) string) {
	c.t.Helper()
	var b strings.Builder
	for i := from; i < to; {
		b.Reset()
		b.WriteString("INSERT INTO " + table + " VALUES ")
		for n := 0; n < perStatement && i < to; n++ {
			if n > 0 {
				b.WriteByte(',')
			}
			b.WriteString("(" + values(i) + ")")
			i++
		}
		c.Exec(b.String())
	}
}

// End is the server's set of transactions so far.
func (s *Server) End(t testing.TB) string {
	c, err := client.Connect(s.Addr, s.User, s.Password, "")
	require.NoError(t, err)
	defer c.Close()
	q := "SELECT @@GLOBAL.gtid_executed"
	if s.Flavor == gomysql.MariaDBFlavor {
		q = "SELECT @@GLOBAL.gtid_binlog_pos"
	}
	r, err := c.Execute(q)
	require.NoError(t, err)
	v, err := r.GetString(0, 0)
	require.NoError(t, err)
	return strings.ReplaceAll(v, "\n", "")
}

// FilePos is the end of the server's log as a file and an offset.
func (c *Conn) FilePos() (string, string) {
	q := "SHOW BINARY LOG STATUS"
	if strings.Contains(c.GetServerVersion(), "MariaDB") {
		q = "SHOW MASTER STATUS"
	}
	r := c.Exec(q)
	file, _ := r.GetString(0, 0)
	pos, _ := r.GetString(0, 1)
	return file, pos
}

// contains reports whether the set of transactions a has all of b.
func contains(t testing.TB, flavor, a, b string) bool {
	x, err := gomysql.ParseGTIDSet(flavor, a)
	require.NoError(t, err)
	y, err := gomysql.ParseGTIDSet(flavor, b)
	require.NoError(t, err)
	return x.Contain(y)
}

// NewUser makes an account with what following the log needs, in the form of the server's default authentication, and drops
// it with the test. It is this test's alone, so its connections can be told from others'.
func (d *DB) NewUser(options string) (name, password string) {
	name, password = "u_"+d.Name, "secret-"+d.Name
	d.Exec("CREATE USER '" + name + "'@'%' IDENTIFIED BY '" + password + "' " + options)
	d.t.Cleanup(func() { d.Server.Connect(d.t, "").Exec("DROP USER IF EXISTS '" + name + "'@'%'") })
	d.Exec("GRANT SELECT ON " + d.Name + ".* TO '" + name + "'@'%'")
	d.Exec("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO '" + name + "'@'%'")
	return name, password
}

// KillConnections ends the connections of a user and returns how many there were; dumps picks those that read the log.
func (c *Conn) KillConnections(user string, dumps bool) int {
	q := "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '" + user + "'"
	if dumps {
		q += " AND COMMAND LIKE 'Binlog Dump%'"
	}
	r := c.Exec(q)
	n := 0
	for i := range r.Values {
		id, _ := r.GetString(i, 0)
		if _, err := c.Execute("KILL " + id); err == nil {
			n++
		}
	}
	return n
}

// Contains reports whether a server has all transactions of a set.
func Contains(t testing.TB, s *Server, set string) bool { return contains(t, s.Flavor, s.End(t), set) }
