package avro

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/paimon-go/paimon-go/internal/fastzstd"
)

// zstdEncoders keeps idle encoders by klauspost level: one has a megabyte or more of tables. fastEncoders are of package fastzstd.
var (
	zstdEncoders [zstd.SpeedBestCompression + 1]sync.Pool
	fastEncoders = sync.Pool{New: func() any { return fastzstd.New(true) }}
)

// zstdCompressor maps zstd's levels to what we have: 1 and 2 are package fastzstd's, the others klauspost's, 3 to 5 default, 6 to 9 better,
// the rest best. Level 0 is Paimon's default, 1.
//
// Above the fastest, a level is taken at its word only where it pays: rows of keys, numbers and tokens cost twice the time or more at
// the default level and become 1 or 2 percent smaller than at the fastest, which is where the C library is at level 3, but
// rows of text become 6 percent smaller. So a block is compressed both ways now and then (trial).
type zstdCompressor struct {
	level zstd.EncoderLevel
	full  *zstd.Encoder // of the level; nil: it is the fastest
	fast  *fastzstd.Encoder
	trial *trial
	buf   []byte // scratch of a trial
}

// trial is what is known of the blocks of one schema: files of a table share it, so that many small ones cost few trials.
type trial struct {
	left  atomic.Int64 // bytes until the next trial
	easy  atomic.Bool  // fast does until then
	turns atomic.Int64 // how many trials in turn have said so
}

const (
	// trialBytes is the size of a block from which a trial tells something; smaller ones are compressed fast.
	trialBytes = 4 << 10
	// trialEvery is how many blocks of the same size the outcome of a trial holds for at first. Each that says the same again makes it
	// twice as many, up to 1<<trialTurns times.
	trialEvery = 128
	trialTurns = 3
	// trialGain is the part of the size, in percent, that the full level must save.
	trialGain = 3
	// maxTrials is how many schemas are remembered.
	maxTrials = 4096
)

type trialKey struct {
	schema string
	level  zstd.EncoderLevel
}

var trials = struct {
	sync.Mutex
	m map[trialKey]*trial // guarded by the mutex
}{m: map[trialKey]*trial{}}

func trialOf(schema string, level zstd.EncoderLevel) *trial {
	trials.Lock()
	defer trials.Unlock()
	k := trialKey{schema, level}
	t := trials.m[k]
	if t == nil {
		if len(trials.m) >= maxTrials {
			clear(trials.m) // they are cheap to find out again
		}
		t = new(trial)
		trials.m[k] = t
	}
	return t
}

// newZstdCompressor returns the compressor of a file with this schema.
func newZstdCompressor(level int, schema string) (compressor, error) {
	l := zstd.EncoderLevelFromZstd(max(level, 1))
	c := &zstdCompressor{level: l, fast: fastEncoders.Get().(*fastzstd.Encoder), trial: trialOf(schema, l)}
	if l == zstd.SpeedFastest {
		return c, nil
	}
	if enc, ok := zstdEncoders[l].Get().(*zstd.Encoder); ok {
		c.full = enc
		return c, nil
	}
	// With a checksum, which Java doesn't write but verifies: a flipped bit in a manifest or a row is found. One goroutine, as the caller is one; a window that covers a usual block.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(l), zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<17), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		return nil, fmt.Errorf("making a zstd encoder: %w", err)
	}
	c.full = enc
	return c, nil
}

func (c *zstdCompressor) compress(dst, src []byte) []byte {
	if c.full == nil || len(src) < trialBytes {
		return c.fast.Append(dst, src)
	}
	try := c.trial.left.Add(-int64(len(src))) < 0
	if !try && !c.trial.easy.Load() {
		return c.full.EncodeAll(src, dst)
	}
	at := len(dst)
	dst = c.fast.Append(dst, src)
	if !try {
		return dst
	}
	c.buf = c.full.EncodeAll(src, c.buf[:0])
	fast, full := len(dst)-at, len(c.buf)
	easy := (fast-full)*100 < trialGain*fast
	if c.trial.easy.Swap(easy) == easy {
		c.trial.turns.Add(1)
	} else {
		c.trial.turns.Store(0)
	}
	c.trial.left.Store((trialEvery<<min(c.trial.turns.Load(), trialTurns) - 1) * int64(len(src)))
	if easy {
		return dst
	}
	return append(dst[:at], c.buf...)
}

func (c *zstdCompressor) release() {
	if c.full != nil {
		zstdEncoders[c.level].Put(c.full)
	}
	if c.fast != nil {
		fastEncoders.Put(c.fast)
	}
	*c = zstdCompressor{}
}
