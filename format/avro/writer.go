package avro

import (
	"fmt"
	"io"
	"strings"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

// Format is Paimon's "avro" for data files.
var Format format.Format = avroFormat{}

func init() { format.Register("avro", Format) }

type avroFormat struct{}

// optionCodec names an Avro codec whatever file.compression says.
const optionCodec = "avro.codec"

// avroDefaultZstdLevel is what Java uses for a codec that is named in Avro's words (CodecFactory.fromString).
const avroDefaultZstdLevel = 3

// codecOf finds the Avro codec of a file, as Java's AvroFileFormat.createCodecFactory. Paimon's level is meant for
// "zstd" only. Beyond Java, "none" and "uncompressed" are "null": with Parquet they are the usual words.
func codecOf(s *format.WriteSpec) (codec string, level int, err error) {
	if c := s.Options[optionCodec]; c != "" {
		return c, avroDefaultZstdLevel, nil
	}
	switch c := strings.ToLower(s.Compression); c {
	case "zstd", "":
		return CodecZstandard, s.ZstdLevel, nil
	case "none", "uncompressed":
		return CodecNull, 0, nil
	case "gzip", "lz4", "lzo", "brotli":
		return "", 0, fmt.Errorf("file.compression %q is not supported by Avro files; use zstd, deflate, snappy or null", s.Compression)
	default:
		return s.Compression, avroDefaultZstdLevel, nil
	}
}

// NewWriter implements format.Format.
func (avroFormat) NewWriter(w io.Writer, s format.WriteSpec) (format.Writer, error) {
	schema, err := SchemaOf(s.Type)
	if err != nil {
		return nil, err
	}
	codec, level, err := codecOf(&s)
	if err != nil {
		return nil, err
	}
	blocks, err := NewBlockWriter(w, schema, codec, level)
	if err != nil {
		return nil, err
	}
	if codec != CodecNull {
		blocks.twin = s.Twin
	}
	f := &fileWriter{blocks: blocks, cols: make([]encoder, len(s.Type.Fields))}
	for i := range f.cols {
		f.cols[i].init(&s.Type.Fields[i].Type, s.Type.Fields[i].Name, &f.fault)
	}
	return f, nil
}

// fileWriter writes rows; a fault makes the file worthless.
type fileWriter struct {
	blocks *BlockWriter
	cols   []encoder
	fault  error
}

// Write implements format.Writer.
func (f *fileWriter) Write(b *row.Batch) error {
	if len(b.Cols) != len(f.cols) {
		return fmt.Errorf("batch of %d columns for an Avro file of %d", len(b.Cols), len(f.cols))
	}
	for i := range f.cols {
		f.cols[i].bind(&b.Cols[i])
	}
	for i := range b.N {
		f.blocks.buf = appendRow(f.blocks.buf, f.cols, i)
		if f.fault != nil {
			return f.fault
		}
		if err := f.blocks.endDatum(); err != nil {
			f.fault = err
			return err
		}
	}
	return nil
}

// Size implements format.Writer.
func (f *fileWriter) Size() int64 { return f.blocks.Size() }

// Close implements format.Writer.
func (f *fileWriter) Close() (format.Summary, error) {
	if f.fault != nil {
		f.blocks.Abort()
		return format.Summary{}, f.fault
	}
	if err := f.blocks.Close(); err != nil {
		return format.Summary{}, err
	}
	return format.Summary{Rows: f.blocks.Rows(), Bytes: f.blocks.Size()}, nil
}

// Abort implements format.Writer.
func (f *fileWriter) Abort() { f.blocks.Abort() }
