//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
	"github.com/paimon-go/paimon-go/table"
)

// postponeCases are tables with bucket=-2.
var postponeCases = map[string]table.Options{
	"deduplicate":     {"changelog-producer": "none"},
	"input":           {"changelog-producer": "input"},
	"lookup":          {"changelog-producer": "lookup"},
	"full-compaction": {"changelog-producer": "full-compaction"},
	"vectors":         {"deletion-vectors.enabled": "true"},
	"sequence":        {"sequence.field": "n", "file.format": "avro"},
	"first-row":       {"merge-engine": "first-row", "changelog-producer": "lookup", "ignore-delete": "true"},
	"partial-update":  {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true", "changelog-producer": "lookup"},
	"aggregation":     {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "fields.v.aggregate-function": "last_value", "changelog-producer": "full-compaction"},
}

func postponeSpec(o table.Options) string {
	var options []string
	for k, v := range o {
		options = append(options, fmt.Sprintf("%q: %q", k, v))
	}
	return `{"fields": [{"name": "k", "type": "INT NOT NULL"}, {"name": "p", "type": "STRING NOT NULL"}, {"name": "n", "type": "BIGINT"}, {"name": "v", "type": "STRING"}],
		"partitionKeys": ["p"], "primaryKeys": ["p", "k"], "options": {` + strings.Join(options, ", ") + `}}`
}

// postponeRows are changes of a few keys, as the oracle writes them. A key has its rows in one partition.
func postponeRows(rng *rand.Rand, engine string) string {
	var b strings.Builder
	for i := range 40 + rng.IntN(80) {
		kind := []string{"+I", "+U", "+U", "-D"}[rng.IntN(4)]
		if engine == "aggregation" && kind == "-D" {
			kind = "+U"
		}
		k, n, v := rng.IntN(30), fmt.Sprint(1+rng.IntN(50)), fmt.Sprintf("%q", fmt.Sprint("v", rng.IntN(100)))
		if kind != "-D" && rng.IntN(5) == 0 {
			v = "null"
		}
		fmt.Fprintf(&b, `{"_kind":%q,"k":%d,"p":"p%d","n":%s,"v":%s}`+"\n", kind, k, k%3, n, v)
		if i%17 == 16 {
			b.WriteString(`{"_commit":1}` + "\n")
		}
	}
	return b.String()
}

// TestPostponedRowsOfJava: Java's writers write rows that have no bucket, we give them theirs and compact. Java reads what it reads of
// a copy that it compacted itself, and of a table with buckets, with the same changelog, and finds nothing wrong with any file.
func TestPostponedRowsOfJava(t *testing.T) {
	java := testkit.JavaVersions[0]
	for name, o := range postponeCases {
		t.Run(name, func(t *testing.T) {
			rng := seed(t)
			o := o.With(table.Options{"num-sorted-run.compaction-trigger": "3", "snapshot.num-retained.min": "1000", "snapshot.num-retained.max": "1000"})
			x := testkit.NewTable(t, postponeSpec(o.With(table.Options{"bucket": "-2", "postpone.default-bucket-num": "2"})))
			twin := testkit.NewTable(t, postponeSpec(o.With(table.Options{"bucket": "2", "write-only": "true"})))
			const rounds = 3
			for round := range rounds {
				input := filepath.Join(t.TempDir(), "rows")
				require.NoError(t, os.WriteFile(input, []byte(postponeRows(rng, o["merge-engine"])), 0o600))
				x.Java(testkit.JavaVersions[(round+1)%2], "write", "--input", input)
				twin.Java(java, "write", "--input", input)
				require.NotZero(t, waiting(t, x))
				if round < rounds-1 && rng.IntN(3) == 0 {
					continue
				}
				theirs, from := x.Copy(t.TempDir()), x.Latest()
				theirs.Java(java, "postpone-compact")
				strategy := []string{"full", "minor"}[rng.IntN(2)]
				if o["changelog-producer"] == "full-compaction" || o["sequence.field"] != "" { // a delete has its sequence until it is dropped
					strategy = "full"
				}
				x.Compact("compact", "--once", "--compact-strategy", strategy)
				twin.JavaCompacts(java, "--full")
				require.Zero(t, waiting(t, x))
				require.Zero(t, waiting(t, theirs))
				rows := twin.JavaRows(java)
				testkit.RequireSameRows(t, "java of ours", rows, x.JavaRows(java))
				testkit.RequireSameRows(t, "java of its own", rows, theirs.JavaRows(java))
				testkit.RequireSameRows(t, "we of ours", rows, scanned(t, x))
				since := func(x *testkit.Table) []testkit.Change {
					return slices.DeleteFunc(x.JavaChanges(java), func(c testkit.Change) bool { return c.Snapshot <= from })
				}
				if o["changelog-producer"] != "none" && o["changelog-producer"] != "" {
					testkit.RequireSameHistory(t, since(theirs), since(x))
				}
			}
			stream := x.JavaChanges(java)
			switch o["changelog-producer"] {
			case "input":
				testkit.RequireSameHistory(t, twin.JavaChanges(java), stream)
			case "lookup", "full-compaction":
				x.RequireChangelogCounts(stream)
				for i := range stream {
					if name == "first-row" { // the row has the kind that it was written with
						stream[i].Kind = strings.Replace(stream[i].Kind, "+U", "+I", 1)
					}
				}
				testkit.RequireSameRows(t, "the replay", x.JavaRows(java), testkit.Replayed(t, stream))
			}
			x.RequireCleanFiles()
		})
	}
}

// waiting counts the files that have no bucket.
func waiting(t *testing.T, x *testkit.Table) (n int) {
	for dir, files := range x.In(t).Live() {
		if strings.HasSuffix(dir, "/bucket-postpone") {
			n += len(files)
		}
	}
	return n
}
