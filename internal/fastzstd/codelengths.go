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

	merged [2][512]uint32 // a level's leaves and pairs of the level below
	isLeaf [maxCodeBits][512]bool
}

// lengthLimit is how long codes of n literals may be, where the lengths of many rare symbols would take more to tell than they save.
func lengthLimit(n, symbols int) int {
	return min(max(bits.Len(uint(n-1))-2, bits.Len(uint(symbols-1))+1), maxCodeBits)
}

// choose returns how many codes of each length are best for the sorted keys, or nearly so.
func (t *huffmanTree) choose(keys []uint32) lengths {
	n, best := t.join(keys)
	limit := lengthLimit(n, len(keys))
	ofLength, excess := t.descend(len(keys), limit)
	if excess == 0 {
		return ofLength
	}
	ofLength = makeRoom(keys, ofLength, limit, excess)
	if most := int(keys[len(keys)-1] >> 8); most > n/8 && ofLength.bits(keys)-best > best>>11 {
		return t.merge(keys, limit)
	}
	return ofLength
}

// join makes the tree, after Huffman: the two rarest nodes get a parent that counts as both. Parents are made from the rarest on, so that the
// rarest node is always the next leaf or the next parent. It returns the number of literals, and of the bits they take.
func (t *huffmanTree) join(keys []uint32) (literals, bits int) {
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
		bits += int(sum) // each of them takes one here
		literals = int(sum)
	}
	return literals, bits
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

// bits is how many bits the literals take.
func (l *lengths) bits(keys []uint32) (sum int) {
	at := 0
	for length := maxCodeBits; length > 0; length-- {
		for _, k := range keys[at : at+l[length]] {
			sum += int(k>>8) * length
		}
		at += l[length]
	}
	return sum
}

// fitting is a change of the lengths of sorted keys, which stay in their order.
type fitting struct {
	keys     []uint32
	limit    int
	ofLength lengths
	first    lengths // the rarest key of each
}

// makeRoom returns lengths that leave room for excess more of the longest codes. First those codes get longer that cost the fewest bits for the
// room it makes: one that gets longer by one makes half of its room free. What is free in the end goes to the codes that are worth the most.
// Then a code of each length is tried if the room of one that gets longer is worth more to others. This is quick, and best or nearly so unless
// a few symbols are most of the literals.
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
		f.lengthen(best)
		excess -= 1 << (limit - 1 - best)
	}
	f.fill(-excess)
	for length := 1; length < limit-1; length++ {
		if f.ofLength[length] == 0 {
			continue
		}
		other := f
		cost := other.lengthen(length)
		if other.fill(1<<(limit-1-length)) > cost {
			f = other
		}
	}
	return f.ofLength
}

// lengthen makes the rarest code of a length longer by one and returns what that costs.
func (f *fitting) lengthen(length int) int {
	at := f.first[length]
	f.ofLength[length]--
	f.ofLength[length+1]++
	f.first[length]++
	return int(f.keys[at] >> 8)
}

// fill makes codes shorter by one that save the most for the room they take, until so much room is taken, and returns what that saves. As all
// codes and the room make a power of two, there is always a code that takes no more than the room.
func (f *fitting) fill(room int) (saved int) {
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
		saved += int(most >> best)
	}
	return saved
}

// merge returns the best lengths within the limit, after Larmore and Hirschberg: on each level there are the leaves, and pairs of what is on
// the level below, by their counts. Of the top level the first 2n-2 are taken, below those that are in pairs that were taken; a symbol's code
// is as long as its leaf was taken often.
func (t *huffmanTree) merge(keys []uint32, limit int) (ofLength lengths) {
	n, below := len(keys), []uint32(nil)
	for level := range limit {
		here, isLeaf := &t.merged[level&1], &t.isLeaf[level]
		size, leaf, pair := 0, 0, 0
		for ; leaf < n || pair+1 < len(below); size++ {
			both := uint32(math.MaxUint32)
			if pair+1 < len(below) {
				both = below[pair] + below[pair+1]
			}
			here[size] = both
			isLeaf[size] = leaf < n && keys[leaf]>>8 <= both
			if isLeaf[size] {
				here[size] = keys[leaf] >> 8
				leaf++
			} else {
				pair += 2
			}
		}
		below = here[:size]
	}
	before, taken := n, 2*n-2
	for length := range limit {
		leaves := 0 // of codes that are longer
		for _, leaf := range t.isLeaf[limit-1-length][:taken] {
			if leaf {
				leaves++
			}
		}
		ofLength[length] = before - leaves
		before, taken = leaves, 2*(taken-leaves)
	}
	ofLength[limit] = before
	return ofLength
}
