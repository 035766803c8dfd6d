package table

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/google/uuid"
)

// A HASH file is the 32-bit hashes of all keys that were ever assigned to a bucket, each a big-endian int32, in any order.
const hashBytes = 4

// CreateHashes makes the index file of a bucket's keys of what data writes. On an error there is none.
func (t *Table) CreateHashes(ctx context.Context, partition []byte, bucket int32, data io.WriterTo) (IndexFile, error) {
	f := IndexFile{Type: IndexHash, Name: "index-" + uuid.NewString() + "-0"}
	err := t.createIndexFile(ctx, partition, bucket, &f, data)
	if err == nil && f.Size%hashBytes != 0 {
		err = errors.Join(fmt.Errorf("%d bytes are no hashes", f.Size), t.RemoveIndex(ctx, partition, bucket, &f))
	}
	f.Rows = f.Size / hashBytes
	return f, err
}

// RemoveIndex removes an index file that no snapshot refers to.
func (t *Table) RemoveIndex(ctx context.Context, partition []byte, bucket int32, f *IndexFile) error {
	path, err := t.IndexFilePath(partition, bucket, f)
	if err != nil {
		return err
	}
	return t.fs.Remove(ctx, path)
}

// OpenIndex opens an index file to be read from its beginning. One of another size than its entry says is ErrCorrupt.
func (t *Table) OpenIndex(ctx context.Context, partition []byte, bucket int32, f *IndexFile) (io.ReadCloser, error) {
	path, err := t.IndexFilePath(partition, bucket, f)
	if err != nil {
		return nil, err
	}
	r, err := t.fs.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	err = nil
	switch {
	case r.Size() != f.Size:
		err = fmt.Errorf("reading %s: %w: it has %d bytes, its entry says %d", path, ErrCorrupt, r.Size(), f.Size)
	case f.Type == IndexHash && f.Size != f.Rows*hashBytes:
		err = fmt.Errorf("reading %s: %w: %d bytes are not %d hashes", path, ErrCorrupt, f.Size, f.Rows)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(r, 0, f.Size), r}, nil
}

// Hashes gives the hashes of an index file of type HASH.
func (t *Table) Hashes(ctx context.Context, partition []byte, bucket int32, f *IndexFile) iter.Seq2[int32, error] {
	return func(yield func(int32, error) bool) {
		r, err := t.OpenIndex(ctx, partition, bucket, f)
		if err != nil {
			yield(0, err)
			return
		}
		defer func() { _ = r.Close() }() // read only
		in := bufio.NewReaderSize(r, 256<<10)
		for range f.Rows {
			var b [hashBytes]byte
			if _, err := io.ReadFull(in, b[:]); err != nil {
				yield(0, fmt.Errorf("reading %s: %w", f.Name, err))
				return
			}
			if !yield(int32(binary.BigEndian.Uint32(b[:])), nil) {
				return
			}
		}
	}
}
