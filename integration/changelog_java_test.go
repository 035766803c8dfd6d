//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// engine is a merge engine and what it is given.
type engine struct {
	name    string
	options string
	deletes bool
	full    bool // it has a full-compaction
}

var engines = []engine{
	{"deduplicate", `"sequence.field":"v"`, true, true},
	{"row-deduplicate", `"changelog-producer.row-deduplicate":"true","changelog-producer.row-deduplicate-ignore-fields":"v"`, true, true},
	{"partial-update", `"merge-engine":"partial-update","fields.v.sequence-group":"a"`, false, true},
	{"aggregation", `"merge-engine":"aggregation","fields.v.aggregate-function":"sum","fields.a.aggregate-function":"last_non_null_value","fields.b.aggregate-function":"max"`, false, true},
	{"first-row", `"merge-engine":"first-row"`, false, false},
}

// rows makes commits of records: few keys, so that most come again, out of order as a sequence field sees it.
func (e engine) rows(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(3) {
		for range 40 {
			id := rng.IntN(60)
			if e.deletes && rng.IntN(6) == 0 {
				fmt.Fprintf(&b, `{"_kind":"-D","id":%d,"v":%d}`+"\n", id, rng.IntN(20))
				continue
			}
			kind := []string{"+I", "+U"}[rng.IntN(2)]
			if e.name == "first-row" {
				kind = "+I"
			}
			fmt.Fprintf(&b, `{"_kind":"%s","id":%d,"v":%d,"a":%s,"b":"x%d"}`+"\n", kind, id, rng.IntN(20), []string{"null", `"y"`, `"z"`}[rng.IntN(3)], rng.IntN(3))
		}
		b.WriteString(`{"_commit":1}` + "\n")
	}
	return b.String()
}

// TestChangelogBesideJavas has Java write level 0 of a table, for each merge engine and producer. Then we compact one copy and
// Java another, in turns with more writes: both have the same stream, of Java's and of our reader, and the same rows.
func TestChangelogBesideJavas(t *testing.T) {
	for _, e := range engines {
		for _, producer := range []string{"lookup", "full-compaction"} {
			if producer == "full-compaction" && !e.full {
				continue
			}
			t.Run(e.name+" "+producer, func(t *testing.T) { e.beside(t, producer) })
		}
	}
}

func (e engine) beside(t *testing.T, producer string) {
	rng := seed(t)
	java := testkit.JavaVersions[0]
	ours := testkit.NewTable(t, fmt.Sprintf(`{"fields":[{"name":"id","type":"BIGINT NOT NULL"},{"name":"v","type":"BIGINT"},{"name":"a","type":"STRING"},{"name":"b","type":"STRING"}],`+
		`"primaryKeys":["id"],"options":{"bucket":"2","write-only":"true","file.format":"avro","changelog-producer":%q,%s}}`, producer, e.options))
	theirs := ours.Copy(t.TempDir())
	input := t.TempDir() + "/rows"
	for range 3 {
		require.NoError(t, os.WriteFile(input, []byte(e.rows(rng)), 0o600))
		for _, x := range []*testkit.Table{ours, theirs} {
			x.Java(java, "write", "--input", input)
		}
		if producer == "lookup" {
			ours.Compact("compact", "--once", "--compact-strategy", "minor")
			theirs.JavaCompacts(java)
		} else {
			ours.Compact("compact", "--once")
			theirs.JavaCompacts(java, "--full")
		}
	}
	stream := theirs.JavaChanges(java)
	require.NotEmpty(t, stream)
	testkit.RequireSameHistory(t, stream, ours.JavaChanges(java))
	testkit.RequireSameChanges(t, ours.Changes(), ours.JavaChanges(java))
	testkit.RequireSameChanges(t, theirs.Changes(), stream)
	ours.RequireChangelogCounts(ours.Changes())
	rows := theirs.JavaRows(java)
	testkit.RequireSameRows(t, "java", rows, ours.JavaRows(java))
	if e.name != "row-deduplicate" {
		testkit.RequireSameRows(t, "the replay", rows, testkit.Replayed(t, stream))
	}
	for _, x := range []*testkit.Table{ours, theirs} {
		if e.name == "deduplicate" { // a late record lies below an older one, in Java too
			x.RequireCleanFiles()
		} else {
			x.RequireClean()
		}
	}
}

// TestJavaMakesTheChangelogOfOurFiles is the reverse: our writer makes level 0, and Java compacts one copy and we another.
func TestJavaMakesTheChangelogOfOurFiles(t *testing.T) {
	java := testkit.JavaVersions[0]
	for _, producer := range []string{"lookup", "full-compaction"} {
		t.Run(producer, func(t *testing.T) {
			ours := testkit.CreateTable(t, t.TempDir(), "d", "t", map[string]string{"changelog-producer": producer})
			w := ours.Writer("writer", true)
			trickle(w, 0, 6, 150)
			w.Close()
			theirs := ours.Copy(t.TempDir())
			ours.Compact("compact", "--once")
			theirs.JavaCompacts(java, "--full")
			stream := theirs.JavaChanges(java)
			testkit.RequireSameHistory(t, stream, ours.JavaChanges(java))
			testkit.RequireSameRows(t, "the replay", w.Rows(), testkit.Replayed(t, stream))
			testkit.RequireSameRows(t, "java", w.Rows(), theirs.JavaRows(java))
			ours.RequireRows(w.Rows())
			ours.RequireClean()
		})
	}
}
