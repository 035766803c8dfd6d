//go:build integration

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// refusedGoldens are the golden tables that paimon-go-compact must leave alone, with what its message must name. All others it
// must compact.
var refusedGoldens = map[string]string{
	"types_orc": "orc", "nested_orc": "orc", "multiset_orc": "orc", "floats_orc": "orc", "keys_orc": "orc", "evolution_orc": "orc",
	"evolution_compacted_orc": "orc", "thin_orc": "orc", "codec_orc_zstd": "orc", "codec_orc_snappy": "orc", "codec_orc_zlib": "orc",
	"codec_orc_lz4": "orc", "codec_orc_none": "orc",

	"dv_orc": "orc", "dv_bitmap64": "deletion-vectors.bitmap64",

	"append_parquet": "primary key", "append_avro": "primary key", "append_orc": "primary key", "append_fixed": "primary key",
	"part_append_null": "primary key",
}

// goldenModes are the ways in which a copy is compacted: by us, and by Java.
var goldenModes = []struct {
	name        string
	ours, javas []string
}{
	{"full", []string{"--compact-strategy", "full"}, []string{"--full"}},
	// A trigger of 2 lets the strategy find work in tables that Java compacted as they were written.
	{"minor", []string{"--compact-strategy", "minor", "--table-conf", "num-sorted-run.compaction-trigger=2"},
		[]string{"--option", "num-sorted-run.compaction-trigger=2"}},
}

// TestGoldenTablesCompactAsByJava compacts copies of every golden table of Java Paimon, in full and by the strategy: rows and tags
// read as before, Java's check of every file is clean, Java's compaction of another copy gives the same rows and the same
// levels, and what we can't compact is refused by name and untouched.
func TestGoldenTablesCompactAsByJava(t *testing.T) {
	versions := testkit.JavaVersions[:1]
	if os.Getenv("PAIMON_GO_TEST_GOLDEN") == "all" { // by hand: also the tables of the older version
		versions = testkit.JavaVersions
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			goldens := testkit.Goldens(t, version)
			names := map[string]bool{}
			for _, g := range goldens {
				names[g.Name] = true
			}
			for name := range refusedGoldens {
				require.True(t, names[name], "no golden table %s", name)
			}
			// The processes of ours run side by side, what Java does comes after.
			work := t.TempDir()
			compacted := compactGoldens(t, goldens, work)
			for i, g := range goldens {
				t.Run(g.Name, func(t *testing.T) { requireGolden(t, version, g, compacted[i]) })
			}
		})
	}
}

// goldenCopy is a copy of a golden table after paimon-go-compact saw it.
type goldenCopy struct {
	table  *testkit.Table
	code   int
	output string
}

// compactGoldens copies each table once a mode, and lets us compact the copies.
func compactGoldens(t *testing.T, goldens []testkit.Golden, work string) [][]goldenCopy {
	out := make([][]goldenCopy, len(goldens))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 3)
	for i, g := range goldens {
		out[i] = make([]goldenCopy, len(goldenModes))
		for m, mode := range goldenModes {
			c := g.Table.In(t).Copy(filepath.Join(work, mode.name))
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				p := c.Compactor("compact", append([]string{"--once"}, mode.ours...)...)
				out[i][m] = goldenCopy{c, p.Wait(time.Minute), p.Output()}
			})
		}
	}
	wg.Wait()
	return out
}

func requireGolden(t *testing.T, version string, g testkit.Golden, copies []goldenCopy) {
	for m, mode := range goldenModes {
		c := copies[m]
		ours := c.table.In(t)
		if text, refused := refusedGoldens[g.Name]; refused {
			assert.Equal(t, 2, c.code, c.output)
			assert.Contains(t, c.output, text)
			assert.Contains(t, c.output, g.Name, "the message names the table")
			assert.Equal(t, g.Table.In(t).Bytes(), ours.Bytes(), "the copy is untouched")
			continue
		}
		require.Equal(t, 0, c.code, c.output)
		rows := g.Rows
		if g.Name == "postpone" { // readers see its rows from now on
			rows = []string{`{"k":1,"v":"aa","n":3}`}
			testkit.RequireSameRows(t, mode.name+": java "+version, rows, ours.JavaRows(version))
			require.Zero(t, waiting(t, ours))
			require.Empty(t, ours.CheckErrors())
			continue
		}
		if g.Name == "partial_remove" { // the versions differ in what a record has that comes after a removed one; we do as the newer
			version = testkit.JavaVersions[0]
			rows = g.Table.In(t).JavaRows(version)
		}
		testkit.RequireSameRows(t, mode.name+": java "+version, rows, ours.JavaRows(version))
		for tag, rows := range g.Tags {
			testkit.RequireSameRows(t, mode.name+": tag "+tag, rows, ours.JavaRows(version, "--tag", tag))
		}
		javas := g.Table.In(t).Copy(t.TempDir())
		javas.JavaDrains(version, mode.javas...)
		testkit.RequireSameRows(t, mode.name+": java's compaction", ours.JavaRows(version), javas.JavaRows(version))
		require.Equal(t, shape(t, javas), shape(t, ours), "%s: rows by bucket and level", mode.name)
		if found := ours.CheckErrors(); len(found) > 0 { // what Java's expiry does to changelogs of compactions is no fault of ours
			require.Equal(t, javas.CheckErrors(), found, mode.name)
		}
	}
}

// shape tells the rows and deletes of each bucket's levels.
func shape(t *testing.T, x *testkit.Table) string {
	var lines []string
	for dir, files := range x.In(t).Live() {
		rows, deletes, seen := map[int]int64{}, map[int]int64{}, []string{}
		for i := range files {
			rows[files[i].Level] += files[i].RowCount
			if d := files[i].DeleteRows; d > 0 {
				deletes[files[i].Level] += d
			}
		}
		for level, n := range rows {
			seen = append(seen, fmt.Sprintf("level %d: %d rows, %d deletes", level, n, deletes[level]))
		}
		sort.Strings(seen)
		lines = append(lines, strings.TrimPrefix(dir, x.Path())+" "+strings.Join(seen, "; "))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// setting is a number that is made larger by hand.
func setting(t *testing.T, variable string, n int) int {
	if v := os.Getenv(variable); v != "" {
		var err error
		n, err = strconv.Atoi(v)
		require.NoError(t, err)
	}
	return n
}
