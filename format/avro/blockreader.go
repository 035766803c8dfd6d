package avro

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/paimon-go/paimon-go/format"
)

// readAhead is how much is read at once when blocks are smaller.
const readAhead = 64 << 10

// BlockReader reads a container file block by block. Not safe for concurrent use. There is nothing to close.
type BlockReader struct {
	r      io.ReaderAt
	size   int64
	schema string
	codec  string
	sync   [syncBytes]byte

	win    []byte // bytes [winOff, winOff+len(win)) of the file
	winOff int64
	off    int64 // of the next byte to be consumed
	block  int64 // of the block that Next gave last
	plain  []byte
	err    error
}

// NewBlockReader opens a whole file of the given size.
func NewBlockReader(r io.ReaderAt, size int64) (*BlockReader, error) {
	b := &BlockReader{r: r, size: size}
	if err := b.readHeader(); err != nil {
		return nil, err
	}
	return b, nil
}

// Schema returns the JSON text of the schema that the file was written with.
func (b *BlockReader) Schema() string { return b.schema }

// Codec returns the Avro name of the file's codec.
func (b *BlockReader) Codec() string { return b.codec }

// BlockOffset returns where in the file the block begins that Next gave last.
func (b *BlockReader) BlockOffset() int64 { return b.block }

// Next returns the number of records and the plain bytes of the next block, valid until the next call. It returns io.EOF
// when the file ends with the block before; a file that ends anywhere else is corrupt.
func (b *BlockReader) Next() (count int64, data []byte, err error) {
	if b.err != nil {
		return 0, nil, b.err
	}
	if b.off == b.size {
		b.err = io.EOF
		return 0, nil, b.err
	}
	count, data, err = b.next()
	if err != nil {
		b.err = fmt.Errorf("avro block at offset %d: %w", b.block, err)
		return 0, nil, b.err
	}
	return count, data, nil
}

func (b *BlockReader) next() (int64, []byte, error) {
	b.block = b.off
	count, err := b.long()
	if err != nil {
		return 0, nil, err
	}
	size, err := b.long()
	if err != nil {
		return 0, nil, err
	}
	if count < 0 || size < 0 || size > b.size-b.off-syncBytes {
		return 0, nil, fmt.Errorf("block of %d records in %d bytes with %d bytes left: %w", count, size, b.size-b.off, format.ErrCorrupt)
	}
	if size >= maxBlockBytes {
		return 0, nil, fmt.Errorf("block of %d bytes is too large: %w", size, format.ErrCorrupt)
	}
	body, err := b.take(int(size) + syncBytes)
	if err != nil {
		return 0, nil, err
	}
	if !bytes.Equal(body[size:], b.sync[:]) {
		return 0, nil, fmt.Errorf("sync marker differs: %w", format.ErrCorrupt)
	}
	data, err := decompress(b.codec, b.plain, body[:size])
	if err != nil {
		return 0, nil, err
	}
	if b.codec != CodecNull {
		b.plain = data
	}
	// A datum takes a byte at least (see Decoder.Items).
	if count > int64(len(data)) {
		return 0, nil, fmt.Errorf("%d records in %d bytes: %w", count, len(data), format.ErrCorrupt)
	}
	return count, data, nil
}

// maxHeader bounds the metadata. A schema of a thousand columns takes about 100 kB.
const maxHeader = 16 << 20

func (b *BlockReader) readHeader() error {
	for n := int64(readAhead); ; n *= 4 {
		whole := n >= b.size || n >= maxHeader
		head, err := b.peek(int(min(n, b.size, maxHeader)))
		if err != nil {
			return err
		}
		if len(head) < len(magic) || !bytes.Equal(head[:len(magic)], magic[:]) {
			return fmt.Errorf("not an Avro container file: %w", format.ErrCorrupt)
		}
		d := NewDecoder(head[len(magic):])
		meta := readMeta(d)
		sync := d.Fixed(syncBytes)
		if d.Err() == nil {
			copy(b.sync[:], sync)
			b.off = int64(len(magic) + d.Pos())
			return b.setMeta(meta)
		}
		if whole {
			return fmt.Errorf("avro header: %w", d.Err())
		}
	}
}

func readMeta(d *Decoder) map[string]string {
	meta := map[string]string{}
	for n := d.Items(); n > 0 && d.Err() == nil; n = d.Items() {
		for ; n > 0 && d.Err() == nil; n-- {
			k := d.String()
			meta[k] = d.String()
		}
	}
	return meta
}

func (b *BlockReader) setMeta(meta map[string]string) error {
	b.schema, b.codec = meta[metaSchema], meta[metaCodec]
	if b.schema == "" {
		return fmt.Errorf("avro header has no schema: %w", format.ErrCorrupt)
	}
	switch b.codec {
	case "":
		b.codec = CodecNull
	case CodecNull, CodecZstandard, CodecDeflate, CodecSnappy, codecBzip2:
	default:
		return fmt.Errorf("codec %q of an Avro file is not supported", b.codec)
	}
	return nil
}

// long reads a varint from the file.
func (b *BlockReader) long() (int64, error) {
	p, err := b.peek(int(min(binary.MaxVarintLen64, b.size-b.off)))
	if err != nil {
		return 0, err
	}
	u, n := binary.Uvarint(p)
	if n <= 0 {
		return 0, fmt.Errorf("bad varint at offset %d: %w", b.off, format.ErrCorrupt)
	}
	b.off += int64(n)
	return int64(u>>1) ^ -int64(u&1), nil
}

// take returns the next n bytes, which the file has, and moves past them. They are valid until the next read.
func (b *BlockReader) take(n int) ([]byte, error) {
	p, err := b.peek(n)
	b.off += int64(n)
	return p, err
}

// peek returns the next n bytes, which the file has.
func (b *BlockReader) peek(n int) ([]byte, error) {
	if start := b.off - b.winOff; start+int64(n) <= int64(len(b.win)) {
		return b.win[start : start+int64(n)], nil
	}
	return b.fill(n)
}

// fill reads on so that the window begins at off and has n bytes at least.
func (b *BlockReader) fill(n int) ([]byte, error) {
	want := int(min(int64(max(n, readAhead)), b.size-b.off))
	rest := b.win[min(b.off-b.winOff, int64(len(b.win))):]
	if cap(b.win) < want {
		b.win = append(make([]byte, 0, want), rest...)
	} else {
		b.win = b.win[:copy(b.win[:len(rest)], rest)]
	}
	b.winOff = b.off
	have := len(b.win)
	b.win = b.win[:want]
	got, err := b.r.ReadAt(b.win[have:], b.off+int64(have))
	if got == want-have {
		return b.win[:n], nil // an io.EOF may come with the last bytes
	}
	b.win = b.win[:have]
	if err == nil || errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("file ends at offset %d, not at %d: %w", b.winOff+int64(have+got), b.size, format.ErrCorrupt)
	}
	return nil, fmt.Errorf("reading at offset %d: %w", b.off, err)
}
