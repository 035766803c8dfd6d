package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Signals tells of SIGTERM and SIGINT.
type Signals struct {
	// Stop is closed by the first one: to end in good order.
	Stop <-chan struct{}
	// Ctx ends by the second one: to end at once.
	Ctx context.Context

	release func()
}

// WatchSignals begins to take signals; Close ends it.
func WatchSignals() *Signals {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case s := <-signals:
				if n == 0 {
					close(stop)
				} else {
					cancel(fmt.Errorf("a second %s", s))
				}
			case <-done:
				return
			}
		}
	})
	return &Signals{Stop: stop, Ctx: ctx, release: func() {
		signal.Stop(signals)
		close(done)
		wg.Wait()
		cancel(context.Canceled)
	}}
}

// Error returns err, and as a stop by a signal when it comes from the second one.
func (s *Signals) Error(err error) error {
	if cause := context.Cause(s.Ctx); err != nil && cause != nil && !errors.Is(err, ErrStopped) {
		return fmt.Errorf("%w: %w", ErrStopped, cause)
	}
	return err
}

// Close ends the watch.
func (s *Signals) Close() { s.release() }
