//go:build integration

package mysql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
)

// TestReadExactlyTellsEachChangeOnce reads tables of different keys, again and again, while several sessions change them as fast
// as they can: what comes must be a history in which each change follows from the one before, from nothing to what the server
// has in the end.
func TestReadExactlyTellsEachChangeOnce(t *testing.T) {
	const rows, sessions = 4000, 3
	c := connectServer(t)
	db := fmt.Sprintf("exact_%d", time.Now().UnixNano())
	exec := func(q string, args ...any) *gomysql.Result {
		r, err := c.Execute(fmt.Sprintf(q, args...))
		require.NoError(t, err, q)
		return r
	}
	exec("SET NAMES utf8mb4")
	doubtful := 0
	for name, k := range map[string]struct {
		database string
		key      string // the definition
		id       string // the key of %d
		update   []string
		keys     []string
		rounds   int
	}{
		"int": {"a", "id INT PRIMARY KEY", "%d", []string{"UPDATE t SET v = v + 1 WHERE id = %d"}, []string{"id"}, 3},
		"strings without case": {"b", "id VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY", "'Kéy %d'",
			[]string{"UPDATE t SET v = v + 1 WHERE id = %d", "UPDATE t SET id = UPPER(id) WHERE id = %d", "UPDATE t SET id = LOWER(id), v = 3 WHERE id = %d"}, []string{"id"}, 3},
		"two columns": {"c", "id INT, part VARCHAR(3) DEFAULT 'x', PRIMARY KEY (part, id)", "%d", []string{"UPDATE t SET v = v + 1 WHERE id = %d AND part = 'x'", "UPDATE t SET v = 0 WHERE part = 'x' AND id BETWEEN %[1]d AND %[1]d + 20"}, []string{"part", "id"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			db := db + k.database // without GTIDs, statements of the last minutes about the table itself are in the log that is read
			exec("CREATE DATABASE %s", db)
			t.Cleanup(func() { _, _ = c.Execute("DROP DATABASE " + db) })
			exec("USE %s", db)
			exec("CREATE TABLE t (%s, v BIGINT) ENGINE=InnoDB", k.key)
			for i := 0; i < rows; i += 500 {
				q := "INSERT INTO t (id, v) VALUES "
				for n := i; n < i+500; n++ {
					q += fmt.Sprintf("(%s, 0),", fmt.Sprintf(k.id, n))
				}
				exec("%s", q[:len(q)-1])
			}
			exec("ANALYZE TABLE t")
			for round := range k.rounds {
				stop := make(chan struct{})
				var writers sync.WaitGroup
				var changes atomic.Int64
				for range sessions {
					w := connectServer(t)
					_, err := w.Execute("USE " + db)
					require.NoError(t, err)
					writers.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							id := fmt.Sprintf(k.id, rand.IntN(rows*3/2))
							q := fmt.Sprintf("INSERT INTO t (id, v) VALUES (%s, %d)", id, rand.IntN(5))
							switch n := rand.IntN(10); {
							case n < 2:
								q = fmt.Sprintf("DELETE FROM t WHERE id = %s", id)
							case n < 8:
								q = update(k.update[rand.IntN(len(k.update))], id)
							}
							if _, err := w.Execute(q); err == nil {
								changes.Add(1)
							}
						}
					})
				}
				src, touched := follow(t, db, k.keys, func() {
					close(stop)
					writers.Wait()
					exec("INSERT INTO t (id, v) VALUES (%s, -1)", fmt.Sprintf(k.id, 1_000_000+round))
				})
				doubtful += touched
				t.Logf("round %d: %d changes, %d rows in doubt", round, changes.Load(), touched)
				want := map[string]int64{}
				r := exec("SELECT CAST(id AS CHAR), v FROM t")
				for i := range r.Values {
					id, _ := r.GetString(i, 0)
					want[id], _ = r.GetInt(i, 1)
				}
				require.Equal(t, want, src)
			}
		})
	}
	require.Positive(t, doubtful)
}

func update(q, id string) string {
	if len(id) > 0 && id[0] == '\'' {
		return fmt.Sprintf(replaceVerb(q), id)
	}
	var n int
	_, _ = fmt.Sscan(id, &n)
	return fmt.Sprintf(q, n)
}

func replaceVerb(q string) string {
	out := []byte(q)
	for i := 1; i < len(out); i++ {
		if out[i-1] == '%' && out[i] == 'd' {
			out[i] = 's'
		}
	}
	return string(out)
}

// follow reads db.t from its beginning. When the initial read is over and some changes came after it, enough is called, which is to
// make a last one with v=-1; follow returns after that, with the rows as they are then and how many rows were in doubt.
func follow(t *testing.T, db string, keys []string, enough func()) (map[string]int64, int) {
	host, port, err := net.SplitHostPort(serverAddr(t))
	require.NoError(t, err)
	cfg, _, err := ParseConf(map[string]string{"hostname": host, "port": port, "username": "cdc", "password": "cdc", "database-name": db, "table-name": "t",
		"server-time-zone": "+00:00", "scan.incremental.snapshot.chunk.size": "100", "connection.pool.size": "4", "heartbeat.interval": "1s"})
	require.NoError(t, err)
	src, err := Open(t.Context(), cfg, "", slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	defer src.Close()
	src.table.RowsEstimate = 4000
	src.SetKey(keys, keys)
	require.Empty(t, src.ReadExactly())
	require.NoError(t, src.Retarget(targetType(t, src.Table().Columns, TypeOptions{})))
	at := func(name string) int {
		for i, c := range src.Table().Columns {
			if c.Name == name {
				return i
			}
		}
		return -1
	}
	id, v := at("id"), at("v")
	state := map[string]int64{}
	touched, behind := 0, 0
	ended := false
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		ev, err := src.Next(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			require.Fail(t, "nothing comes")
		}
		require.NoError(t, err)
		require.False(t, ev.CatchUp)
		if ev.Snapshot {
			require.Nil(t, ev.Pos, "the read can't be resumed")
			touched = len(src.opening.value.touched.at)
		}
		last := false
		if b := ev.Rows; b != nil {
			for i := range b.N {
				key := ""
				if c := &b.Cols[id]; c.Type.Store() == row.StoreI32 {
					key = fmt.Sprint(c.I32[i])
				} else {
					key = string(c.Value(i))
				}
				value := b.Cols[v].I64[i]
				was, ok := state[key]
				if b.Kinds[i].IsRetract() {
					require.True(t, ok, "%s of %s=%d, which is not there", b.Kinds[i], key, value)
					require.Equal(t, was, value, "%s of %s", b.Kinds[i], key)
					delete(state, key)
					continue
				}
				require.False(t, ok, "%s of %s=%d, which is there with %d", b.Kinds[i], key, value, was)
				state[key] = value
				last = last || value == -1 && ended
			}
			if !ev.Snapshot {
				behind += b.N
			}
		}
		if last {
			return state, touched
		}
		if behind > 200 && !ended {
			ended = true
			enough()
		}
	}
}

var _ cdc.Source = (*Source)(nil)
