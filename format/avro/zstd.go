package avro

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/paimon-go/paimon-go/internal/fastzstd"
)

// zstdEncoders keeps idle encoders by klauspost level: one has a megabyte or more of tables. fastEncoders are of package fastzstd.
var (
	zstdEncoders [zstd.SpeedBestCompression + 1]sync.Pool
	fastEncoders = sync.Pool{New: func() any { return fastzstd.New(true) }}
)

// zstdCompressor maps zstd's levels to what we have: 1 and 2 are package fastzstd's, the others klauspost's, 3 to 5 default, 6 to 9 better,
// the rest best. Level 0 is Paimon's default, 1. Above the fastest, a level is taken at its word only where it pays (fastzstd.Trial).
type zstdCompressor struct {
	level zstd.EncoderLevel
	full  *zstd.Encoder // of the level; nil: it is the fastest
	fast  *fastzstd.Encoder
	trial *fastzstd.Trial
	buf   []byte // scratch of a trial
}

type trialKey struct {
	schema string
	level  zstd.EncoderLevel
}

var trials fastzstd.Trials[trialKey]

// newZstdCompressor returns the compressor of a file with this schema.
func newZstdCompressor(level int, schema string) (compressor, error) {
	l := zstd.EncoderLevelFromZstd(max(level, 1))
	c := &zstdCompressor{level: l, fast: fastEncoders.Get().(*fastzstd.Encoder)}
	if l == zstd.SpeedFastest {
		return c, nil
	}
	c.trial = trials.Of(trialKey{schema, l})
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
	if c.full == nil {
		return c.fast.Append(dst, src)
	}
	return c.trial.Append(dst, src, c.fast, c.full, &c.buf)
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
