package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
)

// database is MySQL's and Paimon's.
var database = "bench"

const (
	tableName = "mysql_sync_paimon"
	// Rows of these days mark places in the log: when a reader shows one, it has shown every change before it.
	startDay, endDay = "9999-12-30", "9999-12-31"

	insertShare, updateShare = 50, 40 // percent; the others are deletes
	batchRows                = 100    // changes of a transaction in the catch-up phase
	beat                     = 50 * time.Millisecond
)

// source writes the workload into MySQL: 50 % inserts, 40 % updates, 10 % deletes, each a statement (and an event of the log) of
// its own, in days that are all active. The same seed and calls give the same changes.
type source struct {
	conn *client.Conn
	days int
	rng  *rand.Rand
	live []rowKey
	next int64
}

type rowKey struct {
	id  int64
	day int
}

func connect(addr, user, password string) (*client.Conn, error) {
	c, err := client.Connect(addr, user, password, "", func(c *client.Conn) error {
		return c.SetCapability(mysql.CLIENT_MULTI_STATEMENTS)
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to MySQL at %s: %w", addr, err)
	}
	return c, nil
}

func (s *source) exec(query string) error {
	if _, err := s.conn.Execute(query); err != nil {
		return fmt.Errorf("%.100s: %w", query, err)
	}
	return nil
}

// transaction executes statements in one packet.
func (s *source) transaction(statements []byte) error {
	var failed error
	_, err := s.conn.ExecuteMultiple("BEGIN;"+string(statements)+"COMMIT", func(_ *mysql.Result, err error) {
		if err != nil {
			failed = err
		}
	})
	if failed != nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("changing rows: %w", err)
	}
	return nil
}

// load makes the table anew with n rows.
func (s *source) load(n, days int, seed uint64) error {
	*s = source{conn: s.conn, days: days, rng: rand.New(rand.NewPCG(seed, 1)), next: 1}
	for _, q := range []string{
		"CREATE DATABASE IF NOT EXISTS " + database + " DEFAULT CHARSET utf8mb4", "USE " + database, "DROP TABLE IF EXISTS " + tableName,
		"CREATE TABLE " + tableName + " (id BIGINT NOT NULL, data VARCHAR(500), dt VARCHAR(10) NOT NULL, PRIMARY KEY (id, dt)) DEFAULT CHARSET=utf8mb4",
	} {
		if err := s.exec(q); err != nil {
			return err
		}
	}
	for done := 0; done < n; {
		b := []byte("INSERT INTO " + tableName + " VALUES ")
		for range min(2000, n-done) {
			b = append(s.row(b, s.grow(), ""), ',')
			done++
		}
		if err := s.exec(string(b[:len(b)-1])); err != nil {
			return err
		}
	}
	return nil
}

// grow is the key of a new row.
func (s *source) grow() rowKey {
	k := rowKey{s.next, s.rng.IntN(s.days)}
	s.next++
	s.live = append(s.live, k)
	return k
}

func day(i int) string { return fmt.Sprintf("2026-11-%02d", 1+i) }

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// data is the text of a row: 80 to 120 random characters, after a mark of when it was written.
func (s *source) data(b []byte, mark string) []byte {
	b = append(b, mark...)
	var v uint64
	for i := range 80 + s.rng.IntN(41) {
		if i%10 == 0 {
			v = s.rng.Uint64()
		}
		b = append(b, letters[v&63])
		v >>= 6
	}
	return b
}

func (s *source) row(b []byte, k rowKey, mark string) []byte {
	b = s.data(fmt.Appendf(b, "(%d,'", k.id), mark)
	return fmt.Appendf(b, "','%s')", day(k.day))
}

// change appends the statement of one change.
func (s *source) change(b []byte, mark string) []byte {
	p := s.rng.IntN(100)
	if p < insertShare || len(s.live) < 10 {
		return append(s.row(append(b, "INSERT INTO "+tableName+" VALUES "...), s.grow(), mark), ';')
	}
	i := s.rng.IntN(len(s.live))
	if s.rng.IntN(2) == 0 { // half of what is touched is among the newest tenth
		i = len(s.live) - 1 - s.rng.IntN(len(s.live)/10)
	}
	k := s.live[i]
	if p < insertShare+updateShare {
		b = s.data(append(b, "UPDATE "+tableName+" SET data='"...), mark)
		return fmt.Appendf(b, "' WHERE id=%d AND dt='%s';", k.id, day(k.day))
	}
	s.live[i] = s.live[len(s.live)-1]
	s.live = s.live[:len(s.live)-1]
	return fmt.Appendf(b, "DELETE FROM %s WHERE id=%d AND dt='%s';", tableName, k.id, day(k.day))
}

// changes makes n changes as fast as MySQL takes them.
func (s *source) changes(n int) error {
	for n > 0 {
		var b []byte
		for range min(n, batchRows) {
			b = s.change(b, "")
			n--
		}
		if err := s.transaction(b); err != nil {
			return err
		}
	}
	return nil
}

// paced makes rate changes a second, a transaction a beat, each with the time in it. It tells how many there were.
func (s *source) paced(rate int, d time.Duration) (int, error) {
	start, n := time.Now(), 0
	for at := time.Duration(0); at < d; at += beat {
		time.Sleep(time.Until(start.Add(at)))
		mark := fmt.Sprintf("ts=%d;", time.Now().UnixMilli())
		var b []byte
		for due := int(int64(rate) * int64(at+beat) / int64(time.Second)); n < due; n++ {
			b = s.change(b, mark)
		}
		if err := s.transaction(b); err != nil {
			return n, err
		}
	}
	return n, nil
}

// settle waits until the server has purged and flushed what is behind the changes, for a minute at most: what it does beside a run slows
// a short one more than a long one.
func (s *source) settle() error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		r, err := s.conn.Execute("SELECT SUM(count) FROM information_schema.innodb_metrics WHERE name IN ('trx_rseg_history_len','buffer_pool_pages_dirty')")
		if err != nil {
			return fmt.Errorf("asking what MySQL has to do: %w", err)
		}
		if n, err := r.GetFloat(0, 0); err != nil || n < 100 {
			return err
		}
	}
	return nil
}

// mark writes the row that marks a place in the log.
func (s *source) mark(day string) error {
	return s.exec(fmt.Sprintf("REPLACE INTO %s VALUES (-1,'a mark','%s')", tableName, day))
}

// position is the end of the log.
func (s *source) position() (file string, pos int64, err error) {
	r, err := s.conn.Execute("SHOW BINARY LOG STATUS")
	if err != nil {
		return "", 0, fmt.Errorf("asking for the end of the log: %w", err)
	}
	if file, err = r.GetString(0, 0); err == nil {
		pos, err = r.GetInt(0, 1)
	}
	if err != nil {
		return "", 0, fmt.Errorf("asking for the end of the log: %w", err)
	}
	return file, pos, nil
}
