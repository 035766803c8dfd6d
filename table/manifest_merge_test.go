package table

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/fs/mem"
)

func newTestWriter(t testing.TB, tab *Table) *metaWriter {
	t.Helper()
	w, err := newMetaWriter(tab, &fileNames{uuid: uuid.NewString()})
	require.NoError(t, err)
	return w
}

// drawManifests makes manifests of a random history of files: add, delete, move to another level.
func drawManifests(rt *rapid.T, t testing.TB, w *metaWriter) (list []Manifest, live map[string]bool) {
	live = map[string]bool{}
	var files []Entry
	for m := range rapid.IntRange(0, 12).Draw(rt, "manifests") {
		var entries []Entry
		for i := range rapid.IntRange(1, 6).Draw(rt, "entries") {
			if len(files) > 0 && rapid.Bool().Draw(rt, "delete") {
				k := rapid.IntRange(0, len(files)-1).Draw(rt, "which")
				gone := files[k]
				files = append(files[:k], files[k+1:]...)
				gone.Kind = Delete
				entries = append(entries, gone)
				delete(live, string(gone.appendIdentity(nil)))
				if rapid.Bool().Draw(rt, "upgrade") {
					up := gone
					up.Kind, up.File.Level = Add, gone.File.Level+1
					files, entries = append(files, up), append(entries, up)
					live[string(up.appendIdentity(nil))] = true
				}
				continue
			}
			e := Entry{Partition: binaryRow(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "p")), TotalBuckets: 2,
				File: testFile(fmt.Sprintf("f-%d-%d", m, i), 0, 0, 1)}
			files, entries = append(files, e), append(entries, e)
			live[string(e.appendIdentity(nil))] = true
		}
		made, err := w.manifests(t.Context(), entries)
		require.NoError(rt, err)
		list = append(list, made...)
	}
	return list, live
}

func contentOf(t testing.TB, tab *Table, list []Manifest) map[string]bool {
	t.Helper()
	got := map[string]bool{}
	for e, err := range tab.liveEntries(t.Context(), list, &Filter{}) {
		require.NoError(t, err)
		id := string(e.appendIdentity(nil))
		require.False(t, got[id])
		got[id] = true
	}
	return got
}

func TestMergingKeepsTheContent(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	rapid.Check(t, func(rt *rapid.T) {
		w := newTestWriter(t, tab)
		list, live := drawManifests(rt, t, w)
		require.Equal(rt, live, contentOf(t, tab, list))
		rules := mergeRules{
			targetSize: rapid.Int64Range(1, 8000).Draw(rt, "target"), fullSize: rapid.Int64Range(1, 40000).Draw(rt, "full"),
			minCount: rapid.IntRange(1, 10).Draw(rt, "min"),
		}
		w.targetSize = rules.targetSize
		merged, err := w.merge(t.Context(), list, rules)
		require.NoError(rt, err)
		require.LessOrEqual(rt, len(merged), len(list))
		require.Equal(rt, live, contentOf(t, tab, merged))
		c := &checker{t: tab, ctx: t.Context(), schema: tab.Schema(), used: map[string]bool{}, manifestsSeen: map[string]bool{}}
		c.yield = func(p Problem) bool { rt.Fatal(p); return false }
		for i := range merged {
			require.True(rt, c.checkManifest("test", &merged[i]))
		}
		require.NotNil(rt, c.sum("test", merged))
		// A filter finds the same with pruned manifests.
		want := 0
		for id := range live {
			if string(entryPartition(t, tab, list, id)) == string(binaryRow("b")) {
				want++
			}
		}
		f := Filter{Partition: binaryRow("b")}
		pruned, err := f.prune(tab.Schema(), merged)
		require.NoError(rt, err)
		n := 0
		for _, err := range tab.liveEntries(t.Context(), pruned, &f) {
			require.NoError(rt, err)
			n++
		}
		require.Equal(rt, want, n)
	})
}

func entryPartition(t testing.TB, tab *Table, list []Manifest, id string) []byte {
	for e, err := range tab.liveEntries(t.Context(), list, &Filter{}) {
		require.NoError(t, err)
		if string(e.appendIdentity(nil)) == id {
			return e.Partition
		}
	}
	return nil
}

func TestFullMergeKeepsManifestsThatSufferNothing(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	w := newTestWriter(t, tab)
	manifest := func(kind EntryKind, p string, files ...DataFile) Manifest {
		var entries []Entry
		for _, f := range files {
			entries = append(entries, Entry{Kind: kind, Partition: binaryRow(p), TotalBuckets: 2, File: f})
		}
		list, err := w.manifests(t.Context(), entries)
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0]
	}
	a := manifest(Add, "a", testFile("a1", 0, 0, 1), testFile("a2", 0, 0, 1))
	b := manifest(Add, "b", testFile("b1", 0, 0, 1), testFile("b2", 0, 0, 1))
	b2 := manifest(Add, "b", testFile("b3", 0, 0, 1))
	gone := manifest(Delete, "b", testFile("b1", 0, 0, 1))
	rules := mergeRules{targetSize: 1, fullSize: gone.Size, minCount: 100}
	out, ok, err := w.mergeFull(t.Context(), []Manifest{a, b, b2, gone}, rules)
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, out, 3)
	require.Equal(t, a.Name, out[0].Name)  // another partition
	require.Equal(t, b2.Name, out[1].Name) // the partition, but not the file
	require.Equal(t, int64(1), out[2].Added)
	require.Zero(t, out[2].Deleted)
	// Below the threshold nothing happens.
	rules.fullSize = gone.Size + 1
	_, ok, err = w.mergeFull(t.Context(), []Manifest{a, b, b2, gone}, rules)
	require.NoError(t, err)
	require.False(t, ok)
}

func TestMinorMergeTakesNeighbours(t *testing.T) {
	tab := testTable(t, mem.New(), nil)
	w := newTestWriter(t, tab)
	var list []Manifest
	for i := range 7 {
		made, err := w.manifests(t.Context(), []Entry{{Partition: binaryRow("a"), TotalBuckets: 2, File: testFile(fmt.Sprint("f", i), 0, 0, 1)}})
		require.NoError(t, err)
		list = append(list, made...)
	}
	size := list[0].Size
	for _, c := range []struct {
		target  int64
		min     int
		entries []int64
	}{
		{100 * size, 7, []int64{7}},                   // enough of them
		{100 * size, 8, []int64{1, 1, 1, 1, 1, 1, 1}}, // not enough
		{3*size - 30, 30, []int64{3, 3, 1}},           // full ones
		{3*size - 30, 1, []int64{3, 3, 1}},            // a single one stays as it is
		{1, 30, []int64{1, 1, 1, 1, 1, 1, 1}},         // each is full alone
	} {
		out, err := w.mergeMinor(t.Context(), list, mergeRules{targetSize: c.target, minCount: c.min})
		require.NoError(t, err)
		var entries []int64
		for _, m := range out {
			entries = append(entries, m.Added)
		}
		require.Equal(t, c.entries, entries, "%+v", c)
	}
}

func TestManifestsRollAtTheTargetSize(t *testing.T) {
	tab := testTable(t, mem.New(), Options{"manifest.target-file-size": "20 kb"})
	w := newTestWriter(t, tab)
	var entries []Entry
	for i := range 5000 {
		entries = append(entries, Entry{Partition: binaryRow("a"), TotalBuckets: 2, File: testFile(fmt.Sprint("file-", i), 0, i, i)})
	}
	list, err := w.manifests(t.Context(), entries)
	require.NoError(t, err)
	require.Greater(t, len(list), 2)
	n := int64(0)
	for _, m := range list {
		n += m.Added
	}
	require.Equal(t, int64(5000), n)
}
