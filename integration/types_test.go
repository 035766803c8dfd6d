//go:build integration

package integration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

const allTypes = `(
 id int PRIMARY KEY,
 bit1 bit, bit9 bit(9), bit64 bit(64),
 b tinyint(1), ti tinyint, tiu tinyint unsigned, si smallint, siu smallint unsigned, mi mediumint, miu mediumint unsigned,
 i int, iu int unsigned, bi bigint, biu bigint unsigned, y year,
 f float, dbl double,
 de decimal, d52 decimal(5,2), d18 decimal(18,18), d38 decimal(38,10), d65 decimal(65,30), du decimal(10,2) unsigned,
 da date, t0 time, t3 time(3), dt0 datetime, dt3 datetime(3), dt6 datetime(6), ts0 timestamp null, ts6 timestamp(6) null,
 c char(10), v varchar(300), tt tinytext, tx text, lt longtext,
 l1 varchar(50) character set latin1, g varchar(50) character set gbk, u2 varchar(50) character set ucs2, lx text character set latin1,
 bn binary(6), bv varbinary(8), bl blob, lb longblob,
 e enum('a,b','it''s','un"signed','é',''), s set('x','y z','it''s','"q"','中'), j JSON)`

var allRows = []string{
	`(id) VALUES (0)`,
	`VALUES (1, b'0', b'0', b'0', 0, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, 1901,
	 -3.4028234e38, -1.7976931348623157e308, -9999999999, -999.99, -0.999999999999999999, -9999999999999999999999999999.9999999999,
	 -99999999999999999999999999999999999.999999999999999999999999999999, 0,
	 '1000-01-01', '00:00:00', '00:00:00.001', '1000-01-01', '1000-01-01', '0001-01-01 00:00:00.000001', '1970-01-01 00:00:01', '1970-01-01 00:00:01.000001',
	 '', '', '', '', '', '', '', '', '', '', '', '', '', 'a,b', '', 'null')`,
	`VALUES (2, b'1', b'111111111', ~0, 1, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807, 18446744073709551615, 2155,
	 3.4028234e38, 1.7976931348623157e308, 9999999999, 999.99, 0.999999999999999999, 9999999999999999999999999999.9999999999,
	 99999999999999999999999999999999999.999999999999999999999999999999, 99999999.99,
	 '9999-12-31', '23:59:59', '23:59:59.999', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07', '2038-01-19 03:14:07.999999',
	 '0123456789', REPEAT('é', 300), REPEAT('x',255), REPEAT('中', 1000), REPEAT('长', 30000), REPEAT('ÿ',50), REPEAT('中', 50), '😀', '€ÄÖ',
	 X'610000', X'FF00', X'FFFEFD', REPEAT(X'80', 70000), 'it''s', 'x,y z,it''s,"q",中',
	 '{"a": 1.0, "b": [1, 2.5, 1e100, 18446744073709551615], "<tag>&": "x<y", "em": "😀", "n": null, "t": true, "deep": {"k": {"k2": []}}}')`,
	`VALUES (3, b'1', b'100000000', 1<<63, 2, -1, 128, -1, 32768, -1, 8388608, -1, 2147483648, -1, 9223372036854775808, 0,
	 16777217, 0.1, 1, 1.1, 0.1, 1.0000000001, 1.000000000000000000000000000001, 1.05,
	 '2024-02-29', '12:34:56', '01:02:03.004', '2024-02-29 12:34:56', '2024-02-29 12:34:56.12', '2024-02-29 12:34:56.000012', '2024-07-01 12:00:00', '2024-03-31 01:30:00.25',
	 'trail', 'emoji 😀 and 中文', 'a"b\\c', 'line\nbreak', 'tab	x', 'é’Š', '汉字', '中文', '‰',
	 X'616200000000', X'00', X'00', 'b', 'un"signed', '"q"', JSON_OBJECT('dec', CAST(1.50 AS DECIMAL(10,2)), 'd', CAST('2024-01-02' AS DATE), 'ts', CAST('2024-01-02 03:04:05.6' AS DATETIME(6)), 't', CAST('-10:11:12' AS TIME)))`,
	`(id, da, dt0, dt3, ts0, ts6, e, s, f, dbl, bn) VALUES (4, '0000-00-00', '0000-00-00', '2024-00-15 10:00:00', '0000-00-00', '0000-00-00', 'é', '"q",中', -0.0, 1e-300, X'616200000000')`,
	`(id, da, e, s, f, dbl, j) VALUES (5, '2024-00-00', '', '', 0.1, 3.14159, '"just a string < >"')`,
	`(id, f, dbl, j) VALUES (6, 1e-7, 1e21, '[]'), (7, 1.5e25, 123456789012345678, '-0.0'), (8, 0, -0.0, '{}')`,
}

// TestAllTypesFromTableAndLog writes the same rows into a table that is read and into one whose log is followed.
func TestAllTypesFromTableAndLog(t *testing.T) {
	for _, format := range []string{"parquet", "avro"} {
		t.Run(format, func(t *testing.T) { allTypesFromTableAndLog(t, testkit.OnDisk, format) })
	}
}

func allTypesFromTableAndLog(t *testing.T, on testkit.Storage, format string) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE read_table " + allTypes)
	db.Exec("CREATE TABLE from_log " + allTypes)
	for _, r := range allRows {
		db.Exec("INSERT INTO read_table " + r)
	}
	read, log := testkit.NewJob(t, db, "read_table").On(on), testkit.NewJob(t, db, "from_log").On(on)
	read.Conf["file.format"], log.Conf["file.format"] = format, format
	p := log.Start()
	p.WaitCaughtUp()
	for _, r := range allRows {
		db.Exec("INSERT INTO from_log " + r)
	}
	// Updates and deletes go through the same values.
	db.Exec("UPDATE from_log SET i = 77 WHERE id IN (2, 3)")
	db.Exec("UPDATE from_log SET i = CASE id WHEN 2 THEN 2147483647 ELSE -1 END WHERE id IN (2, 3)")
	db.Exec("DELETE FROM from_log WHERE id = 1")
	db.Exec("INSERT INTO from_log " + allRows[1])
	p.WaitCaughtUp()
	p.Stop()
	read.RunToLatest()
	want := db.Rows("read_table")
	require.Equal(t, want, db.Rows("from_log"))
	log.RequireJava(want)
	read.RequireSame()
}

func TestZeroDatesInNotNullColumnsAreTheEpoch(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY, da DATE NOT NULL, dt DATETIME(3) NOT NULL, ts TIMESTAMP NOT NULL)")
	insert := func(id string) {
		db.Exec("INSERT INTO s VALUES (" + id + ", '0000-00-00', '0000-00-00', '0000-00-00')")
	}
	insert("1")
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	insert("2")
	p.WaitCaughtUp()
	p.Stop()
	row := `{"id":#,"da":"1970-01-01","dt":"1970-01-01T00:00:00.000000000","ts":"1970-01-01T00:00:00.000000000"}`
	j.RequireJava([]string{strings.Replace(row, "#", "1", 1), strings.Replace(row, "#", "2", 1)})
}

func TestTimeOutsideADay(t *testing.T) {
	for _, way := range []string{"table", "log"} {
		t.Run(way, func(t *testing.T) {
			db := testkit.MySQL(t).Database(t)
			db.Exec("CREATE TABLE s (id INT PRIMARY KEY, x TIME(3))")
			j := testkit.NewJob(t, db, "s")
			insert := func() {
				db.Exec("INSERT INTO s VALUES (1, '-01:00:00'), (2, '838:59:59'), (3, '24:00:00'), (4, '12:00:00.5')")
			}
			if way == "log" {
				j.RunToLatest()
			}
			insert()
			j.RequireExit(5, "column x", "not a time of the day", "string")
			texts := testkit.NewJob(t, db, "s").Set("time-out-of-range", "string")
			texts.RunToLatest()
			texts.RequireJava([]string{`{"id":1,"x":"-01:00:00.000"}`, `{"id":2,"x":"838:59:59.000"}`, `{"id":3,"x":"24:00:00.000"}`, `{"id":4,"x":"12:00:00.500"}`})
		})
	}
}

func TestTimestampsAreShownInTheGivenZone(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY, ts TIMESTAMP(3) NULL)")
	db.Exec("INSERT INTO s VALUES (1, '2024-03-10 06:59:59.5'), (2, '2024-03-10 07:00:00')") // New York changes to summer time
	j := testkit.NewJob(t, db, "s").Set("server-time-zone", "America/New_York")
	p := j.Start()
	p.WaitCaughtUp()
	db.Exec("SET time_zone='+08:00'")
	db.Exec("INSERT INTO s VALUES (3, '2024-07-01 00:00:00')")
	p.WaitCaughtUp()
	p.Stop()
	j.RequireJava([]string{`{"id":1,"ts":"2024-03-10T01:59:59.500000000"}`, `{"id":2,"ts":"2024-03-10T03:00:00.000000000"}`, `{"id":3,"ts":"2024-06-30T12:00:00.000000000"}`})
}
