package hdfs

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReportsAreSeldomAskedForInVain, and rarely twice for the same block, however long they take and however different they are; who waits does not wait for much longer than is needed.
func TestReportsAreSeldomAskedForInVain(t *testing.T) {
	const files = 20000
	for _, median := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond, 150 * time.Millisecond} {
		for _, spread := range []float64{0, 0.2, 0.4, 0.8} {
			if float64(median)*math.Exp(2*spread) > float64(reportMost) {
				continue
			}
			random := rand.New(rand.NewPCG(1, 2))
			var r reports
			r.guess.Store(int64(reportFirst))
			early, again := 0, 0
			var late, all time.Duration
			for range files {
				report := time.Duration(float64(median) * math.Exp(spread*random.NormFloat64()))
				now, vain := r.wait(), time.Duration(0)
				for tries := 0; now < report; tries++ {
					early++
					if tries > 0 {
						again++
					}
					vain = now + time.Millisecond // the call
					now = vain + pause(vain)
				}
				r.took(vain)
				late, all = late+now-report, all+report
			}
			require.Less(t, early, files/7, "median %s, spread %g", median, spread)
			require.LessOrEqual(t, again, early/10, "median %s, spread %g", median, spread)
			require.Less(t, late, 3*all+files*3*time.Millisecond, "median %s, spread %g", median, spread)
			if spread == 0 {
				require.LessOrEqual(t, r.wait(), 2*median+2*reportFirst, "settles at %s", median)
			}
			t.Logf("median %s, spread %g: early %.3f, again %.3f, late %s", median, spread, float64(early)/files, float64(again)/files, late/files)
		}
	}
}
