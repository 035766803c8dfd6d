package parquet

import (
	"github.com/paimon-go/paimon-go/format"
	"io"
)

func newReader(r io.ReaderAt, size int64, s *format.ReadSpec) (format.Reader, error) {
	return nil, format.ErrCorrupt
}
