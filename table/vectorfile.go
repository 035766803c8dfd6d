package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/uuid"
)

// A file of deletion vectors is a byte of version and the vectors one after the other, which the index manifest lists by data
// file with offset and length:
//
//	01 | size (int32) | magic, bitmap (size bytes) | CRC-32 of them | size | ...
//
// The bitmap is a 32-bit Roaring one in its portable form, or a number of those with the high half of the positions each; then
// magic and numbers in it are little-endian, and the length that is listed has size and CRC in it.
const (
	vectorVersion = 1
	vectorMagic   = 1581511376
	vectorMagic64 = 1681511377 // as the little-endian number that it is
)

// FileVector is the rows of a data file that are no longer there, by their positions.
type FileVector struct {
	File string
	Rows *roaring.Bitmap
}

// CreateVectors makes an index file with deletion vectors of a bucket's files. One without any takes the place of another.
func (t *Table) CreateVectors(ctx context.Context, partition []byte, bucket int32, list []FileVector) (IndexFile, error) {
	f := IndexFile{Type: IndexDeletionVectors, Name: "index-" + uuid.NewString() + "-0", Rows: int64(len(list))}
	file := []byte{vectorVersion}
	for _, v := range list {
		n := int64(v.Rows.GetCardinality())
		r := VectorRange{File: v.File, Offset: int32(len(file)), Cardinality: &n}
		var err error
		var size int
		if file, size, err = appendVector(file, v.Rows); err != nil {
			return f, err
		}
		if len(file) > math.MaxInt32 {
			return f, fmt.Errorf("deletion vectors of bucket %d take more than 2 GiB", bucket)
		}
		r.Length = int32(size)
		f.Vectors = append(f.Vectors, r)
	}
	return f, t.createIndexFile(ctx, partition, bucket, &f, bytes.NewBuffer(file))
}

// ReadVectors reads the deletion vectors of an index file, by data file. Damage is reported with ErrCorrupt.
func (t *Table) ReadVectors(ctx context.Context, partition []byte, bucket int32, f *IndexFile) (map[string]*roaring.Bitmap, error) {
	all := make(map[string]*roaring.Bitmap, len(f.Vectors))
	if len(f.Vectors) == 0 {
		return all, nil
	}
	raw, path, err := t.readIndexFile(ctx, partition, bucket, f)
	if err != nil {
		return nil, err
	}
	for i := range f.Vectors {
		v := &f.Vectors[i]
		b, err := vectorAt(raw, int(v.Offset), int(v.Length))
		if err == nil && v.Cardinality != nil && uint64(*v.Cardinality) != b.GetCardinality() {
			err = fmt.Errorf("%w: %d rows, listed with %d", errVector, b.GetCardinality(), *v.Cardinality)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %s: %w: %w", path, v.File, ErrCorrupt, err)
		}
		all[v.File] = b
	}
	return all, nil
}

var errVector = errors.New("no deletion vector")

// appendVector appends a vector and returns its listed length.
func appendVector(dst []byte, b *roaring.Bitmap) ([]byte, int, error) {
	b = b.Clone()
	b.RunOptimize()
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, vectorMagic)
	buf := bytes.NewBuffer(dst)
	if _, err := b.WriteTo(buf); err != nil {
		return nil, 0, err
	}
	dst = buf.Bytes()
	size := len(dst) - at - 4
	if size > math.MaxInt32 {
		return nil, 0, fmt.Errorf("a deletion vector of %d bytes is too large", size)
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(size))
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at+4:])), size, nil
}

// vectorAt reads the vector that a file has at an offset; length is what the manifest says.
func vectorAt(file []byte, offset, length int) (*roaring.Bitmap, error) {
	if len(file) == 0 || file[0] != vectorVersion {
		return nil, fmt.Errorf("%w: the file does not begin with version %d", errVector, vectorVersion)
	}
	if offset < 1 || offset > len(file)-12 {
		return nil, fmt.Errorf("%w: offset %d of %d", errVector, offset, len(file))
	}
	size := int(int32(binary.BigEndian.Uint32(file[offset:])))
	if size < 4 || size > len(file)-offset-8 || length != size && length != size+8 {
		return nil, fmt.Errorf("%w: size %d at %d of %d, listed with %d", errVector, size, offset, len(file), length)
	}
	body := file[offset+4 : offset+4+size]
	if crc := binary.BigEndian.Uint32(file[offset+4+size:]); crc != crc32.ChecksumIEEE(body) {
		return nil, fmt.Errorf("%w: the checksum at %d differs", errVector, offset)
	}
	switch {
	case binary.BigEndian.Uint32(body) == vectorMagic:
		b, rest, err := roaringOf(body[4:])
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("%w: %d bytes too many at %d", errVector, len(rest), offset)
		}
		return b, err
	case binary.LittleEndian.Uint32(body) == vectorMagic64:
		return vector64(body[4:])
	}
	return nil, fmt.Errorf("%w: magic %x at %d", errVector, body[:4], offset)
}

// vector64 reads the form with 64-bit positions. No data file has as many rows as that.
func vector64(b []byte) (*roaring.Bitmap, error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("%w: %d bytes", errVector, len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	b = b[8:]
	all := roaring.New()
	for range n {
		if len(b) < 4 {
			return nil, fmt.Errorf("%w: cut", errVector)
		}
		high := binary.LittleEndian.Uint32(b)
		part, rest, err := roaringOf(b[4:])
		if err != nil {
			return nil, err
		}
		if high > 0 && !part.IsEmpty() {
			return nil, fmt.Errorf("%w: a position above 4294967295", errVector)
		}
		all.Or(part)
		b = rest
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", errVector, len(b))
	}
	return all, nil
}

func roaringOf(b []byte) (_ *roaring.Bitmap, rest []byte, err error) {
	defer func() { // the library may not survive damage
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errVector, p)
		}
	}()
	r := bytes.NewReader(b)
	m := roaring.New()
	if _, err := m.ReadFrom(r); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errVector, err)
	}
	if err := m.Validate(); err != nil && !m.IsEmpty() {
		return nil, nil, fmt.Errorf("%w: %w", errVector, err)
	}
	return m, b[len(b)-r.Len():], nil
}
