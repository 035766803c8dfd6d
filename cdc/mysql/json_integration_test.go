//go:build integration

package mysql

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
)

func jsonStatements() []string {
	docs := []string{
		"NULL", "'null'", "'true'", "'false'", "'0'", "'-1'", "'1.0'", "'1e100'", "'-0.0'", "'1.5e-7'", "'123456789012345678'", "'18446744073709551615'",
		"'9223372036854775808'", "'-9223372036854775808'", "'32767'", "'-32768'", "'32768'", "'65535'", "'65536'", "'2147483648'", "'4294967296'",
		"'\"\"'", "'\"<a href=\\\\\"x\\\\\">&amp;</a>\"'", "'\"😀 é 中\"'", `'"\\u0001\\b\\f\\n\\r\\t\\\\\\/\\u007f"'`, "'[]'", "'{}'", "'[1, \"a\", null, true, [2.5, {}]]'",
		`'{"bb": 1, "a": 2, "ccc": {"z": [1,2,3], "y": null}, "": 0, "ab": -5}'`, `'{"a": 1, "a": 2}'`,
		"JSON_OBJECT('d', CAST('2015-01-15' AS DATE), 't', CAST('23:24:25.12' AS TIME(2)), 'dt', CAST('2015-01-15 23:24:25.120000' AS DATETIME(6)), 'ts', TIMESTAMP'2015-01-15 23:24:25')",
		"JSON_ARRAY(CAST('-23:24:25' AS TIME), CAST('838:59:59' AS TIME), CAST('-838:59:58.999999' AS TIME(6)), CAST('00:00:00' AS TIME), CAST('-00:00:00.5' AS TIME(1)))",
		"JSON_ARRAY(1.10, CAST('12345678901234567890.1234567890' AS DECIMAL(40,10)), -0.05, CAST(0 AS DECIMAL(10,2)), 100, CAST(1 AS UNSIGNED))",
		"JSON_ARRAY(x'cafe', b'101', CAST('abc' AS BINARY), REPEAT(x'ff', 100), REPEAT(x'fe', 57), REPEAT(x'fd', 114), CAST(X'' AS BINARY))",
		"JSON_ARRAY(CAST(REPEAT('x', 70000) AS CHAR))", "JSON_OBJECT('k', REPEAT('y', 300))",
		"CAST(CONCAT('[', REPEAT('1,', 30000), '2]') AS JSON)", "CAST(CONCAT('[', REPEAT('70000,', 20000), '\"z\"]') AS JSON)",
		"CAST(CONCAT(REPEAT('{\"k\": ', 99), '1', REPEAT('}', 99)) AS JSON)", "CAST(CONCAT(REPEAT('[', 99), REPEAT(']', 99)) AS JSON)",
		"CAST(POINT(1,2) AS JSON)", "JSON_ARRAY(2024, CAST('2024' AS YEAR), true)", "JSON_ARRAY(DATE'0000-00-00', TIMESTAMP'0001-01-01 00:00:00')",
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 60 { // doubles of every size
		var list []string
		for range 40 {
			x := math.Float64frombits(rnd.Uint64())
			if rnd.IntN(2) == 0 {
				x = (rnd.Float64() - 0.5) * math.Pow(10, float64(rnd.IntN(44)-22))
			}
			if math.IsNaN(x) || math.IsInf(x, 0) {
				x = 1
			}
			list = append(list, fmt.Sprintf("%.*e", rnd.IntN(17), x))
		}
		docs = append(docs, "'["+strings.Join(list, ",")+"]'")
	}
	var big []string // an object whose offsets need four bytes
	for i := range 3000 {
		big = append(big, fmt.Sprintf(`"key%d": {"v": %d, "s": "%s"}`, i, i*1000, strings.Repeat("s", i%40)))
	}
	docs = append(docs, "'{"+strings.Join(big, ",")+"}'")
	var out []string
	for i, d := range docs {
		out = append(out, fmt.Sprintf("INSERT INTO t VALUES (%d, %s, 'x')", i, d))
	}
	return out
}

func TestJSONIsWhatSelectGives(t *testing.T) {
	c := record(t, []string{"CREATE TABLE t (id int PRIMARY KEY, j json, k text)"}, jsonStatements())
	checkBothWays(t, "", ValueOptions{}, c)
	small := *c
	small.events, small.packets = c.events[:2*40], c.packets[:40]
	for i := 0; i < len(small.events); { // keep the capture small
		if len(small.events[i].body) > 3000 {
			small.events = append(small.events[:i:i], small.events[i+1:]...)
			continue
		}
		i++
	}
	packets := small.packets
	small.packets = nil
	for _, p := range packets {
		if len(p) < 2900 {
			small.packets = append(small.packets, p)
		}
	}
	checkBothWays(t, "json", ValueOptions{}, &small)
}

func TestEmptyJSONIsNullLiteral(t *testing.T) {
	c := record(t, []string{"CREATE TABLE t (id int PRIMARY KEY, j json NOT NULL)"}, []string{"INSERT IGNORE INTO t VALUES (1, NULL)"})
	t.Log(checkBothWays(t, "json_empty", ValueOptions{}, c))
}

func TestGeometryIsTheSameFromLogAndSelect(t *testing.T) {
	c := record(t, []string{"CREATE TABLE t (id int PRIMARY KEY, g geometry, p point)"}, []string{
		"INSERT INTO t VALUES (1, NULL, NULL)",
		"INSERT INTO t VALUES (2, ST_GeomFromText('POINT(1 2)'), ST_GeomFromText('POINT(1.5 -2.25)', 4326))",
		"INSERT INTO t VALUES (3, ST_GeomFromText('LINESTRING(0 0,1 1,2.5 3e10)'), POINT(1e-9, 1e22))",
		"INSERT INTO t VALUES (4, ST_GeomFromText('POLYGON((0 0,10 0,10 10,0 10,0 0),(5 5,7 5,7 7,5 7,5 5))'), NULL)",
		"INSERT INTO t VALUES (5, ST_GeomFromText('MULTIPOINT((1 1),(2 2))'), NULL)",
		"INSERT INTO t VALUES (6, ST_GeomFromText('MULTILINESTRING((1 1,2 2),(3 3,4 4))'), NULL)",
		"INSERT INTO t VALUES (7, ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((2 2,3 2,3 3,2 2)))'), NULL)",
		"INSERT INTO t VALUES (8, ST_GeomFromText('GEOMETRYCOLLECTION(POINT(10 10),LINESTRING(1 1,2 2))'), NULL)",
		"INSERT INTO t VALUES (9, ST_GeomFromText('GEOMETRYCOLLECTION EMPTY'), NULL)",
		"INSERT INTO t VALUES (10, ST_GeomFromText('GEOMETRYCOLLECTION(GEOMETRYCOLLECTION(POINT(1 2)))'), NULL)",
	})
	rows := checkBothWays(t, "geometry", ValueOptions{}, c)
	require.Contains(t, rows[1], `{\"coordinates\":[1,2],\"type\":\"Point\",\"srid\":0}`)
	point := `[-2.25,1.5]` // MySQL 8 takes EPSG:4326 as latitude, longitude and stores it the other way round
	if c.mariaDB || strings.HasPrefix(connectServer(t).GetServerVersion(), "5.") {
		point = `[1.5,-2.25]`
	}
	require.Contains(t, rows[1], `{\"coordinates\":`+point+`,\"type\":\"Point\",\"srid\":4326}`)
	require.Contains(t, rows[7], `{\"geometries\":[{\"type\":\"Point\",\"coordinates\":[10,10]},`)
	t.Log(rows)
}

func TestVectorIsTheSameFromLogAndSelect(t *testing.T) {
	c := record(t, []string{"CREATE TABLE t (id int PRIMARY KEY, v vector(3), w vector)"}, []string{
		"INSERT INTO t VALUES (1, NULL, NULL), (2, STRING_TO_VECTOR('[1,2.5,-3]'), STRING_TO_VECTOR('[0.1]'))",
	})
	rows := checkBothWays(t, "vector", ValueOptions{}, c)
	require.Contains(t, rows[1], `"v":[1,2.5,-3],"w":[0.1]`)
}

// TestTimestampInZones reads instants around the changes of summer time in several zones.
func TestTimestampInZonesIsTheSameFromLogAndSelect(t *testing.T) {
	for _, name := range []string{"UTC", "Asia/Shanghai", "America/New_York", "Europe/Berlin", "+05:30"} {
		zone := time.FixedZone("+05:30", 19800)
		if name != "+05:30" {
			var err error
			zone, err = time.LoadLocation(name)
			require.NoError(t, err)
		}
		var stmts []string
		var want []int64
		for i, s := range []string{"1970-01-01 00:00:01", "1986-05-04 16:00:00", "2024-03-10 06:59:59.999999", "2024-03-10 07:00:00", "2024-11-03 05:30:00", "2024-11-03 06:30:00", "2038-01-19 03:14:07.123456"} {
			stmts = append(stmts, fmt.Sprintf("INSERT INTO t VALUES (%d, '%s', '%s')", i, s, s))
			at, err := time.Parse("2006-01-02 15:04:05", s)
			require.NoError(t, err)
			_, off := at.In(zone).Zone()
			want = append(want, at.UnixMicro()+int64(off)*1e6)
		}
		c := record(t, []string{"CREATE TABLE t (id int PRIMARY KEY, ts timestamp(6) NULL, d datetime(6))"}, stmts)
		checkBothWays(t, "", ValueOptions{ServerZone: zone}, c)
		target := targetType(t, c.cols, TypeOptions{})
		d, err := NewDecoder(c.cols, target, ValueOptions{ServerZone: zone})
		require.NoError(t, err)
		require.Equal(t, want, c.decodeEvents(t, d, target).Cols[1].I64, name)
		checkBothWays(t, "", ValueOptions{ServerZone: zone, Types: TypeOptions{TimestampAsLTZ: true}}, c)
	}
}

func TestTimesOutsideTheDay(t *testing.T) {
	setup := []string{"CREATE TABLE t (id int PRIMARY KEY, a time, b time(2), c time(3), d time(6))"}
	var stmts []string
	for i, s := range []string{"-838:59:59", "838:59:59", "-00:00:00.5", "-01:00:00.123456", "24:00:00", "25:00:00", "-00:00:01"} {
		stmts = append(stmts, fmt.Sprintf("INSERT INTO t VALUES (%d, '%s', '%s', '%s', '%s')", i, s, s, s, s))
	}
	c := record(t, setup, stmts)
	checkBothWays(t, "time_clamp", ValueOptions{Time: TimeClamp}, c)
	checkBothWays(t, "time_modulo", ValueOptions{Time: TimeModulo}, c)
	rows := checkBothWays(t, "time_string", ValueOptions{Types: TypeOptions{TimeAsString: true}}, c)
	require.Contains(t, rows[0], `"a":"-838:59:59"`)
	require.Contains(t, rows[3], `"a":"-01:00:00","b":"-01:00:00.12","c":"-01:00:00.123","d":"-01:00:00.123456"`)
}

func TestUpdatesAndDeletes(t *testing.T) {
	c := record(t, []string{"CREATE TABLE t (id int PRIMARY KEY, a varchar(9), b tinyint unsigned)"}, []string{
		"INSERT INTO t VALUES (1,'x',200),(2,'y',0)", "UPDATE t SET a='z', b=NULL WHERE id=1", "UPDATE t SET id=3 WHERE id=2", "DELETE FROM t WHERE id=3",
	})
	target := targetType(t, c.cols, TypeOptions{})
	d, err := NewDecoder(c.cols, target, ValueOptions{})
	require.NoError(t, err)
	b := c.decodeEvents(t, d, target)
	require.Equal(t, []row.Kind{0, 0, 1, 2, 1, 2, 3}, b.Kinds)
	c.packets, c.want = nil, rowsText(b)
	if *rewriteCaptures {
		c.write(t, "testdata/changes.txt")
	}
}

func TestPartialImagesAreRefusedByName(t *testing.T) {
	c := record(t, []string{"CREATE TABLE t (id int PRIMARY KEY, a int, j text)", "SET SESSION binlog_row_image=MINIMAL"},
		[]string{"INSERT INTO t VALUES (1,2,'x')", "UPDATE t SET a=3"})
	target := targetType(t, c.cols, TypeOptions{})
	d, err := NewDecoder(c.cols, target, ValueOptions{})
	require.NoError(t, err)
	tm, err := ParseTableMap(c.events[2].body, false)
	require.NoError(t, err)
	e, err := ParseRows(c.events[3].kind, c.events[3].body)
	require.NoError(t, err)
	_, err = d.AppendRows(row.NewBatch(target), tm, &e)
	require.ErrorContains(t, err, "column a is missing from a row image")
	c.packets = nil
	if *rewriteCaptures {
		c.write(t, "testdata/minimal_image.txt")
	}
}
