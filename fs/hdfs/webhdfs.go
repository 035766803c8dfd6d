package hdfs

import (
	"context"
	"errors"

	"github.com/paimon-go/paimon-go/fs"
)

func (f *FS) openWeb(_ context.Context, uri, _ string, _ int64) (fs.Reader, error) {
	return nil, &opError{op: "open", path: uri, cause: errors.New("the file is erasure coded, which is not supported")}
}
