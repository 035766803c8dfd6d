package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
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

// ErrNotInTime is wrapped by the error of a run that an end was asked of, and whose last commit or clean-up took too long.
var ErrNotInTime = errors.New("the end took too long")

// Within runs f so that the end that a first signal asks for comes in time: within soft (0: at once) f's context ends, and if f does not
// return within hard after the end of its context, Within returns without it. Then a call of the storage hangs, and all that is
// left is to end the process, which is safe at any time.
func (s *Signals) Within(soft, hard time.Duration, f func(context.Context) error) error {
	return within(s.Ctx, s.Stop, soft, hard, f)
}

func within(ctx context.Context, stop <-chan struct{}, soft, hard time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	late := time.NewTimer(1<<63 - 1)
	defer late.Stop()
	ended := ctx.Done()
	for {
		select {
		case err := <-done:
			if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrNotInTime) {
				err = fmt.Errorf("%w: %w", cause, err)
			}
			return err
		case <-stop:
			stop = nil
			if ended != nil {
				late.Reset(soft)
			}
		case <-ended:
			stop, ended = nil, nil
			late.Reset(hard)
		case <-late.C:
			if ended == nil {
				return fmt.Errorf("%w: a call of the storage does not come back: %w", ErrNotInTime, context.Cause(ctx))
			}
			if soft == 0 {
				cancel(nil)
				continue
			}
			cancel(fmt.Errorf("%w: it was not done %v after the signal", ErrNotInTime, soft))
		}
	}
}
