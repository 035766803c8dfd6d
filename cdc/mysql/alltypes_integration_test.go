//go:build integration

package mysql

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
)

var rewriteCaptures = flag.Bool("rewrite-captures", false, "write what the server sends to testdata")

// record runs the statements of one table named t and takes down what the server sends for them. The table's key is its
// first column.
func record(t *testing.T, setup []string, statements []string) *capture {
	c := connectServer(t)
	db := fmt.Sprintf("paimon_go_a_%d", time.Now().UnixNano())
	exec := func(q string) {
		_, err := c.Execute(q)
		require.NoError(t, err, q)
	}
	exec("SET NAMES utf8mb4") // the handshake asks for a collation that old servers do not know
	exec("CREATE DATABASE " + db + " CHARACTER SET utf8mb4")
	t.Cleanup(func() { exec("DROP DATABASE " + db) })
	exec("USE " + db)
	exec("SET SESSION time_zone='+00:00', sql_mode=''")
	for _, q := range setup {
		exec(q)
	}
	exec("CREATE TABLE stop_here (a int)")
	out := &capture{mariaDB: strings.Contains(c.GetServerVersion(), "MariaDB")}
	out.cols = readColumns(t, c, db)
	pos := position(t, c)
	for _, q := range statements {
		exec(q)
	}
	exec("SET SESSION character_set_results=NULL")
	out.packets = selectAll(t, c, out.cols)
	exec("SET SESSION character_set_results=utf8mb4")
	exec("INSERT INTO stop_here VALUES (1)")
	out.events = readEvents(t, pos, db, out.mariaDB)
	return out
}

func readColumns(t *testing.T, c *client.Conn, db string) []Column {
	r, err := c.Execute("SELECT column_name, column_type, is_nullable, coalesce(character_set_name,'') FROM information_schema.columns " +
		"WHERE table_schema='" + db + "' AND table_name='t' ORDER BY ordinal_position")
	require.NoError(t, err)
	var cols []Column
	for i := range r.Values {
		name, _ := r.GetString(i, 0)
		typ, _ := r.GetString(i, 1)
		null, _ := r.GetString(i, 2)
		cs, _ := r.GetString(i, 3)
		col, err := ParseColumn(name, typ)
		require.NoError(t, err)
		col.Nullable, col.Charset = null == "YES", cs
		cols = append(cols, col)
	}
	return cols
}

func position(t *testing.T, c *client.Conn) gomysql.Position {
	r, err := c.Execute("SHOW BINARY LOG STATUS")
	if err != nil {
		r, err = c.Execute("SHOW MASTER STATUS")
	}
	require.NoError(t, err)
	file, _ := r.GetString(0, 0)
	pos, _ := r.GetInt(0, 1)
	return gomysql.Position{Name: file, Pos: uint32(pos)}
}

// selectAll returns the row packets of a prepared SELECT. It speaks the protocol itself, since the client library does
// not know every type.
func selectAll(t *testing.T, c *client.Conn, cols []Column) [][]byte {
	names := make([]string, len(cols))
	for i, col := range cols {
		names[i] = "`" + col.Name + "`"
	}
	command := func(code byte, arg []byte) []byte {
		c.ResetSequence()
		require.NoError(t, c.WritePacket(append([]byte{0, 0, 0, 0, code}, arg...)))
		p, err := c.ReadPacket()
		require.NoError(t, err)
		require.NotEqual(t, byte(0xff), p[0], "%s", p)
		return p
	}
	untilEOF := func() (list [][]byte) {
		for {
			p, err := c.ReadPacket()
			require.NoError(t, err)
			if p[0] == 0xfe && len(p) < 9 {
				return list
			}
			require.NotEqual(t, byte(0xff), p[0], "%s", p)
			list = append(list, append([]byte{}, p...))
		}
	}
	p := command(0x16, []byte("SELECT "+strings.Join(names, ",")+" FROM t ORDER BY "+names[0]))
	id := append([]byte{}, p[1:5]...)
	untilEOF() // column definitions; there are no parameters
	command(0x17, append(id, 0, 1, 0, 0, 0))
	untilEOF()
	return untilEOF()
}

func readEvents(t *testing.T, pos gomysql.Position, db string, mariaDB bool) []rawEvent {
	host, portText, err := net.SplitHostPort(serverAddr(t))
	require.NoError(t, err)
	port, err := strconv.Atoi(portText)
	require.NoError(t, err)
	flavor := "mysql"
	if mariaDB {
		flavor = "mariadb"
	}
	s := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID: uint32(time.Now().UnixNano()), Flavor: flavor, Host: host, Port: uint16(port), User: "cdc", Password: "cdc",
		RawModeEnabled: true, DisableRetrySync: true,
	})
	defer s.Close()
	stream, err := s.StartSync(pos)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var events []rawEvent
	ours, checksum := false, 0
	for {
		e, err := stream.GetEvent(ctx)
		require.NoError(t, err)
		kind, body := e.RawData[4], e.RawData[19:]
		if kind == 15 { // FORMAT_DESCRIPTION ends with the checksum algorithm and a checksum
			checksum = 4 * int(body[len(body)-5])
			continue
		}
		body = body[:len(body)-checksum]
		switch {
		case kind == tableMapEvent:
			schema, table, err := TableMapName(body)
			require.NoError(t, err)
			if string(schema) == db && string(table) == "stop_here" {
				return events
			}
			if ours = string(schema) == db && string(table) == "t"; ours {
				events = append(events, rawEvent{kind, append([]byte{}, body...)})
			}
		case IsRowsEvent(kind) && ours:
			events = append(events, rawEvent{kind, append([]byte{}, body...)})
		}
	}
}

// checkBothWays compares what the log and the SELECT give, and keeps the capture.
func checkBothWays(t *testing.T, name string, opt ValueOptions, c *capture) []string {
	target := targetType(t, c.cols, opt.Types)
	d, err := NewDecoder(c.cols, target, opt)
	require.NoError(t, err)
	log, sel := c.decodeEvents(t, d, target), c.decodePackets(t, d, target)
	fromLog, fromSelect := rowsText(log), rowsText(sel)
	require.Equal(t, len(fromSelect), len(fromLog))
	for k := range log.Cols {
		for i := range log.N {
			a, b := row.AppendJSONValue(nil, &log.Cols[k], i), row.AppendJSONValue(nil, &sel.Cols[k], i)
			if !bytes.Equal(a, b) {
				t.Errorf("row %d, column %s %s:\n   log %.300s\nselect %.300s", i, c.cols[k].Name, c.cols[k].ColumnType, a, b)
			}
		}
		if !t.Failed() { // text could hide differences
			require.True(t, reflect.DeepEqual(sel.Cols[k], log.Cols[k]), c.cols[k].Name)
		}
	}
	if *rewriteCaptures && !t.Failed() && name != "" {
		c.want = fromLog
		c.write(t, "testdata/"+name+".txt")
	}
	return fromLog
}
