//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

func TestAddColumnWhileRunningAndWhileStopped(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY, a VARCHAR(20))")
	db.Exec("INSERT INTO s VALUES (1, 'one'), (2, 'two')")
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	db.Exec("INSERT INTO s VALUES (3, 'three')")
	db.Exec("ALTER TABLE s ADD COLUMN b INT NULL, ADD c DECIMAL(10,2) COMMENT 'price' AFTER id")
	db.Exec("INSERT INTO s VALUES (4, 1.50, 'four', 44)")
	db.Exec("UPDATE s SET b = 11 WHERE id = 1")
	p.WaitCaughtUp()
	require.Contains(t, p.Output(), "schema change")
	p.Stop()
	// Stopped: rows before and after the statement are in the log, under both definitions.
	db.Exec("INSERT INTO s (id, a) VALUES (5, 'before')")
	db.Exec("ALTER TABLE s ADD COLUMN d ENUM('x','y,z')")
	db.Exec("INSERT INTO s (id, a, d) VALUES (6, 'after', 'y,z')")
	db.Exec("ALTER TABLE s MODIFY d ENUM('x','y,z','new')")
	db.Exec("INSERT INTO s (id, a, d) VALUES (7, 'after', 'new')")
	p = j.Start()
	p.WaitCaughtUp()
	db.Exec("ALTER TABLE s ADD COLUMN e JSON")
	db.Exec(`UPDATE s SET e = '{"k": 1}' WHERE id = 7`)
	p.WaitCaughtUp()
	p.Stop()
	// The Paimon table has new columns at its end.
	var want []string
	for _, r := range db.Exec("SELECT CONCAT('{\"id\":', id, ',\"a\":\"', a, '\",\"b\":', COALESCE(b, 'null'), ',\"c\":', COALESCE(CONCAT('\"', c, '\"'), 'null'), ',\"d\":', COALESCE(CONCAT('\"', d, '\"'), 'null'), ',\"e\":', COALESCE(JSON_QUOTE(CAST(e AS CHAR)), 'null'), '}') FROM s ORDER BY id").Values {
		want = append(want, string(r[0].AsString()))
	}
	j.RequireJava(want)
	j.RequirePython(want)
	require.Equal(t, []string{"id", "a", "b", "c", "d", "e"}, fieldNames(j))
}

func fieldNames(j *testkit.Job) (names []string) {
	for _, f := range j.Open().Schema().Fields {
		names = append(names, f.Name)
	}
	return names
}

func TestNotNullDefaultColumnIsAddedNullable(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY)")
	db.Exec("INSERT INTO s VALUES (1)")
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	db.Exec("ALTER TABLE s ADD COLUMN n INT NOT NULL DEFAULT 7")
	db.Exec("INSERT INTO s (id) VALUES (2)")
	p.WaitCaughtUp()
	p.Stop()
	require.Contains(t, p.Output(), "NULL")
	j.RequireJava([]string{`{"id":1,"n":null}`, `{"id":2,"n":7}`})
}

func TestStatementsWithoutEffectAreIgnored(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY, a VARCHAR(20), v INT)")
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	for i, q := range []string{
		"CREATE INDEX i ON s (a)", "DROP INDEX i ON s", "ALTER TABLE s ADD INDEX i2 (v), ENGINE=InnoDB", "ANALYZE TABLE s", "OPTIMIZE TABLE s",
		"ALTER TABLE s COMMENT 'x'", "ALTER TABLE s ALTER COLUMN v SET DEFAULT 3", "CREATE TABLE s2 LIKE s", "INSERT INTO s2 VALUES (1,'s2',2)",
		"TRUNCATE TABLE s2", "RENAME TABLE s2 TO s3", "ALTER TABLE s3 DROP COLUMN a", "DROP TABLE s3", "CREATE VIEW w AS SELECT * FROM s", "DROP VIEW w",
		"CREATE TRIGGER tr BEFORE INSERT ON s FOR EACH ROW SET NEW.v = NEW.v + 1", "DROP TRIGGER tr", "FLUSH TABLES s",
		"CREATE TABLE c AS SELECT * FROM s", "GRANT SELECT ON " + db.Name + ".s TO cdc",
	} {
		db.Exec(q)
		db.Exec(fmt.Sprintf("INSERT INTO s VALUES (%d, 'row', 1)", i))
	}
	p.WaitCaughtUp()
	p.Stop()
	j.RequireJava(db.Rows("s"))
}

func TestRefusedStatementsAndEvents(t *testing.T) {
	for _, c := range []struct {
		name, text string
		run        func(db *testkit.DB)
	}{
		{"truncate", "TRUNCATE TABLE s", func(db *testkit.DB) { db.Exec("TRUNCATE TABLE s") }},
		{"drop", "DROP TABLE", func(db *testkit.DB) { db.Exec("DROP TABLE s") }},
		{"rename", "renamed to s_old", func(db *testkit.DB) { db.Exec("RENAME TABLE s TO s_old") }},
		{"online schema change", "_s_del", func(db *testkit.DB) {
			db.Exec("CREATE TABLE _s_gho LIKE s")
			db.Exec("INSERT INTO _s_gho VALUES (1,'x')")
			db.Exec("RENAME TABLE s TO _s_del, _s_gho TO s")
		}},
		{"type", "from int", func(db *testkit.DB) { db.Exec("ALTER TABLE s MODIFY id BIGINT NOT NULL") }},
		{"drop column", "column a is dropped", func(db *testkit.DB) { db.Exec("ALTER TABLE s DROP COLUMN a") }},
		{"rename column", "column a is renamed", func(db *testkit.DB) { db.Exec("ALTER TABLE s RENAME COLUMN a TO b") }},
		{"primary key", "primary key", func(db *testkit.DB) { db.Exec("ALTER TABLE s DROP PRIMARY KEY, ADD PRIMARY KEY (id, a)") }},
		{"statement format", "statement", func(db *testkit.DB) {
			c := db.Session()
			c.Exec("SET SESSION binlog_format = 'STATEMENT'")
			c.Exec("UPDATE s SET a = 'by statement' WHERE id = 1")
		}},
		{"xa", "XA transaction", func(db *testkit.DB) {
			c := db.Session()
			c.Exec("XA START 'x" + db.Name + "'")
			c.Exec("INSERT INTO s VALUES (99, 'xa')")
			c.Exec("XA END 'x" + db.Name + "'")
			c.Exec("XA PREPARE 'x" + db.Name + "'")
			c.Exec("XA ROLLBACK 'x" + db.Name + "'")
		}},
		{"row image", "row image", func(db *testkit.DB) {
			c := db.Session()
			c.Exec("SET SESSION binlog_row_image = 'MINIMAL'")
			c.Exec("UPDATE s SET a = 'minimal' WHERE id = 1")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := testkit.MySQL(t).Database(t)
			db.Exec("CREATE TABLE s (id INT PRIMARY KEY, a VARCHAR(20) NOT NULL)")
			db.Exec("INSERT INTO s VALUES (1, 'one')")
			j := testkit.NewJob(t, db, "s")
			p := j.Start()
			p.WaitCaughtUp()
			db.Exec("INSERT INTO s VALUES (2, 'two')")
			c.run(db)
			p.RequireExit(5, c.text, "binlog.0")
			j.Start().RequireExit(5, "exit 5") // a restart goes no further, whatever the source's table looks like by now
			require.Equal(t, []string{`{"id":1,"a":"one"}`, `{"id":2,"a":"two"}`}, j.JavaRows(testkit.JavaVersions[0]), "what came before is committed, and nothing of it")
			j.RequireClean()
		})
	}
}

func TestDroppedColumnStaysAndIsNull(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY, a VARCHAR(20), b INT, c INT)")
	db.Exec("INSERT INTO s VALUES (1, 'one', 1, 1), (2, 'two', 2, 2)")
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	db.Exec("UPDATE s SET c = 11 WHERE id = 1")
	db.Exec("ALTER TABLE s DROP COLUMN a")
	db.Exec("INSERT INTO s VALUES (3, 3, 3)")
	db.Exec("UPDATE s SET b = 22 WHERE id = 2")
	p.WaitCaughtUp()
	require.Contains(t, p.Output(), "a column is dropped")
	p.Stop()
	db.Exec("INSERT INTO s VALUES (4, 4, 4)")
	db.Exec("ALTER TABLE s DROP COLUMN b, ADD COLUMN d INT")
	db.Exec("INSERT INTO s VALUES (5, 5, 5)")
	p = j.Start()
	p.WaitCaughtUp()
	p.Stop()
	j.RequireJava([]string{`{"id":1,"a":"one","b":1,"c":11,"d":null}`, `{"id":2,"a":null,"b":22,"c":2,"d":null}`, `{"id":3,"a":null,"b":3,"c":3,"d":null}`,
		`{"id":4,"a":null,"b":4,"c":4,"d":null}`, `{"id":5,"a":null,"b":null,"c":5,"d":5}`})
}

func TestStatementsAreJudgedByTheirTimeAfterAStop(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY, v ENUM('a','b'))")
	db.Exec("INSERT INTO s VALUES (1, 'a'), (2, 'b')")
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	p.Stop()
	c := db.Session()
	c.Exec("SET SESSION sql_mode = ''")
	c.Exec("ALTER TABLE s MODIFY v ENUM('a')") // empties the value of row 2, which is in no rows event
	j.Start().RequireExit(5, "changes from enum('a','b') to enum('a')", "binlog.0")
	db.Exec("DROP TABLE s")
	j.Start().RequireExit(5, "changes from enum('a','b') to enum('a')", "binlog.0")
}

func TestPartialJSONIsRefused(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY, j JSON)")
	db.Exec(`INSERT INTO s VALUES (1, '{"a": 1, "b": 2}')`)
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	c := db.Session()
	c.Exec("SET SESSION binlog_row_value_options = 'PARTIAL_JSON'")
	c.Exec("UPDATE s SET j = JSON_SET(j, '$.a', 5) WHERE id = 1")
	p.RequireExit(5, "partial JSON")
}

func TestXAOfOtherTablesIsNoMatter(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	db.Exec("CREATE TABLE other (id INT PRIMARY KEY)")
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	c := db.Session()
	c.Exec("XA START 'o" + db.Name + "'")
	c.Exec("INSERT INTO other VALUES (1)")
	c.Exec("XA END 'o" + db.Name + "'")
	c.Exec("XA PREPARE 'o" + db.Name + "'")
	db.InsertRows("s", 0, 10, 10, wideRow)
	c.Exec("XA COMMIT 'o" + db.Name + "'")
	db.InsertRows("s", 10, 20, 10, wideRow)
	p.WaitCaughtUp()
	p.Stop()
	j.RequireJava(db.Rows("s"))
}

// TestSkippingATransaction passes over one that can't be applied, by its GTID.
func TestSkippingATransaction(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY, a VARCHAR(20))")
	j := testkit.NewJob(t, db, "s")
	p := j.Start()
	p.WaitCaughtUp()
	db.Exec("INSERT INTO s VALUES (1, 'one')")
	c := db.Session()
	c.Exec("SET SESSION binlog_format = 'STATEMENT'")
	c.Exec("UPDATE s SET a = 'by statement' WHERE id = 1")
	db.Exec("UPDATE s SET a = 'by row' WHERE id = 1")
	p.RequireExit(5, "statement", "transaction ")
	_, rest, _ := strings.Cut(p.Output(), "(transaction ")
	gtid, _, _ := strings.Cut(rest, ")")
	j.Set("skip-gtid-set", gtid)
	p = j.Start()
	p.WaitCaughtUp()
	p.Stop()
	j.RequireJava([]string{`{"id":1,"a":"by row"}`})
}

func TestCascadesAreAWarningOfCheckSource(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec("CREATE TABLE parent (id INT PRIMARY KEY)")
	db.Exec("CREATE TABLE s (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)")
	p := testkit.NewJob(t, db, "s").CheckSource()
	require.Equal(t, 0, p.Wait(30*time.Second), p.Output())
	require.Contains(t, p.Output(), "DELETE CASCADE")
	require.Contains(t, p.Output(), "DROP FOREIGN KEY")
}
