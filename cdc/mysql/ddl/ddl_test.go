package ddl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func show(e Effect) string {
	switch e.Kind {
	case NoEffect:
		return "none"
	case Created:
		return "created"
	case Refused:
		return "refused: " + e.Reason
	}
	var out []string
	for _, c := range e.Changes {
		col := c.Column
		var s string
		switch c.Kind {
		case AddColumn:
			s = "add "
		case ModifyColumn:
			s = "modify " + c.Old + " to "
		case DropColumn:
			s = "drop " + c.Old
		case RenameColumn:
			s = "rename " + c.Old + " to "
		case ConvertCharset:
			s = "convert"
		case TableCharset:
			s = "charset"
		}
		s += col.Name
		if col.Type != "" {
			s += " " + col.Type
			if !col.Nullable {
				s += " not null"
			}
		}
		if len(col.Elements) > 0 {
			s += fmt.Sprintf(" %q", col.Elements)
		}
		if col.Charset != "" {
			s += " charset " + col.Charset
		}
		if col.Default != nil {
			s += fmt.Sprintf(" default %q", *col.Default)
		}
		if col.Comment != "" {
			s += fmt.Sprintf(" comment %q", col.Comment)
		}
		for flag, on := range map[string]bool{" invisible": col.Invisible, " generated": col.Generated, " first": c.First} {
			if on {
				s += flag
			}
		}
		if c.After != "" {
			s += " after " + c.After
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// TestEffectOnTable tells what statements do to d.t, sent with database d as the current one.
func TestEffectOnTable(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"ALTER TABLE t ADD COLUMN c int", "add c int(11)"},
		{"alter table `d`.`t` add c bigint unsigned not null default 7 comment 'x' first", `add c bigint(20) unsigned not null default "7" comment "x" first`},
		{"/* tool */ ALTER TABLE t ADD (a varchar(20), b decimal(10,2)), ADD c timestamp(3) NULL AFTER a", "add a varchar(20); add b decimal(10,2); add c timestamp(3) after a"},
		{"ALTER TABLE t ADD e enum('a,b','it''s','b\\\\x') character set gbk, ADD s set('x')", `add e enum('a,b','it''s','b\\x') ["a,b" "it's" "b\\x"] charset gbk; add s set('x') ["x"]`},
		{"ALTER TABLE t ADD a blob, ADD b binary(3), ADD c varbinary(9), ADD d text, ADD e json, ADD f bit(3), ADD g year, ADD h tinyint(1), ADD i bool, ADD j double, ADD k float, ADD l time(2), ADD m datetime(6), ADD n date, ADD o mediumtext, ADD p longblob, ADD q char(3) character set binary",
			"add a blob; add b binary(3); add c varbinary(9); add d text; add e json; add f bit(3); add g year; add h tinyint(1); add i tinyint(1); add j double; add k float; add l time(2); add m datetime(6); add n date; add o mediumtext; add p longblob; add q binary(3)"},
		{"ALTER TABLE t ADD p POINT NOT NULL SRID 4326 AFTER a, ADD g geometry, ADD `point` multipolygon", "add p point not null after a; add g geometry; add point multipolygon"},
		{"ALTER TABLE t ADD h int INVISIBLE, ADD v varchar(3) COLLATE latin1_bin ENGINE_ATTRIBUTE='{}'", `add h int(11) invisible; add v varchar(3) charset latin1`},
		{"ALTER TABLE t ADD h int /*!80023 INVISIBLE */", "add h int(11) invisible"},
		{"ALTER TABLE t ADD g int GENERATED ALWAYS AS (a+1) STORED", "add g int(11) generated"},
		{"ALTER TABLE t ADD v vector(3)", "add v vector(3)"},
		{"ALTER TABLE t ADD u uuid", "add u uuid"},
		{"ALTER TABLE t MODIFY c varchar(30) NOT NULL AFTER x", "modify c to c varchar(30) not null after x"},
		{"ALTER TABLE t CHANGE a b int", "modify a to b int(11)"},
		{"ALTER TABLE t DROP COLUMN a", "drop a"},
		{"ALTER TABLE t RENAME COLUMN a TO b", "rename a to b"},
		{"ALTER TABLE t CONVERT TO CHARACTER SET gbk", "convert charset gbk"},
		{"ALTER TABLE t DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "charset charset utf8mb4"},
		{"ALTER TABLE t ALTER c SET DEFAULT 5", "none"},
		{"ALTER TABLE t ADD INDEX i (a), DROP INDEX k, ADD UNIQUE (b), COMMENT 'x', ENGINE=InnoDB, ALGORITHM=INPLACE, LOCK=NONE", "none"},
		{"ALTER TABLE t AUTO_INCREMENT=100", "none"},
		{"ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (a) REFERENCES x (a)", "none"},
		{"ALTER TABLE t PARTITION BY HASH(id) PARTITIONS 4", "none"},
		{"ALTER TABLE t ADD PARTITION (PARTITION p3 VALUES LESS THAN (30))", "none"},
		{"ALTER TABLE t REORGANIZE PARTITION p0 INTO (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN (10))", "none"},
		{"ALTER TABLE t REMOVE PARTITIONING", "none"},
		{"ALTER TABLE t FORCE", "none"},
		{"ALTER TABLE t DROP PARTITION p0", "refused: a partition is dropped, which deletes rows without row events"},
		{"ALTER TABLE t TRUNCATE PARTITION p0", "refused: a partition is truncated, which deletes rows without row events"},
		{"ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE x", "refused: a partition is exchanged with a table, which moves rows without row events"},
		{"ALTER TABLE x EXCHANGE PARTITION p0 WITH TABLE d.t", "refused: a partition is exchanged with a table, which moves rows without row events"},
		{"ALTER TABLE t DISCARD TABLESPACE", "refused: a tablespace is discarded or imported, which changes rows without row events"},
		{"ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a)", "refused: the primary key is dropped"},
		{"ALTER TABLE t ADD c int PRIMARY KEY", "refused: a primary key is added"},
		{"ALTER TABLE t RENAME TO u", "refused: the table is renamed to u"},
		{"ALTER TABLE _t_gho RENAME TO t", "refused: table _t_gho takes its name"},
		{"ALTER TABLE d.x RENAME t", "refused: table x takes its name"},
		{"RENAME TABLE t TO _t_del, _t_gho TO t", "refused: the table is renamed to _t_del"},
		{"RENAME TABLE `d`.`t` TO `d`.`_t_old`, `d`.`_t_new` TO `d`.`t`", "refused: the table is renamed to _t_old"},
		{"RENAME TABLE x TO y", "none"},
		{"ALTER TABLE other.t ADD c int", "none"},
		{"ALTER TABLE T ADD c int", "add c int(11)"},
		{"ALTER TABLE x ADD t int", "none"},
		{"CREATE INDEX i ON t (a)", "none"},
		{"DROP INDEX i ON t", "none"},
		{"TRUNCATE t", "refused: the table is truncated"},
		{"TRUNCATE TABLE `d`.t /* generated by server */", "refused: the table is truncated"},
		{"DROP TABLE IF EXISTS `x`,`t` /* generated by server */", "refused: the table is dropped"},
		{"DROP TEMPORARY TABLE IF EXISTS t", "none"},
		{"DROP TABLE x", "none"},
		{"DROP DATABASE d", "refused: the database is dropped"},
		{"DROP DATABASE e", "none"},
		{"CREATE DATABASE d2", "none"},
		{"CREATE TABLE t (id int)", "created"},
		{"CREATE TABLE IF NOT EXISTS t (id int)", "none"},
		{"CREATE TABLE u LIKE t", "none"},
		{"CREATE TABLE u AS SELECT * FROM t", "none"},
		{"CREATE TABLE `u` (\n  `id` int NOT NULL\n) START TRANSACTION", "none"},
		{"CREATE TABLE `u` (p POINT NOT NULL SRID 0, SPATIAL INDEX(p))", "none"},
		{"CREATE TEMPORARY TABLE t (a int)", "none"},
		{"CREATE DEFINER=`root`@`%` TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.a=1", "none"},
		{"CREATE DEFINER=`root`@`localhost` PROCEDURE p() BEGIN TRUNCATE t; END", "none"},
		{"CREATE VIEW v AS SELECT * FROM t", "none"},
		{"DROP TRIGGER tr", "none"},
		{"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t", "none"},
		{"ANALYZE TABLE t", "none"}, {"OPTIMIZE TABLE t", "none"}, {"REPAIR TABLE t", "none"},
		{"GRANT SELECT ON d.t TO u", "none"}, {"FLUSH TABLES t", "none"},
		{"CREATE USER u IDENTIFIED WITH 'caching_sha2_password' AS 'x'", "none"},
		{"XA START X'01',X'',1", "none"}, {"BEGIN", "none"}, {"SAVEPOINT `t`", "none"}, {"COMMIT", "none"},
		{"INSERT INTO t VALUES (1)", "refused: rows change by a statement, not by row events (binlog_format of that session is not ROW)"},
		{"DELETE t FROM t JOIN x ON t.a=x.a", "refused: rows change by a statement, not by row events (binlog_format of that session is not ROW)"},
		{"UPDATE x SET a=1", "none"},
		{"LOAD DATA INFILE 'x' INTO TABLE t", "refused: rows change by a statement, not by row events (binlog_format of that session is not ROW)"},
		{"INSERT INTO x VALUES ('t')", "none"},
		{"", "none"}, {"# only a comment", "none"},
	} {
		st := Parse(c.sql, "d", 0)
		var got []string
		for i := range st {
			got = append(got, show(st[i].Effect(Name{"d", "t"})))
		}
		if len(st) == 0 {
			got = []string{"none"}
		}
		if text := strings.Join(got, " | "); text != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.sql, text, c.want)
		}
	}
}

func TestUnparseableStatementIsRefusedWhenItNamesTheTable(t *testing.T) {
	for sql, want := range map[string]EffectKind{
		"ALTER TABLE t FROBNICATE a": Refused, "ALTER TABLE `t` FROBNICATE a": Refused, "ALTER TABLE x FROBNICATE a": NoEffect,
		"FROBNICATE t": Refused, "FROBNICATE 't'": NoEffect, "CREATE OR REPLACE SEQUENCE t": NoEffect, "FROBNICATE /* t */ x": NoEffect,
	} {
		st := Parse(sql, "d", 0)
		require.Len(t, st, 1)
		require.Error(t, st[0].Err(), sql)
		require.Equal(t, want, st[0].Effect(Name{"d", "t"}).Kind, sql)
	}
}

func TestSQLModeDecidesWhatQuotesMean(t *testing.T) {
	st := Parse(`ALTER TABLE "t" ADD "c" int`, "d", 1<<2)
	require.Equal(t, "add c int(11)", show(st[0].Effect(Name{"d", "t"})))
	st = Parse(`ALTER TABLE t ADD c enum('a\','b')`, "d", 1<<20)
	require.Equal(t, []string{`a\`, "b"}, st[0].Effect(Name{"d", "t"}).Changes[0].Column.Elements)
}

func TestStatementDMLIsFlagged(t *testing.T) {
	for sql, want := range map[string]bool{"INSERT INTO x VALUES (1)": true, "REPLACE INTO x VALUES (1)": true, "UPDATE x SET a=1": true,
		"DELETE FROM x": true, "LOAD DATA INFILE 'f' INTO TABLE x": true, "BEGIN": false, "ALTER TABLE x ADD a int": false, "INSERT frobnicate x !": true} {
		st := Parse(sql, "d", 0)
		require.Equal(t, want, st[0].IsDML(), sql)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"ALTER TABLE t ADD p POINT", "/*! x", "'", "`a``", "CREATE TRIGGER", "ALTER TABLE t ADD h int INVISIBLE"} {
		f.Add(s, uint64(0))
	}
	f.Fuzz(func(t *testing.T, s string, mode uint64) {
		for _, st := range Parse(s, "d", mode) {
			st.Effect(Name{"d", "t"})
			st.IsDML()
		}
	})
}
