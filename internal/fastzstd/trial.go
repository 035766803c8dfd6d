package fastzstd

import (
	"sync"
	"sync/atomic"
)

// Slower is an encoder of a higher level; klauspost's is one.
type Slower interface {
	EncodeAll(src, dst []byte) []byte // appends to dst
}

// Trial decides by trying whether blocks of one kind are worth a slower encoder. Rows of keys, numbers and tokens cost it twice the time or
// more and become 1 or 2 percent smaller, which is where the C library is at level 3, but rows of text become 6 percent smaller. So a
// block is compressed both ways now and then. The zero value is ready; files of one table share it, so that many small ones cost few
// trials. Safe for concurrent use.
type Trial struct {
	left  atomic.Int64 // bytes until the next one
	easy  atomic.Bool  // fast does until then
	turns atomic.Int64 // how many in turn have said so
}

const (
	// trialBytes is the size of a block from which a trial tells something; smaller ones are compressed fast.
	trialBytes = 4 << 10
	// trialEvery is how many blocks of the same size an outcome holds for at least. Each trial that says the same again makes it
	// twice as many, up to 1<<trialTurns times.
	trialEvery = 128
	trialTurns = 3
	// sampleBytes is how much of a large block is tried.
	sampleBytes = 16 << 10
	// trialGain is the part of the size, in percent, that the slower encoder must save, sampleGain that of a sample.
	trialGain  = 3
	sampleGain = 5
)

// Append appends src compressed to dst. The scratch is for trials, and may be used for other things between calls.
func (t *Trial) Append(dst, src []byte, fast *Encoder, slower Slower, scratch *[]byte) []byte {
	if len(src) < trialBytes {
		return fast.Append(dst, src)
	}
	easy := t.easy.Load()
	if t.left.Add(-int64(len(src))) < 0 {
		if len(src) <= 2*sampleBytes {
			return t.whole(dst, src, fast, slower, scratch)
		}
		sample := src[len(src)/2:][:sampleBytes]
		*scratch = fast.Append((*scratch)[:0], sample)
		quick := len(*scratch)
		*scratch = slower.EncodeAll(sample, (*scratch)[:0])
		easy = t.settle(len(src), quick, len(*scratch), sampleGain)
	}
	if easy {
		return fast.Append(dst, src)
	}
	return slower.EncodeAll(src, dst)
}

// whole tries with all of the block.
func (t *Trial) whole(dst, src []byte, fast *Encoder, slower Slower, scratch *[]byte) []byte {
	at := len(dst)
	dst = fast.Append(dst, src)
	*scratch = slower.EncodeAll(src, (*scratch)[:0])
	if t.settle(len(src), len(dst)-at, len(*scratch), trialGain) {
		return dst
	}
	return append(dst[:at], *scratch...)
}

// settle takes in what a trial of a block of size bytes came to.
func (t *Trial) settle(size, quick, slow, gain int) (easy bool) {
	easy = (quick-slow)*100 < gain*quick
	if t.easy.Swap(easy) == easy {
		t.turns.Add(1)
	} else {
		t.turns.Store(0)
	}
	t.left.Store((trialEvery<<min(t.turns.Load(), trialTurns) - 1) * int64(size))
	return easy
}

// Trials are those of many kinds of blocks. The zero value is ready. Safe for concurrent use.
type Trials[K comparable] struct {
	mu sync.Mutex
	m  map[K]*Trial // guarded by mu
}

// maxTrials is how many kinds are remembered.
const maxTrials = 1 << 15

// Of returns the trial of a kind.
func (ts *Trials[K]) Of(k K) *Trial {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.m[k]
	if t == nil {
		if ts.m == nil || len(ts.m) >= maxTrials {
			ts.m = map[K]*Trial{} // they are cheap to find out again
		}
		t = new(Trial)
		ts.m[k] = t
	}
	return t
}
