//go:build integration

package testkit

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Metrics are all values that an address serves, those of the same name added up over their labels.
func Metrics(t testing.TB, addr string) map[string]float64 {
	t.Helper()
	m, ok := TryMetrics(addr)
	require.True(t, ok, "no metrics at %s", addr)
	return m
}

// TryMetrics is Metrics of a process that may have ended.
func TryMetrics(addr string) (map[string]float64, bool) {
	r, err := http.Get("http://" + addr + "/metrics") //nolint:noctx // the process ends with the test
	if err != nil {
		return nil, false
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, false
	}
	m := map[string]float64{}
	for line := range strings.SplitSeq(string(b), "\n") {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		name, _, _ := strings.Cut(line[:at], "{")
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, false
		}
		m[name] += v
	}
	return m, true
}

// CPU is the processor time that a process used so far, or has used.
func (p *Process) CPU() time.Duration {
	if !p.Running() {
		return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	return processorTime(p.cmd.Process.Pid)
}

func processorTime(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // from the third field on
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * (time.Second / 100) // the kernel's unit
}

// Percentile is the value below which a share of the values lie.
func Percentile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return v[min(len(v)-1, int(share*float64(len(v))))]
}
