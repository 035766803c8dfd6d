package parquet

import (
	"encoding/binary"
	"errors"
)

// deltaReader decodes DELTA_BINARY_PACKED: a header with the first value, then blocks of bit-packed differences from the
// block's least one. It decodes one miniblock at a time, so that what a damaged header claims takes no memory.
type deltaReader struct {
	b        []byte
	perMini  int
	minis    int
	total    int64 // values not yet given
	last     int64
	first    bool // the next value is the header's
	least    int64
	widths   []byte
	mini     int // the next miniblock of the block
	packed   uint64Reader
	miniLeft int
}

// maxMiniblock bounds the values of a miniblock: writers use 32, the format wants multiples of 32.
const maxMiniblock = 1 << 15

var errDelta = errors.New("delta-encoded numbers are cut off or malformed")

func (r *deltaReader) reset(b []byte) error {
	*r = deltaReader{b: b, first: true}
	if len(b) == 0 {
		return nil // a page of nulls
	}
	block, ok1 := r.uvarint()
	minis, ok2 := r.uvarint()
	total, ok3 := r.uvarint()
	first, ok4 := r.varint()
	if !ok1 || !ok2 || !ok3 || !ok4 || minis == 0 || minis > 1<<10 || block%minis != 0 || block/minis == 0 ||
		block/minis > maxMiniblock || block/minis%8 != 0 || total > 1<<31 {
		return errDelta
	}
	r.perMini, r.minis, r.total, r.last = int(block/minis), int(minis), int64(total), first
	r.mini = r.minis
	return nil
}

func (r *deltaReader) uvarint() (uint64, bool) {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		return 0, false
	}
	r.b = r.b[n:]
	return v, true
}

func (r *deltaReader) varint() (int64, bool) {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		return 0, false
	}
	r.b = r.b[n:]
	return v, true
}

func (r *deltaReader) next() (int64, error) {
	if r.total == 0 {
		return 0, errDelta
	}
	r.total--
	if r.first {
		r.first = false
		return r.last, nil
	}
	if r.miniLeft == 0 {
		if err := r.nextMini(); err != nil {
			return 0, err
		}
	}
	r.miniLeft--
	r.last += r.least + int64(r.packed.next())
	return r.last, nil
}

func (r *deltaReader) nextMini() error {
	if r.mini == r.minis {
		var ok bool
		if r.least, ok = r.varint(); !ok || len(r.b) < r.minis {
			return errDelta
		}
		r.widths, r.b = r.b[:r.minis], r.b[r.minis:]
		r.mini = 0
	}
	width := int(r.widths[r.mini])
	size := width * r.perMini / 8
	if width > 64 || size > len(r.b) {
		return errDelta
	}
	r.packed = uint64Reader{b: r.b[:size], width: width}
	r.b = r.b[size:]
	r.miniLeft = r.perMini
	r.mini++
	return nil
}

// end returns the bytes after all the numbers, without moving. b is what reset got.
func (r *deltaReader) end(b []byte) ([]byte, error) {
	s := *r
	for left := s.total - 1; left > 0; left -= int64(s.perMini) {
		if err := s.nextMini(); err != nil {
			return nil, err
		}
	}
	return s.b, nil
}

// uint64Reader unpacks numbers of up to 64 bits. It has as many bytes as it is asked for.
type uint64Reader struct {
	b     []byte
	width int
	bit   int
}

func (r *uint64Reader) next() (v uint64) {
	for got := 0; got < r.width; {
		n := min(8-r.bit, r.width-got)
		v |= uint64(r.b[0]>>r.bit) & (1<<n - 1) << got
		got += n
		if r.bit += n; r.bit == 8 {
			r.b, r.bit = r.b[1:], 0
		}
	}
	return v
}
