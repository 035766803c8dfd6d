package row

import (
	"encoding/binary"
	"math/bits"
)

// hashWord mixes one little-endian word into a Murmur3 state.
func hashWord(h, k uint32) uint32 {
	k *= 0xcc9e2d51
	k = bits.RotateLeft32(k, 15)
	k *= 0x1b873593
	h = bits.RotateLeft32(h^k, 13)
	return h*5 + 0xe6546b64
}

// hashEnd finishes a Murmur3 state over n bytes.
func hashEnd(h uint32, n int) int32 {
	h ^= uint32(n)
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return int32(h ^ h>>16)
}

// Hash is Java's BinaryRow.hashCode: Murmur3 with seed 42 over the row bytes without the arity, whose length is a multiple
// of 8. It assigns buckets, of fixed and dynamic bucket tables alike.
func Hash(rowBytes []byte) int32 {
	h, n := uint32(42), len(rowBytes)
	for b := rowBytes; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		h = hashWord(hashWord(h, uint32(w)), uint32(w>>32))
	}
	return hashEnd(h, n)
}

// Bucket is DefaultBucketFunction: the magnitude of the truncated remainder.
func Bucket(hash int32, n int) int32 {
	b := hash % int32(n)
	if b < 0 {
		return -b
	}
	return b
}
