package maintenance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/table"
)

func ptr[T any](v T) *T { return &v }

// future is after all that a test does, so that nothing is too young.
func future() *time.Time { return ptr(time.Now().Add(time.Hour)) }

var variants = map[string]table.Options{
	"plain":                {},
	"indexes beside data":  {"index-file-in-data-file-dir": "true"},
	"changelog":            {"changelog-producer": "input"},
	"clean":                {"snapshot.clean-empty-directories": "true", "file-operation.thread-num": "3"},
	"kept changelog":       {"changelog-producer": "input", "changelog.num-retained.min": "12", "changelog.num-retained.max": "2147483647"},
	"kept level 0":         {"changelog.num-retained.min": "12"},
	"consumers of changes": {"changelog.num-retained.min": "12", "consumer.changelog-only": "true"},
}

// TestNothingThatIsNeededIsRemoved lets a table be used at random, and demands after each expiry that whatever a snapshot,
// tag, branch or kept changelog needs is there, and after each removal of orphans that nothing else is.
func TestNothingThatIsNeededIsRemoved(t *testing.T) {
	names := slices.Sorted(maps.Keys(variants))
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.Uint64().Draw(t, "seed"), variants[rapid.SampledFrom(names).Draw(t, "variant")])
		w.indexes = rapid.Bool().Draw(t, "indexes")
		for range 32 {
			w.step(rapid.IntRange(0, 21).Draw(t, "step"))
		}
		w.clean()
	})
}

func (w *world) step(n int) {
	name := fmt.Sprint(w.rng.IntN(4))
	switch n {
	case 0, 1, 2, 3, 4, 5, 6:
		w.append()
	case 7, 8, 9:
		w.compact()
	case 10:
		w.overwrite()
	case 11:
		w.tag(name)
	case 12, 20:
		tags, err := w.table.Tags(w.ctx)
		require.NoError(w.t, err)
		if len(tags) > 0 {
			_, err = DeleteTag(w.ctx, w.table, tags[w.rng.IntN(len(tags))].Name, false, nil)
			require.NoError(w.t, err)
			w.requireWhole()
		}
	case 13, 21:
		if w.rng.IntN(2) == 0 {
			w.tag(name)
		}
		w.branch(name)
	case 14:
		w.dropBranch(name)
	case 15:
		w.consumer(name)
	case 16:
		w.clean()
	case 17:
		_, err := ExpireChangelogs(w.ctx, w.table, ExpireOptions{RetainMin: ptr(1 + w.rng.IntN(5)), OlderThan: future()}, w.rng.IntN(4) == 0)
		require.NoError(w.t, err)
		w.requireWhole()
	default:
		w.expire()
	}
}

// TestExpiryLeavesNothingBehind: what the last snapshot needs is all there is, when nobody else wants anything. What the newest
// commit deleted goes with its changelog, after the next one.
func TestExpiryLeavesNothingBehind(t *testing.T) {
	for name, options := range variants {
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				w := newWorld(t, seed, options)
				w.indexes = true
				for range 12 {
					w.append()
					w.compact()
				}
				w.overwrite()
				w.expireAll()
				w.append()
				w.expireAll()
				needed := w.requireWhole()
				for _, path := range w.fs.Paths() {
					if strings.Contains(path, "/manifest/") || strings.Contains(path, "/bucket-") || strings.Contains(path, "/changelog/") {
						require.Contains(t, needed, path)
					}
				}
			})
		}
	}
}

// expireAll leaves one snapshot and no changelog.
func (w *world) expireAll() {
	_, err := ExpireSnapshots(w.ctx, w.table, ExpireOptions{RetainMin: ptr(1), OlderThan: future(), MaxDeletes: 1000})
	require.NoError(w.t, err)
	require.Len(w.t, w.snapshots(), 1)
	_, err = ExpireChangelogs(w.ctx, w.table, ExpireOptions{}, true)
	require.NoError(w.t, err)
}

func (w *world) expire() {
	before, err := w.table.SnapshotIDs(w.ctx)
	require.NoError(w.t, err)
	h, err := holdersOf(w.ctx, w.table)
	require.NoError(w.t, err)
	next := h.next
	o := ExpireOptions{RetainMin: ptr(1 + w.rng.IntN(4)), RetainMax: ptr(5 + w.rng.IntN(5)), OlderThan: future(), MaxDeletes: w.rng.IntN(2) * w.rng.IntN(9)}
	if w.rng.IntN(4) == 0 {
		// Somebody has changed the options, and changelogs of before are there.
		w.table, err = table.Open(w.ctx, w.fs, testPath, table.Options{"changelog.num-retained.min": "1"})
		require.NoError(w.t, err)
	}
	dry := o
	dry.DryRun = true
	want, err := ExpireSnapshots(w.ctx, w.table, dry)
	require.NoError(w.t, err)
	files := len(w.fs.Paths())
	r, err := ExpireSnapshots(w.ctx, w.table, o)
	require.NoError(w.t, err)
	require.Equal(w.t, want.Files, r.Files, "%v\n%v", want.Names, r.Names)
	require.GreaterOrEqual(w.t, files, len(w.fs.Paths())-2*r.Snapshots-2)
	w.requireWhole()
	after, err := w.table.SnapshotIDs(w.ctx)
	require.NoError(w.t, err)
	require.Len(w.t, after, len(before)-r.Snapshots)
	if len(before) > 0 {
		require.NotEmpty(w.t, after)
		if !w.table.Options().Bool(table.KeyConsumerChangelogOnly) && r.Snapshots > 0 {
			require.LessOrEqual(w.t, after[0], next)
		}
	}
}

// clean removes all orphans, some of which it makes before.
func (w *world) clean() {
	if w.rng.IntN(2) == 0 {
		w.file("x", 0, "data", 0)
		w.write(testPath+"/manifest/manifest-lost", "x")
		w.write(testPath+"/snapshot/.snapshot-7.uuid.tmp", "x")
		w.write(testPath+"/paimon-go/writer.json", "x")
	}
	_, err := RemoveOrphanFiles(w.ctx, w.table, OrphanOptions{})
	require.NoError(w.t, err)
	r, err := RemoveOrphanFiles(w.ctx, w.table, OrphanOptions{OlderThan: *future()})
	require.NoError(w.t, err)
	require.Empty(w.t, r.Kept)
	w.requireWhole()
	w.requireNoOrphans()
}
