package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/internal/fastzstd"
	"github.com/pierrec/lz4/v4"
)

// Codec numbers of parquet.thrift.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecLZO    = 3
	codecBrotli = 4
	codecLZ4    = 5 // Hadoop's block stream, deprecated
	codecZstd   = 6
	codecLZ4Raw = 7
)

var codecNames = map[string]int32{
	"none": codecNone, "uncompressed": codecNone, "snappy": codecSnappy, "gzip": codecGzip,
	"lz4": codecLZ4, "zstd": codecZstd, "lz4_raw": codecLZ4Raw,
}

func parseCodec(name string) (int32, error) {
	c, ok := codecNames[strings.ToLower(name)]
	if !ok {
		return 0, fmt.Errorf("parquet does not support compression %q, only zstd, lz4, lz4_raw, snappy, gzip and none", name)
	}
	return c, nil
}

// compressor compresses pages one after the other. It holds pooled coders until release.
type compressor struct {
	codec int32
	level int
	zstd  *zstd.Encoder
	fast  *fastzstd.Encoder
	gzip  *gzip.Writer
	lz4   *lz4.Compressor
	buf   bytes.Buffer
	trial []byte // scratch
}

// trials are those of columns, by the ROW type that files are made of: whether a level pays differs from column to column, and what one
// file found out the next ones of the same type needn't. A dictionary is another thing than the indexes into it.
var trials fastzstd.Trials[trialKey]

type trialKey struct {
	schema        *row.Type
	column, level int
	dict          bool
}

// zstdPools holds idle encoders by klauspost level. An encoder's tables take a megabyte or more: making one a file would
// cost more than compressing a small file.
var zstdPools [zstd.SpeedBestCompression + 1]sync.Pool

var (
	fastPool = sync.Pool{New: func() any { return fastzstd.New(false) }}
	gzipPool = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
	lz4Pool  = sync.Pool{New: func() any { return new(lz4.Compressor) }}
)

func getZstd(l zstd.EncoderLevel) *zstd.Encoder {
	if e, ok := zstdPools[l].Get().(*zstd.Encoder); ok {
		return e
	}
	// Pages have their own checksum. Literals are worth Huffman coding even where nothing repeats: random text in base64
	// shrinks by a quarter.
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(l), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithAllLitEntropyCompression(true), zstd.WithZeroFrames(true), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // only for options that contradict each other
	}
	return e
}

func (c *compressor) init(codec int32, level int) {
	c.codec, c.level = codec, level
}

func (c *compressor) release() {
	if c.zstd != nil {
		zstdPools[zstd.EncoderLevelFromZstd(c.level)].Put(c.zstd)
	}
	if c.fast != nil {
		fastPool.Put(c.fast)
	}
	if c.gzip != nil {
		gzipPool.Put(c.gzip)
	}
	if c.lz4 != nil {
		lz4Pool.Put(c.lz4)
	}
	c.zstd, c.fast, c.gzip, c.lz4 = nil, nil, nil, nil
}

// appendTo appends src, a page of a column, compressed to dst.
func (c *compressor) appendTo(dst, src []byte, trial *fastzstd.Trial) ([]byte, error) {
	switch c.codec {
	case codecNone:
		return append(dst, src...), nil
	case codecZstd:
		if c.fast == nil {
			c.fast = fastPool.Get().(*fastzstd.Encoder)
		}
		if !c.tries() {
			return c.fast.Append(dst, src), nil
		}
		return trial.Append(dst, src, c.fast, c, &c.trial), nil
	case codecSnappy:
		n := len(dst)
		dst = grow(dst, s2.MaxEncodedLen(len(src)))
		return dst[:n+len(s2.EncodeSnappy(dst[n:cap(dst)], src))], nil
	case codecGzip:
		if c.gzip == nil {
			c.gzip = gzipPool.Get().(*gzip.Writer)
		}
		c.buf.Reset()
		c.gzip.Reset(&c.buf)
		if _, err := c.gzip.Write(src); err != nil {
			return dst, err
		}
		if err := c.gzip.Close(); err != nil {
			return dst, err
		}
		return append(dst, c.buf.Bytes()...), nil
	case codecLZ4Raw:
		return c.appendLZ4(dst, src)
	case codecLZ4:
		for len(src) > 0 {
			block := src[:min(len(src), hadoopBlock)]
			src = src[len(block):]
			head := len(dst)
			dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
			var err error
			if dst, err = c.appendLZ4(dst, block); err != nil {
				return dst, err
			}
			binary.BigEndian.PutUint32(dst[head:], uint32(len(block)))
			binary.BigEndian.PutUint32(dst[head+4:], uint32(len(dst)-head-8))
		}
		return dst, nil
	}
	return dst, fmt.Errorf("parquet codec %d is not supported", c.codec)
}

// hadoopBlock is the most bytes of one block of Hadoop's LZ4 stream: readers allot the default
// io.compression.codec.lz4.buffersize.
const hadoopBlock = 128 << 10

func (c *compressor) appendLZ4(dst, src []byte) ([]byte, error) {
	if c.lz4 == nil {
		c.lz4 = lz4Pool.Get().(*lz4.Compressor)
	}
	n := len(dst)
	dst = grow(dst, lz4.CompressBlockBound(len(src)))
	k, err := c.lz4.CompressBlock(src, dst[n:cap(dst)])
	return dst[:n+k], err
}

// tries tells whether there is a choice of levels.
func (c *compressor) tries() bool {
	return c.codec == codecZstd && zstd.EncoderLevelFromZstd(c.level) > zstd.SpeedFastest
}

// EncodeAll appends src to dst as the level has it.
func (c *compressor) EncodeAll(src, dst []byte) []byte {
	if c.zstd == nil {
		c.zstd = getZstd(zstd.EncoderLevelFromZstd(c.level))
	}
	return c.zstd.EncodeAll(src, dst)
}

func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	g := make([]byte, len(b), max(len(b)+n, 2*cap(b)))
	copy(g, b)
	return g
}

// maxRatio is the most that a byte of compressed data can become, by codec: what a page header claims beyond it isn't
// believed, so a damaged length can't make a reader allocate much.
var maxRatio = map[int32]int64{codecNone: 1, codecSnappy: 64, codecGzip: 1100, codecLZ4: 260, codecLZ4Raw: 260, codecZstd: 65536}

// decoderPool's decoders stop at the capacity of the destination.
var decoderPool = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // only for options that contradict each other
	}
	return d
}}

// decompress fills dst, which has the size that the page header tells, from src.
func decompress(codec int32, dst, src []byte) error {
	n, err := 0, error(nil)
	switch codec {
	case codecNone:
		n = copy(dst, src)
		if len(src) != len(dst) {
			n = -1
		}
	case codecZstd:
		d := decoderPool.Get().(*zstd.Decoder)
		var out []byte
		out, err = d.DecodeAll(src, dst[:0:len(dst)])
		n = len(out)
		decoderPool.Put(d)
	case codecSnappy:
		if n, err = s2.DecodedLen(src); err == nil && n == len(dst) {
			var out []byte
			out, err = s2.Decode(dst, src)
			n = len(out)
		}
	case codecGzip:
		n, err = gunzip(dst, src)
	case codecLZ4Raw:
		n, err = lz4.UncompressBlock(src, dst)
	case codecLZ4:
		return decompressHadoop(dst, src)
	default:
		return fmt.Errorf("parquet codec %d is not supported", codec)
	}
	if err == nil && n != len(dst) {
		err = fmt.Errorf("page has %d bytes uncompressed, not the %d that its header tells", n, len(dst))
	}
	return err
}

var gunzipPool sync.Pool

func gunzip(dst, src []byte) (int, error) {
	z, ok := gunzipPool.Get().(*gzip.Reader)
	if !ok {
		z = new(gzip.Reader)
	}
	defer gunzipPool.Put(z)
	if err := z.Reset(bytes.NewReader(src)); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(z, dst)
	if err != nil {
		return n, err
	}
	// The trailer with the checksum is read, and must be the end.
	var more [1]byte
	if k, err := z.Read(more[:]); k != 0 || err != io.EOF {
		return n + k, fmt.Errorf("gzip data goes on past the page: %w", io.ErrUnexpectedEOF)
	}
	return n, nil
}

// decompressHadoop decodes Hadoop's block stream: blocks of a big-endian uncompressed length and chunks, each with its
// compressed length. Some writers put a bare LZ4 block there instead, so that is tried when the framing doesn't hold.
func decompressHadoop(dst, src []byte) error {
	if hadoopBlocks(dst, src) {
		return nil
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err == nil && n != len(dst) {
		err = fmt.Errorf("lz4 page has %d bytes, not %d", n, len(dst))
	}
	return err
}

func hadoopBlocks(dst, src []byte) bool {
	for len(src) >= 4 {
		size := int(binary.BigEndian.Uint32(src))
		src = src[4:]
		if size > len(dst) {
			return false
		}
		for size > 0 {
			if len(src) < 4 {
				return false
			}
			c := int(binary.BigEndian.Uint32(src))
			if c > len(src)-4 {
				return false
			}
			n, err := lz4.UncompressBlock(src[4:4+c], dst[:size])
			if err != nil || n == 0 {
				return false
			}
			dst, src, size = dst[n:], src[4+c:], size-n
		}
	}
	return len(dst) == 0 && len(src) == 0
}
