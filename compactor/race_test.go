package compactor_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/table"
)

// TestTwoServicesOnTheSameTables lets two services compact what a writer writes, and requires that nothing is lost, that no
// bucket stays behind, and that the loser leaves no file.
func TestTwoServicesOnTheSameTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "4"})
		w.create("db.b", table.Options{"bucket": "1"})
		one := w.service(compactor.Config{}, w.tables)
		two := w.service(compactor.Config{}, w.tables)
		stopOne, stopTwo := running(t, one), running(t, two)
		for i := range 60 {
			w.write("db.a", fmt.Sprintf("d%d", i%2), 0, 40, 1, i%5 == 4)
			w.write("db.b", "d1", int64(i), int64(i)+40, 1, false)
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(5 * time.Minute)
		a, b := statsOf(t, one, "db.a"), statsOf(t, two, "db.a")
		stopOne()
		stopTwo()
		require.Positive(t, a.Commits)
		require.Positive(t, b.Commits)
		require.Positive(t, a.Lost+b.Lost, "the test is to make conflicts")
		require.LessOrEqual(t, w.maxRuns("db.a"), 5)
		require.LessOrEqual(t, w.maxRuns("db.b"), 5)
		w.check(false)
	})
}

func TestShardsShareTheBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("db.a", table.Options{"bucket": "8"})
		var mu sync.Mutex
		by := map[string]map[int]bool{}
		var stops []func()
		for shard := range 3 {
			l := compactor.Listener{JobEnd: func(j compactor.JobInfo) {
				mu.Lock()
				defer mu.Unlock()
				k := fmt.Sprintf("%s/%d", j.Partition, j.Bucket)
				if by[k] == nil {
					by[k] = map[int]bool{}
				}
				by[k][shard] = true
			}}
			stops = append(stops, running(t, w.service(compactor.Config{Shard: shard, Shards: 3, Listener: l}, w.tables)))
		}
		for i := range 40 {
			w.write("db.a", fmt.Sprintf("d%d", i%2), 0, 60, 1, false)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		for _, stop := range stops {
			stop()
		}
		require.Len(t, by, 16)
		used := map[int]bool{}
		for k, shards := range by {
			require.Len(t, shards, 1, k)
			for s := range shards {
				used[s] = true
			}
		}
		require.Len(t, used, 3)
		w.check(false)
	})
}
