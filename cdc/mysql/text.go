package mysql

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"net/netip"
	"unicode/utf8"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
)

// text appends v, text in the character set cs, as UTF-8.
func (d *Decoder) text(c *row.Column, f *field, cs *charset, v []byte) error {
	start := len(c.Bytes)
	var bad int
	c.Bytes, bad = cs.decode(c.Bytes, v)
	if bad > 0 {
		if err := d.invalid(c, f, cs, v, start, bad); err != nil {
			return err
		}
	}
	c.Off = append(c.Off, uint32(len(c.Bytes)))
	c.N++
	return nil
}

// invalid does what policy says about bytes that are no text; start is where the replaced text begins.
func (d *Decoder) invalid(c *row.Column, f *field, cs *charset, v []byte, start, bad int) error {
	d.n.InvalidChars += int64(bad)
	switch d.opt.Invalid {
	case InvalidError:
		return fmt.Errorf("column %s: %d bytes or sequences of %q are no %s text: %w", f.name, bad, v, cs.name, cdc.ErrRefused)
	case InvalidKeep:
		c.Bytes = append(c.Bytes[:start], v...)
	}
	return nil
}

// binary appends the value of BINARY, VARBINARY or BLOB. The server strips zeros from the end of BINARY(n) in row images.
func (d *Decoder) binary(c *row.Column, f *field, v []byte) error {
	if f.sink == sinkText {
		return d.text(c, f, charsetUTF8, d.padded(f, v))
	}
	c.Bytes = append(c.Bytes, v...)
	for n := len(v); n < f.pad; n++ {
		c.Bytes = append(c.Bytes, 0)
	}
	c.Off = append(c.Off, uint32(len(c.Bytes)))
	c.N++
	return nil
}

func (d *Decoder) padded(f *field, v []byte) []byte {
	if len(v) >= f.pad {
		return v
	}
	d.scratch = append(d.scratch[:0], v...)
	for len(d.scratch) < f.pad {
		d.scratch = append(d.scratch, 0)
	}
	return d.scratch
}

// bit appends a BIT(n), big-endian bytes.
func (d *Decoder) bit(c *row.Column, f *field, v []byte) error {
	want := (f.bits + 7) / 8
	if len(v) != want {
		return malformed("column %s: %d bytes for BIT(%d)", f.name, len(v), f.bits)
	}
	switch f.sink {
	case sinkBool:
		c.AppendI32(int32(v[0] & 1))
	case sinkBytes:
		c.AppendBytes(v)
	default:
		d.scratch = d.scratch[:0]
		switch {
		case f.bits == 1 && v[0]&1 == 1:
			d.scratch = append(d.scratch, "true"...)
		case f.bits == 1:
			d.scratch = append(d.scratch, "false"...)
		default:
			for _, b := range v {
				for k := 7; k >= 0; k-- {
					d.scratch = append(d.scratch, '0'+b>>k&1)
				}
			}
		}
		c.AppendBytes(d.scratch)
	}
	return nil
}

// enum appends the member of an index; 0 is the error value, an empty string.
func (d *Decoder) enum(c *row.Column, f *field, i uint64) error {
	if i == 0 {
		c.AppendBytes(nil)
		return nil
	}
	if i > uint64(len(f.elements)) {
		return fmt.Errorf("column %s: ENUM index %d, the schema has %d members: %w", f.name, i, len(f.elements), cdc.ErrRefused)
	}
	c.AppendBytes(f.elements[i-1])
	return nil
}

// set appends the members of a bit mask, in the order of their definition.
func (d *Decoder) set(c *row.Column, f *field, mask uint64) error {
	if len(f.elements) < 64 && mask>>len(f.elements) != 0 {
		return fmt.Errorf("column %s: SET mask %#x, the schema has %d members: %w", f.name, mask, len(f.elements), cdc.ErrRefused)
	}
	first := true
	for i := 0; mask>>i != 0; i++ {
		if mask>>i&1 == 0 {
			continue
		}
		if f.sink == sinkList {
			c.Kids[0].AppendBytes(f.elements[i])
			continue
		}
		if !first {
			c.Bytes = append(c.Bytes, ',')
		}
		first = false
		c.Bytes = append(c.Bytes, f.elements[i]...)
	}
	f.endSet(c)
	return nil
}

func (f *field) endSet(c *row.Column) {
	if f.sink == sinkList {
		c.EndList()
		return
	}
	c.Off = append(c.Off, uint32(len(c.Bytes)))
	c.N++
}

// setText appends the members of a SET that came as text: separated by commas, which no member can contain.
func (d *Decoder) setText(c *row.Column, f *field, v []byte) error {
	if f.sink != sinkList {
		return d.text(c, f, f.binText, v)
	}
	if len(v) == 0 {
		c.EndList()
		return nil
	}
	var bad int
	if d.scratch, bad = f.binText.decode(d.scratch[:0], v); bad > 0 {
		return malformed("column %s: SET %q is no %s text", f.name, v, f.binText.name)
	}
	rest := d.scratch
	for more := true; more; {
		var member []byte
		member, rest, more = bytes.Cut(rest, []byte{','})
		c.Kids[0].AppendBytes(member)
	}
	c.EndList()
	return nil
}

// vector appends a VECTOR: 4-byte floats.
func (d *Decoder) vector(c *row.Column, f *field, v []byte) error {
	if len(v)%4 != 0 {
		return malformed("column %s: VECTOR of %d bytes", f.name, len(v))
	}
	if f.sink != sinkList {
		b := append(c.Bytes, '[')
		for i := 0; i < len(v); i += 4 {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJavaFloat(b, float64(math.Float32frombits(le.Uint32(v[i:]))), 32)
		}
		c.Bytes = append(b, ']')
		c.Off = append(c.Off, uint32(len(c.Bytes)))
		c.N++
		return nil
	}
	for ; len(v) > 0; v = v[4:] {
		c.Kids[0].AppendF32(math.Float32frombits(le.Uint32(v)))
	}
	c.EndList()
	return nil
}

// net appends MariaDB's UUID, INET4 and INET6 from their binary form, in the text of SELECT. Zeros are stripped from
// the end in row images.
func (d *Decoder) net(c *row.Column, f *field, v []byte) error {
	var b [16]byte
	want := 16
	if f.mysql == "inet4" {
		want = 4
	}
	if len(v) > want {
		return malformed("column %s: %d bytes for %s", f.name, len(v), f.mysql)
	}
	copy(b[:], v)
	switch f.mysql {
	case "uuid":
		d.scratch = appendUUID(d.scratch[:0], b)
	case "inet4":
		d.scratch = netip.AddrFrom4([4]byte(b[:4])).AppendTo(d.scratch[:0])
	default:
		d.scratch = appendInet6(d.scratch[:0], b)
	}
	c.AppendBytes(d.scratch)
	return nil
}

// appendUUID writes the 16 bytes, which lie in the log in the order of the text (MariaDB 10.11).
func appendUUID(dst []byte, u [16]byte) []byte {
	for i, part := range [][]byte{u[0:4], u[4:6], u[6:8], u[8:10], u[10:16]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst
}

// appendInet6 writes an address as the server does: like RFC 5952, and with a dotted tail for mapped and compatible
// IPv4 addresses.
func appendInet6(dst []byte, b [16]byte) []byte {
	a := netip.AddrFrom16(b)
	v4 := netip.AddrFrom4([4]byte(b[12:]))
	zeros := bytes.IndexFunc(b[:12], func(r rune) bool { return r != 0 }) < 0
	if zeros && (b[12] != 0 || b[13] != 0) {
		return v4.AppendTo(append(dst, "::"...))
	}
	return a.AppendTo(dst)
}

// appendRune is utf8.AppendRune that counts what is no character.
func appendRune(dst []byte, r rune) ([]byte, int) {
	if r < 0 || !utf8.ValidRune(r) {
		return append(dst, "\uFFFD"...), 1
	}
	return utf8.AppendRune(dst, r), 0
}
