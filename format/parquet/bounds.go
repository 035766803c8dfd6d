package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/paimon-go/paimon-go/format/row"
)

type boundsKind uint8

const (
	boundsNone  boundsKind = iota // INT96 has no order
	boundsBool                    // false before true
	boundsI32                     // signed
	boundsI64                     // signed
	boundsF32                     // NaN takes all bounds away
	boundsF64                     // so too
	boundsBytes                   // unsigned bytes
	boundsText                    // unsigned bytes, cut between characters
	boundsFixed                   // a signed big-endian number
)

func boundsKindOf(leaf *node) boundsKind {
	switch leaf.phys {
	case pBoolean:
		return boundsBool
	case pInt32:
		return boundsI32
	case pInt64:
		return boundsI64
	case pFloat:
		return boundsF32
	case pDouble:
		return boundsF64
	case pFixed:
		return boundsFixed
	case pByteArray:
		if leaf.typ.Root == row.Char || leaf.typ.Root == row.VarChar {
			return boundsText
		}
		return boundsBytes
	}
	return boundsNone
}

// bounds are the least and the greatest of the values seen.
type bounds struct {
	kind       boundsKind
	set, nan   bool
	minI, maxI int64
	minF, maxF float64
	minB, maxB []byte
}

func (b *bounds) reset() {
	*b = bounds{kind: b.kind, minB: b.minB[:0], maxB: b.maxB[:0]}
}

// update takes v's values in.
func (b *bounds) update(v *values) {
	if v.n == 0 {
		return
	}
	switch b.kind {
	case boundsBool, boundsI32:
		lo, hi := v.i32[0], v.i32[0]
		for _, x := range v.i32 {
			lo, hi = min(lo, x), max(hi, x)
		}
		b.ints(int64(lo), int64(hi))
	case boundsI64:
		lo, hi := v.i64[0], v.i64[0]
		for _, x := range v.i64 {
			lo, hi = min(lo, x), max(hi, x)
		}
		b.ints(lo, hi)
	case boundsF32:
		for _, x := range v.i32 {
			b.float(float64(math.Float32frombits(uint32(x))))
		}
	case boundsF64:
		for _, x := range v.i64 {
			b.float(math.Float64frombits(uint64(x)))
		}
	case boundsBytes, boundsText, boundsFixed:
		if !b.set {
			b.minB, b.maxB, b.set = append(b.minB[:0], v.value(0)...), append(b.maxB[:0], v.value(0)...), true
		}
		lo, hi := b.minB, b.maxB
		// Most values are told to lie between by their first bytes. A signed number's order isn't that of its bytes.
		loHead, hiHead := head(lo), head(hi)
		heads := b.kind != boundsFixed
		for i := range v.n {
			x := v.value(i)
			if heads && len(x) >= 8 {
				if h := binary.BigEndian.Uint64(x); h > loHead && h < hiHead {
					continue
				}
			}
			if b.compare(x, lo) < 0 {
				lo, loHead = x, head(x)
			} else if b.compare(x, hi) > 0 {
				hi, hiHead = x, head(x)
			}
		}
		b.minB, b.maxB = append(b.minB[:0], lo...), append(b.maxB[:0], hi...)
	}
}

// head returns the first eight bytes as a number in their order, those that are missing as zero.
func head(x []byte) uint64 {
	if len(x) >= 8 {
		return binary.BigEndian.Uint64(x)
	}
	var b [8]byte
	copy(b[:], x)
	return binary.BigEndian.Uint64(b[:])
}

func (b *bounds) ints(lo, hi int64) {
	if !b.set {
		b.set, b.minI, b.maxI = true, lo, hi
		return
	}
	b.minI, b.maxI = min(b.minI, lo), max(b.maxI, hi)
}

func (b *bounds) float(x float64) {
	switch {
	case x != x:
		b.nan = true
	case !b.set:
		b.set, b.minF, b.maxF = true, x, x
	default:
		if x < b.minF {
			b.minF = x
		}
		if x > b.maxF {
			b.maxF = x
		}
	}
}

// compare orders values made of bytes.
func (b *bounds) compare(x, y []byte) int {
	if b.kind == boundsFixed && len(x) > 0 && len(y) > 0 && (x[0]^y[0])&0x80 != 0 {
		return int(y[0]>>7) - int(x[0]>>7)
	}
	return bytes.Compare(x, y)
}

// merge takes the bounds of a page into those of its chunk.
func (b *bounds) merge(p *bounds) {
	b.nan = b.nan || p.nan
	if !p.set {
		return
	}
	switch b.kind {
	case boundsBool, boundsI32, boundsI64:
		b.ints(p.minI, p.maxI)
	case boundsF32, boundsF64:
		b.float(p.minF)
		b.float(p.maxF)
	default:
		if !b.set || b.compare(p.minB, b.minB) < 0 {
			b.minB = append(b.minB[:0], p.minB...)
		}
		if !b.set || b.compare(p.maxB, b.maxB) > 0 {
			b.maxB = append(b.maxB[:0], p.maxB...)
		}
		b.set = true
	}
}

// known reports whether there are bounds to write.
func (b *bounds) known() bool { return b.set && !b.nan }

// appendMin and appendMax append a bound in its PLAIN form, without a length. Zeros of floating point are made to include
// both signs, as the format wants.
func (b *bounds) appendMin(dst []byte) []byte {
	f := b.minF
	if f == 0 {
		f = math.Copysign(0, -1)
	}
	return b.append(dst, b.minI, f, b.minB)
}

func (b *bounds) appendMax(dst []byte) []byte {
	f := b.maxF
	if f == 0 {
		f = math.Abs(f)
	}
	return b.append(dst, b.maxI, f, b.maxB)
}

func (b *bounds) append(dst []byte, i int64, f float64, s []byte) []byte {
	switch b.kind {
	case boundsBool:
		return append(dst, byte(i))
	case boundsI32:
		return binary.LittleEndian.AppendUint32(dst, uint32(i))
	case boundsI64:
		return binary.LittleEndian.AppendUint64(dst, uint64(i))
	case boundsF32:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(f)))
	case boundsF64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
	}
	return append(dst, s...)
}

// compareBounds orders two bounds in their PLAIN form.
func compareBounds(kind boundsKind, x, y []byte) int {
	switch kind {
	case boundsBool:
		return int(x[0]) - int(y[0])
	case boundsI32:
		return order(int32(binary.LittleEndian.Uint32(x)), int32(binary.LittleEndian.Uint32(y)))
	case boundsI64:
		return order(int64(binary.LittleEndian.Uint64(x)), int64(binary.LittleEndian.Uint64(y)))
	case boundsF32:
		return order(math.Float32frombits(binary.LittleEndian.Uint32(x)), math.Float32frombits(binary.LittleEndian.Uint32(y)))
	case boundsF64:
		return order(math.Float64frombits(binary.LittleEndian.Uint64(x)), math.Float64frombits(binary.LittleEndian.Uint64(y)))
	}
	b := bounds{kind: kind}
	return b.compare(x, y)
}

func order[T int32 | int64 | float32 | float64](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

const (
	// indexBound is the most bytes of a bound in the page index, parquet.columnindex.truncate.length's default.
	indexBound = 64
	// chunkBounds is the most bytes that both bounds of a chunk may have; longer ones are left out, as Java does.
	chunkBounds = 4096
)

// cutMin shortens a lower bound.
func cutMin(kind boundsKind, v []byte) []byte {
	if kind != boundsBytes && kind != boundsText || len(v) <= indexBound {
		return v
	}
	return v[:cutAt(kind, v)]
}

// cutAt is where at most indexBound bytes end, for text between two characters.
func cutAt(kind boundsKind, v []byte) int {
	n := indexBound
	if kind == boundsText && utf8.Valid(v) {
		for !utf8.RuneStart(v[n]) {
			n--
		}
	}
	return n
}

// cutMax shortens an upper bound at the end of b in place, by rounding it up; when that can't be done it stays whole.
func cutMax(kind boundsKind, b []byte, from int) []byte {
	v := b[from:]
	if kind != boundsBytes && kind != boundsText || len(v) <= indexBound {
		return b
	}
	n := cutAt(kind, v)
	if kind == boundsText && utf8.Valid(v) {
		for n > 0 {
			r, size := utf8.DecodeLastRune(v[:n])
			n -= size
			if r++; r == 0xD800 {
				r = 0xE000
			}
			if r <= utf8.MaxRune {
				return utf8.AppendRune(b[:from+n], r)
			}
		}
		return b
	}
	for n > 0 {
		if n--; v[n] != 0xFF {
			v[n]++
			return b[:from+n+1]
		}
	}
	return b
}
