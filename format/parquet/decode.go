package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/paimon-go/paimon-go/format/row"
)

type decodeMode uint8

const (
	modePlain       decodeMode = iota
	modeDict                   // indexes into the dictionary
	modeRLE                    // booleans
	modeDelta                  // INT32, INT64
	modeDeltaLength            // lengths, then bytes
	modeDeltaBytes             // shared prefixes
)

// decoder decodes the values of a page in any of its encodings and converts them to the column's type on the way. All of
// them check what is left of the page before each value.
type decoder struct {
	r      *leafReader
	mode   decodeMode
	b      []byte // PLAIN values, or the bytes of the delta encodings
	bit    int    // of a PLAIN boolean within b[0]
	hybrid hybridReader
	idx    []uint32
	delta  deltaReader // numbers, or lengths of values
	pre    deltaReader // lengths of prefixes
	prefix []byte      // the last value
}

var errValues = errors.New("values are cut off")

func (d *decoder) plain(b []byte) { d.mode, d.b, d.bit = modePlain, b, 0 }

// start begins a page whose values are in b.
func (d *decoder) start(h *pageHeader, b []byte) error {
	phys := d.r.phys
	switch h.encoding {
	case encPlain:
		d.plain(b)
		return nil
	case encPlainDict, encRLEDict:
		d.mode = modeDict
		if !d.r.hasDict {
			return errors.New("dictionary indexes without a dictionary")
		}
		if len(b) == 0 {
			d.hybrid.reset(nil, 0) // a page of nulls
			return nil
		}
		if b[0] > 32 {
			return errHybrid
		}
		d.hybrid.reset(b[1:], int(b[0]))
		return nil
	case encRLE:
		if phys == pBoolean {
			d.mode = modeRLE
			if len(b) == 0 {
				d.hybrid.reset(nil, 1)
				return nil
			}
			if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
				return errValues
			}
			d.hybrid.reset(b[4:4+binary.LittleEndian.Uint32(b)], 1)
			return nil
		}
	case encDeltaBinary:
		if phys == pInt32 || phys == pInt64 {
			d.mode = modeDelta
			return d.delta.reset(b)
		}
	case encDeltaLength:
		if phys == pByteArray {
			d.mode = modeDeltaLength
			return d.startLengths(b)
		}
	case encDeltaByteArray:
		if phys == pByteArray || phys == pFixed {
			d.mode = modeDeltaBytes
			if err := d.pre.reset(b); err != nil {
				return err
			}
			rest, err := d.pre.end(b)
			if err != nil {
				return err
			}
			return d.startLengths(rest)
		}
	}
	if h.encoding == encByteSplit {
		return fmt.Errorf("encoding %d is %w", h.encoding, errUnsupported)
	}
	return fmt.Errorf("values of physical type %d in encoding %d", phys, h.encoding)
}

func (d *decoder) startLengths(b []byte) (err error) {
	if err := d.delta.reset(b); err != nil {
		return err
	}
	d.b, err = d.delta.end(b)
	return err
}

// read appends n values to dst, fewer when dst then has more than limit bytes, and returns how many.
func (d *decoder) read(dst *row.Column, n, limit int) (int, error) {
	if n == 0 {
		return 0, nil
	}
	switch d.mode {
	case modePlain:
		return d.readPlain(dst, n, limit)
	case modeDict:
		return d.readDict(dst, n, limit)
	case modeRLE:
		d.idx = resize(d.idx, n)
		if err := readHybrid(&d.hybrid, d.idx); err != nil {
			return 0, err
		}
		for _, v := range d.idx {
			dst.AppendI32(int32(v))
		}
		return n, nil
	case modeDelta:
		for range n {
			v, err := d.delta.next()
			if err != nil {
				return 0, err
			}
			if d.r.phys == pInt32 {
				v = int64(int32(v))
			}
			d.appendInt(dst, v)
		}
		return n, nil
	}
	for i := range n {
		v, err := d.deltaBytes()
		if err != nil {
			return 0, err
		}
		if err := d.appendBytes(dst, v); err != nil {
			return 0, err
		}
		if len(dst.Bytes) > limit {
			return i + 1, nil
		}
	}
	return n, nil
}

// deltaBytes decodes the next value of the two delta encodings of byte arrays.
func (d *decoder) deltaBytes() ([]byte, error) {
	n, err := d.delta.next()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > int64(len(d.b)) {
		return nil, errValues
	}
	v := d.b[:n]
	d.b = d.b[n:]
	if d.mode == modeDeltaLength {
		return v, nil
	}
	p, err := d.pre.next()
	if err != nil {
		return nil, err
	}
	if p < 0 || p > int64(len(d.prefix)) {
		return nil, errValues
	}
	d.prefix = append(d.prefix[:p], v...)
	return d.prefix, nil
}

func (d *decoder) readPlain(dst *row.Column, n, limit int) (int, error) {
	store := dst.Type.Store()
	width := d.r.width
	switch d.r.phys {
	case pBoolean:
		if (n+d.bit+7)/8 > len(d.b) {
			return 0, errValues
		}
		for range n {
			dst.AppendI32(int32(d.b[0] >> d.bit & 1))
			if d.bit++; d.bit == 8 {
				d.b, d.bit = d.b[1:], 0
			}
		}
		return n, nil
	case pInt32, pFloat:
		width = 4
	case pInt64, pDouble:
		width = 8
	case pByteArray:
		return d.plainBytes(dst, n, limit)
	}
	if n > len(d.b)/width {
		return 0, errValues
	}
	b := d.b[:n*width]
	d.b = d.b[n*width:]
	at := dst.N
	switch {
	case d.r.phys == pInt32 && store == row.StoreI32:
		dst.I32 = grown(dst.I32, n)[:at+n]
		for i := range n {
			dst.I32[at+i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case d.r.phys == pInt64 && store == row.StoreI64:
		dst.I64 = grown(dst.I64, n)[:at+n]
		for i := range n {
			dst.I64[at+i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case d.r.phys == pFloat && store == row.StoreF32:
		dst.F32 = grown(dst.F32, n)[:at+n]
		for i := range n {
			dst.F32[at+i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case d.r.phys == pFloat:
		for i := range n {
			dst.AppendF64(float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))))
		}
		return n, nil
	case d.r.phys == pDouble:
		dst.F64 = grown(dst.F64, n)[:at+n]
		for i := range n {
			dst.F64[at+i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case d.r.phys == pInt32:
		for i := range n {
			d.appendInt(dst, int64(int32(binary.LittleEndian.Uint32(b[4*i:]))))
		}
		return n, nil
	case d.r.phys == pInt64:
		for i := range n {
			d.appendInt(dst, int64(binary.LittleEndian.Uint64(b[8*i:])))
		}
		return n, nil
	case d.r.phys == pInt96:
		for i := range n {
			appendInt96(dst, b[i*width:(i+1)*width])
		}
		return n, nil
	default:
		for i := range n {
			if err := d.appendBytes(dst, b[i*width:(i+1)*width]); err != nil {
				return 0, err
			}
		}
		return n, nil
	}
	dst.N += n
	return n, nil
}

func (d *decoder) plainBytes(dst *row.Column, n, limit int) (int, error) {
	native := dst.Type.Store() == row.StoreBytes
	for i := range n {
		if len(d.b) < 4 {
			return 0, errValues
		}
		size := binary.LittleEndian.Uint32(d.b)
		if uint64(size) > uint64(len(d.b)-4) {
			return 0, errValues
		}
		v := d.b[4 : 4+size]
		d.b = d.b[4+size:]
		if !native {
			if err := d.appendBytes(dst, v); err != nil {
				return 0, err
			}
			continue
		}
		if len(dst.Bytes)+len(v) > maxColumnBytes {
			return 0, errTooLong
		}
		dst.AppendBytes(v)
		if len(dst.Bytes) > limit {
			return i + 1, nil
		}
	}
	return n, nil
}

var errTooLong = errors.New("more than 4 GiB of one column are in a batch")

// appendInt appends a whole number to a column of any type that INT32 and INT64 can become. Timestamps are in the unit of
// the type's precision, as Java takes them.
func (d *decoder) appendInt(dst *row.Column, v int64) {
	switch dst.Type.Store() {
	case row.StoreI32:
		dst.AppendI32(int32(v))
	case row.StoreI64:
		dst.AppendI64(v)
	case row.StoreI128:
		dst.AppendI128(row.Int128{Hi: v >> 63, Lo: uint64(v)})
	case row.StoreNanos:
		// No Paimon writer makes these; the unit is what other writers use for this precision.
		ms, ns := v/nanosOfMilli, v%nanosOfMilli
		if ns < 0 {
			ms, ns = ms-1, ns+nanosOfMilli
		}
		dst.AppendNanos(ms, int32(ns))
	}
}

func appendInt96(dst *row.Column, b []byte) {
	ms, ns := int96(b)
	switch {
	case dst.Type.Store() == row.StoreNanos:
		dst.AppendNanos(ms, ns)
	case dst.Type.Precision <= 3:
		dst.AppendI64(ms)
	default:
		dst.AppendI64(ms*1000 + int64(ns/1000))
	}
}

// appendBytes appends bytes to a column of strings or, as a big-endian number, of decimals.
func (d *decoder) appendBytes(dst *row.Column, v []byte) error {
	store := dst.Type.Store()
	if store == row.StoreBytes {
		if len(dst.Bytes)+len(v) > maxColumnBytes {
			return errTooLong
		}
		dst.AppendBytes(v)
		return nil
	}
	n, ok := int128(v)
	if store == row.StoreI128 && ok {
		dst.AppendI128(n)
		return nil
	}
	if !ok || n.Hi != int64(n.Lo)>>63 {
		return errors.New("a decimal doesn't fit its precision")
	}
	dst.AppendI64(int64(n.Lo))
	return nil
}

// readDict appends values by their indexes.
func (d *decoder) readDict(dst *row.Column, n, limit int) (int, error) {
	d.idx = resize(d.idx, n)
	state := d.hybrid
	if err := readHybrid(&d.hybrid, d.idx); err != nil {
		return 0, err
	}
	dict := &d.r.dict
	for _, i := range d.idx {
		if int(i) >= dict.N {
			return 0, errors.New("a dictionary index is out of range")
		}
	}
	switch dst.Type.Store() {
	case row.StoreI32:
		dst.I32 = take(dst.I32, dict.I32, d.idx)
	case row.StoreI64:
		dst.I64 = take(dst.I64, dict.I64, d.idx)
	case row.StoreF32:
		dst.F32 = take(dst.F32, dict.F32, d.idx)
	case row.StoreF64:
		dst.F64 = take(dst.F64, dict.F64, d.idx)
	case row.StoreI128:
		dst.I128 = take(dst.I128, dict.I128, d.idx)
	case row.StoreNanos:
		dst.I64 = take(dst.I64, dict.I64, d.idx)
		dst.I32 = take(dst.I32, dict.I32, d.idx)
	case row.StoreBytes:
		for k, i := range d.idx {
			v := dict.Value(int(i))
			if len(dst.Bytes)+len(v) > maxColumnBytes {
				return 0, errTooLong
			}
			dst.AppendBytes(v)
			if len(dst.Bytes) > limit && k+1 < n { // the rest is decoded again
				d.hybrid = state
				return k + 1, readHybrid(&d.hybrid, d.idx[:k+1])
			}
		}
		return n, nil
	}
	dst.N += n
	return n, nil
}

func take[T any](dst, dict []T, idx []uint32) []T {
	at := len(dst)
	dst = grown(dst, len(idx))[:at+len(idx)]
	for i, k := range idx {
		dst[at+i] = dict[k]
	}
	return dst
}
