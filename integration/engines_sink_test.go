//go:build integration

package integration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

const engineSource = "CREATE TABLE s (id INT PRIMARY KEY, a INT, b VARCHAR(20))"

// TestSinkWithMergeEngines follows inserts, updates and deletes of MySQL into tables of each merge engine.
func TestSinkWithMergeEngines(t *testing.T) {
	for name, c := range map[string]struct {
		conf map[string]string
		want []string // rows in the end
	}{
		"partial-update": {map[string]string{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
			[]string{`{"id":1,"a":12,"b":"x"}`, `{"id":2,"a":20,"b":"z"}`}},
		"partial-update that keeps": {map[string]string{"merge-engine": "partial-update", "ignore-delete": "true"},
			[]string{`{"id":1,"a":12,"b":"x"}`, `{"id":2,"a":20,"b":"z"}`, `{"id":3,"a":30,"b":"w"}`}},
		"aggregation": {map[string]string{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "last_value"},
			[]string{`{"id":1,"a":12,"b":null}`, `{"id":2,"a":20,"b":"z"}`, `{"id":3,"a":0,"b":null}`}},
		"aggregation that keeps": {map[string]string{"merge-engine": "aggregation", "fields.a.aggregate-function": "max", "fields.a.ignore-retract": "true",
			"fields.b.aggregate-function": "first_value", "fields.b.ignore-retract": "true"},
			[]string{`{"id":1,"a":12,"b":"x"}`, `{"id":2,"a":20,"b":"y"}`, `{"id":3,"a":30,"b":"w"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			db := testkit.MySQL(t).Database(t)
			db.Exec(engineSource)
			db.Exec("INSERT INTO s VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'w')")
			j := testkit.NewJob(t, db, "s")
			for k, v := range c.conf {
				j.Conf[k] = v
			}
			require.NotContains(t, j.RunToLatest().Output(), "level=WARN msg=\"the first DELETE")
			db.Exec("UPDATE s SET a = a + 1, b = NULL WHERE id = 1")
			db.Exec("UPDATE s SET b = 'z' WHERE id = 2")
			j.RunToLatest()
			db.Session().Txn("DELETE FROM s WHERE id = 3", "UPDATE s SET a = 12 WHERE id = 1")
			j.RunToLatest()
			j.RequireJava(c.want)
			j.RequireClean()
		})
	}
}

// TestSinkEndsAtWhatAnEngineRefuses: it says so at its start, and ends at the first such change with what helps; with that it
// goes on where it was.
func TestSinkEndsAtWhatAnEngineRefuses(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(engineSource)
	db.Exec("INSERT INTO s VALUES (1, 10, 'x'), (2, 20, 'y')")
	j := testkit.NewJob(t, db, "s")
	j.Conf["merge-engine"] = "first-row"
	require.Contains(t, j.RunToLatest().Output(), "the first DELETE of a row will end this program")
	db.Exec("UPDATE s SET a = 11 WHERE id = 1")
	j.RunToLatest() // the first row stays
	at := j.Latest()
	db.Session().Txn("INSERT INTO s VALUES (3, 30, 'z')", "DELETE FROM s WHERE id = 2")
	p := j.RequireExit(5, j.Path(), `"id":2`, "merge-engine first-row takes no -D", "ignore-delete=true")
	require.Equal(t, at, j.Latest(), p.Output())
	j.RequireExit(5, "ignore-delete=true")
	require.Equal(t, at, j.Latest())

	j.Conf["ignore-delete"] = "true"
	require.NotContains(t, j.RunToLatest().Output(), "the first DELETE")
	require.Greater(t, j.Latest(), at)
	x := j.At()
	x.JavaCompacts(testkit.JavaVersions[0], "--full") // level 0 of such tables is not visible
	x.RequireRows([]string{`{"id":1,"a":10,"b":"x"}`, `{"id":2,"a":20,"b":"y"}`, `{"id":3,"a":30,"b":"z"}`})
	x.RequireClean()
}

// TestSinkRefusesEngineOptions: nothing is made of a table that nobody could write.
func TestSinkRefusesEngineOptions(t *testing.T) {
	db := testkit.MySQL(t).Database(t)
	db.Exec(engineSource)
	for _, c := range [][]string{
		{"merge-engine=aggregation", "fields.b.aggregate-function=sum", "column b"},
		{"merge-engine=partial-update", "fields.a.aggregate-function=sum", "sequence group"},
		{"merge-engine=first-row", "sequence.field=a", "sequence.field"},
		{"merge-engine=last", "", "merge-engine"},
	} {
		j := testkit.NewJob(t, db, "s")
		for _, o := range c[:2] {
			if k, v, ok := strings.Cut(o, "="); ok {
				j.Conf[k] = v
			}
		}
		j.RequireExit(2, c[2])
		require.NoDirExists(t, j.Path()+"/schema")
	}
}
