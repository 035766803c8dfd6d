package cli

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Progress shows one live line on a terminal.
type Progress struct {
	stop, done chan struct{}
}

// StartProgress shows what line returns, anew each second, when w is a terminal; elsewhere it does nothing and returns nil.
func StartProgress(w io.Writer, line func() string) *Progress {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
		return nil
	}
	p := &Progress{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				fmt.Fprintf(f, "\r\x1b[K%s", line())
			case <-p.stop:
				fmt.Fprint(f, "\r\x1b[K")
				return
			}
		}
	}()
	return p
}

// Close clears the line.
func (p *Progress) Close() error {
	if p == nil {
		return nil
	}
	close(p.stop)
	<-p.done
	return nil
}
