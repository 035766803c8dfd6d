package compactor

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/table"
)

func wish(l *tableLoop, bucket int32, need float64, hot bool) *candidate {
	return &candidate{loop: l, key: bucketKey{"", bucket}, need: need, hot: hot, job: Job{Table: l.name, Bucket: bucket}}
}

func takeAll(t *testing.T, d *dispatcher, n int) (names []string) {
	for range n {
		c := d.take(t.Context())
		require.NotNil(t, c)
		names = append(names, fmt.Sprintf("%s/%d", c.job.Table, c.job.Bucket))
		d.ended(c)
	}
	return names
}

func TestDispatcherGivesTheWorstBucketFirstAndHotOnesBeforeColdOnes(t *testing.T) {
	d, a := newDispatcher(), &tableLoop{name: "a"}
	now := time.Now()
	d.now = func() time.Time { return now }
	d.offer(a, []*candidate{wish(a, 1, 1, false), wish(a, 2, 4, false), wish(a, 3, 2, false), wish(a, 4, 2, true)})
	require.Equal(t, []string{"a/4", "a/2", "a/3", "a/1"}, takeAll(t, d, 4))
}

func TestDispatcherServesTablesBesideOneWithALargeBacklog(t *testing.T) {
	d, big, small := newDispatcher(), &tableLoop{name: "big"}, &tableLoop{name: "small"}
	now := time.Now()
	d.now = func() time.Time { return now }
	var many []*candidate
	for i := range int32(1000) {
		many = append(many, wish(big, i, 20, true))
	}
	d.offer(big, many)
	d.offer(small, []*candidate{wish(small, 0, 1, false)})
	for i := range 60 { // one worker, jobs of 10 s
		if takeAll(t, d, 1)[0] == "small/0" {
			require.Positive(t, i, "the large backlog is more urgent")
			return
		}
		now = now.Add(10 * time.Second)
	}
	require.Fail(t, "the small table is never served")
}

// TestDispatcherNeverGivesABucketTwice plays offers, takes and ends in any order.
func TestDispatcherNeverGivesABucketTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDispatcher()
		loops := []*tableLoop{{name: "a"}, {name: "b"}, {name: "c"}}
		out := map[*candidate]bool{} // taken, not settled
		held := map[string]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				l := loops[rapid.IntRange(0, 2).Draw(t, "table")]
				var wanted []*candidate
				for i := range int32(4) {
					if rapid.Bool().Draw(t, "wanted") {
						wanted = append(wanted, wish(l, i, rapid.Float64Range(0, 9).Draw(t, "need"), rapid.Bool().Draw(t, "hot")))
					}
				}
				d.offer(l, wanted)
			case 1:
				d.mu.Lock()
				c := d.bestLocked()
				d.mu.Unlock()
				if c == nil {
					for _, l := range loops {
						_, waiting := d.load(l)
						require.Zero(t, waiting)
					}
					continue
				}
				k := fmt.Sprint(c.job.Table, c.job.Bucket)
				require.False(t, held[k], k)
				held[k], out[c] = true, true
			case 2:
				for c := range out {
					d.ended(c)
					d.settle(c)
					delete(out, c)
					delete(held, fmt.Sprint(c.job.Table, c.job.Bucket))
					break
				}
			}
		}
	})
}

func TestTakeEndsWithItsContextAndWhenClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatcher()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Nil(t, d.take(ctx))
		go func() {
			time.Sleep(time.Second)
			d.close()
		}()
		require.Nil(t, d.take(t.Context()))
	})
}

func TestLimiterLetsThroughWhatItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1000)
		start := time.Now()
		for range 50 {
			require.NoError(t, l.wait(t.Context(), 100))
		}
		require.InDelta(t, 4, time.Since(start).Seconds(), 0.01) // a second's worth was free
		require.NoError(t, l.wait(t.Context(), 10_000))
		require.InDelta(t, 14, time.Since(start).Seconds(), 0.01)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, l.wait(ctx, 1000), context.DeadlineExceeded)
	})
	var none *limiter
	require.NoError(t, none.wait(t.Context(), 1<<40))
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []Config{{Strategy: "most"}, {Shard: 2, Shards: 2}, {Shard: 1}, {Shard: -1}, {Workers: -1}, {Memory: -1}, {PartitionIdle: -1}} {
		_, err := New(c, nil)
		require.ErrorIs(t, err, table.ErrOption, "%+v", c)
	}
	s, err := New(Config{Strategy: Full}, nil)
	require.NoError(t, err)
	require.ErrorIs(t, s.Run(t.Context()), table.ErrOption)
}
