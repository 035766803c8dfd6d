package avro

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/paimon-go/paimon-go/format"
)

// blockBytes is how many plain bytes complete a block: Avro Java's DataFileConstants.DEFAULT_SYNC_INTERVAL.
const blockBytes = 64000

var magic = [4]byte{'O', 'b', 'j', 1}

const (
	metaSchema = "avro.schema"
	metaCodec  = "avro.codec"
	syncBytes  = 16
	// blockHead is the room for the two varints in front of a block.
	blockHead = 20
)

// BlockWriter writes a container file of encoded datums. Not safe for concurrent use. Exactly one of Close and Abort
// ends it.
type BlockWriter struct {
	w     io.Writer
	comp  compressor
	mem   *blockMemory // that buf and out began in
	twin  *format.TwinSide
	sync  [syncBytes]byte
	buf   []byte // the open block, plain
	out   []byte // the block as it is written
	count int64  // records in the open block
	rows  int64  // records in all
	// Bytes handed to w, and the plain and compressed bytes of all written blocks, for the guess of Size.
	written, plain, packed int64
	err                    error
}

// blockMemory is what a file needs for its blocks. It is kept for the next file.
type blockMemory struct{ buf, out []byte }

// keepBytes is the most memory that is kept.
const keepBytes = 1 << 20

var blockPool = sync.Pool{New: func() any { return &blockMemory{buf: make([]byte, 0, blockBytes+blockBytes/8)} }}

// NewBlockWriter starts a file of this schema on w. The codec is one of the Codec constants; the level is zstd's, 0 for
// Paimon's default.
func NewBlockWriter(w io.Writer, schemaJSON, codec string, zstdLevel int) (*BlockWriter, error) {
	comp, err := newCompressor(codec, zstdLevel, schemaJSON)
	if err != nil {
		return nil, err
	}
	m := blockPool.Get().(*blockMemory)
	b := &BlockWriter{w: w, comp: comp, mem: m, buf: m.buf[:0], out: m.out[:0]}
	_, _ = rand.Read(b.sync[:]) // never fails
	head := append(b.out, magic[:]...)
	head = AppendCount(head, 2)
	head = AppendString(head, metaSchema)
	head = AppendString(head, schemaJSON)
	head = AppendString(head, metaCodec)
	head = AppendString(head, codec)
	head = AppendEnd(head)
	head = append(head, b.sync[:]...)
	b.out = head
	if err := b.write(head); err != nil {
		b.Abort()
		return nil, err
	}
	return b, nil
}

// Append adds one encoded datum, which is copied.
func (b *BlockWriter) Append(datum []byte) error {
	b.buf = append(b.buf, datum...)
	return b.endDatum()
}

// endDatum counts the datum that was appended to b.buf and completes the block when it is full.
func (b *BlockWriter) endDatum() error {
	b.count++
	if len(b.buf) < blockBytes {
		return b.err
	}
	if len(b.buf) >= maxBlockBytes && b.err == nil {
		b.err = fmt.Errorf("a record of about %d bytes is too large for an Avro block", len(b.buf))
	}
	return b.flush()
}

func (b *BlockWriter) flush() error {
	if b.err != nil || b.count == 0 {
		return b.err
	}
	// The head's length is known only after compression: leave room and write it against the data.
	var room [blockHead]byte
	b.out = append(b.out[:0], room[:]...)
	if same := b.twin.Find(0, b.buf); same != nil {
		b.out = append(b.out, same...)
	} else {
		b.out = b.comp.compress(b.out, b.buf)
		b.twin.Keep(0, b.buf, b.out[blockHead:])
	}
	packed := len(b.out) - blockHead
	head := AppendLong(AppendLong(room[:0], b.count), int64(packed))
	start := blockHead - len(head)
	copy(b.out[start:], head)
	b.out = append(b.out, b.sync[:]...)
	b.plain += int64(len(b.buf))
	b.packed += int64(packed)
	b.rows += b.count
	b.count = 0
	b.buf = b.buf[:0]
	return b.write(b.out[start:])
}

func (b *BlockWriter) write(p []byte) error {
	n, err := b.w.Write(p)
	b.written += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		b.err = fmt.Errorf("writing Avro block: %w", err)
	}
	return b.err
}

// Size returns the bytes written plus a guess of what the open block will take; after Close, the size of the file.
func (b *BlockWriter) Size() int64 {
	open := int64(len(b.buf))
	if b.plain > 0 {
		open = open * b.packed / b.plain
	}
	return b.written + open
}

// Rows returns the number of datums appended.
func (b *BlockWriter) Rows() int64 { return b.rows + b.count }

var errClosed = errors.New("the Avro writer is closed")

// Close completes the file. It doesn't close the io.Writer.
func (b *BlockWriter) Close() error {
	if b.comp == nil {
		return errClosed
	}
	err := b.flush()
	b.Abort()
	return err
}

// Abort frees what the writer holds and leaves the file incomplete. It may follow Close.
func (b *BlockWriter) Abort() {
	if b.comp == nil {
		return
	}
	b.comp.release()
	if cap(b.buf)+cap(b.out) <= keepBytes {
		b.mem.buf, b.mem.out = b.buf, b.out
		blockPool.Put(b.mem)
	}
	b.comp, b.mem, b.buf, b.out = nil, nil, nil, nil
	if b.err == nil {
		b.err = errClosed
	}
}
