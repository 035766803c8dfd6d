package parquet

import (
	"io"

	"github.com/paimon-go/paimon-go/format"
)

// Format is the Parquet format.
var Format format.Format = parquetFormat{}

type parquetFormat struct{}

func init() { format.Register("parquet", Format) }

// NewWriter starts a file on w.
func (parquetFormat) NewWriter(w io.Writer, s format.WriteSpec) (format.Writer, error) {
	return newWriter(w, &s)
}

// NewReader opens a file of the given size.
func (parquetFormat) NewReader(r io.ReaderAt, size int64, s format.ReadSpec) (format.Reader, error) {
	return newReader(r, size, &s)
}
