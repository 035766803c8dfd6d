package hashindex

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// Place is where a key is: in a partition, which the caller numbers, and a bucket of it.
type Place struct{ Partition, Bucket int32 }

// Keys says where the keys of a table are, whatever their size: a hash table in mapped memory like that of a partition, of 24 bytes a slot.
// A slot has 128 bits of the key's hash, the partition plus one, 0 for a free slot, and the bucket. The hash is seeded at random in each
// process: among a billion keys two are taken for one with a probability of 1 to 10²⁰, whoever chose them.
//
// It belongs to one goroutine.
type Keys struct {
	store *Store
	seeds [2]maphash.Seed
	b     []byte
	slots uint64
	n     uint64
}

const (
	keySlot     = 24
	minKeySlots = 1 << 12
)

// NewKeys returns an empty table with room for about so many keys; it grows.
func NewKeys(s *Store, keys int64) (*Keys, error) {
	k := &Keys{store: s, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	return k, k.make(max(minKeySlots, uint64(keys)+uint64(keys)/2))
}

func (k *Keys) make(slots uint64) (err error) {
	if k.b, err = mapped(k.store.dir(), int(slots*keySlot)); err == nil {
		k.slots = slots
		k.store.mapped.Add(int64(len(k.b)))
	}
	return err
}

// Len returns the number of keys.
func (k *Keys) Len() int64 { return int64(k.n) }

// Get returns the place of a key.
func (k *Keys) Get(key []byte) (Place, bool) {
	_, p, ok := k.find(maphash.Bytes(k.seeds[0], key), maphash.Bytes(k.seeds[1], key))
	return p, ok
}

// Put sets the place of a key and returns the one it had. After an error the table is useless.
func (k *Keys) Put(key []byte, p Place) (before Place, known bool, err error) {
	h1, h2 := maphash.Bytes(k.seeds[0], key), maphash.Bytes(k.seeds[1], key)
	slot, before, known := k.find(h1, h2)
	k.put(slot, h1, h2, p)
	if !known {
		if k.n++; k.n >= k.slots-k.slots/4 {
			err = k.grow()
		}
	}
	return before, known, err
}

// find returns the slot of a hash, or where it would go and false. Slots are in the order of hashes but for those that a taken slot
// sent on, so growing reads and writes from the beginning to the end.
func (k *Keys) find(h1, h2 uint64) (slot uint64, p Place, ok bool) {
	slot, _ = bits.Mul64(h1, k.slots)
	for {
		b := k.b[slot*keySlot : slot*keySlot+keySlot]
		partition := binary.LittleEndian.Uint32(b[16:])
		if partition == 0 {
			return slot, Place{}, false
		}
		if binary.LittleEndian.Uint64(b) == h1 && binary.LittleEndian.Uint64(b[8:]) == h2 {
			return slot, Place{int32(partition - 1), int32(binary.LittleEndian.Uint32(b[20:]))}, true
		}
		if slot++; slot == k.slots {
			slot = 0
		}
	}
}

func (k *Keys) put(slot, h1, h2 uint64, p Place) {
	b := k.b[slot*keySlot : slot*keySlot+keySlot]
	binary.LittleEndian.PutUint64(b, h1)
	binary.LittleEndian.PutUint64(b[8:], h2)
	binary.LittleEndian.PutUint32(b[16:], uint32(p.Partition)+1)
	binary.LittleEndian.PutUint32(b[20:], uint32(p.Bucket))
}

// grow makes the table half as large again.
func (k *Keys) grow() error {
	old := k.b
	if err := k.make(k.slots + k.slots/2); err != nil {
		k.b = old
		return err
	}
	for at := 0; at < len(old); at += keySlot {
		b := old[at : at+keySlot]
		if partition := binary.LittleEndian.Uint32(b[16:]); partition != 0 {
			h1, h2 := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			slot, _, _ := k.find(h1, h2)
			k.put(slot, h1, h2, Place{int32(partition - 1), int32(binary.LittleEndian.Uint32(b[20:]))})
		}
	}
	k.store.mapped.Add(-int64(len(old)))
	unmap(old)
	return nil
}

// Close gives the memory up.
func (k *Keys) Close() {
	if k.b != nil {
		k.store.mapped.Add(-int64(len(k.b)))
		unmap(k.b)
		k.b = nil
	}
}
