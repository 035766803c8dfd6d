package fastzstd

import (
	"math"
	"math/bits"
)

// lengths says how many codes there are of each length.
type lengths [maxCodeBits + 1]int

// huffmanTree finds the lengths of codes. Keys are counts and symbols (count<<8 | symbol), sorted, with a greater one behind them.
type huffmanTree struct {
	sums    [256]uint32 // of the counts below an inner node
	parents [256]uint8  // of inner nodes
	depths  [256]uint8
}

// lengthLimit is how long codes of n literals may be, where the lengths of many rare symbols would take more to tell than they save.
func lengthLimit(n, symbols int) int {
	return min(max(bits.Len(uint(n-1))-2, bits.Len(uint(symbols-1))+1), maxCodeBits)
}

// choose returns how many codes of each length are best for the sorted keys, or nearly so.
func (t *huffmanTree) choose(keys []uint32) lengths {
	n := t.join(keys)
	limit := lengthLimit(n, len(keys))
	ofLength, excess := t.descend(len(keys), limit)
	if excess == 0 {
		return ofLength
	}
	return makeRoom(keys, ofLength, limit, excess)
}

// join makes the tree, after Huffman: the two rarest nodes get a parent that counts as both. Parents are made from the rarest on, so that the
// rarest node is always the next leaf or the next parent. It returns the number of literals.
func (t *huffmanTree) join(keys []uint32) (literals int) {
	leaves := keys[:len(keys)+1]
	for i := range t.sums[:len(keys)] {
		t.sums[i] = math.MaxUint32
	}
	leaf, inner := 0, uint8(0)
	for made := range len(keys) - 1 {
		sum := uint32(0)
		for range 2 {
			if c := leaves[leaf] >> 8; c <= t.sums[inner] {
				sum += c
				leaf++
			} else {
				sum += t.sums[inner]
				t.parents[inner] = uint8(made)
				inner++
			}
		}
		t.sums[made] = sum
		literals = int(sum)
	}
	return literals
}

// descend goes down the tree of n leaves. Each inner node takes the place of a code and makes two that are longer by one. Codes over the limit
// are cut to it, so that the two of a node from there on are one more than there is room for.
func (t *huffmanTree) descend(n, limit int) (ofLength lengths, excess int) {
	t.depths[n-2] = 0
	ofLength[1] = 2
	for i := n - 3; i >= 0; i-- {
		depth := t.depths[t.parents[i]] + 1
		t.depths[i] = depth
		if int(depth) >= limit {
			excess++
			ofLength[limit]++
			continue
		}
		ofLength[depth]--
		ofLength[depth+1] += 2
	}
	return ofLength, excess
}

// fitting is a change of the lengths of sorted keys, which stay in their order.
type fitting struct {
	keys     []uint32
	limit    int
	ofLength lengths
	first    lengths // the rarest key of each
}

// makeRoom returns lengths that leave room for excess more of the longest codes. Those codes get longer that cost the fewest bits for the room
// it makes: one that gets longer by one makes half of its room free. What is free in the end goes to the codes that are worth the most. The best
// lengths, which a search over all would find, save less than a thousandth more.
func makeRoom(keys []uint32, ofLength lengths, limit, excess int) lengths {
	f := fitting{keys: keys, limit: limit, ofLength: ofLength}
	for length := limit; length > 1; length-- {
		f.first[length-1] = f.first[length] + f.ofLength[length]
	}
	for excess > 0 {
		best, least, most := 0, 1, 0
		for length := 1; length < limit; length++ {
			if f.ofLength[length] == 0 {
				continue
			}
			room := min(1<<(limit-1-length), excess)
			if cost := int(keys[f.first[length]] >> 8); cost*most < least*room {
				best, least, most = length, cost, room
			}
		}
		f.ofLength[best]--
		f.ofLength[best+1]++
		f.first[best]++
		excess -= 1 << (limit - 1 - best)
	}
	f.fill(-excess)
	return f.ofLength
}

// fill makes codes shorter by one that save the most for the room they take, until so much room is taken. As all codes and
// the room make a power of two, there is always a code that takes no more than the room.
func (f *fitting) fill(room int) {
	for room > 0 {
		best, most := 0, uint32(0)
		for length := f.limit + 1 - bits.Len(uint(room)); length <= f.limit; length++ {
			if f.ofLength[length] == 0 {
				continue
			}
			last := f.first[length] + f.ofLength[length] - 1
			if worth := f.keys[last] >> 8 << length; worth > most {
				best, most = length, worth
			}
		}
		f.ofLength[best]--
		f.ofLength[best-1]++
		f.first[best-1]--
		room -= 1 << (f.limit - best)
	}
}
