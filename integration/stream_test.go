//go:build integration

package integration

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// through makes the job reach its server by an address.
func through(t *testing.T, j *testkit.Job, addrs ...string) {
	host, port, err := net.SplitHostPort(addrs[0])
	require.NoError(t, err)
	j.Set("hostname", strings.Join(append([]string{host}, addrs[1:]...), ",")).Set("port", port).Set("connect.timeout", "5s")
}

func TestCompressedTransactions(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	z := db.Session()
	z.Exec("SET SESSION binlog_transaction_compression = ON")
	z.InsertRows("s", 0, 10_000, 5000, wideRow)
	db.InsertRows("s", 10_000, 10_010, 5, wideRow) // plain ones among them
	z.Txn("UPDATE s SET data = CONCAT(data, ' z') WHERE id < 500", "DELETE FROM s WHERE id BETWEEN 100 AND 120")
	p.WaitCaughtUp()
	p.Stop()
	j.RequireJava(db.Rows("s"))
}

func TestTransactionsOfAllSizes(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.Exec("CREATE TABLE other (id BIGINT PRIMARY KEY, data VARCHAR(200))")
	j := testkit.NewJob(t, db, "s")
	j.Interval = "100ms"
	p := j.Start()
	p.WaitCaughtUp()
	const big = 60_000
	db.Exec("BEGIN")
	db.InsertRows("s", 0, big, 5000, wideRow)
	db.Exec("COMMIT")
	for i := range 500 { // many small ones, with other tables in them
		db.Txn(fmt.Sprintf("INSERT INTO other VALUES (%d, 'o')", i), fmt.Sprintf("INSERT INTO s VALUES (%s)", wideRow(big+i)),
			fmt.Sprintf("UPDATE other, s SET other.data = 'both', s.data = 'both' WHERE other.id = %d AND s.id = %d", i, big+i))
	}
	db.Txn("INSERT INTO s VALUES (-1, 'a')", "SAVEPOINT x", "INSERT INTO s VALUES (-2, 'b')", "ROLLBACK TO x", "INSERT INTO s VALUES (-3, 'c')")
	p.WaitCaughtUp()
	p.Stop()
	largest := int64(0)
	for _, s := range j.Snapshots() {
		largest = max(largest, s.DeltaRecordCount)
	}
	require.GreaterOrEqual(t, largest, int64(big), "a transaction is in one snapshot")
	j.RequireJava(db.Rows("s"))
}

func TestConnectionCutInsideATransaction(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	j := testkit.NewJob(t, db, "s")
	proxy := testkit.NewProxy(t, db.Server.Addr)
	through(t, j, proxy.Addr)
	p := j.Start()
	p.WaitCaughtUp()
	proxy.CutAfter(3_000_000, 1_200_000, 5_000_000) // the dump connection; one of them ends before the last came to
	db.Exec("BEGIN")
	const n = 60_000
	db.InsertRows("s", 0, n, 2000, wideRow)
	db.Exec("COMMIT")
	db.InsertRows("s", n, n+100, 10, wideRow)
	p.WaitCaughtUp()
	require.Zero(t, proxy.Cuts(), "all cuts happened")
	p.Stop()
	records, _ := j.Appended()
	require.EqualValues(t, n+100, records, "each row is in one commit")
	j.RequireJava(db.Rows("s"))
}

func TestUpdatesAreNotRepeatedAfterACut(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	const n = 20_000
	db.InsertRows("s", 0, n, 5000, wideRow)
	j := testkit.NewJob(t, db, "s")
	proxy := testkit.NewProxy(t, db.Server.Addr)
	through(t, j, proxy.Addr)
	p := j.Start()
	p.WaitCaughtUp()
	proxy.CutAfter(2_000_000)
	db.Exec("UPDATE s SET data = CONCAT(data, '!')")
	p.WaitCaughtUp()
	require.Zero(t, proxy.Cuts())
	p.Stop()
	require.Contains(t, p.Output(), fmt.Sprintf("msg=ended rows=%d ", n+2*n), "inserts, and two rows an update")
	j.RequireJava(db.Rows("s"))
}

func TestDumpConnectionIsKilled(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	user, password := db.NewUser("")
	j := testkit.NewJob(t, db, "s").Set("username", user).Set("password", password)
	p := j.Start()
	p.WaitCaughtUp()
	kill := db.Session()
	n := 0
	for range 4 {
		db.InsertRows("s", n, n+500, 10, wideRow)
		n += 500
		testkit.Until(t, 20*time.Second, "a dump connection to kill", func() bool { return kill.KillConnections(user, true) > 0 })
	}
	p.WaitCaughtUp()
	p.Stop()
	records, _ := j.Appended()
	require.EqualValues(t, n, records)
	j.RequireJava(db.Rows("s"))
}

func TestQuietTableFollowsTheLog(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.Exec("CREATE TABLE other (id BIGINT PRIMARY KEY, data VARCHAR(200))")
	db.InsertRows("s", 0, 10, 10, wideRow)
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	at := j.Latest()
	for i := range 3 {
		db.InsertRows("other", i*10, i*10+10, 1, wideRow)
		p.WaitCaughtUp() // by the state file
	}
	require.Equal(t, at, j.Latest(), "no snapshot without rows")
	p.Kill()
	p = j.Start()
	db.InsertRows("s", 10, 20, 10, wideRow)
	p.WaitCaughtUp()
	p.Stop()
	records, _ := j.Appended()
	require.EqualValues(t, 20, records)
	j.RequireJava(db.Rows("s"))
}

func TestFailover(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	replica := testkit.Replica(t)
	j := testkit.NewJob(t, db, "s")
	proxy := testkit.NewProxy(t, db.Server.Addr)
	through(t, j, proxy.Addr, replica.Addr)
	p := j.Start()
	p.WaitCaughtUp()
	db.InsertRows("s", 0, 1000, 10, wideRow)
	proxy.CutAfter(2_000_000) // in the middle of the next transaction
	db.Exec("BEGIN")
	db.InsertRows("s", 1000, 41_000, 2000, wideRow)
	db.Exec("COMMIT")
	testkit.Until(t, 30*time.Second, "the cut", func() bool { return proxy.Cuts() == 0 })
	proxy.Down()
	db.InsertRows("s", 41_000, 42_000, 10, wideRow)
	db.Exec("DELETE FROM s WHERE id < 100")
	p.WaitCaughtUp()
	require.Contains(t, p.Output(), "host="+replica.Addr)
	// The job starts on the replica too.
	p.Kill()
	p = j.Start()
	db.InsertRows("s", 42_000, 42_100, 10, wideRow)
	p.WaitCaughtUp()
	p.Stop()
	records, _ := j.Appended()
	require.EqualValues(t, 42_100+100, records, "rows and deletes, each in one commit")
	j.RequireJava(db.Rows("s"))
}

func TestTLSAndDefaultAuthentication(t *testing.T) {
	for _, c := range []struct {
		mode, ca, options string
		code              int
		text              string
	}{
		{mode: "disabled"}, {mode: "preferred"}, {mode: "required"}, {mode: "verify-ca", ca: "server"},
		{mode: "verify-ca", ca: "wrong", code: 3, text: "certificate"},
		{mode: "verify-identity", ca: "server", code: 3, text: "certificate"},
		{mode: "disabled", options: "REQUIRE SSL", code: 3, text: "Access denied"},
		{mode: "required", options: "REQUIRE SSL"},
	} {
		t.Run(c.mode+c.ca+c.options, func(t *testing.T) {
			db := testkit.MySQL(t).Database(t)
			db.Exec(wide)
			db.InsertRows("s", 0, 10, 10, wideRow)
			user, password := db.NewUser(c.options) // its first login is a full caching_sha2_password exchange
			require.Equal(t, "caching_sha2_password", db.Value("SELECT plugin FROM mysql.user WHERE user = '"+user+"'"))
			j := testkit.NewJob(t, db, "s").Set("username", user).Set("password", password).Set("ssl-mode", c.mode).
				Set("connect.max-retries", "0")
			switch c.ca {
			case "server":
				j.Set("ssl-ca", testkit.ServerCA(t, db))
			case "wrong":
				j.Set("ssl-ca", testkit.OtherCA(t))
			}
			if c.code != 0 {
				j.RequireExit(c.code, c.text)
				return
			}
			p := j.Start()
			p.WaitCaughtUp()
			db.InsertRows("s", 10, 20, 10, wideRow)
			p.WaitCaughtUp()
			r := db.Exec("SELECT CONNECTION_TYPE FROM performance_schema.threads WHERE PROCESSLIST_USER = '" + user + "' AND PROCESSLIST_COMMAND LIKE 'Binlog Dump%'")
			require.Len(t, r.Values, 1)
			kind, _ := r.GetString(0, 0)
			require.Equal(t, c.mode != "disabled", kind == "SSL/TLS", kind)
			p.Stop()
			records, _ := j.Appended()
			require.EqualValues(t, 20, records)
		})
	}
}
