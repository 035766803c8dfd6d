//go:build integration

package testkit

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// root is the repository.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

var binDir string

// Main runs a package's tests and then ends what they shared.
func Main(m *testing.M) {
	var err error
	if binDir, err = os.MkdirTemp("", "paimon-go-bin-"); err != nil {
		panic(err)
	}
	code := m.Run()
	stopJavas()
	closeFiles()
	stopClusters()
	_ = os.RemoveAll(binDir)
	os.Exit(code)
}

var builds sync.Map // of program name to func() (string, error)

// Program is the path of one of the programs below cmd, built once a test run.
func Program(t testing.TB, name string) string {
	f, _ := builds.LoadOrStore(name, sync.OnceValues(func() (string, error) { return build(name) }))
	path, err := f.(func() (string, error))()
	require.NoError(t, err)
	return path
}

func build(name string) (string, error) {
	if dir := os.Getenv("PAIMON_GO_TEST_BIN"); dir != "" && !strings.HasSuffix(name, stallSuffix) { // by hand: programs built before
		return filepath.Join(dir, name), nil
	}
	path := filepath.Join(binDir, name)
	args := []string{"build", "-o", path}
	name, stalls := strings.CutSuffix(name, stallSuffix)
	if stalls {
		overlay, err := stallOverlay(name)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	if os.Getenv("PAIMON_GO_TEST_RACE") != "" { // by hand: the race detector makes a process that found a race fail
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/"+name)...)
	cmd.Dir = root()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
}

// SinkProgram is the path of paimon-go-sink.
func SinkProgram(t testing.TB) string { return Program(t, "paimon-go-sink") }

// Process is a running program.
type Process struct {
	t    testing.TB
	name string
	job  *Job // nil: not a sink
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
	// Started is when the process was made.
	Started time.Time
}

// output is what a process printed so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// start runs the sink with arguments.
func start(t testing.TB, args []string, env ...string) *Process {
	return Run(t, "paimon-go-sink", args, env...)
}

// Run starts a program with arguments; it is killed when the test ends.
func Run(t testing.TB, program string, args []string, env ...string) *Process {
	p := &Process{t: t, name: program, cmd: exec.Command(Program(t, program), args...), out: &output{}, done: make(chan struct{}), Started: time.Now()}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.Env = append(os.Environ(), env...)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			text := p.Output()
			t.Logf("%s's output:\n%s", program, text[max(0, len(text)-6000):])
		}
	})
	return p
}

// Output is all that the process printed.
func (p *Process) Output() string { return p.out.String() }

// Kill ends the process as a power cut would.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) { require.NoError(p.t, p.cmd.Process.Signal(s)) }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Stop asks for a last commit and requires a clean end.
func (p *Process) Stop() {
	p.t.Helper()
	p.Until(20*time.Second, "the start", func() bool { return strings.Contains(p.Output(), "msg=started") }) // before that a signal just ends it
	p.Signal(syscall.SIGTERM)
	require.Equal(p.t, 0, p.Wait(30*time.Second), "exit code\n%s", p.Output())
}

// Wait returns the exit code.
func (p *Process) Wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		p.Signal(syscall.SIGQUIT) // the stacks
		select {
		case <-p.done:
		case <-time.After(5 * time.Second):
		}
		p.t.Fatalf("%s did not end within %s:\n%s", p.name, limit, p.Output())
	}
	return p.cmd.ProcessState.ExitCode()
}

// PeakRSS is the most memory that the process had resident so far, in bytes; 0 when it has ended.
func (p *Process) PeakRSS() int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(v, "kB")), 10, 64)
			require.NoError(p.t, err)
			return kb << 10
		}
	}
	return 0
}

// Until polls until ok, or fails the test after the limit.
func Until(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s for %s", limit, what)
		}
	}
}

// Until polls while the process runs.
func (p *Process) Until(limit time.Duration, what string, ok func() bool) {
	p.t.Helper()
	Until(p.t, limit, what, func() bool {
		if ok() {
			return true
		}
		if !p.Running() {
			p.t.Fatalf("%s ended (exit %d) before %s:\n%s", p.name, p.cmd.ProcessState.ExitCode(), what, p.Output())
		}
		return false
	})
}

// UntilEnd calls look until the process ends.
func (p *Process) UntilEnd(look func()) {
	p.t.Helper()
	p.UntilEndWithin(5*time.Minute, look)
}

// UntilEndWithin is UntilEnd with another limit.
func (p *Process) UntilEndWithin(limit time.Duration, look func()) {
	p.t.Helper()
	for end := time.Now().Add(limit); p.Running(); time.Sleep(10 * time.Millisecond) {
		look()
		if time.Now().After(end) {
			p.t.Fatalf("%s does not end", p.name)
		}
	}
}

// FreeAddr is an address on loopback that nobody listens on.
func FreeAddr(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
