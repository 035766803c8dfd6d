// Package fastzstd compresses blocks of rows into zstd frames (RFC 8878), about as small as the C library's level 1 to 3 make them where
// levels don't matter: keys, numbers, tokens and short strings. Rows repeat a little every hundred bytes and are noise between, on which
// general encoders spend most of their time; this one looks once at a position, and strides over noise.
package fastzstd

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

const (
	frameMagic = 0xFD2FB528
	maxBlock   = 128 << 10 // of plain bytes in a block of a frame
	windowBits = 20
	maxWindow  = 1 << windowBits // matches do not go back over a multiple of it
	windowByte = 10 << 3         // the window descriptor of maxWindow
)

// Encoder compresses. It is not safe for concurrent use; its memory is about 500 KB.
type Encoder struct {
	checksum  bool
	table     [1 << maxTableBits]uint32 // where a hash was seen, and further bits of it
	tableBits int
	last      offsets
	runs      [64]run // by the length of the match before

	literals  []byte
	sequences []sequence
	codes     [3][]byte // of literal lengths, offsets and match lengths
	huff      huffman
	fse       [3]fseEncoder
}

// New makes an encoder whose frames have a checksum of their content, or don't.
func New(checksum bool) *Encoder {
	return &Encoder{checksum: checksum}
}

// Append appends a frame of src to dst.
func (e *Encoder) Append(dst, src []byte) []byte {
	dst = e.appendHeader(dst, len(src))
	e.last, e.runs = offsets{1, 4, 8}, [len(e.runs)]run{}
	for at := 0; ; at += maxBlock {
		end := min(at+maxBlock, len(src))
		dst = e.appendBlock(dst, src, at, end, end == len(src))
		if end == len(src) {
			break
		}
	}
	if e.checksum {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(xxhash.Sum64(src)))
	}
	return dst
}

// appendHeader writes the header of a frame of n bytes: a single segment if the window covers it.
func (e *Encoder) appendHeader(dst []byte, n int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, frameMagic)
	descriptor := byte(0)
	if e.checksum {
		descriptor |= 1 << 2
	}
	single := n <= maxWindow
	if single {
		descriptor |= 1 << 5
	}
	switch {
	case single && n < 256:
		return append(dst, descriptor, byte(n))
	case single && n < 65536+256:
		return binary.LittleEndian.AppendUint16(append(dst, descriptor|1<<6), uint16(n-256))
	case single:
		return binary.LittleEndian.AppendUint32(append(dst, descriptor|2<<6), uint32(n))
	}
	return binary.LittleEndian.AppendUint64(append(dst, descriptor|3<<6, windowByte), uint64(n))
}

const (
	blockRaw        = 0
	blockCompressed = 2
)

// appendBlock writes a block of src[at:end].
func (e *Encoder) appendBlock(dst, src []byte, at, end int, final bool) []byte {
	head := len(dst)
	dst = append(dst, 0, 0, 0)
	before := e.last
	e.search(src, at, end)
	dst = e.appendLiterals(dst)
	dst = e.appendSequences(dst)
	kind, size := blockCompressed, len(dst)-head-3
	if size >= end-at {
		kind, size, e.last = blockRaw, end-at, before // offsets of a block that isn't there are not known to the reader
		dst = append(dst[:head+3], src[at:end]...)
	}
	h := uint32(size)<<3 | uint32(kind)<<1
	if final {
		h |= 1
	}
	dst[head], dst[head+1], dst[head+2] = byte(h), byte(h>>8), byte(h>>16)
	return dst
}

const (
	literalsRaw        = 0
	literalsRLE        = 1
	literalsCompressed = 2
	// minHuffman is from how many literals a table of codes may pay.
	minHuffman = 48
	// oneStream is up to how many literals are one stream of bits.
	oneStream = 255
)

// appendLiterals writes the literals section.
func (e *Encoder) appendLiterals(dst []byte) []byte {
	lits := e.literals
	if len(lits) >= minHuffman {
		most := e.huff.count(lits)
		if most == len(lits) {
			return append(appendPlainHeader(dst, literalsRLE, len(lits)), lits[0])
		}
		e.huff.build(most)
		if coded, ok := e.huff.appendLiterals(dst, lits); ok {
			return coded
		}
	}
	return append(appendPlainHeader(dst, literalsRaw, len(lits)), lits...)
}

// appendPlainHeader writes the header of n literals that are not coded.
func appendPlainHeader(dst []byte, kind, n int) []byte {
	switch {
	case n < 1<<5:
		return append(dst, byte(kind|n<<3))
	case n < 1<<12:
		return append(dst, byte(kind|1<<2|n<<4), byte(n>>4))
	}
	return append(dst, byte(kind|3<<2|n<<4), byte(n>>4), byte(n>>12))
}
