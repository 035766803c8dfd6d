package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCallsAreThoseOfWholeCommits(t *testing.T) {
	var list []sample
	for ms := int64(0); ms <= 20_000; ms += 500 { // a commit at 1, 6, 11 and 16 seconds makes ten calls within a second
		done := (ms + 4000) / 5000 * 10
		list = append(list, sample{time.UnixMilli(ms), map[string]int64{"Create": done, "Rename2": 2 * done, "SendHeartbeat": ms, "BlockReceivedAndDeleted": done, "files renamed": done}})
	}
	r := between(list, []int64{1000, 6000, 11_000, 16_000})
	require.Equal(t, rpcs{Counted: 2, Total: 30, Files: 10, PerCommit: map[string]float64{"Create": 10, "Rename2": 20, "BlockReceivedAndDeleted": 10, "files renamed": 10}}, r)
	require.Zero(t, between(list, []int64{1000, 6000}), "there is no whole commit between the middles of gaps")
}

func TestNameNodesMetrics(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bean := `{"tag.port": "9000", "CreateNumOps": 7, "CreateAvgTime": 0.5, "OverallCreateNumOps": 7, "DeferredSendHeartbeatNumOps": 0}`
		if strings.HasSuffix(r.URL.RawQuery, "NameNodeActivity") {
			bean = `{"FilesRenamed": 3, "SafeModeTime": 12, "SyncsNumOps": 5}`
		}
		fmt.Fprintf(w, `{"beans": [%s]}`, bean)
	}))
	defer s.Close()
	got, err := sampled(t.Context(), s.Listener.Addr().String())
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"Create": 7, "files renamed": 3}, got.calls)
}

func TestChangesRepeat(t *testing.T) {
	made := func() string {
		s := &source{days: 3, rng: rand.New(rand.NewPCG(7, 1)), next: 1}
		var b []byte
		for range 5000 {
			b = s.change(b, "ts=1;")
		}
		return string(b)
	}
	all := made()
	require.Equal(t, all, made())
	count := func(word string) int { return strings.Count(all, word) }
	require.InDelta(t, 2500, count("INSERT INTO mysql_sync_paimon VALUES ("), 150)
	require.InDelta(t, 2000, count("UPDATE mysql_sync_paimon SET data='ts=1;"), 150)
	require.InDelta(t, 500, count("DELETE FROM mysql_sync_paimon WHERE"), 100)
	for i := range 3 {
		require.InDelta(t, 5000./3, count(day(i)), 200, "all days are active")
	}
}

func TestAProcessTellsWhatItUsed(t *testing.T) {
	p, err := launch(t.TempDir()+"/log", nil, "sh", "-c", "echo records 5; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo records 9; read x || exec sleep 100")
	require.NoError(t, err)
	require.Eventually(t, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.records == 9 }, 20*time.Second, time.Millisecond)
	require.NoError(t, p.alive())
	require.Positive(t, p.peak())
	p.stop(10 * time.Second)
	require.Positive(t, p.cpu())
	require.ErrorContains(t, p.alive(), "sh ended")
}

func TestFiguresAreFlatInJSON(t *testing.T) {
	r := result{setting: setting{Phase: "paced", Side: ours, Tick: time.Second}, written: written{Commits: 3}, latency: latency{Max: 2}, rpcs: rpcs{Total: 90}}
	b, err := json.Marshal(&r)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(b, &m))
	for k, want := range map[string]any{"phase": "paced", "side": "ours", "commits": 3., "latency_s_max": 2., "rpcs_per_commit": 90.} {
		require.Equal(t, want, m[k], k)
	}
}
