package aggregate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
)

// theta joins Theta sketches of Apache DataSketches: sets of the smallest hashes of values. A sketch is, little endian:
//
//	byte    number of words of 8 bytes before the hashes; 1: there is none, or one that follows
//	byte    3, the version
//	byte    3: compact, the hashes lie one after the other; 2: in a table with zeros between
//	byte    unused in compact ones
//	byte    in others the logarithm of the table's size
//	byte    flags: 4 empty, 8 compact, 16 in order, 32 one hash only
//	int16   hash of the seed
//	int32   number of hashes, float32 1, if there are two words
//	int64   the bound below which all hashes are kept, if there are three
//	int64   each hash
type theta struct {
	noState
	noRetract
	hashes []uint64
	out    []byte
}

const (
	thetaMost = 4096 // hashes that are kept
	thetaAll  = math.MaxInt64
	thetaSeed = 0x93cc // hash of the usual seed
)

func newTheta(t *row.Type, _ params) (Func, error) {
	if t.Root != row.VarBinary {
		return nil, needs("VARBINARY or BYTES", t)
	}
	return &theta{}, nil
}

func (f *theta) Add(acc, in *row.Column, i int) error {
	if skipNull(acc, in, i) {
		return nil
	}
	f.hashes = f.hashes[:0]
	boundA, emptyA, err := f.read(acc.Value(0))
	if err != nil {
		return err
	}
	boundB, emptyB, err := f.read(in.Value(i))
	if err != nil {
		return err
	}
	bound := min(boundA, boundB)
	slices.Sort(f.hashes)
	f.hashes = slices.Compact(f.hashes)
	n, _ := slices.BinarySearch(f.hashes, bound)
	if n > thetaMost {
		n, bound = thetaMost, f.hashes[thetaMost]
	}
	f.write(f.hashes[:n], bound, emptyA && emptyB)
	acc.Reset()
	acc.AppendBytes(f.out)
	return nil
}

var errTheta = errors.New("they end too early or are of an unknown form")

// read adds the hashes of a sketch.
func (f *theta) read(v []byte) (bound uint64, empty bool, err error) {
	bad := func() (uint64, bool, error) {
		return 0, false, fmt.Errorf("%d bytes that are no Theta sketch: %w", len(v), errTheta)
	}
	if len(v) < 16 {
		return thetaAll, true, nil // as in Java; those with a hash are longer
	}
	le := binary.LittleEndian
	words, flags := int(v[0]&0x3f), v[5]
	if flags&4 != 0 {
		return thetaAll, true, nil
	}
	if v[1] != 3 || v[2] != 2 && v[2] != 3 || words < 1 || words > 3 || len(v) < 8*words || le.Uint16(v[6:]) != thetaSeed {
		return bad()
	}
	n, bound := 1, uint64(thetaAll)
	if words > 1 {
		n = int(int32(le.Uint32(v[8:])))
	}
	if words > 2 {
		bound = le.Uint64(v[16:])
	}
	if v[2] == 2 {
		if v[4] > 26 || words != 3 {
			return bad()
		}
		n = 1 << v[4]
	}
	if n < 0 || len(v) < 8*(words+n) {
		return bad()
	}
	for i := range n {
		if h := le.Uint64(v[8*(words+i):]); h != 0 {
			f.hashes = append(f.hashes, h)
		}
	}
	return bound, false, nil
}

// write makes out a compact sketch.
func (f *theta) write(hashes []uint64, bound uint64, empty bool) {
	const flags = 2 | 8 | 16 // read-only, compact, in order
	le := binary.LittleEndian
	words := byte(3)
	switch {
	case empty:
		f.out = append(f.out[:0], 1, 3, 3, 0, 0, flags|4, 0, 0) // no seed
		return
	case bound == thetaAll && len(hashes) == 1:
		f.out = append(f.out[:0], 1, 3, 3, 0, 0, flags|32)
		f.out = le.AppendUint64(le.AppendUint16(f.out, thetaSeed), hashes[0])
		return
	case bound == thetaAll:
		words = 2
	}
	f.out = append(f.out[:0], words, 3, 3, 0, 0, flags)
	f.out = le.AppendUint32(le.AppendUint16(f.out, thetaSeed), uint32(len(hashes)))
	f.out = le.AppendUint32(f.out, math.Float32bits(1))
	if words == 3 {
		f.out = le.AppendUint64(f.out, bound)
	}
	for _, h := range hashes {
		f.out = le.AppendUint64(f.out, h)
	}
}
