package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/paimon-go/paimon-go/format/row"
)

// spilledKV is a sorted run of records in a SpillStore, column-major: blocks of
//
//	number of records, sequence numbers, kinds, levels and places if there are any, columns
//
// with slices as they lie in this machine's memory; a number of elements leads each whose length doesn't follow. Nobody else
// reads them.
type spilledKV struct {
	spillRun
	levels  bool
	places  bool
	raw     []byte
	scratch []byte
}

func newSpillKV(s *SpillStore, levels bool) *spilledKV {
	return &spilledKV{spillRun: spillRun{store: s}, levels: levels}
}

func isFull(err error) bool { return errors.Is(err, ErrSpillFull) }

// write appends a block; levels has one for each record if the run has levels, and so has places.
func (w *spilledKV) write(kv *KeyValues, levels []int8, places []place) error {
	b := binary.LittleEndian.AppendUint32(w.raw[:0], uint32(kv.Len()))
	b = append(b, bytesOf(kv.Seq)...)
	b = append(b, bytesOf(kv.Rows.Kinds)...)
	if w.levels {
		b = append(b, bytesOf(levels)...)
	}
	if w.places {
		b = append(b, bytesOf(places)...)
	}
	for i := range kv.Rows.Cols {
		b = appendColumn(b, &kv.Rows.Cols[i])
	}
	var err error
	w.raw = b
	w.scratch, err = w.append(b, w.scratch)
	return err
}

// reader returns what reads the run, and pointers to the levels and places of the block at hand.
func (w *spilledKV) reader() (next func(*KeyValues) error, levels *[]int8, places *[]place) {
	w.raw, w.scratch = nil, nil
	var buf []byte
	at := 0
	levels, places = new([]int8), new([]place)
	return func(kv *KeyValues) error {
		kv.Reset()
		if at == len(w.blocks) {
			return io.EOF
		}
		var err error
		if buf, err = w.read(at, buf); err != nil {
			return err
		}
		at++
		d := spillDecoder{b: buf}
		n := int(binary.LittleEndian.Uint32(d.take(4)))
		kv.Seq = takeInto(&d, kv.Seq, n)
		kv.Rows.Kinds = takeInto(&d, kv.Rows.Kinds, n)
		if w.levels {
			*levels = takeInto(&d, (*levels)[:0], n)
		}
		if w.places {
			*places = takeInto(&d, (*places)[:0], n)
		}
		for i := range kv.Rows.Cols {
			d.column(&kv.Rows.Cols[i], n)
		}
		kv.Rows.N = n
		if d.short || len(d.b) > 0 {
			return fmt.Errorf("reading a spilled run: block %d has another size than its records", at-1)
		}
		return nil
	}, levels, places
}

func appendColumn(b []byte, c *row.Column) []byte {
	if !c.HasNulls() {
		b = append(b, 0)
	} else {
		b = append(b, 1)
		b = append(b, bytesOf(c.Nulls[:min(len(c.Nulls), (c.N+63)/64)])...)
		for range max(0, (c.N+63)/64-len(c.Nulls)) {
			b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
		}
	}
	switch c.Type.Store() {
	case row.StoreI32:
		b = append(b, bytesOf(c.I32)...)
	case row.StoreI64:
		b = append(b, bytesOf(c.I64)...)
	case row.StoreF32:
		b = append(b, bytesOf(c.F32)...)
	case row.StoreF64:
		b = append(b, bytesOf(c.F64)...)
	case row.StoreI128:
		b = append(b, bytesOf(c.I128)...)
	case row.StoreNanos:
		b = append(b, bytesOf(c.I64)...)
		b = append(b, bytesOf(c.I32)...)
	case row.StoreBytes:
		b = append(b, bytesOf(c.Off[1:])...)
		b = append(b, c.Bytes...)
	case row.StoreList:
		b = append(b, bytesOf(c.Off[1:])...)
	}
	for i := range c.Kids {
		b = appendColumn(b, &c.Kids[i])
	}
	return b
}

// bytesOf is the memory of a slice of plain values.
func bytesOf[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// spillDecoder takes a block apart.
type spillDecoder struct {
	b     []byte
	short bool // the block ended too early
}

func (d *spillDecoder) take(n int) []byte {
	if n > len(d.b) {
		d.short = true
		return make([]byte, n)
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

// takeInto appends n values to dst.
func takeInto[T any](d *spillDecoder, dst []T, n int) []T {
	if n == 0 {
		return dst
	}
	var zero T
	raw := d.take(n * int(unsafe.Sizeof(zero)))
	at := len(dst)
	dst = append(dst, make([]T, n)...)
	copy(bytesOf(dst[at:]), raw)
	return dst
}

// column fills c, which is empty, with n rows.
func (d *spillDecoder) column(c *row.Column, n int) {
	if d.take(1)[0] != 0 {
		c.Nulls = takeInto(d, c.Nulls, (n+63)/64)
	}
	switch c.Type.Store() {
	case row.StoreI32:
		c.I32 = takeInto(d, c.I32, n)
	case row.StoreI64:
		c.I64 = takeInto(d, c.I64, n)
	case row.StoreF32:
		c.F32 = takeInto(d, c.F32, n)
	case row.StoreF64:
		c.F64 = takeInto(d, c.F64, n)
	case row.StoreI128:
		c.I128 = takeInto(d, c.I128, n)
	case row.StoreNanos:
		c.I64 = takeInto(d, c.I64, n)
		c.I32 = takeInto(d, c.I32, n)
	case row.StoreBytes:
		c.Off = takeInto(d, c.Off, n)
		c.Bytes = append(c.Bytes, d.take(int(c.Off[n]))...)
	case row.StoreList:
		c.Off = takeInto(d, c.Off, n)
	}
	c.N = n
	kids := n
	if c.Type.Store() == row.StoreList {
		kids = int(c.Off[n])
	}
	for i := range c.Kids {
		d.column(&c.Kids[i], kids)
	}
}
