//go:build integration

package mysql

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// onServers runs a test on those of the servers that are there.
func onServers(t *testing.T, names []string, test func(t *testing.T, cfg *Config)) {
	addrs := map[string]string{"mysql": serverAddr(t), "replica": os.Getenv("PAIMON_GO_REPLICA_ADDR"), "mariadb": os.Getenv("PAIMON_GO_MARIADB_ADDR")}
	for _, name := range names {
		addr := addrs[name]
		if addr != "" {
			t.Run(name, func(t *testing.T) {
				test(t, &Config{User: "cdc", Password: "cdc", Hosts: []string{addr}, ConnectTimeout: 10 * time.Second, ServerID: uint32(time.Now().UnixNano()) | 1<<31})
			})
		}
	}
}

func connectTo(t *testing.T, cfg *Config) (*client.Conn, *server) {
	c, srv, err := connectAny(t.Context(), cfg, "", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c, srv
}

// startDump opens the log at a place.
func startDump(t *testing.T, cfg *Config, replica string, from start, set gtidSet) (*dump, *client.Conn) {
	c, srv := connectTo(t, cfg)
	require.NoError(t, register(c, cfg, srv.flavor, replica, 200*time.Millisecond))
	require.NoError(t, ask(c, cfg.ServerID, srv.flavor, from, set))
	return &dump{in: newPackets(rawConn(c), 30*time.Second)}, c
}

// TestTheLogIsReadAsTheLibraryReadsIt compares all events of changes of all sizes, one of them larger than a packet.
func TestTheLogIsReadAsTheLibraryReadsIt(t *testing.T) {
	onServers(t, []string{"mysql", "mariadb"}, func(t *testing.T, cfg *Config) { // a replica is not to have transactions of its own
		c, srv := connectTo(t, cfg)
		exec := func(q string) {
			_, err := c.Execute(q)
			require.NoError(t, err, q)
		}
		db := fmt.Sprintf("dump_%d", time.Now().UnixNano())
		from, err := logEnd(c, srv)
		require.NoError(t, err)
		exec("CREATE DATABASE " + db)
		defer func() { _, _ = c.Execute("DROP DATABASE " + db) }()
		exec("CREATE TABLE " + db + ".t (id INT PRIMARY KEY, b LONGBLOB)")
		for i, size := range []int{0, 100, 5000, readBuffer, 1 << 20, 17 << 20, 3} {
			exec(fmt.Sprintf("INSERT INTO %s.t VALUES (%d, REPEAT('%d', %d))", db, i, i, size))
		}
		to, err := logEnd(c, srv)
		require.NoError(t, err)
		require.Equal(t, from.File, to.File)

		host, port, err := net.SplitHostPort(srv.addr)
		require.NoError(t, err)
		n, err := strconv.Atoi(port)
		require.NoError(t, err)
		sync := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{ServerID: cfg.ServerID + 1, Flavor: srv.flavor, Host: host, Port: uint16(n), User: "cdc", Password: "cdc",
			RawModeEnabled: true, DisableRetrySync: true, Logger: slog.New(slog.DiscardHandler)})
		defer sync.Close()
		theirs, err := sync.StartSync(gomysql.Position{Name: from.File, Pos: uint32(from.Pos)})
		require.NoError(t, err)
		ours, _ := startDump(t, cfg, uuid.NewString(), start{file: from.File, pos: uint32(from.Pos)}, gtidSet{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for count := 0; ; count++ {
			e, err := theirs.GetEvent(ctx)
			require.NoError(t, err)
			got, err := ours.next()
			for err == nil && (got.kind == eventHeartbeat || got.kind == eventHeartbeatV2) {
				got, err = ours.next()
			}
			require.NoError(t, err)
			want := eventOf(e.RawData)
			require.True(t, bytes.HasPrefix(want.body, got.body), "event %d", count)
			require.Contains(t, []int{0, 4}, len(want.body)-len(got.body))
			want.body, got.body = nil, nil
			require.Equal(t, want, got)
			if got.kind != eventFormat && got.kind != eventRotate && uint64(got.endPos) >= to.Pos {
				require.Greater(t, count, 7*4)
				return
			}
		}
	})
}

// TestAServerEndsTheStreamsOfAReplica: one whose connection was closed, and an older one.
func TestAServerEndsTheStreamsOfAReplica(t *testing.T) {
	onServers(t, []string{"mysql", "replica", "mariadb"}, func(t *testing.T, cfg *Config) {
		admin, srv := connectTo(t, cfg)
		end, err := logEnd(admin, srv)
		require.NoError(t, err)
		from := start{file: end.File, pos: uint32(end.Pos)}
		set, err := parseGTIDSet(srv.flavor, end.GTID)
		require.NoError(t, err)
		from.byGTID = srv.gtidOn()
		alive := func(c *client.Conn) bool {
			r, err := admin.Execute("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", c.GetConnectionID())
			require.NoError(t, err)
			n, _ := r.GetInt(0, 0)
			return n == 1
		}
		replica := uuid.NewString()
		d, c := startDump(t, cfg, replica, from, set)
		for range 5 { // heartbeats, at least
			_, err := d.next()
			require.NoError(t, err)
		}
		require.True(t, alive(c))
		require.NoError(t, socket(rawConn(c)).Close())
		require.Eventually(t, func() bool { return !alive(c) }, 10*time.Second, 20*time.Millisecond)

		older, c := startDump(t, cfg, replica, from, set)
		_, err = older.next()
		require.NoError(t, err)
		newer, _ := startDump(t, cfg, replica, from, set)
		_, err = newer.next()
		require.NoError(t, err)
		for err = nil; err == nil; {
			_, err = older.next()
		}
		require.ErrorContains(t, terminal(err, ""), "another client with our server-id")
		require.Eventually(t, func() bool { return !alive(c) }, 10*time.Second, 20*time.Millisecond)
		_, err = newer.next()
		require.NoError(t, err)
	})
}
