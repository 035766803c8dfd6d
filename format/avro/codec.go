package avro

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/paimon-go/paimon-go/format"
)

// The codecs, by their names in Avro files.
const (
	CodecNull      = "null"
	CodecZstandard = "zstandard"
	CodecDeflate   = "deflate"
	CodecSnappy    = "snappy"
	codecBzip2     = "bzip2" // only read
)

// maxBlockBytes bounds a block after decompression. Offsets in a column are 32 bits wide, so nothing needs more.
const maxBlockBytes = 1 << 31

// blockLimit is how large a block of n compressed bytes may become: what a frame says of its size is believed only up to
// that. A zstd block of 128 KiB of one byte takes 4 bytes, so small blocks may win much; a large one that wins more than
// usual is made to hurt.
func blockLimit(n int) int {
	const atLeast, much, most, usual = 1 << 20, 256 << 20, 1 << 16, 64
	return min(maxBlockBytes, max(atLeast, min(n*most, much), n*usual))
}

// compressor appends the compressed form of src to dst. Not safe for concurrent use.
type compressor interface {
	compress(dst, src []byte) []byte
	release()
}

// newCompressor returns the compressor of an Avro codec name for a file with this schema; level is zstd's.
func newCompressor(codec string, level int, schema string) (compressor, error) {
	switch codec {
	case CodecNull:
		return nullCompressor{}, nil
	case CodecZstandard:
		return newZstdCompressor(level, schema)
	case CodecDeflate:
		return newDeflateCompressor()
	case CodecSnappy:
		return snappyCompressor{}, nil
	case codecBzip2, "xz":
		return nil, fmt.Errorf("codec %q is not supported for writing Avro files; use zstandard, deflate, snappy or null", codec)
	}
	return nil, fmt.Errorf("unknown Avro codec %q; use zstandard, deflate, snappy or null", codec)
}

type nullCompressor struct{}

func (nullCompressor) compress(dst, src []byte) []byte { return append(dst, src...) }
func (nullCompressor) release()                        {}

var flateWriters sync.Pool

type deflateCompressor struct{ w *flate.Writer }

func newDeflateCompressor() (compressor, error) {
	if w, ok := flateWriters.Get().(*flate.Writer); ok {
		return &deflateCompressor{w}, nil
	}
	w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		return nil, fmt.Errorf("making a deflate encoder: %w", err)
	}
	return &deflateCompressor{w}, nil
}

// appendWriter is an io.Writer onto a slice; it never fails, so neither do encoders on it.
type appendWriter struct{ buf []byte }

func (w *appendWriter) Write(p []byte) (int, error) { w.buf = append(w.buf, p...); return len(p), nil }

func (c *deflateCompressor) compress(dst, src []byte) []byte {
	out := appendWriter{dst}
	c.w.Reset(&out)
	_, _ = c.w.Write(src)
	_ = c.w.Close()
	return out.buf
}

func (c *deflateCompressor) release() {
	if c.w != nil {
		c.w.Reset(io.Discard)
		flateWriters.Put(c.w)
		c.w = nil
	}
}

// snappyCompressor writes the block form of snappy and, as Avro wants it, the checksum of the plain bytes.
type snappyCompressor struct{}

func (snappyCompressor) compress(dst, src []byte) []byte {
	n := len(dst)
	dst = append(dst, make([]byte, snappy.MaxEncodedLen(len(src)))...)
	dst = dst[:n+len(snappy.Encode(dst[n:], src))]
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(src))
}

func (snappyCompressor) release() {}

var zstdDecoders = sync.Pool{New: func() any {
	// With no more capacity than ours the decoder allocates nothing that a damaged frame could ask for.
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(maxBlockBytes), zstd.WithDecoderMaxWindow(1<<29))
	if err != nil {
		return err
	}
	return d
}}

// decompress returns the plain bytes of src, in buf when they fit. Damage wraps format.ErrCorrupt.
func decompress(codec string, buf, src []byte) ([]byte, error) {
	limit := blockLimit(len(src))
	var out []byte
	var err error
	switch codec {
	case CodecNull:
		return src, nil
	case CodecZstandard:
		out, err = decompressZstd(buf, src, limit)
	case CodecDeflate:
		out, err = decompressDeflate(buf, src, limit)
	case codecBzip2:
		out, err = readAll(buf, bzip2.NewReader(bytes.NewReader(src)), limit)
	case CodecSnappy:
		out, err = decompressSnappy(buf, src, limit)
	default:
		return nil, fmt.Errorf("codec %q of an Avro file is not supported", codec)
	}
	if err != nil {
		return nil, fmt.Errorf("%s block: %w (%w)", codec, format.ErrCorrupt, err)
	}
	return out, nil
}

func decompressZstd(buf, src []byte, limit int) ([]byte, error) {
	var dec *zstd.Decoder
	switch v := zstdDecoders.Get().(type) {
	case *zstd.Decoder:
		dec = v
	case error:
		return nil, v
	}
	defer zstdDecoders.Put(dec)
	// Java's frames don't tell their size: begin with a usual block and double.
	want := 2 * blockBytes
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return nil, err
	}
	if h.HasFCS {
		if h.FrameContentSize > uint64(limit) {
			return nil, errTooBig
		}
		want = int(h.FrameContentSize)
	}
	for {
		if cap(buf) < want {
			buf = make([]byte, 0, want)
		}
		out, err := dec.DecodeAll(src, buf[:0])
		if !errors.Is(err, zstd.ErrDecoderSizeExceeded) || cap(buf) >= limit {
			return out, err
		}
		want = min(limit, 2*cap(buf))
	}
}

var flateReaders = sync.Pool{New: func() any { return flate.NewReader(nil) }}

func decompressDeflate(buf, src []byte, limit int) ([]byte, error) {
	r := flateReaders.Get().(io.Reader)
	defer flateReaders.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(src), nil); err != nil {
		return nil, err
	}
	return readAll(buf, r, limit)
}

func decompressSnappy(buf, src []byte, limit int) ([]byte, error) {
	if len(src) < 4 {
		return nil, io.ErrUnexpectedEOF
	}
	body, sum := src[:len(src)-4], binary.BigEndian.Uint32(src[len(src)-4:])
	n, err := snappy.DecodedLen(body)
	if err != nil {
		return nil, err
	}
	if n > limit || n > 32*len(src) { // a copy of 64 bytes takes 3
		return nil, errTooBig
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	out, err := snappy.Decode(buf[:n], body)
	if err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(out) != sum {
		return nil, errors.New("checksum differs")
	}
	return out, nil
}

var errTooBig = errors.New("block is larger than plausible")

// readAll reads r to its end into buf, which grows as bytes really come.
func readAll(buf []byte, r io.Reader, limit int) ([]byte, error) {
	w := appendWriter{buf[:0]}
	n, err := io.Copy(&w, io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if n > int64(limit) {
		return nil, errTooBig
	}
	return w.buf, nil
}
