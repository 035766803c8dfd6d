package mysql

import (
	"unicode/utf8"

	"github.com/paimon-go/paimon-go/format/row"
)

// AppendBinaryRow appends a row packet of a prepared SELECT: the whole payload, from its leading zero byte on. The
// select list must be the columns of SelectColumns as they are, without expressions, in a session with
//
//	SET time_zone = '+00:00', character_set_results = NULL, sql_mode = ''
//
// so that TIMESTAMP comes in UTC, text in its column's own character set (see ValueOptions.ConvertedText) and CHAR
// without padding. The caller completes the row with Batch.EndRow. After an error dst is in no usable state and must be
// reset.
func (d *Decoder) AppendBinaryRow(dst []row.Column, packet []byte) error {
	nb := (len(d.picked) + 9) >> 3
	if len(packet) < 1+nb || packet[0] != 0 {
		return malformed("a row packet of %d bytes for %d columns", len(packet), len(d.picked))
	}
	nulls, p := packet[1:1+nb], packet[1+nb:]
	for k, i := range d.picked {
		f := &d.fields[i]
		c := &dst[f.target]
		if bit := k + 2; nulls[bit>>3]>>(bit&7)&1 != 0 { // the first two bits are reserved
			if err := f.null(c); err != nil {
				return err
			}
			continue
		}
		n := f.binSize
		if n <= 0 {
			r := reader{b: p}
			if n < 0 {
				n = int(r.u8())
			} else if l := r.lenenc(); l <= uint64(len(r.b)) {
				n = int(l)
			} else {
				r.bad = true
			}
			if r.bad {
				return f.cut(len(p))
			}
			p = r.b
		}
		if n > len(p) {
			return f.cut(len(p))
		}
		v := p[:n]
		p = p[n:]
		o := f.binary
		if o == opUTF8 && utf8.Valid(v) {
			c.AppendBytes(v)
			continue
		}
		var err error
		if o == opText {
			err = d.text(c, f, f.binText, v)
		} else {
			err = d.apply(c, f, o, v)
		}
		if err != nil {
			return err
		}
	}
	if len(p) > 0 {
		return malformed("%d bytes are left over in a row packet of %d columns", len(p), len(d.picked))
	}
	for _, t := range d.absent {
		dst[t].AppendNull()
	}
	return nil
}

// binaryDatetime appends a DATE, DATETIME or TIMESTAMP of the binary protocol: 0, 4, 7 or 11 bytes; what is missing at
// the end is zero.
func (d *Decoder) binaryDatetime(c *row.Column, f *field, o op, v []byte) error {
	var t civil
	switch len(v) {
	case 0, 4, 7, 11:
	default:
		return malformed("column %s: a date of %d bytes", f.name, len(v))
	}
	if len(v) >= 4 {
		t.year, t.month, t.day = int(le.Uint16(v)), int(v[2]), int(v[3])
	}
	if len(v) >= 7 {
		t.hour, t.minute, t.second = int(v[4]), int(v[5]), int(v[6])
	}
	if len(v) == 11 {
		t.micros = int(le.Uint32(v[7:]))
	}
	switch o {
	case opDate:
		return d.date(c, f, t.year, t.month, t.day)
	case opDatetime:
		return d.datetime(c, f, t)
	}
	if !validDate(t.year, t.month, t.day) {
		return d.zeroDate(c, f, t)
	}
	if t.hour > 23 || t.minute > 59 || t.second > 59 {
		return malformed("column %s: clock %02d:%02d:%02d", f.name, t.hour, t.minute, t.second)
	}
	micros := t.micros
	t.micros = 0
	return d.timestamp(c, f, t.unixMicros()/microsPerSec, micros)
}

// binaryTime appends a TIME of the binary protocol: 0, 8 or 12 bytes: sign, days, hours, minutes, seconds, microseconds.
func (d *Decoder) binaryTime(c *row.Column, f *field, v []byte) error {
	us := int64(0)
	switch len(v) {
	case 0:
		return d.time(c, f, 0)
	case 12:
		us = int64(le.Uint32(v[8:]))
	case 8:
	default:
		return malformed("column %s: a time of %d bytes", f.name, len(v))
	}
	if le.Uint32(v[1:]) > 99999 {
		return malformed("column %s: a time of %d days", f.name, le.Uint32(v[1:]))
	}
	us += (int64(le.Uint32(v[1:]))*86400 + int64(v[5])*3600 + int64(v[6])*60 + int64(v[7])) * microsPerSec
	if v[0] != 0 {
		us = -us
	}
	return d.time(c, f, us)
}
