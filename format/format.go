// Package format says what a file format is to the rest of the product: rows in column batches to bytes and back. The
// codecs (format/parquet, format/avro) get an io.Writer, or an io.ReaderAt and a size, and know no path, retry or
// credential, so they can be fuzzed and compared with golden bytes.
package format

import (
	"fmt"
	"io"
	"sort"
	"sync"

	"github.com/paimon-go/paimon-go/format/row"
)

// Format is a file format, known by its Paimon identifier ("parquet", "avro"). Safe for concurrent use.
type Format interface {
	// NewWriter starts a file on w. It returns an error that names the column when the format cannot hold a type or the
	// compression is not supported by it.
	NewWriter(w io.Writer, s WriteSpec) (Writer, error)
	// NewReader opens a whole file of the given size in bytes. Damage is reported with row.ErrCorrupt-like wrapping of
	// ErrCorrupt, here or by Next.
	NewReader(r io.ReaderAt, size int64, s ReadSpec) (Reader, error)
}

// WriteSpec is what a writer needs to know.
type WriteSpec struct {
	// Type is the ROW of the file's columns, field ids included, exactly as they are to be written.
	Type *row.Type
	// Compression is Paimon's file.compression ("zstd", "lz4", "snappy", "gzip", "none"...).
	Compression string
	// ZstdLevel is file.compression.zstd-level; 0 means Paimon's default, 1.
	ZstdLevel int
	// BlockSize is file.block-size in bytes; 0 means the format's default.
	BlockSize int64
	// Twin, if not nil, is this file's side of two that are likely to have the same rows.
	Twin *TwinSide
	// Options are the table's options, for keys such as parquet.enable.dictionary or avro.codec.
	Options map[string]string
}

// ReadSpec is what a reader needs to know.
type ReadSpec struct {
	// Type is the ROW to read. Columns are found in the file by name; one that the file lacks reads as null. Types must
	// be those that the file was written with (a table's schema version knows them).
	Type *row.Type
	// BatchRows is the most rows that Next gives at once; 0 means 4096.
	BatchRows int
	// BatchBytes is about how much memory the rows may take that Next gives at once; 0 leaves it to the format. A single
	// row is given whatever its size.
	BatchBytes int
}

// Summary is what a finished file amounts to.
type Summary struct {
	Rows  int64
	Bytes int64
}

// Writer writes one file. Not safe for concurrent use. Exactly one of Close and Abort ends it.
type Writer interface {
	// Write appends the rows of b, whose columns are those of WriteSpec.Type in order. b may be reused afterwards.
	// Kinds are ignored: a file's _VALUE_KIND is a column as any other.
	Write(b *row.Batch) error
	// Size returns the bytes written so far plus a fair guess of what is buffered; it drives rolling.
	Size() int64
	// Close completes the file. It doesn't close the underlying io.Writer.
	Close() (Summary, error)
	// Abort frees what the writer holds; the bytes written are worthless.
	Abort()
}

// Reader reads one file. Not safe for concurrent use.
type Reader interface {
	// Next resets dst, which must be a batch of ReadSpec.Type, and fills it with the next rows; io.EOF after the last.
	Next(dst *row.Batch) error
	Close() error
}

// Footprinter is a Reader that can tell how much memory it is going to hold besides the batches that it fills.
type Footprinter interface {
	// Footprint is a fair guess, in bytes, from what the file says of itself.
	Footprint() int64
}

// ErrCorrupt is wrapped by errors about bytes that are not what the format says.
var ErrCorrupt = fmt.Errorf("file is corrupt")

// ErrNull is wrapped by errors of writers about a NULL in a column that is NOT NULL, which the file is not written for. A merge
// engine can leave one, when rows are retracted.
var ErrNull = fmt.Errorf("NULL in a NOT NULL column")

var registry = struct {
	sync.RWMutex
	m map[string]Format
}{m: map[string]Format{}}

// Register makes a format known under its Paimon identifier; called from init functions of the codec packages.
func Register(id string, f Format) {
	registry.Lock()
	defer registry.Unlock()
	registry.m[id] = f
}

// Get returns the format with this identifier, or an error that lists the known ones.
func Get(id string) (Format, error) {
	registry.RLock()
	defer registry.RUnlock()
	if f := registry.m[id]; f != nil {
		return f, nil
	}
	var known []string
	for k := range registry.m {
		known = append(known, k)
	}
	sort.Strings(known)
	return nil, fmt.Errorf("file format %q is not supported, only %q", id, known)
}
