package mysql

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is wrapped when bytes from the server do not have the form that they should have.
var ErrMalformed = errors.New("malformed bytes from the server")

var le = binary.LittleEndian

// reader takes bytes from the front of b. After the first read past the end every read gives zero and bad is set, so
// that callers check once.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad = true
		r.b = nil
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) u8() byte {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if v := r.take(2); v != nil {
		return le.Uint16(v)
	}
	return 0
}

func (r *reader) u48() uint64 {
	if v := r.take(6); v != nil {
		return uint64(le.Uint32(v)) | uint64(le.Uint16(v[4:]))<<32
	}
	return 0
}

func (r *reader) u32() uint32 {
	if v := r.take(4); v != nil {
		return le.Uint32(v)
	}
	return 0
}

func (r *reader) u56() uint64 {
	if v := r.take(7); v != nil {
		return uint64(le.Uint32(v)) | uint64(le.Uint16(v[4:]))<<32 | uint64(v[6])<<48
	}
	return 0
}

func (r *reader) u64() uint64 {
	if v := r.take(8); v != nil {
		return le.Uint64(v)
	}
	return 0
}

// lenenc reads a length-encoded integer.
func (r *reader) lenenc() uint64 {
	switch c := r.u8(); c {
	case 0xfc:
		return uint64(r.u16())
	case 0xfd:
		if v := r.take(3); v != nil {
			return uint64(v[0]) | uint64(v[1])<<8 | uint64(v[2])<<16
		}
		return 0
	case 0xfe:
		if v := r.take(8); v != nil {
			return le.Uint64(v)
		}
		return 0
	case 0xfb, 0xff:
		r.bad = true
		return 0
	default:
		return uint64(c)
	}
}

// lenencBytes reads a length-encoded string. The bytes alias the input.
func (r *reader) lenencBytes() []byte {
	n := r.lenenc()
	if n > uint64(len(r.b)) {
		r.bad = true
		r.b = nil
		return nil
	}
	return r.take(int(n))
}

func malformed(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrMalformed)...)
}

// uintLE reads an unsigned little-endian integer of 1 to 8 bytes.
func uintLE(p []byte) uint64 {
	var v uint64
	for i := len(p) - 1; i >= 0; i-- {
		v = v<<8 | uint64(p[i])
	}
	return v
}

// uintBE reads an unsigned big-endian integer of up to 8 bytes.
func uintBE(p []byte) uint64 {
	var v uint64
	for _, b := range p {
		v = v<<8 | uint64(b)
	}
	return v
}
