//go:build integration

package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// servers is the directory of the servers' scripts.
func servers() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(filepath.Dir(file)), "servers")
}

// script runs one of the servers' scripts. Servers that it starts must not hold our pipe: its output goes through a file.
func script(name string, args ...string) error {
	out, err := os.CreateTemp("", "paimon-go-soak-script-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd := exec.Command(filepath.Join(servers(), name), args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		b, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, b)
	}
	return nil
}

// stopAfter runs a server's stop command at the end of the test, also when this process is killed.
func stopAfter(t *testing.T, name string, args ...string) {
	t.Cleanup(func() { _ = script(name, args...) })
	words := append([]string{"-c", `while kill -0 "$1" 2>/dev/null; do sleep 1; done; shift; exec "$@" >/dev/null 2>&1`, "guard", strconv.Itoa(os.Getpid()),
		filepath.Join(servers(), name)}, args...)
	guard := exec.Command("bash", words...)
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, guard.Start())
	t.Cleanup(func() {
		_ = guard.Process.Kill()
		_ = guard.Wait()
	})
}

// mysqlInstance is a MySQL that the run may kill.
type mysqlInstance struct {
	*testkit.Server
	name string
}

func (s *mysqlInstance) script(command string) error { return script("mysql.sh", command, s.name) }

// mysqlServer starts a MySQL that nobody else uses, with an empty log.
func mysqlServer(t *testing.T, o options) *mysqlInstance {
	s := &mysqlInstance{name: "soak"}
	if o.instance > 0 {
		s.name += strconv.Itoa(o.instance)
	}
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "paimon-go-"+s.name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	t.Cleanup(func() { _ = lock.Close() })
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), "another soak runs on this machine: give this one another INSTANCE=1, 2 ...")
	stopAfter(t, "mysql.sh", "stop", s.name)
	require.NoError(t, s.script("start"))
	s.Server = &testkit.Server{Addr: fmt.Sprintf("127.0.0.1:%d", 34320+o.instance), User: "cdc", Password: "cdc", Flavor: gomysql.MySQLFlavor}
	s.Connect(t, "").Exec("RESET BINARY LOGS AND GTIDS")
	return s
}

// connect opens a session in the database.
func connect(s *testkit.Server, db string) (*client.Conn, error) {
	c, err := client.Connect(s.Addr, s.User, s.Password, db)
	if err != nil {
		return nil, err
	}
	if _, err := c.Execute("SET SESSION time_zone = '+00:00', sql_mode = ''"); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// executed is the set of all transactions so far.
func executed(s *testkit.Server) (gomysql.GTIDSet, error) {
	c, err := connect(s, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	r, err := c.Execute("SELECT @@GLOBAL.gtid_executed")
	if err != nil {
		return nil, err
	}
	text, err := r.GetString(0, 0)
	if err != nil {
		return nil, err
	}
	return gomysql.ParseMysqlGTIDSet(strings.ReplaceAll(text, "\n", ""))
}

// worker makes the workload's transactions, each once, whatever happens to the server: the number of the last one is part of it.
type worker struct {
	*Workload
	server *testkit.Server
	db     string
	rate   int
	done   atomic.Int64 // transactions
	broken atomic.Int64 // connections
}

// prepare makes the tables and their first rows.
func (w *worker) prepare(db *testkit.DB) {
	db.Exec("CREATE TABLE progress (id INT PRIMARY KEY, n BIGINT)")
	db.Exec("INSERT INTO progress VALUES (1, 0)")
	for k := range w.Tables {
		db.Exec(w.Tables[k].DDL)
		for _, q := range w.Upsert(randOf(w.Seed, "first rows", k), k, 0, 0, w.Keys) {
			db.Exec(q)
		}
	}
}

// run goes on until ctx ends, which is no error.
func (w *worker) run(ctx context.Context) error {
	pace := time.NewTicker(time.Second / time.Duration(w.rate))
	defer pace.Stop()
	var c *client.Conn
	next := 0
	for {
		select {
		case <-ctx.Done():
			if c != nil {
				_ = c.Close()
			}
			return nil
		case <-pace.C:
		}
		err := w.step(&c, &next)
		var said *gomysql.MyError
		if errors.As(err, &said) && !goingDown(said.Code) {
			return fmt.Errorf("transaction %d: %w", next, err)
		}
		if err != nil { // the connection is gone, or can't be made: whether the transaction is there is seen later
			w.broken.Add(1)
			if c != nil {
				_ = c.Close()
				c = nil
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// goingDown: the server ends, or ended the session.
func goingDown(code uint16) bool {
	switch code {
	case 1053, 1077, 1078, 1079, 1105, 1152, 1158, 1159, 1160, 1161, 1184, 1317, 1927, 3032, 4031:
		return true
	}
	return false
}

// step makes the next transaction.
func (w *worker) step(conn **client.Conn, next *int) (err error) {
	if *conn == nil {
		c, err := connect(w.server, w.db)
		if err != nil {
			return err
		}
		*conn = c
		r, err := c.Execute("SELECT n FROM progress")
		if err != nil {
			return err
		}
		n, err := r.GetInt(0, 0)
		if err != nil {
			return err
		}
		*next = int(n) + 1
	}
	c, i := *conn, *next
	exec := func(q string) {
		if err == nil {
			if _, err = c.Execute(q); err != nil {
				err = fmt.Errorf("%s: %w", q[:min(len(q), 300)], err)
			}
		}
	}
	counted := fmt.Sprintf("UPDATE progress SET n = %d", i)
	if q, table, column, ok := w.Added(i); ok {
		r, err := c.Execute("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" + table +
			"' AND COLUMN_NAME = '" + column + "'")
		if err != nil {
			return err
		}
		if n, err := r.GetInt(0, 0); err != nil {
			return err
		} else if n == 0 {
			exec(q)
		}
		exec(counted)
	} else {
		statements, undone := w.Txn(i)
		exec("BEGIN")
		for _, q := range statements {
			exec(q)
		}
		if undone {
			exec("ROLLBACK")
			exec(counted)
		} else {
			exec(counted)
			exec("COMMIT")
		}
	}
	if err == nil {
		*next = i + 1
		w.done.Add(1)
	}
	return err
}
