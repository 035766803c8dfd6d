package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a job of one side.
type process struct {
	cmd   *exec.Cmd
	start time.Time
	out   *os.File // what it says
	ended chan struct{}

	mu       sync.Mutex // guards the rest
	records  int64      // of Flink's sources
	firstCPU float64    // when the first record came
	first    time.Time
}

// launch starts a job. Its output goes to a file, but for "records N".
func launch(logFile string, env []string, argv ...string) (*process, error) {
	f, err := os.Create(logFile)
	if err != nil {
		return nil, fmt.Errorf("making a log: %w", err)
	}
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), out: f, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = f
	pipe, err := p.cmd.StdoutPipe()
	if err == nil {
		p.start = time.Now()
		err = p.cmd.Start()
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			p.heard(lines.Text())
		}
		_ = p.cmd.Wait() // its state tells
		_ = f.Close()
	}()
	return p, nil
}

func (p *process) heard(line string) {
	n, err := strconv.ParseInt(strings.TrimPrefix(line, "records "), 10, 64)
	if err != nil {
		fmt.Fprintln(p.out, line)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.records == 0 {
		p.first, p.firstCPU = time.Now(), p.cpu()
	}
	p.records = n
}

func (p *process) alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s ended: %s, see %s", p.cmd.Args[0], p.cmd.ProcessState, p.out.Name())
	default:
		return nil
	}
}

// cpu is the processor time so far, user and system, in seconds.
func (p *process) cpu() float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		if s := p.cmd.ProcessState; s != nil {
			return (s.UserTime() + s.SystemTime()).Seconds()
		}
		return 0
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	user, _ := strconv.ParseFloat(string(f[11]), 64)
	system, _ := strconv.ParseFloat(string(f[12]), 64)
	return (user + system) / 100
}

// peak is the peak resident set in MB.
func (p *process) peak() float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kb, _ := strconv.ParseFloat(word, 64)
	return kb / 1024
}

// stop asks for the end, and insists after a while.
func (p *process) stop(patience time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// load is the load of the machine over the last minute.
func load() string {
	b, _ := os.ReadFile("/proc/loadavg")
	s, _, _ := strings.Cut(string(b), " ")
	return s
}
