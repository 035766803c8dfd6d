package aggregate

import (
	"encoding/binary"
	"math/bits"
)

func trailingZeros(w uint64) int { return bits.TrailingZeros64(w) }

// keyByte returns byte i of the six of a key.
func keyByte(key uint64, i int) byte { return byte(key >> (8 * (5 - i))) }

// appendNode appends the tree of slots, whose keys are ascending and have their first depth bytes in common. The first slot
// is the one at this place of all.
func appendNode(dst []byte, slots []slot, depth, place int) []byte {
	first, last := slots[0].key, slots[len(slots)-1].key
	if len(slots) == 1 {
		var key [8]byte
		binary.BigEndian.PutUint64(key[:], first)
		dst = append(dst, 4, 0, 0, 0)
		return binary.LittleEndian.AppendUint64(append(dst, key[2:]...), uint64(place))
	}
	at := depth // the byte in which they differ
	for keyByte(first, at) == keyByte(last, at) {
		at++
	}
	var ends []int // of each child
	var labels []byte
	for i := range slots {
		if b := keyByte(slots[i].key, at); i == 0 || b != labels[len(labels)-1] {
			labels, ends = append(labels, b), append(ends, i)
		}
	}
	ends = append(ends[1:], len(slots))
	kind := byte(3)
	switch {
	case len(labels) <= 4:
		kind = 0
	case len(labels) <= 16:
		kind = 1
	case len(labels) <= 48:
		kind = 2
	}
	dst = binary.LittleEndian.AppendUint16(append(dst, kind), uint16(len(labels)))
	dst = append(dst, byte(at-depth))
	for i := depth; i < at; i++ {
		dst = append(dst, keyByte(first, i))
	}
	dst = appendLabels(dst, kind, labels)
	from := 0
	for _, end := range ends {
		dst = appendNode(dst, slots[from:end], at+1, place+from)
		from = end
	}
	return dst
}

// appendLabels appends the body of an inner node.
func appendLabels(dst []byte, kind byte, labels []byte) []byte {
	body := make([]byte, nodeBody[kind])
	switch kind {
	case 0:
		for i, l := range labels {
			body[3-i] = l
		}
	case 1:
		for i, l := range labels {
			body[i^7] = l
		}
	case 2:
		for i := range body {
			body[i] = 0xff
		}
		for i, l := range labels {
			body[int(l)^7] = byte(i)
		}
	default:
		for _, l := range labels {
			body[l>>3] |= 1 << (l & 7)
		}
	}
	return append(dst, body...)
}
