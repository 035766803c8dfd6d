package aggregate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/paimon-go/paimon-go/format/row"
)

// bitmap64 joins bitmaps of 64-bit numbers in the form in which Java's Roaring64Bitmap (1.2) writes itself, which is not the
// portable one of other languages. All of it is little endian but for the keys:
//
//	byte    0: it is empty and nothing follows; 1
//	int64   number of leaves of the tree
//	        the tree, depth first, of the numbers' high 48 bits: the keys. A node is
//	          byte    0 to 3: it has up to 4, 16, 48, 256 children; 4: a leaf
//	          int16   number of children
//	          byte    length of the prefix, which follows: bytes that its keys have in common, after those of the nodes above
//	          body    of a leaf: 6 bytes of key, big endian; int64 place of its container (high half: list; low half: in the list)
//	                  of 4: the children's bytes, last of four first; of 16: those of two times eight, last of eight first
//	                  of 48: for each byte value the child's number or ff, in groups of eight, last of eight first
//	                  of 256: a bit for each byte value that has a child
//	          the children in order of their bytes
//	int32   number of lists of containers, each
//	          byte    -2
//	          int32   number of places, each
//	            byte    0: it is free; 1: a container of the low 16 bits follows
//	            byte    0: runs; 1: bits; 2: numbers
//	            int32   how many numbers it has
//	                    the container as in the portable form
//	int64   number of containers
//	int32   number of the last list, int32 last place taken in it
type bitmap64 struct {
	noState
	noRetract
	out []byte
}

// slot is the numbers that have the same high 48 bits, as numbers of 16 bits.
type slot struct {
	key  uint64 // of 48 bits
	bits *roaring.Bitmap
}

func newBitmap64(t *row.Type, _ params) (Func, error) {
	if t.Root != row.VarBinary {
		return nil, needs("VARBINARY or BYTES", t)
	}
	return &bitmap64{}, nil
}

func (f *bitmap64) Add(acc, in *row.Column, i int) error {
	if skipNull(acc, in, i) {
		return nil
	}
	a, err := decode64(acc.Value(0))
	if err != nil {
		return err
	}
	b, err := decode64(in.Value(i))
	if err != nil {
		return err
	}
	if f.out, err = encode64(f.out[:0], join64(a, b)); err != nil {
		return err
	}
	acc.Reset()
	acc.AppendBytes(f.out)
	return nil
}

// join64 joins two lists in order of their keys.
func join64(a, b []slot) []slot {
	var out []slot
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].key < b[0].key:
			out, a = append(out, a[0]), a[1:]
		case a[0].key > b[0].key:
			out, b = append(out, b[0]), b[1:]
		default:
			a[0].bits.Or(b[0].bits)
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

var errBitmap64 = errors.New("they end too early or contradict themselves")

// reader64 takes a bitmap apart. After an error it gives zeros.
type reader64 struct {
	b   []byte
	bad bool
}

func (r *reader64) take(n int) []byte {
	if r.bad || n > len(r.b) || n < 0 {
		r.bad = true
		return make([]byte, min(max(n, 0), 8))
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader64) byte() byte { return r.take(1)[0] }
func (r *reader64) int16() int { return int(binary.LittleEndian.Uint16(r.take(2))) }
func (r *reader64) int32() int { return int(int32(binary.LittleEndian.Uint32(r.take(4)))) }
func (r *reader64) int64() int { return int(binary.LittleEndian.Uint64(r.take(8))) }

// decode64 returns the slots of a bitmap in order of their keys.
func decode64(v []byte) ([]slot, error) {
	r := &reader64{b: v}
	var slots []slot
	switch r.byte() {
	case 0:
	case 1:
		leaves := map[uint64]uint64{} // key by place
		r.int64()
		r.node(leaves, 0)
		slots = r.containers(leaves)
	default:
		r.bad = true
	}
	if r.bad {
		return nil, fmt.Errorf("%d bytes that are no 64-bit Roaring bitmap of Java's: %w", len(v), errBitmap64)
	}
	slices.SortFunc(slots, func(a, b slot) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	return slots, nil
}

// nodeBody is the length of the body of inner nodes.
var nodeBody = [4]int{4, 16, 256, 32}

// node reads a node and those below it.
func (r *reader64) node(leaves map[uint64]uint64, depth int) {
	kind, children := r.byte(), r.int16()
	r.take(int(r.byte())) // the leaves have their keys in full
	switch {
	case r.bad:
	case kind == 4:
		var key [8]byte
		copy(key[2:], r.take(6))
		place := uint64(r.int64())
		if _, twice := leaves[place]; twice {
			r.bad = true
		}
		leaves[place] = binary.BigEndian.Uint64(key[:])
	case kind > 4 || depth > 6:
		r.bad = true
	default:
		r.take(nodeBody[kind])
		for range children {
			if r.node(leaves, depth+1); r.bad {
				return
			}
		}
	}
}

func (r *reader64) containers(leaves map[uint64]uint64) (slots []slot) {
	for list := range r.int32() {
		if r.byte(); r.bad {
			return nil
		}
		for place := range r.int32() {
			if r.bad {
				return nil
			}
			if r.byte() == 0 {
				continue
			}
			key, ok := leaves[uint64(list)<<32|uint64(place)]
			bits := r.container()
			if !ok || bits == nil {
				r.bad = true
				return nil
			}
			slots = append(slots, slot{key, bits})
		}
	}
	r.bad = r.bad || len(slots) != len(leaves)
	return slots
}

// The portable form of a bitmap with one container: what comes before its runs, or before its numbers or bits.
const (
	cookieRuns    = 12347
	cookieNoRuns  = 12346
	headerRuns    = 9
	headerNoRuns  = 16
	mostInNumbers = 4096 // of a container that lists its numbers
)

// container reads a container by way of the portable form. It returns nil when it is not sound.
func (r *reader64) container() *roaring.Bitmap {
	kind, n := r.byte(), r.int32()
	var text []byte
	if kind == 0 {
		text = append(binary.LittleEndian.AppendUint32(nil, cookieRuns), 1)
		text = binary.LittleEndian.AppendUint16(text, 0)
		text = binary.LittleEndian.AppendUint16(text, uint16(n-1))
		runs := r.take(2)
		text = append(append(text, runs...), r.take(4*int(binary.LittleEndian.Uint16(runs)))...)
	} else {
		if kind > 2 || n < 1 || n > 1<<16 || (kind == 2) != (n <= mostInNumbers) {
			return r.odd(kind, n)
		}
		for _, v := range []uint32{cookieNoRuns, 1, uint32(n-1) << 16, headerNoRuns} {
			text = binary.LittleEndian.AppendUint32(text, v)
		}
		text = append(text, r.take(containerBytes(n))...)
	}
	b := roaring.New()
	if r.bad || b.UnmarshalBinary(text) != nil || b.Validate() != nil {
		return nil
	}
	return b
}

// odd reads a container of a kind that is not usual for its number of numbers.
func (r *reader64) odd(kind byte, n int) *roaring.Bitmap {
	b := roaring.New()
	switch {
	case kind == 1:
		for i := range 1024 {
			for w := uint64(r.int64()); w != 0; w &= w - 1 {
				b.AddInt(i*64 + trailingZeros(w))
			}
		}
	case kind == 2 && n > 0 && n <= 1<<16:
		for range n {
			b.AddInt(r.int16())
		}
	}
	if b.IsEmpty() {
		return nil
	}
	return b
}

// containerBytes is the length of n numbers, or of their bits.
func containerBytes(n int) int {
	if n <= mostInNumbers {
		return 2 * n
	}
	return 8192
}

// encode64 appends a bitmap.
func encode64(dst []byte, slots []slot) ([]byte, error) {
	le := binary.LittleEndian
	if len(slots) == 0 {
		return append(dst, 0), nil
	}
	dst = le.AppendUint64(append(dst, 1), uint64(len(slots)))
	dst = appendNode(dst, slots, 0, 0)
	dst = le.AppendUint32(dst, 1)
	dst = le.AppendUint32(append(dst, 0xfe), uint32(len(slots)))
	for _, s := range slots {
		s.bits.RunOptimize()
		text, err := s.bits.ToBytes()
		if err != nil {
			return nil, err
		}
		n := int(s.bits.GetCardinality())
		kind := byte(2)
		switch {
		case le.Uint16(text) == cookieRuns:
			kind, text = 0, text[headerRuns:]
		default:
			if n > mostInNumbers {
				kind = 1
			}
			text = text[headerNoRuns:]
		}
		dst = append(le.AppendUint32(append(dst, 1, kind), uint32(n)), text...)
	}
	dst = le.AppendUint64(dst, uint64(len(slots)))
	return le.AppendUint32(le.AppendUint32(dst, 0), uint32(len(slots)-1)), nil
}
