//go:build integration

package testkit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// JavaVersions are the versions of Java Paimon that every table must please.
var JavaVersions = []string{"1.4.2", "1.3.1"}

// java is one oracle process for the whole test run: a JVM takes seconds to start.
type java struct {
	mu  sync.Mutex // one command at a time
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

var (
	javas   = map[string]*java{}
	javasMu sync.Mutex
)

func oracle(t testing.TB, version string) *java {
	script := env(t, "PAIMON_GO_ORACLE")
	javasMu.Lock()
	defer javasMu.Unlock()
	if j := javas[version]; j != nil {
		return j
	}
	cmd := exec.Command(script, "serve")
	cmd.Env = append(os.Environ(), "PAIMON_VERSION="+version, "ORACLE_JAVA_OPTS=-Xmx1500m -XX:+UseSerialGC -XX:-UsePerfData")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	j := &java{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	javas[version] = j
	return j
}

// JavaCPU is the processor time that the oracle used so far.
func JavaCPU(t testing.TB, version string) time.Duration {
	return processorTime(oracle(t, version).cmd.Process.Pid)
}

func stopJavas() {
	for _, j := range javas {
		_ = j.in.Close()
		_ = j.cmd.Wait()
	}
}

// Java runs a command of the oracle and returns its lines; err is what the oracle said.
func Java(t testing.TB, version string, words ...string) (lines []string, err error) {
	j := oracle(t, version)
	j.mu.Lock()
	defer j.mu.Unlock()
	b, err := json.Marshal(words)
	require.NoError(t, err)
	_, err = j.in.Write(append(b, '\n'))
	require.NoError(t, err, "the oracle for %s is gone", version)
	for {
		line, err := j.out.ReadString('\n')
		require.NoError(t, err, "the oracle for %s is gone", version)
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, `{"_rc":`) {
			lines = append(lines, line)
			continue
		}
		var end struct {
			RC    int    `json:"_rc"`
			Error string `json:"error"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &end))
		if end.RC != 0 {
			return lines, fmt.Errorf("java %s: %v: %s", version, words, end.Error)
		}
		return lines, nil
	}
}

// JavaOnce runs a command of the oracle in a JVM of its own, with options for that.
func JavaOnce(t testing.TB, options string, words ...string) []string {
	t.Helper()
	cmd := exec.Command(env(t, "PAIMON_GO_ORACLE"), words...)
	var errs strings.Builder
	cmd.Stderr = &errs
	cmd.Env = append(os.Environ(), "ORACLE_JAVA_OPTS="+options)
	out, err := cmd.Output()
	require.NoError(t, err, "%v: %s", words, errs.String())
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// bare cuts the kind, which Java's batch read gives as it is stored, and sorts.
func bare(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		_, rest, _ := strings.Cut(l, ",")
		out[i] = "{" + rest
	}
	sort.Strings(out)
	return out
}

// python runs pyread.py.
func python(t testing.TB, words ...string) []string {
	t.Helper()
	cmd := exec.Command(env(t, "PAIMON_GO_PYTHON"), append([]string{root() + "/integration/java/pyread.py"}, words...)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "pypaimon: %s", errs.String())
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}
