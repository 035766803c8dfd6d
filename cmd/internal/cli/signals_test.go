package cli

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAStopEndsInTimeWhateverHangs(t *testing.T) {
	const soft, hard = 20 * time.Second, 5 * time.Second
	again := errors.New("a second signal")
	for name, c := range map[string]struct {
		ctx   bool // f ends with its context
		after time.Duration
		kill  time.Duration // a second signal
		took  time.Duration
		ended bool
	}{
		"in good order":           {true, 3 * time.Second, 0, 3 * time.Second, true},
		"storage is away":         {true, time.Hour, 0, soft, false},
		"a call hangs":            {false, time.Hour, 0, soft + hard, false},
		"second signal":           {true, time.Hour, time.Second, time.Second, false},
		"second signal, and hang": {false, time.Hour, time.Second, time.Second + hard, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				stop := make(chan struct{})
				release := make(chan struct{})
				defer close(release)
				time.Sleep(time.Hour) // nothing bounds a run that nobody ends
				go func() {
					time.Sleep(time.Hour)
					close(stop)
					if c.kill > 0 {
						time.Sleep(c.kill)
						cancel(again)
					}
				}()
				start := time.Now()
				err := within(ctx, stop, soft, hard, func(ctx context.Context) error {
					<-stop
					ended := ctx.Done()
					if !c.ctx {
						ended = nil
					}
					select {
					case <-time.After(c.after):
						return nil
					case <-ended:
						return ctx.Err()
					case <-release:
						return nil
					}
				})
				require.Equal(t, time.Hour+c.took, time.Since(start))
				switch {
				case c.ended:
					require.NoError(t, err)
				case c.kill > 0 && c.ctx:
					require.ErrorIs(t, err, context.Canceled)
				default:
					require.ErrorIs(t, err, ErrNotInTime)
					require.True(t, StorageFailed(err))
				}
			})
		})
	}
}
