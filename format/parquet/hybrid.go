package parquet

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// The hybrid of run-length and bit-packed encoding that holds levels and dictionary indexes. Runs are headed by a varint:
// even, a run of header>>1 equal values; odd, header>>1 groups of eight bit-packed values.

// appendHybrid appends the encoding of vals, each of which fits width bits.
func appendHybrid[T uint8 | uint32](dst []byte, vals []T, width int) []byte {
	literal := 0 // start of the values not yet written
	for i := 0; i < len(vals); {
		v, end := vals[i], i+1
		for end < len(vals) && vals[end] == v {
			end++
		}
		// A literal run must be whole groups of eight, unless it is the last; so let it have the head of this run.
		if pad := -(i - literal) & 7; end-i >= 8+pad {
			if i += pad; i > literal {
				dst = appendPacked(dst, vals[literal:i], width)
			}
			dst = appendRun(dst, uint32(v), end-i, width)
			literal = end
		}
		i = end
	}
	if literal < len(vals) {
		dst = appendPacked(dst, vals[literal:], width)
	}
	return dst
}

func appendRun(dst []byte, v uint32, n, width int) []byte {
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	for ; width > 0; width -= 8 {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}

func appendPacked[T uint8 | uint32](dst []byte, vals []T, width int) []byte {
	groups := (len(vals) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	end := len(dst) + groups*width
	var acc uint64
	n := 0
	for _, v := range vals {
		acc |= uint64(v) << n
		if n += width; n >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
			acc >>= 32
			n -= 32
		}
	}
	for ; n > 0; n -= 8 {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	for len(dst) < end {
		dst = append(dst, 0)
	}
	return dst
}

// bitWidth is the number of bits that hold values up to limit.
func bitWidth(limit int) int { return bits.Len(uint(limit)) }

var errHybrid = errors.New("run-length data is cut off or malformed")

// hybridReader decodes hybrid data of a known number of values.
type hybridReader struct {
	b      []byte
	width  int
	run    int    // values left of an equal run
	value  uint32 // of that run
	packed int    // values left of a bit-packed run
	bits   []byte // of that run, from the next not yet in acc
	acc    uint64
	n      int // bits in acc
}

func (r *hybridReader) reset(b []byte, width int) {
	*r = hybridReader{b: b, width: width}
}

// next starts the next run.
func (r *hybridReader) next() error {
	h, n := binary.Uvarint(r.b)
	if n <= 0 || h>>1 == 0 || h>>1 > 1<<31 {
		return errHybrid
	}
	r.b = r.b[n:]
	r.acc, r.n = 0, 0
	if h&1 == 1 {
		r.packed = int(h>>1) * 8
		// The padding of the last group may be missing.
		size := min(int(h>>1)*r.width, len(r.b))
		r.bits, r.b = r.b[:size], r.b[size:]
		return nil
	}
	r.run = int(h >> 1)
	r.value = 0
	bytes := (r.width + 7) / 8
	if len(r.b) < bytes {
		return errHybrid
	}
	for i := range bytes {
		r.value |= uint32(r.b[i]) << (8 * i)
	}
	r.b = r.b[bytes:]
	return nil
}

// readHybrid fills dst with the next values.
func readHybrid[T uint8 | uint32](r *hybridReader, dst []T) error {
	for len(dst) > 0 {
		switch {
		case r.run > 0:
			n := min(r.run, len(dst))
			v := T(r.value)
			for i := range dst[:n] {
				dst[i] = v
			}
			dst = dst[n:]
			r.run -= n
		case r.packed > 0:
			n := min(r.packed, len(dst))
			if err := unpack(r, dst[:n]); err != nil {
				return err
			}
			dst = dst[n:]
			r.packed -= n
		default:
			if err := r.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

func unpack[T uint8 | uint32](r *hybridReader, dst []T) error {
	width := r.width
	if width == 0 {
		clear(dst)
		return nil
	}
	mask := uint64(1)<<width - 1
	b, acc, n := r.bits, r.acc, r.n
	for i := range dst {
		for n < width {
			switch {
			case n <= 32 && len(b) >= 4:
				acc |= uint64(binary.LittleEndian.Uint32(b)) << n
				b = b[4:]
				n += 32
			case len(b) > 0:
				acc |= uint64(b[0]) << n
				b = b[1:]
				n += 8
			default:
				return errHybrid
			}
		}
		dst[i] = T(acc & mask)
		acc >>= width
		n -= width
	}
	r.bits, r.acc, r.n = b, acc, n
	return nil
}
