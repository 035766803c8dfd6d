//go:build integration

package mysql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/stretchr/testify/require"
)

const allTypesTable = `CREATE TABLE t (
 id int PRIMARY KEY,
 bit1 bit, bit9 bit(9), bit64 bit(64),
 b tinyint(1), ti tinyint, tiu tinyint unsigned, si smallint, siu smallint unsigned, mi mediumint, miu mediumint unsigned,
 i int, iu int unsigned, iz int(8) zerofill, bi bigint, biu bigint unsigned, y year,
 f float, fd float(7,3), dbl double, dbld double(10,2),
 de decimal, d50 decimal(5,0), d52 decimal(5,2), d18 decimal(18,18), d19 decimal(19,4), d38 decimal(38,10), d65 decimal(65,30), du decimal(10,2) unsigned,
 da date, t0 time, t2 time(2), t3 time(3), t6 time(6), dt0 datetime, dt1 datetime(1), dt3 datetime(3), dt6 datetime(6), ts0 timestamp null, ts4 timestamp(4) null, ts6 timestamp(6) null,
 c char(10), cb char(5) character set binary, v varchar(20), v300 varchar(300), tt tinytext, tx text, mt mediumtext, lt longtext,
 bn binary(6), bv varbinary(8), bv300 varbinary(300), tb tinyblob, bl blob, mb mediumblob, lb longblob,
 e enum('a,b','it''s','unsigned','back\\slash','é','tab	x','nl
y','') character set utf8mb4, s set('x','y z','it''s','back\\slash','中') character set utf8mb4
)`

var allTypesRows = []string{
	`INSERT INTO t (id) VALUES (0)`,
	`INSERT INTO t VALUES (1, b'0', b'0', b'0', 0, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, 0, -9223372036854775808, 0, 1901,
	 -3.4028234e38, -1.5, -1.7976931348623157e308, -1.25, -9999999999, -99999, -999.99, -0.999999999999999999, -999999999999999.9999, -9999999999999999999999999999.9999999999, -99999999999999999999999999999999999.999999999999999999999999999999, 0,
	 '1000-01-01', '00:00:00', '00:00:00.01', '00:00:00.001', '00:00:00.000001', '1000-01-01', '1000-01-01 00:00:00.1', '1000-01-01', '0001-01-01 00:00:00.000001', '1970-01-01 00:00:01', '1970-01-01 00:00:01.0001', '1970-01-01 00:00:01.000001',
	 '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', 'a,b', '')`,
	`INSERT INTO t VALUES (2, b'1', b'111111111', ~0, 1, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 42, 9223372036854775807, 18446744073709551615, 2155,
	 3.4028234e38, 1.5, 1.7976931348623157e308, 1.25, 9999999999, 99999, 999.99, 0.999999999999999999, 999999999999999.9999, 9999999999999999999999999999.9999999999, 99999999999999999999999999999999999.999999999999999999999999999999, 99999999.99,
	 '9999-12-31', '23:59:59', '23:59:59.99', '23:59:59.999', '23:59:59.999999', '9999-12-31 23:59:59', '9999-12-31 23:59:59.9', '9999-12-31 23:59:59.999', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07', '2038-01-19 03:14:07.9999', '2038-01-19 03:14:07.999999',
	 '0123456789', 'ab', '01234567890123456789', REPEAT('é', 300), REPEAT('x',255), REPEAT('中', 200), 'm', 'l', X'610000', X'FF00', REPEAT(X'80', 300), X'00', X'FFFEFD', 'mb', 'lb', 'it''s', 'x,y z,it''s,back\\slash,中')`,
	`INSERT INTO t VALUES (3, b'1', b'100000000', 1<<63, 2, -1, 128, -1, 32768, -1, 8388608, -1, 2147483648, 12345678, -1, 9223372036854775808, 0,
	 16777217, 1234.567, 0.1, 12345678.91, 1, 1, 1.1, 0.1, 1.5, 1.0000000001, 1.000000000000000000000000000001, 1.05,
	 '2024-02-29', '12:34:56', '12:34:56.70', '01:02:03.004', '01:02:03.456789', '2024-02-29 12:34:56', '2024-02-29 12:34:56.7', '2024-02-29 12:34:56.12', '2024-02-29 12:34:56.000012', '2024-07-01 12:00:00', '2024-07-01 12:00:00.5', '2024-03-31 01:30:00.25',
	 'trail  ', 'a ', 'trail  ', 'emoji 😀 and 中文', 'a"b\\c', 'line\nbreak', 'm	t', REPEAT('长', 400), X'', X'00', X'00', 't', 'b', REPEAT('z', 700), REPEAT('q', 100), 'unsigned', 'y z')`,
	`INSERT INTO t (id, da, dt0, dt3, ts0, ts6, e, s, f, dbl, bn) VALUES (4, '0000-00-00', '0000-00-00', '2024-00-15 10:00:00', '0000-00-00', '0000-00-00', 'back\\slash', 'back\\slash,中', -0.0, 1e-300, X'616200000000')`,
	`INSERT INTO t (id, da, dt0, ts0, e, s, f, dbl) VALUES (5, '2024-00-00', '2024-12-00 01:00:00', '2024-01-01 00:00:00', 'nl
y', '', 0.1, 3.14159)`,
	`INSERT INTO t (id, e) VALUES (6, ''), (7, 'tab	x'), (8, 0), (9, 'é')`,
}

func TestEveryTypeIsTheSameFromLogAndSelect(t *testing.T) {
	c := record(t, []string{allTypesTable}, allTypesRows)
	name := "alltypes"
	if c.mariaDB {
		name = "alltypes_mariadb"
	}
	rows := checkBothWays(t, name, ValueOptions{}, c)
	require.Len(t, rows, 10)
	for _, r := range rows {
		t.Log(r[:min(len(r), 3000)])
	}
}

func TestEveryTypeAsStringIsTheSameFromLogAndSelect(t *testing.T) {
	c := record(t, []string{allTypesTable}, allTypesRows)
	rows := checkBothWays(t, "", ValueOptions{Types: TypeOptions{ToString: true}}, c)
	t.Log(rows[3][:3000])
}

// TestOldTemporalFormats: MariaDB can still write the formats that MySQL had before 5.6.4, its own types, and compressed
// rows events; MySQL stores the same values in today's formats.
func TestOldTemporalFormatsAndMariaDBTypes(t *testing.T) {
	con := connectServer(t)
	mariaDB := strings.Contains(con.GetServerVersion(), "MariaDB")
	name, own, ownValues := "temporal", "", func(...string) string { return "" }
	if mariaDB {
		name, own = "mariadb", ", u uuid, i4 inet4, i6 inet6, cj json, g point"
		ownValues = func(v ...string) string { return ",'" + strings.Join(v, "','") + "',POINT(1,2)" }
		for _, v := range []string{"mysql56_temporal_format=%s", "log_bin_compress=%s", "log_bin_compress_min_len=%s"} {
			on, off := "ON", "OFF"
			if strings.HasPrefix(v, "mysql56") {
				on, off = off, on
			} else if strings.HasSuffix(v, "len=%s") {
				on, off = "10", "256"
			}
			_, err := con.Execute("SET GLOBAL " + fmt.Sprintf(v, on))
			require.NoError(t, err)
			defer func() { _, _ = con.Execute("SET GLOBAL " + fmt.Sprintf(v, off)) }()
		}
	}
	c := record(t, []string{"CREATE TABLE t (id int PRIMARY KEY, d date, t time, dt datetime, ts timestamp NULL" + own + ")"}, []string{
		"INSERT INTO t (id) VALUES (0)",
		"INSERT INTO t VALUES (1, '0001-01-01', '00:00:00', '1000-01-01 00:00:00', '1970-01-01 00:00:01'" +
			ownValues("00000000-0000-0000-0000-000000000000", "0.0.0.0", "::", "{}") + ")",
		"INSERT INTO t VALUES (2, '9999-12-31', '23:59:59', '9999-12-31 23:59:59', '2038-01-19 03:14:07'" +
			ownValues("ffffffff-ffff-ffff-ffff-ffffffffffff", "255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "[1, 2]") + ")",
		"INSERT INTO t VALUES (3, '2024-02-29', '12:34:56', '2024-02-29 12:34:56', '2024-02-29 12:34:56'" +
			ownValues("01234567-89ab-1def-8123-456789abcdef", "10.0.0.0", "2001:db8::1:0:0:1", "null") + ")",
		"INSERT INTO t VALUES (4, '0000-00-00', '01:02:03', '2024-00-10 00:00:00', '0000-00-00'" +
			ownValues("01234567-89ab-4def-8123-456789abcd00", "1.2.3.4", "::ffff:1.2.3.4", "1") + ")",
		"INSERT INTO t VALUES (5, '2024-02-29', '12:34:56', '2024-02-29 12:34:56', '2024-02-29 12:34:56'" +
			ownValues("01234567-89ab-7def-8123-456789abcdef", "10.0.0.0", "::1.2.3.4", "null") + ")",
		"INSERT INTO t VALUES (6, '2024-02-29', '12:34:56', '2024-02-29 12:34:56', '2024-02-29 12:34:56'" +
			ownValues("01234567-89ab-6def-0123-456789abcdef", "10.0.0.0", "::5", "null") + ")",
	})
	rows := checkBothWays(t, name, ValueOptions{}, c)
	require.Len(t, rows, 7)
	t.Log(strings.Join(rows, "\n"))
}

// TestEveryCharset stores each character of each character set that the server has, in text and ENUM columns.
func TestEveryCharsetIsTheSameFromLogAndServer(t *testing.T) {
	con := connectServer(t)
	r, err := con.Execute("SELECT character_set_name FROM information_schema.character_sets WHERE character_set_name<>'binary' ORDER BY 1")
	require.NoError(t, err)
	var list []string
	for i := range r.Values {
		s, _ := r.GetString(i, 0)
		require.NotNil(t, charsetByName(s), s)
		list = append(list, s)
	}
	create := "CREATE TABLE t (id int PRIMARY KEY"
	for _, cs := range list {
		enum := "enum('a','b') character set " + cs
		if charsetByName(cs).kind == kindUCS2 && strings.HasPrefix(con.GetServerVersion(), "5.") {
			enum = "char(1)" // 5.6 itself shows the members of such an ENUM as empty
		}
		create += fmt.Sprintf(", c_%s char(12) character set %s, t_%s mediumtext character set %s, e_%s %s", cs, cs, cs, cs, cs, enum)
	}
	create += ") ROW_FORMAT=DYNAMIC"
	texts := []string{"plain ascii ~", "éàüß", "中文字符", "日本語カナ", "한국어", "русский", "ελληνικά", "עברית", "ไทย", "€™“”", "😀🎉", "ŁłŻż", "\x01\x7f"}
	var stmts []string
	for i, text := range texts {
		vals := []string{fmt.Sprint(i)}
		for range list {
			vals = append(vals, "'"+text+"'", "'"+strings.Repeat(text, 2)+"'", "'b'")
		}
		stmts = append(stmts, "INSERT INTO t VALUES ("+strings.Join(vals, ",")+")")
	}
	c := record(t, []string{create}, stmts)
	checkBothWays(t, "charsets", ValueOptions{}, c)
	// What the server itself says in utf8mb4 is the judge.
	target := targetType(t, c.cols, TypeOptions{})
	d, err := NewDecoder(c.cols, target, ValueOptions{})
	require.NoError(t, err)
	log := c.decodeEvents(t, d, target)
	converted := recordConverted(t, con, create, stmts, c.cols)
	d2, err := NewDecoder(c.cols, target, ValueOptions{ConvertedText: true})
	require.NoError(t, err)
	server := (&capture{packets: converted}).decodePackets(t, d2, target)
	for i := 1; i < len(log.Cols); i++ {
		for k := range log.N {
			require.Equal(t, string(server.Cols[i].Value(k)), string(log.Cols[i].Value(k)), "%s row %d", c.cols[i].Name, k)
		}
	}
}

func recordConverted(t *testing.T, c *client.Conn, create string, stmts []string, cols []Column) [][]byte {
	for _, q := range append([]string{"SET NAMES utf8mb4", "CREATE DATABASE paimon_go_conv CHARACTER SET utf8mb4", "USE paimon_go_conv", "SET sql_mode=''", create}, stmts...) {
		_, err := c.Execute(q)
		require.NoError(t, err)
	}
	defer func() { _, _ = c.Execute("DROP DATABASE paimon_go_conv") }()
	_, err := c.Execute("SET character_set_results=utf8mb4")
	require.NoError(t, err)
	return selectAll(t, c, cols)
}
