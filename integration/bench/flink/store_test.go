package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/integration/bench/floor"
)

func settingOf(phase, side string) setting {
	return setting{Phase: phase, Side: side, Format: "avro", Producer: "input", Tick: time.Second}
}

func TestRunsAreKept(t *testing.T) {
	path := t.TempDir() + "/a/b.jsonl"
	s, err := openStore(path)
	require.NoError(t, err)
	p := plan{Rows: 10, Events: 20}
	catchup := settingOf("catchup", ours)
	require.NoError(t, s.add(&result{setting: settingOf(initialRead, ours), Plan: p, Round: 1, PerEvent: 3}))
	require.False(t, s.has(runKey{catchup, p, 1}), "the changes are missing")
	require.NoError(t, s.add(&result{setting: catchup, Plan: p, Round: 1, PerEvent: 4, Floor: floor.Cost{Zstd: 1}}))
	require.NoError(t, s.add(&result{setting: catchup, Plan: p, Round: 1, PerEvent: 5, Floor: floor.Cost{Zstd: 2}}))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"phase":`)
	require.NoError(t, err)
	require.NoError(t, f.Close())

	s, err = openStore(path)
	require.NoError(t, err)
	require.Len(t, s.all, 2)
	require.True(t, s.has(runKey{catchup, p, 1}))
	require.InDelta(t, 2, s.all[1].Floor.Zstd, 0, "the newer one")
	require.False(t, s.has(runKey{catchup, p, 2}))
	other := catchup
	other.Extra = "scan.incremental.snapshot.chunk.size=50000"
	require.False(t, s.has(runKey{other, p, 1}), "with other options it is another run")
	require.Len(t, s.of([]setting{catchup}), 2, "the initial read is of it")
	require.Empty(t, s.of([]setting{other}))
	require.NoError(t, s.add(&result{setting: other, Plan: p, Round: 1}))
	s, err = openStore(path)
	require.NoError(t, err)
	require.Len(t, s.all, 3)
	require.NoError(t, os.WriteFile(path, []byte("{}\n[]\n"), 0o600))
	_, err = openStore(path)
	require.ErrorContains(t, err, "line 2")
}

func TestReportComparesMedians(t *testing.T) {
	var rs []*result
	for round, v := range []float64{2, 9, 3} {
		for side, f := range map[string]float64{ours: 1, action: 60, sql: 25} {
			r := &result{setting: settingOf("catchup", side), Plan: plan{Rows: 10}, Round: round, PerEvent: v * f, Peak: 100 * f, written: written{DataBytes: 50}}
			if side == ours {
				r.CPU, r.Floor, r.Log = v, floor.Cost{Zstd: 0.5, Write: 0.25}, floor.LogCost{CPU: 0.25}
			}
			rs = append(rs, r)
		}
	}
	var out bytes.Buffer
	report(&out, rs)
	text := strings.Join(strings.Fields(out.String()), " ")
	require.Contains(t, text, "| action | 3 | 60.0x | 0.017 | 1.000 |")
	require.Contains(t, text, "| sql | 3 | 25.0x | 0.040 | 1.000 |")
	require.Contains(t, text, "| floor | 3 | 3.00x its CPU |")
}
