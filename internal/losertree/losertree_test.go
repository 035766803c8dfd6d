package losertree

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type rec struct {
	prefix uint64
	rest   int
	run    int
}

func merge(runs [][]rec, gallop bool) []rec {
	var (
		t   Tree
		out []rec
	)
	at := make([]int, len(runs))
	tie := func(a, b int) int { return cmp.Compare(runs[a][at[a]].rest, runs[b][at[b]].rest) }
	t.Reset(len(runs), tie)
	for i, r := range runs {
		if len(r) == 0 {
			t.SetDone(i)
		} else {
			t.Set(i, r[0].prefix)
		}
	}
	t.Build()
	for w, ok := t.Min(); ok; w, ok = t.Min() {
		out = append(out, runs[w][at[w]])
		at[w]++
		if gallop {
			c, ok := t.Challenger()
			for at[w] < len(runs[w]) && (!ok || runs[w][at[w]].prefix < t.Prefix(c)) {
				out = append(out, runs[w][at[w]])
				at[w]++
			}
		}
		if at[w] == len(runs[w]) {
			t.AdvanceDone()
		} else {
			t.Advance(runs[w][at[w]].prefix)
		}
	}
	return out
}

func TestMergeIsStableSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "runs")
		runs := make([][]rec, n)
		var all []rec
		order := func(a, b rec) int {
			return cmp.Or(cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.rest, b.rest), cmp.Compare(a.run, b.run))
		}
		for i := range runs {
			for range rapid.IntRange(0, 30).Draw(t, "len") {
				p := rapid.SampledFrom([]uint64{0, 1, 2, 3, 1 << 63, ^uint64(0)}).Draw(t, "prefix")
				runs[i] = append(runs[i], rec{p, rapid.IntRange(0, 3).Draw(t, "rest"), i})
			}
			slices.SortStableFunc(runs[i], order)
			all = append(all, runs[i]...)
		}
		slices.SortStableFunc(all, order)
		require.Equal(t, all, merge(runs, false))
		require.Equal(t, all, merge(runs, true))
	})
}

func BenchmarkMerge16(b *testing.B) {
	const k, per = 16, 4096
	runs := make([][]uint64, k)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range runs {
		for range per {
			runs[i] = append(runs[i], r.Uint64())
		}
		slices.Sort(runs[i])
	}
	var t Tree
	at := make([]int, k)
	b.ReportAllocs()
	for b.Loop() {
		t.Reset(k, nil)
		for i := range runs {
			at[i] = 0
			t.Set(i, runs[i][0])
		}
		t.Build()
		for w, ok := t.Min(); ok; w, ok = t.Min() {
			if at[w]++; at[w] == per {
				t.AdvanceDone()
			} else {
				t.Advance(runs[w][at[w]])
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(k*per), "ns/row")
}
