//go:build integration

package testkit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stallSuffix names a program built with testdata/stall, whose storage stops at a chosen call.
const stallSuffix = "+stall"

// stallOverlay writes the overlay for go build.
func stallOverlay(program string) (string, error) {
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root(), "cmd", program, "stall.go"): filepath.Join(root(), "integration", "testdata", "stall", "stall.go"),
	}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(binDir, program+".overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}

// StartToStall starts the job with a storage that stops at a call; what it takes is told in testdata/stall.
func (j *Job) StartToStall(at string) *Process {
	p := Run(j.t, "paimon-go-sink"+stallSuffix, j.Command(), append([]string{"PAIMON_GO_TEST_STALL=" + at}, j.Env...)...)
	p.job = j
	return p
}

// KillStalled waits until the storage has stopped, lets the rest of the program go on for a while, and kills it. It returns
// the call at which storage stopped.
func (p *Process) KillStalled(after time.Duration) string {
	p.t.Helper()
	p.Until(time.Minute, "the stall", func() bool { return strings.Contains(p.Output(), "\nstalled ") })
	time.Sleep(after) // what else does it do?
	p.Kill()
	_, at, _ := strings.Cut(p.Output(), "\nstalled ")
	at, _, _ = strings.Cut(at, "\n")
	return at
}
