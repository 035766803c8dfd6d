package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/compactor"
	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/faultfs"
	"github.com/paimon-go/paimon-go/table"
	"github.com/paimon-go/paimon-go/table/maintenance"
)

// upkeep is the real maintenance.
type upkeep struct{ m *maintenance.Maintainer }

func (u upkeep) Maintain(ctx context.Context, s *table.Snapshot) (compactor.Maintained, error) {
	r, err := u.m.Run(ctx, s)
	return compactor.Maintained{Snapshots: r.Snapshots, Files: r.Files}, err
}

func newUpkeep(t *table.Table, user string) compactor.Maintainer {
	return upkeep{maintenance.NewMaintainer(t, user+"-expiry", nil)}
}

// TestModel plays a writer, services that come and go, expiry, schema changes and failing storage, and compares the table
// with a map all the time.
func TestModel(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playModel(t, rand.New(rand.NewPCG(uint64(seed), 1))) })
		})
	}
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

func modelOptions(rng *rand.Rand) table.Options {
	o := table.Options{
		"bucket": pick(rng, "1", "3"), "num-sorted-run.compaction-trigger": pick(rng, "1", "2", "3", "5"), "target-file-size": pick(rng, "300 b", "2 kb", "1 mb"),
		"snapshot.num-retained.min": "1", "snapshot.num-retained.max": pick(rng, "1", "2", "20"), "snapshot.time-retained": pick(rng, "1 s", "20 s", "1 h"),
		"manifest.merge-min-count": pick(rng, "2", "30"), "commit.max-retries": pick(rng, "0", "3"),
	}
	if rng.IntN(3) == 0 {
		o["full-compaction.delta-commits"] = pick(rng, "1", "2", "5")
	}
	if rng.IntN(3) == 0 {
		o["compaction.optimization-interval"] = "20 s"
	}
	if rng.IntN(4) == 0 {
		o["compaction.force-up-level-0"] = "true"
	}
	o["changelog-producer"] = pick(rng, "none", "none", "lookup", "full-compaction")
	if rng.IntN(2) == 0 {
		o["lookup-compact"] = "gentle"
	}
	return o
}

func playModel(t *testing.T, rng *rand.Rand) {
	w := newWorld(t)
	w.create("db.a", modelOptions(rng))
	clean := true // no files may be left over
	var stops []func()
	start := func() {
		faulty := faultfs.New(w.fsys, nil)
		faulty.FailWith(fs.ErrTransient)
		if share := pick(rng, 0, 0, 50, 400); share > 0 {
			clean = false
			own := rand.New(rand.NewPCG(rng.Uint64(), 2))
			faulty.Set(func(faultfs.Call) faultfs.How {
				if own.IntN(share) > 0 {
					return faultfs.OK
				}
				return pick(own, faultfs.Before, faultfs.Lost, faultfs.ReplyLost, faultfs.Torn)
			})
		}
		cfg := compactor.Config{Maintainer: newUpkeep, MaintainInterval: pick(rng, time.Second, 10*time.Second), MinInterval: 200 * time.Millisecond}
		stops = append(stops, running(t, w.service(cfg, &faultyTables{w.tables, faulty})))
	}
	start()
	for range 25 {
		switch rng.IntN(12) {
		case 0:
			if len(stops) < 3 {
				start()
			}
		case 1:
			if len(stops) > 0 {
				stops[0]()
				stops = stops[1:]
			}
		case 2:
			_, err := w.open("db.a").Alter(t.Context(), table.SchemaChange{Kind: table.AddColumn, Column: fmt.Sprint("c", rng.Uint32()), Type: text})
			require.NoError(t, err)
		case 3:
			time.Sleep(time.Duration(rng.IntN(60)) * time.Second)
		default:
			from := int64(rng.IntN(50))
			w.write("db.a", fmt.Sprint("d", rng.IntN(2)), from, from+int64(1+rng.IntN(40)), 1+rng.IntN(3), rng.IntN(3) == 0)
		}
		time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
		w.readWhileOthersWork("db.a")
	}
	start()
	time.Sleep(15 * time.Minute)
	for _, stop := range stops {
		stop()
	}
	// Expiry that was cut leaves snapshots without manifests, until it is done again.
	_, err := w.service(compactor.Config{Strategy: compactor.Minor, Maintainer: newUpkeep}, w.tables).Once(t.Context())
	require.NoError(t, err)
	w.check(!clean)
}

// readWhileOthersWork reads the newest snapshot, again if that expires meanwhile.
func (w *world) readWhileOthersWork(name string) {
	for range 50 {
		got, err := tryContents(w.open(name))
		if errors.Is(err, fs.ErrNotExist) {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		require.NoError(w.t, err)
		require.True(w.t, maps.Equal(w.want[name], got), "want %v\ngot  %v", sorted(w.want[name]), sorted(got))
		return
	}
	require.Fail(w.t, "the table can't be read")
}

func sorted(m map[string]string) string {
	var s []string
	for k, v := range m {
		s = append(s, k+"="+v)
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}
