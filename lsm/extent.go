package lsm

import (
	"fmt"
	"io"
	"strings"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

// extent is where the bytes of a data or changelog file lie: a file of their own, or a part of a merged changelog file.
type extent struct {
	path         string
	offset, size int64
	part         bool
	format       string
}

func locate(t *table.Table, partition []byte, bucket int32, f *table.DataFile) (extent, error) {
	part, ok, err := t.MergedPart(partition, bucket, f)
	switch {
	case err != nil:
		return extent{}, err
	case !ok:
		path, err := t.DataFilePath(partition, bucket, f)
		return extent{path: path, size: f.Size, format: f.Name[strings.LastIndexByte(f.Name, '.')+1:]}, err
	case part.Length != f.Size:
		return extent{}, fmt.Errorf("%w: %s has %d bytes by its name and %d by its entry", table.ErrCorrupt, f.Name, part.Length, f.Size)
	}
	return extent{path: part.Path, offset: part.Offset, size: part.Length, part: true, format: part.Format}, nil
}

// String names it in errors.
func (x extent) String() string {
	if !x.part {
		return x.path
	}
	return fmt.Sprintf("%s (%d bytes from %d on)", x.path, x.size, x.offset)
}

// reader gives the bytes as a file, if they can all be there.
func (x extent) reader(in fs.Reader) (fs.Reader, error) {
	n := in.Size()
	switch {
	case !x.part && n != x.size:
		return nil, fmt.Errorf("%w: %d bytes long instead of %d", table.ErrCorrupt, n, x.size)
	case !x.part:
		return in, nil
	case x.offset > n-x.size:
		return nil, fmt.Errorf("%w: the merged file ends at byte %d", table.ErrCorrupt, n)
	}
	return &partReader{in, x.offset, x.size}, nil
}

// partReader is a part of a file as if it were a file.
type partReader struct {
	fs.Reader
	offset, size int64
}

func (r *partReader) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off >= r.size {
		return 0, io.EOF
	}
	if left := r.size - off; int64(len(b)) > left {
		n, err := r.Reader.ReadAt(b[:left], r.offset+off)
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	return r.Reader.ReadAt(b, r.offset+off)
}

func (r *partReader) Size() int64 { return r.size }
