package mysql

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
)

// image appends the row image at the front of p. The ops that nearly every table has are handled here, the others in
// apply.
func (d *Decoder) image(dst []row.Column, p []byte) (int, error) {
	total := len(p)
	nb := (len(d.images) + 7) >> 3
	if len(p) < nb {
		return 0, malformed("the null bitmap is cut")
	}
	nulls := p[:nb]
	p = p[nb:]
	for i := range d.images {
		f := &d.images[i]
		if nulls[i>>3]>>(i&7)&1 != 0 {
			if f.target >= 0 {
				if err := f.null(&dst[f.target]); err != nil {
					return 0, err
				}
			}
			continue
		}
		n := f.size
		if f.prefix != 0 {
			if len(p) < int(f.prefix) {
				return 0, f.cut(len(p))
			}
			switch f.prefix {
			case 1:
				n = int(p[0])
				p = p[1:]
			case 2:
				n = int(le.Uint16(p))
				p = p[2:]
			case 3:
				n = int(p[0]) | int(p[1])<<8 | int(p[2])<<16
				p = p[3:]
			default:
				n = int(le.Uint32(p))
				p = p[4:]
			}
		}
		if n > len(p) {
			return 0, f.cut(len(p))
		}
		v := p[:n]
		p = p[n:]
		if f.image == opNone {
			continue
		}
		c := &dst[f.target]
		switch f.image {
		case opI32:
			c.I32 = append(c.I32, int32(le.Uint32(v)))
			c.N++
		case opI64:
			c.I64 = append(c.I64, int64(le.Uint64(v)))
			c.N++
		case opUTF8:
			if !utf8.Valid(v) {
				if err := d.text(c, f, charsetUTF8, v); err != nil {
					return 0, err
				}
				continue
			}
			c.Bytes = append(c.Bytes, v...)
			c.Off = append(c.Off, uint32(len(c.Bytes)))
			c.N++
		default:
			if err := d.apply(c, f, f.image, v); err != nil {
				return 0, err
			}
		}
	}
	for _, t := range d.imageAbsent {
		dst[t].AppendNull()
	}
	return total - len(p), nil
}

func (f *field) cut(left int) error {
	return malformed("column %s: the value is cut, %d bytes are left", f.name, left)
}

func (f *field) null(c *row.Column) error {
	if !f.typ.Nullable {
		return fmt.Errorf("column %s: NULL for field type %s: %w", f.name, describe(f.typ), cdc.ErrRefused)
	}
	c.AppendNull()
	return nil
}

// apply appends one value that is not null. What v holds is told by o; it has been cut to its size.
func (d *Decoder) apply(c *row.Column, f *field, o op, v []byte) error {
	switch o {
	case opI32:
		c.AppendI32(int32(le.Uint32(v)))
	case opI64:
		c.AppendI64(int64(le.Uint64(v)))
	case opInt:
		return d.integer(c, f, v)
	case opF32:
		c.AppendF32(math.Float32frombits(le.Uint32(v)))
	case opF64:
		c.AppendF64(math.Float64frombits(le.Uint64(v)))
	case opFloat:
		d.float(c, f, v)
	case opUTF8:
		return d.text(c, f, charsetUTF8, v)
	case opText:
		return d.text(c, f, f.charset, v)
	case opBytes:
		return d.binary(c, f, v)
	case opBit:
		return d.bit(c, f, v)
	case opDecimal:
		return d.decimal(c, f, v)
	case opDecimalText:
		return d.decimalText(c, f, v)
	case opDate3:
		x := int(v[0]) | int(v[1])<<8 | int(v[2])<<16
		return d.date(c, f, x>>9, x>>5&15, x&31)
	case opDatetime2:
		return d.datetime2(c, f, v)
	case opDatetimeOld:
		return d.datetimeOld(c, f, v)
	case opTimestamp2:
		return d.timestamp(c, f, int64(beUint32(v)), fraction(v[4:], f.fsp))
	case opTimestampOld:
		return d.timestamp(c, f, int64(le.Uint32(v)), 0)
	case opTime2:
		return d.time(c, f, time2(v, f.fsp))
	case opTimeOld:
		return d.timeOld(c, f, v)
	case opDate, opDatetime, opTimestamp:
		return d.binaryDatetime(c, f, o, v)
	case opTime:
		return d.binaryTime(c, f, v)
	case opEnum:
		return d.enum(c, f, uintLE(v))
	case opSet:
		return d.set(c, f, uintLE(v))
	case opEnumText:
		return d.text(c, f, f.binText, v)
	case opSetText:
		return d.setText(c, f, v)
	case opJSON:
		return d.json(c, f, v)
	case opJSONText:
		return d.jsonText(c, f, v)
	case opGeometry:
		return d.geometry(c, f, v)
	case opVector:
		return d.vector(c, f, v)
	case opNet:
		return d.net(c, f, v)
	case opNetText:
		c.AppendBytes(v)
	}
	return nil
}

// integer appends an integer of 1, 2, 3, 4 or 8 bytes.
func (d *Decoder) integer(c *row.Column, f *field, v []byte) error {
	var x int64
	switch len(v) {
	case 1:
		if x = int64(v[0]); f.year { // YEAR has its zero at 1900 in row images
			if x != 0 {
				x += 1900
			}
		} else if !f.unsigned {
			x = int64(int8(v[0]))
		}
	case 2:
		if x = int64(le.Uint16(v)); !f.unsigned {
			x = int64(int16(x))
		}
	case 3:
		if x = int64(v[0]) | int64(v[1])<<8 | int64(v[2])<<16; !f.unsigned {
			x = x << 40 >> 40
		}
	case 4:
		if x = int64(le.Uint32(v)); !f.unsigned {
			x = int64(int32(x))
		}
	default:
		if x = int64(le.Uint64(v)); f.unsigned {
			return d.uint64(c, f, uint64(x))
		}
	}
	switch f.sink {
	case sinkI32:
		c.I32 = append(c.I32, int32(x))
	case sinkI64:
		c.I64 = append(c.I64, x)
	case sinkBool:
		b := int32(0)
		if x != 0 {
			b = 1
		}
		if f.key && int64(b) != x {
			return fmt.Errorf("column %s: %d in a key column that is BOOLEAN, where it can't be told from 1; make the table anew with --type_mapping tinyint1-not-bool: %w", f.name, x, cdc.ErrRefused)
		}
		c.I32 = append(c.I32, b)
	case sinkDec64:
		c.I64 = append(c.I64, x*f.mul)
	case sinkDec128:
		u := uint64(x)
		if x < 0 {
			u = -u
		}
		n := int128{lo: u}.scale(f.scaleUp)
		c.I128 = append(c.I128, n.signed(x < 0))
	default:
		d.scratch = appendInt(d.scratch[:0], x)
		c.AppendBytes(d.scratch)
		return nil
	}
	c.N++
	return nil
}

func (d *Decoder) uint64(c *row.Column, f *field, u uint64) error {
	switch f.sink {
	case sinkI64:
		if u > math.MaxInt64 {
			return fmt.Errorf("column %s: %d does not fit BIGINT: %w", f.name, u, cdc.ErrRefused)
		}
		c.AppendI64(int64(u))
	case sinkDec128:
		c.AppendI128(int128{lo: u}.scale(f.scaleUp).signed(false))
	default:
		d.scratch = appendUint(d.scratch[:0], u)
		c.AppendBytes(d.scratch)
	}
	return nil
}

func (d *Decoder) float(c *row.Column, f *field, v []byte) {
	x, bits := 0.0, 64
	if len(v) == 4 {
		x, bits = float64(math.Float32frombits(le.Uint32(v))), 32
	} else {
		x = math.Float64frombits(le.Uint64(v))
	}
	if f.sink == sinkF64 {
		c.AppendF64(x)
		return
	}
	d.scratch = appendJavaFloat(d.scratch[:0], x, bits)
	c.AppendBytes(d.scratch)
}
