package wallclock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGuardIsNotFasterThanTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var off time.Duration
		g := NewGuard(func() time.Time { return time.Now().Add(off) })
		start := time.Now().Round(0)
		at := func(want, ahead time.Duration) {
			t.Helper()
			require.Equal(t, want, g.Now().Sub(start))
			require.Equal(t, ahead, g.Ahead())
		}
		at(0, 0)
		time.Sleep(time.Hour)
		at(time.Hour, 0)

		off = 72 * time.Hour // the clock jumps ahead
		at(time.Hour, off)
		time.Sleep(time.Hour)
		at(2*time.Hour, off)
		off = 0 // and is put right
		at(2*time.Hour, 0)

		off = -5 * time.Hour // back
		at(-3*time.Hour, 0)
		time.Sleep(time.Hour)
		at(-2*time.Hour, 0)
		off = 0
		at(3*time.Hour, 0)

		off = 10 * time.Hour // ahead for good
		at(3*time.Hour, off)
		time.Sleep(23 * time.Hour)
		at(26*time.Hour, off)
		time.Sleep(time.Hour)
		at(37*time.Hour, 0)
		time.Sleep(time.Hour)
		at(38*time.Hour, 0)

		g.Set(start) // another machine says so
		at(0, 38*time.Hour)
		off -= 38 * time.Hour // as after a time without power, say
		off += 30 * time.Second
		at(0, 0)
		off += 30 * time.Hour // for good, but who told us counts
		at(0, 30*time.Hour+30*time.Second)
		time.Sleep(72 * time.Hour)
		at(72*time.Hour, 30*time.Hour+30*time.Second)
	})
}
