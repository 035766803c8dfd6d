//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// TestChangelogCost takes the guide's setting with a tick of a second, three active partitions of four buckets. Sinks without
// a changelog, with one, and with merged files replay the same log side by side, so that all have the same neighbours; then
// lookup is compacted by us and by Java. Figures mean something with PAIMON_GO_TEST_CHANGELOG=CHANGES_A_SECOND,SECONDS, by hand
// (3000,180 is the product's).
func TestChangelogCost(t *testing.T) {
	pace, seconds, formats := 2000, 2, []string{"avro"}
	if v := os.Getenv("PAIMON_GO_TEST_CHANGELOG"); v != "" {
		_, err := fmt.Sscanf(v, "%d,%d", &pace, &seconds)
		require.NoError(t, err)
		formats = append(formats, "parquet")
	}
	logs := t.TempDir()
	first := guideTable(t, "parquet")
	first.DB.Record(logs, func(c *testkit.Conn) { upsertsOfThreeDays(c, pace*seconds) })
	rows := first.DB.Rows("s")

	type run struct {
		name string
		j    *testkit.Job
		p    *testkit.Process
	}
	var runs []*run
	for _, format := range formats {
		for _, c := range []map[string]string{
			{"changelog-producer": "none"},
			{"changelog-producer": "input"},
			{"changelog-producer": "input", "precommit-compact": "true"},
			{"changelog-producer": "lookup"},
		} {
			j := guideJob(t, first.DB, format)
			for k, v := range c {
				j.Conf[k] = v
			}
			for _, k := range []string{"hostname", "port", "username", "password", "heartbeat.interval"} {
				j.Set(k, "")
			}
			j.Set("binlog-dir", logs).Set("binlog-dir.rows-per-second", strconv.Itoa(pace))
			runs = append(runs, &run{name: format + " " + c["changelog-producer"] + map[bool]string{true: " merged"}[c["precommit-compact"] == "true"], j: j})
		}
	}
	for _, r := range runs {
		r.p = r.j.Start()
	}
	for _, r := range runs {
		require.Equal(t, 0, r.p.Wait(time.Duration(seconds)*4*time.Second+time.Minute), r.p.Output())
	}
	for _, r := range runs {
		x := r.j.At()
		n := countChangelogFiles(x, r.j.Conf["precommit-compact"] == "true")
		_, commits := r.j.Appended()
		t.Logf("%-16s %.2f µs of CPU a change, %d commits, %d data files, %d changelog files, at most %d in one place", r.name,
			float64(r.p.CPU().Microseconds())/float64(pace*seconds), commits, dataFiles(x), n.files, n.most)
		if r.j.Conf["changelog-producer"] == "input" {
			require.Equal(t, 1, n.most)
			testkit.RequireSameRows(t, r.name, rows, testkit.Replayed(t, x.Changes()))
		}
		if r.j.Conf["changelog-producer"] == "lookup" {
			compactBesideJava(t, r.name, x, rows)
		}
	}
}

func dataFiles(x *testkit.Table) (n int) {
	for _, files := range x.Live() {
		n += len(files)
	}
	return n
}

// compactBesideJava compacts copies of a table, ours and Java's, and says what each row took.
func compactBesideJava(t *testing.T, name string, x *testkit.Table, rows []string) {
	var records int64
	for _, files := range x.Live() {
		for i := range files {
			records += files[i].RowCount
		}
	}
	ours, java := x.Copy(t.TempDir()), x.Copy(t.TempDir())
	p := ours.Compact("compact", "--once", "--compact-strategy", "minor", "--workers", "1")
	var cpu [2]float64
	for i, y := range []*testkit.Table{x.Copy(t.TempDir()), java} { // the JVM is warm the second time
		lines := y.Java(testkit.JavaVersions[0], "bench-compact", "--mode", "auto")
		var f struct {
			CPU float64 `json:"cpu_s"`
		}
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &f), lines)
		cpu[i] = f.CPU
	}
	t.Logf("%-16s %d rows of level 0 compacted: ours %.2f s of CPU, Java's %.2f s, %.2f s in a warm JVM: %.1f times its rows a CPU second", name, records, p.CPU().Seconds(), cpu[0], cpu[1], cpu[1]/p.CPU().Seconds())
	stream := ours.Changes()
	testkit.RequireSameHistory(t, java.Changes(), stream)
	testkit.RequireSameRows(t, name, rows, testkit.Replayed(t, stream))
}

// upsertsOfThreeDays writes n changes in transactions of 200, of 60,000 keys.
func upsertsOfThreeDays(c *testkit.Conn, n int) {
	rng := rand.New(rand.NewPCG(5, 5))
	for ; n > 0; n -= 200 {
		var b strings.Builder
		b.WriteString("INSERT INTO s VALUES ")
		for i := range 200 {
			if i > 0 {
				b.WriteByte(',')
			}
			k := rng.IntN(60_000)
			fmt.Fprintf(&b, "(%d,'order %d of customer %d, paid by card %d',%q)", k, k, k%977, rng.Int32(), day(k%3))
		}
		b.WriteString(" ON DUPLICATE KEY UPDATE data=VALUES(data)")
		c.Exec(b.String())
	}
}
