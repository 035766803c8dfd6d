package avro

import (
	"errors"
	"fmt"
	"io"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

const (
	defaultBatchRows = 4096
	// maxBatchBytes of encoded rows complete a batch, so that the 32-bit offsets of a column suffice.
	maxBatchBytes = 32 << 20
)

// NewReader implements format.Format. The Reader also has Rows, the number of rows given so far: as nothing in a
// container says how many there should be, whoever knows compares it after io.EOF.
func (avroFormat) NewReader(r io.ReaderAt, size int64, s format.ReadSpec) (format.Reader, error) {
	blocks, err := NewBlockReader(r, size)
	if err != nil {
		return nil, err
	}
	schema, err := ParseSchema(blocks.Schema())
	if err != nil {
		return nil, err
	}
	f := &fileReader{blocks: blocks, pace: format.Pace{Rows: s.BatchRows, Bytes: max(s.BatchBytes, 0)}, columns: len(s.Type.Fields)}
	if f.pace.Rows <= 0 {
		f.pace.Rows = defaultBatchRows
	}
	// Java also reads a file whose records are in a union with null.
	schema, f.rootNull = schema.NonNull()
	if schema.Kind != KindRecord {
		return nil, fmt.Errorf("avro file of %s, not of records: %w", schema.Kind, format.ErrCorrupt)
	}
	if err := f.root.initRecord(schema, s.Type.Fields, ""); err != nil {
		return nil, err
	}
	return f, nil
}

type fileReader struct {
	blocks   *BlockReader
	root     columnDecoder
	rootNull int
	pace     format.Pace
	columns  int
	d        Decoder
	left     int64 // rows of the block at hand
	rows     int64
	err      error
}

// Next implements format.Reader.
func (f *fileReader) Next(dst *row.Batch) error {
	dst.Reset()
	if len(dst.Cols) != f.columns {
		return fmt.Errorf("batch of %d columns for an Avro reader of %d", len(dst.Cols), f.columns)
	}
	if f.err == nil {
		f.err = f.next(dst)
	}
	if f.err != nil && !(errors.Is(f.err, io.EOF) && dst.N > 0) {
		dst.Reset()
		return f.err
	}
	f.rows += int64(dst.N)
	if f.pace.Bytes > 0 {
		f.pace.Saw(dst.N, dst.Bytes())
	}
	return nil
}

// Footprint implements format.Footprinter: what is read ahead, and a block. Blocks are as large as writers make them, but for
// rows that are larger.
func (f *fileReader) Footprint() int64 { return int64(cap(f.blocks.win)) + 4*blockBytes }

// next fills dst. It returns io.EOF at the end of the file, also with rows.
func (f *fileReader) next(dst *row.Batch) error {
	f.root.bindKids(dst.Cols)
	rows, budget := f.pace.Next(), maxBatchBytes
	if f.pace.Bytes > 0 {
		budget = min(budget, f.pace.Bytes)
	}
	for dst.N < rows && budget > 0 {
		if f.left == 0 {
			if err := f.nextBlock(); err != nil {
				return err
			}
		}
		before := f.d.Len()
		for f.left > 0 && dst.N < rows && before-f.d.Len() < budget {
			if f.rootNull >= 0 && f.d.Long() == int64(f.rootNull) { // the union around a row
				f.d.fail("null instead of a row")
			}
			f.root.readFields(&f.d, dst.Cols)
			if f.d.err != nil {
				return fmt.Errorf("row %d, avro block at offset %d: %w", f.rows+int64(dst.N), f.blocks.BlockOffset(), f.d.err)
			}
			f.left--
			dst.N++
		}
		budget -= before - f.d.Len()
	}
	return nil
}

func (f *fileReader) nextBlock() error {
	if n := f.d.Len(); n > 0 {
		return fmt.Errorf("avro block at offset %d: %d bytes after its last row: %w", f.blocks.BlockOffset(), n, format.ErrCorrupt)
	}
	n, data, err := f.blocks.Next()
	if err != nil {
		return err
	}
	f.d.Reset(data)
	f.left = n
	return nil
}

// Rows returns the number of rows given so far.
func (f *fileReader) Rows() int64 { return f.rows }

// Close implements format.Reader.
func (f *fileReader) Close() error {
	if f.err == nil {
		f.err = errors.New("the Avro reader is closed")
	}
	f.d.Reset(nil)
	return nil
}
