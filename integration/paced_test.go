//go:build integration

package integration

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// metric reads one value of /metrics.
func metric(t *testing.T, addr, name string) float64 {
	r, err := http.Get("http://" + addr + "/metrics") //nolint:noctx // the process ends with the test
	require.NoError(t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	for line := range strings.SplitSeq(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, name+"{"); ok {
			v, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
			require.NoError(t, err, line)
			return v
		}
	}
	t.Fatalf("no metric %s in\n%s", name, b)
	return 0
}

// TestPacedStream writes at a steady pace: checkpoints are on time, commits are quick and nothing waits for memory.
// PAIMON_GO_TEST_PACE=ROWS_A_SECOND,SECONDS,TICK sets another pace by hand (20000,120,15s is the product's figure).
func TestPacedStream(t *testing.T) {
	pace, seconds, tick := 4000, 10, "2s"
	if v := os.Getenv("PAIMON_GO_TEST_PACE"); v != "" {
		p := strings.Split(v, ",")
		require.Len(t, p, 3)
		var err error
		pace, err = strconv.Atoi(p[0])
		require.NoError(t, err)
		seconds, err = strconv.Atoi(p[1])
		require.NoError(t, err)
		tick = p[2]
	}
	db := testkit.MySQL(t).Database(t)
	db.Exec(wide)
	j := testkit.NewJob(t, db, "s")
	j.Interval = tick
	j.Conf["bucket"] = "4"
	addr := testkit.FreeAddr(t)
	p := j.Start("--listen", addr)
	p.WaitCaughtUp()
	start := time.Now()
	n, late, lag := 0, 0.0, 0.0
	for step := range seconds * 10 { // a tenth of a second's rows at once, as upserts of a growing key range
		to := n + pace/10
		db.InsertRows("s", n, to, 1000, wideRow)
		n = to
		if step%7 == 3 {
			db.Exec(fmt.Sprintf("UPDATE s SET data = CONCAT(data, '.') WHERE id BETWEEN %d AND %d", n/2, n/2+99))
		}
		if step%10 == 9 {
			late = max(late, metric(t, addr, "paimon_checkpoint_late_seconds"))
			lag = max(lag, metric(t, addr, "paimon_source_event_lag_seconds"))
		}
		time.Sleep(time.Until(start.Add(time.Duration(step+1) * 100 * time.Millisecond)))
	}
	took := time.Since(start)
	p.WaitCaughtUp()
	commits := metric(t, addr, "paimon_commits_total")
	whole := (metric(t, addr, "paimon_flush_duration_seconds_sum") + metric(t, addr, "paimon_commit_duration_seconds_sum")) / commits
	t.Logf("%d rows in %.1f s: %.0f commits, checkpoints at most %.3f s late, %.3f s from tick to snapshot on average, reader at most %.1f s behind, %.0f stalls",
		n, took.Seconds(), commits, late, whole, lag, metric(t, addr, "paimon_write_stalls_total"))
	require.Zero(t, metric(t, addr, "paimon_write_stalls_total"))
	require.Less(t, late, 2.0, "1 s on a machine that does nothing else")
	require.Less(t, whole, 2.0, "1 s on a machine that does nothing else")
	p.Stop()
	j.RequireJava(db.Rows("s"))
}
