// Package losertree merges sorted runs: a tournament tree that keeps the loser of every match, so that the next winner is
// found with log2(runs) comparisons, nearly all of them of two integers.
//
// A run shows its head as an 8-byte prefix whose order is that of the keys; the tree asks for more (the tie function)
// only when two prefixes are equal. Of equal heads that of the lower run comes first, so with runs numbered from the
// oldest to the newest, equal keys come out in the order they were written. In order of use:
//
//	t.Reset(n, tie)
//	for run := range n { t.Set(run, prefix) or t.SetDone(run) }
//	t.Build()
//	for run, ok := t.Min(); ok; run, ok = t.Min() {
//		... take the head of run, step the run ...
//		t.Advance(prefix) or t.AdvanceDone()
//	}
package losertree

// Tree is a loser tree. The zero value is ready for Reset, which keeps the memory. Not safe for concurrent use.
//
// Prefixes, end marks and matches are in arrays of their own, which keeps those of 128 runs within a few cache lines.
type Tree struct {
	prefix []uint64 // of each run's head
	done   []bool   // the run has no head any more
	loser  []int32  // loser[1..n-1]: the run that lost the match at this inner node; loser[0]: the winner of all
	tie    func(a, b int) int
}

// Reset prepares the tree for n runs without heads. tie compares the heads of runs a and b whose prefixes are equal:
// negative, zero or positive. It may be nil when a prefix is all there is to a key.
func (t *Tree) Reset(n int, tie func(a, b int) int) {
	if cap(t.prefix) < n {
		t.prefix, t.done, t.loser = make([]uint64, n), make([]bool, n), make([]int32, n)
	}
	t.prefix, t.done, t.loser = t.prefix[:n], t.done[:n], t.loser[:n]
	for i := range t.done {
		t.done[i] = true
	}
	t.tie = tie
}

// Set gives a run its first head; Build must follow.
func (t *Tree) Set(run int, prefix uint64) { t.prefix[run], t.done[run] = prefix, false }

// SetDone says that a run is empty; Build must follow.
func (t *Tree) SetDone(run int) { t.done[run] = true }

// Build plays all matches.
func (t *Tree) Build() {
	n := len(t.loser)
	if n == 0 {
		return
	}
	for i := range t.loser {
		t.loser[i] = -1
	}
	for run := n - 1; run >= 0; run-- {
		t.enter(int32(run))
	}
}

// enter sends a run up the tree until it meets a node that waits for its second run.
func (t *Tree) enter(run int32) {
	for node := (int(run) + len(t.loser)) / 2; node > 0; node /= 2 {
		other := t.loser[node]
		if other < 0 {
			t.loser[node] = run
			return
		}
		if t.less(other, run) {
			t.loser[node], run = run, other
		}
	}
	t.loser[0] = run
}

// Min returns the run with the smallest head, false when all runs have ended.
func (t *Tree) Min() (int, bool) {
	if len(t.loser) == 0 {
		return 0, false
	}
	w := int(t.loser[0])
	return w, !t.done[w]
}

// Advance gives the run that Min returned its next head.
func (t *Tree) Advance(prefix uint64) {
	t.prefix[t.loser[0]] = prefix
	t.replay()
}

// AdvanceDone says that the run that Min returned has ended.
func (t *Tree) AdvanceDone() {
	t.done[t.loser[0]] = true
	t.replay()
}

func (t *Tree) replay() {
	loser, run := t.loser, t.loser[0]
	for node := (int(run) + len(loser)) / 2; node > 0; node /= 2 {
		if other := loser[node]; t.less(other, run) {
			loser[node], run = run, other
		}
	}
	loser[0] = run
}

// Challenger returns the run with the smallest head but for that of Min, false when there is none. As long as the winner
// stays below the challenger's head, its rows may be taken in a row without the tree: a caller that does so calls Advance
// once, at the end.
func (t *Tree) Challenger() (int, bool) {
	best := int32(-1)
	for node := (int(t.loser[0]) + len(t.loser)) / 2; node > 0; node /= 2 {
		if r := t.loser[node]; !t.done[r] && (best < 0 || t.less(r, best)) {
			best = r
		}
	}
	return int(best), best >= 0
}

// Prefix returns the prefix of a run's head.
func (t *Tree) Prefix(run int) uint64 { return t.prefix[run] }

func (t *Tree) less(a, b int32) bool {
	if t.done[a] || t.done[b] {
		if t.done[a] != t.done[b] {
			return t.done[b]
		}
		return a < b
	}
	if pa, pb := t.prefix[a], t.prefix[b]; pa != pb {
		return pa < pb
	}
	if t.tie != nil {
		if c := t.tie(int(a), int(b)); c != 0 {
			return c < 0
		}
	}
	return a < b
}
