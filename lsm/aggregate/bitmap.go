package aggregate

import (
	"bytes"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/paimon-go/paimon-go/format/row"
)

// bitmap32 joins Roaring bitmaps of 32-bit numbers in their portable format.
type bitmap32 struct {
	noState
	noRetract
	a, b   *roaring.Bitmap
	reader bytes.Reader
	out    bytes.Buffer
}

func newBitmap32(t *row.Type, _ params) (Func, error) {
	if t.Root != row.VarBinary {
		return nil, needs("VARBINARY or BYTES", t)
	}
	return &bitmap32{a: roaring.New(), b: roaring.New()}, nil
}

func (f *bitmap32) Add(acc, in *row.Column, i int) error {
	if skipNull(acc, in, i) {
		return nil
	}
	if err := f.read(f.a, acc.Value(0)); err != nil {
		return err
	}
	if err := f.read(f.b, in.Value(i)); err != nil {
		return err
	}
	f.a.Or(f.b)
	f.a.RunOptimize()
	f.out.Reset()
	if _, err := f.a.WriteTo(&f.out); err != nil {
		return err
	}
	acc.Reset()
	acc.AppendBytes(f.out.Bytes())
	return nil
}

func (f *bitmap32) read(b *roaring.Bitmap, v []byte) error {
	b.Clear()
	f.reader.Reset(v)
	_, err := b.ReadFrom(&f.reader)
	if err == nil {
		err = b.Validate()
	}
	if err != nil {
		return fmt.Errorf("%d bytes that are no Roaring bitmap: %w", len(v), err)
	}
	return nil
}
