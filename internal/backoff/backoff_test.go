package backoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDelayGrowsToItsBound(t *testing.T) {
	for n, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
		for range 50 {
			d := Delay(time.Second, 10*time.Second, n)
			require.GreaterOrEqual(t, d, want*time.Second)
			require.LessOrEqual(t, d, want*time.Second*6/5)
		}
	}
	require.LessOrEqual(t, Delay(time.Hour, time.Hour, 1<<30), 72*time.Minute)
	require.LessOrEqual(t, Delay(1<<40, time.Hour, 40), 72*time.Minute, "no overflow")
	require.Zero(t, Delay(0, 0, 3))
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		require.NoError(t, Sleep(t.Context(), time.Minute))
		require.Equal(t, time.Minute, time.Since(start))
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { time.Sleep(time.Second); cancel(why) }()
		require.ErrorIs(t, Sleep(ctx, time.Hour), why)
		require.Equal(t, time.Minute+time.Second, time.Since(start))
	})
}
