package avro

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdEncoders keeps idle encoders by klauspost level: one has a megabyte or more of tables.
var zstdEncoders [zstd.SpeedBestCompression + 1]sync.Pool

// zstdCompressor maps zstd's levels to the four of klauspost: 1 and 2 are fastest, 3 to 5 default, 6 to 9 better, the rest
// best. Level 0 is Paimon's default, 1.
//
// Above fastest, a level is taken at its word only where it pays: rows of keys, numbers and tokens cost twice the time at
// the default level and become 1 or 2 percent smaller than at the fastest, which is where the C library is at level 3, but
// rows of text become 6 percent smaller. So a block is compressed both ways now and then, and the better choice stays
// until the next time.
type zstdCompressor struct {
	level  zstd.EncoderLevel
	full   *zstd.Encoder // of the level
	fast   *zstd.Encoder // taken when a block is large enough for a trial
	easy   bool          // fast does for now
	blocks int           // until the next trial
	trial  []byte
}

const (
	// trialBytes is the size of a block from which a trial tells something; smaller ones get the full level.
	trialBytes = 32 << 10
	// trialEvery is how many blocks the outcome of a trial holds for.
	trialEvery = 128
	// trialGain is the part of the size, in percent, that the full level must save.
	trialGain = 3
)

func newZstdCompressor(level int) (compressor, error) {
	l := zstd.EncoderLevelFromZstd(max(level, 1))
	enc, err := zstdEncoder(l)
	if err != nil {
		return nil, err
	}
	return &zstdCompressor{level: l, full: enc}, nil
}

func zstdEncoder(l zstd.EncoderLevel) (*zstd.Encoder, error) {
	if enc, ok := zstdEncoders[l].Get().(*zstd.Encoder); ok {
		return enc, nil
	}
	// No checksum, as Java; one goroutine, as the caller is one; a window that covers a usual block.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(l), zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<17), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		return nil, fmt.Errorf("making a zstd encoder: %w", err)
	}
	return enc, nil
}

func (c *zstdCompressor) compress(dst, src []byte) []byte {
	if c.level == zstd.SpeedFastest || len(src) < trialBytes {
		return c.full.EncodeAll(src, dst)
	}
	if c.blocks--; c.blocks < 0 {
		return c.try(dst, src)
	}
	if c.easy {
		return c.fast.EncodeAll(src, dst)
	}
	return c.full.EncodeAll(src, dst)
}

// try compresses a block at both levels.
func (c *zstdCompressor) try(dst, src []byte) []byte {
	if c.fast == nil {
		fast, err := zstdEncoder(zstd.SpeedFastest)
		if err != nil {
			return c.full.EncodeAll(src, dst)
		}
		c.fast = fast
	}
	c.blocks = trialEvery - 1
	at := len(dst)
	dst = c.fast.EncodeAll(src, dst)
	c.trial = c.full.EncodeAll(src, c.trial[:0])
	fast, full := len(dst)-at, len(c.trial)
	if c.easy = (fast-full)*100 < trialGain*fast; c.easy {
		return dst
	}
	return append(dst[:at], c.trial...)
}

func (c *zstdCompressor) release() {
	if c.full != nil {
		zstdEncoders[c.level].Put(c.full)
	}
	if c.fast != nil {
		zstdEncoders[zstd.SpeedFastest].Put(c.fast)
	}
	*c = zstdCompressor{}
}
