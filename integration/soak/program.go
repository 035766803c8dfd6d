package soak

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Program keeps a program running: it is started again at once when it ends.
type Program struct {
	Name string
	// Argv is what is run, Env what is added to the environment, Log the file that all output goes to.
	Argv []string
	Env  []string
	Log  string
	// GivesUp are the exit codes with which the program may end by itself.
	GivesUp []int

	mu       sync.Mutex // guards all below
	cmd      *exec.Cmd
	struck   bool // it is expected to end
	stopping bool
	starts   int
	gaveUp   []string
	last     int // exit code
	done     chan struct{}
}

// Start starts it. failed is called once, with what makes the run a failure.
func (p *Program) Start(failed func(error)) error {
	p.done = make(chan struct{})
	if err := p.spawn(); err != nil {
		return err
	}
	go func() {
		defer close(p.done)
		for {
			again, pause, err := p.ended(p.cmd.Wait())
			if err != nil {
				failed(err)
			}
			if !again {
				return
			}
			time.Sleep(pause)
			if err := p.spawn(); err != nil {
				failed(err)
				return
			}
		}
	}()
	return nil
}

func (p *Program) spawn() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		p.cmd = exec.Command("true") // nothing to wait for
		return p.cmd.Start()
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	p.starts++
	fmt.Fprintf(log, "==== start %d at %s\n", p.starts, time.Now().UTC().Format("15:04:05.000"))
	p.cmd = exec.Command(p.Argv[0], p.Argv[1:]...)
	p.cmd.Env = append(os.Environ(), p.Env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.struck = false
	return p.cmd.Start()
}

// ended says what follows the end of the process.
func (p *Program) ended(err error) (again bool, pause time.Duration, failure error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return false, 0, fmt.Errorf("%s: %w", p.Name, err)
	}
	p.last = p.cmd.ProcessState.ExitCode()
	how := p.cmd.ProcessState.String()
	switch {
	case p.stopping:
		return false, 0, nil
	case p.struck:
		return true, 0, nil
	}
	for _, c := range p.GivesUp {
		if p.last == c {
			p.gaveUp = append(p.gaveUp, fmt.Sprintf("%s %s: %s", time.Now().UTC().Format("15:04:05"), how, p.lastLine()))
			return true, time.Second, nil
		}
	}
	return true, time.Second, fmt.Errorf("%s ended by itself: %s: %s (%s)", p.Name, how, p.lastLine(), p.Log)
}

func (p *Program) lastLine() string {
	b, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b[max(0, len(b)-4000):])), "\n")
	return lines[len(lines)-1]
}

// Strike sends a signal that may end the process.
func (p *Program) Strike(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s == syscall.SIGKILL || s == syscall.SIGTERM {
		p.struck = true
	}
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// Stop ends it with SIGTERM and returns the exit code.
func (p *Program) Stop(limit time.Duration) (int, error) {
	p.mu.Lock()
	p.stopping = true
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.mu.Unlock()
	select {
	case <-p.done:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.last, nil
	case <-time.After(limit):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // the stacks go to the log
		time.Sleep(2 * time.Second)
		_ = p.cmd.Process.Kill()
		return -1, fmt.Errorf("%s did not end within %s of SIGTERM; its stacks are in %s", p.Name, limit, p.Log)
	}
}

// Kill ends it for good.
func (p *Program) Kill() {
	p.mu.Lock()
	p.stopping = true
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill()
	}
	p.mu.Unlock()
	if p.done != nil {
		<-p.done
	}
}

// Starts is how often it was started, GaveUp how it ended by itself.
func (p *Program) Starts() (int, []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts, p.gaveUp
}
