//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// changes are what Java's streaming reader gives from a snapshot on.
func changes(x *testkit.Table, version string, from int64, words ...string) []string {
	return x.Java(version, "changelog", append([]string{"--from", fmt.Sprint(from)}, words...)...)
}

// since are the lines of a changelog from a snapshot on.
func since(lines []string, from, latest int64) []string {
	var out []string
	for _, l := range lines {
		for id := from; id <= latest; id++ {
			if strings.HasPrefix(l, fmt.Sprintf(`{"_snapshot":%d,`, id)) {
				out = append(out, l)
			}
		}
	}
	return out
}

// ourChanges are what paimon-go changelog prints.
func ourChanges(t *testing.T, x *testkit.Table, words ...string) []string {
	p := testkit.Run(t, "paimon-go", append(append([]string{"changelog", "--json"}, x.Args()...), words...))
	require.Equal(t, 0, p.Wait(time.Minute), p.Output())
	return strings.Split(strings.TrimSuffix(p.Output(), "\n"), "\n")
}

// tableOfChanges lets Java write a table with 8 commits of random changes.
func tableOfChanges(t *testing.T, producer string, write ...string) *testkit.Table {
	x := testkit.NewTable(t, fmt.Sprintf(`{"fields":[{"name":"dt","type":"STRING NOT NULL"},{"name":"k","type":"INT NOT NULL"},{"name":"v","type":"STRING"}],
		"partitionKeys":["dt"],"primaryKeys":["dt","k"],"options":{"bucket":"2","changelog-producer":%q,"num-sorted-run.compaction-trigger":"3",
		"snapshot.num-retained.min":"1","snapshot.num-retained.max":"100","changelog.num-retained.min":"1","changelog.num-retained.max":"200",
		"snapshot.time-retained":"1 d","changelog.time-retained":"2 d"}}`, producer))
	rng := rand.New(rand.NewPCG(3, 4))
	var rows strings.Builder
	for n := range 8 {
		for range 6 {
			fmt.Fprintf(&rows, `{"_kind":"%s","dt":"2024-01-0%d","k":%d,"v":"v%d"}`+"\n", []string{"+I", "+I", "-D"}[rng.IntN(3)], 1+rng.IntN(2), rng.IntN(9), n)
		}
		rows.WriteString("{\"_commit\":1}\n")
	}
	input := filepath.Join(t.TempDir(), "rows")
	require.NoError(t, os.WriteFile(input, []byte(rows.String()), 0o600))
	x.Java(testkit.JavaVersions[0], "write", append([]string{"--wait-compaction", "--full-every", "3", "--input", input}, write...)...)
	return x
}

// TestChangesOutliveTheirSnapshots: ours or Java's expiry removes snapshots, whose changes stay, and then some of those;
// both versions of Java and paimon-go read on from the earliest that is left, and find all of it.
func TestChangesOutliveTheirSnapshots(t *testing.T) {
	java := testkit.JavaVersions[0]
	for _, c := range []struct {
		producer string
		write    []string
	}{{"none", nil}, {"input", nil}, {"input", []string{"--merge-changelog"}}, {"lookup", nil}, {"full-compaction", nil}} {
		for _, by := range []string{"ours", "java"} {
			if by == "java" && c.producer != "none" && c.producer != "input" {
				continue
			}
			t.Run(c.producer+strings.Join(c.write, "")+"-"+by, func(t *testing.T) {
				x := tableOfChanges(t, c.producer, c.write...)
				latest := x.Latest()
				all := changes(x, java, 1)
				require.Equal(t, all, ourChanges(t, x))
				if by == "ours" {
					x.Compact("expire_snapshots", "--retain_max", "2", "--retain_min", "2", "--older_than", inTheFuture())
				} else {
					x.Java(java, "expire", "--retain-max", "2")
				}
				require.Len(t, x.Snapshots(), 2)
				require.Empty(t, x.Orphans())
				require.Equal(t, all, ourChanges(t, x))
				for _, v := range testkit.JavaVersions {
					require.Equal(t, all, changes(x, v, 1), v) // the earliest kept changelog on
					require.Equal(t, since(all, 3, latest), changes(x, v, 3), v)
				}
				x.RequireClean()

				if by == "ours" {
					x.Compact("expire_changelogs", "--retain_max", "5", "--retain_min", "1")
				} else {
					x.Java(java, "expire-changelogs", "--retain-max", "5", "--retain-min", "1")
				}
				from := latest - 4
				require.NoFileExists(t, fmt.Sprintf("%s/changelog/changelog-%d", x.Path(), from-1))
				require.FileExists(t, fmt.Sprintf("%s/changelog/changelog-%d", x.Path(), from))
				require.Empty(t, x.Orphans())
				require.Equal(t, since(all, from, latest), ourChanges(t, x))
				for _, v := range testkit.JavaVersions {
					require.Equal(t, since(all, from, latest), changes(x, v, 1), v)
				}
				x.RequireIntact()
			})
		}
	}
}

// TestOurConsumersAreJavas: Java starts where paimon-go has stopped, and its expiry keeps what a consumer has not read; so does ours.
func TestOurConsumersAreJavas(t *testing.T) {
	x := tableOfChanges(t, "input")
	latest := x.Latest()
	all := changes(x, testkit.JavaVersions[0], 1)
	first := ourChanges(t, x, "--consumer-id", "c", "--to", "3")
	require.Equal(t, since(all, 1, 3), first)
	for _, v := range testkit.JavaVersions {
		require.Equal(t, since(all, 4, latest), changes(x, v, 1, "--option", "consumer-id=c"), v)
	}
	for i, expire := range []func(x *testkit.Table){
		func(x *testkit.Table) { x.Java(testkit.JavaVersions[0], "expire", "--retain-max", "1") },
		func(x *testkit.Table) {
			x.Compact("expire_snapshots", "--retain_max", "1", "--retain_min", "1", "--older_than", inTheFuture())
		},
	} {
		y := x.Copy(t.TempDir())
		expire(y)
		left := y.Snapshots()
		require.EqualValues(t, 4, left[0].ID, "expiry %d", i)
		require.Equal(t, since(all, 4, latest), ourChanges(t, y, "--consumer-id", "c"))
		expire(y)
		require.Len(t, y.Snapshots(), 1, "nothing is kept for a consumer that has read all")
	}
}
