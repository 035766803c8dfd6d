package avro

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/paimon-go/paimon-go/format"
)

// Decoder reads values from encoded bytes and never past their end. The first damage is kept in Err, and everything
// read afterwards is zero, so callers check once a datum rather than once a value.
type Decoder struct {
	buf []byte
	pos int
	err error
}

// NewDecoder returns a decoder of buf, which it keeps.
func NewDecoder(buf []byte) *Decoder { return &Decoder{buf: buf} }

// Reset starts over with other bytes.
func (d *Decoder) Reset(buf []byte) { *d = Decoder{buf: buf} }

// Err returns the first damage met, which wraps format.ErrCorrupt.
func (d *Decoder) Err() error { return d.err }

// Len returns the number of bytes not read yet; 0 after damage.
func (d *Decoder) Len() int { return len(d.buf) - d.pos }

// Pos returns the offset of the next byte.
func (d *Decoder) Pos() int { return d.pos }

// fail records the damage and moves to the end, so that loops over what is left stop.
func (d *Decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%s at byte %d of the block: %w", what, d.pos, format.ErrCorrupt)
	}
	d.pos = len(d.buf)
}

// Long reads a long.
func (d *Decoder) Long() int64 {
	if d.pos < len(d.buf) {
		if b := d.buf[d.pos]; b < 0x80 {
			d.pos++
			return int64(b>>1) ^ -int64(b&1)
		}
	}
	return d.longSlow()
}

// longSlow is the inverse of putLong, or a loop near the end of the data and for the longest varints.
func (d *Decoder) longSlow() int64 {
	if d.pos <= len(d.buf)-8 {
		u := binary.LittleEndian.Uint64(d.buf[d.pos:])
		if last := ^u & 0x8080808080808080; last != 0 {
			n := bits.TrailingZeros64(last) + 1 // bits of the varint
			d.pos += n / 8
			u &= 1<<n - 1 // 1<<64 is 0
			u = u&0x007f007f007f007f | u&0x7f007f007f007f00>>1
			u = u&0x00003fff00003fff | u&0x3fff00003fff0000>>2
			u = u&0x0fffffff | u&0x0fffffff00000000>>4
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	u, n := binary.Uvarint(d.buf[d.pos:])
	if n <= 0 {
		d.fail("bad varint")
		return 0
	}
	d.pos += n
	return int64(u>>1) ^ -int64(u&1)
}

// Int reads an int.
func (d *Decoder) Int() int32 {
	v := d.Long()
	if v != int64(int32(v)) {
		d.fail("int out of range")
		return 0
	}
	return int32(v)
}

// Boolean reads a boolean.
func (d *Decoder) Boolean() bool {
	if d.pos >= len(d.buf) || d.buf[d.pos] > 1 {
		d.fail("bad boolean")
		return false
	}
	d.pos++
	return d.buf[d.pos-1] == 1
}

// Float reads a float.
func (d *Decoder) Float() float32 {
	b := d.Fixed(4)
	if b == nil {
		return 0
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b))
}

// Double reads a double.
func (d *Decoder) Double() float64 {
	b := d.Fixed(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// Fixed reads n bytes, which belong to the decoder's buffer; nil when there are not as many.
func (d *Decoder) Fixed(n int) []byte {
	if n < 0 || n > len(d.buf)-d.pos {
		d.fail("value passes the end of the data")
		return nil
	}
	b := d.buf[d.pos : d.pos+n : d.pos+n]
	d.pos += n
	return b
}

// Bytes reads bytes or a string; they belong to the decoder's buffer.
func (d *Decoder) Bytes() []byte {
	n := d.Long()
	if n < 0 || n > int64(len(d.buf)-d.pos) {
		d.fail("length passes the end of the data")
		return nil
	}
	b := d.buf[d.pos : d.pos+int(n) : d.pos+int(n)]
	d.pos += int(n)
	return b
}

// String reads a string.
func (d *Decoder) String() string { return string(d.Bytes()) }

// Union reads the branch of a union ["null", X] and reports whether an X follows.
func (d *Decoder) Union() bool {
	if d.pos < len(d.buf) {
		switch d.buf[d.pos] {
		case 0:
			d.pos++
			return false
		case 2:
			d.pos++
			return true
		}
	}
	return d.unionSlow()
}

func (d *Decoder) unionSlow() bool {
	switch i := d.Long(); { // a varint may be longer than it needs to be
	case i == 1:
		return d.err == nil
	case i != 0:
		d.fail("bad union branch")
	}
	return false
}

// Items reads the start of the next run of items of an array or map: their number, 0 at the end of it. An array is read
// as: for n := d.Items(); n > 0; n = d.Items() { n items }.
func (d *Decoder) Items() int {
	n := d.Long()
	if n < 0 {
		// The form with the size in bytes, for those who want to skip.
		if n == math.MinInt64 || d.Long() < 0 {
			d.fail("bad item count")
			return 0
		}
		n = -n
	}
	// An item takes a byte at least: the only types that take none are null and a record of nothing, and Paimon has
	// neither. It bounds what a damaged count can make us do.
	if n > int64(len(d.buf)-d.pos) {
		d.fail("item count passes the end of the data")
		return 0
	}
	return int(n)
}
