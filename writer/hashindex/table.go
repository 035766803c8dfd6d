package hashindex

import "encoding/binary"

// hashTable maps hashes to buckets, in mapped memory. A slot has 6 bytes: the hash, and the bucket plus one, 0 for a free slot. The slot
// of a hash is where it stands among all hashes, so a larger table is made of this one from its beginning to its end; a slot that
// is taken sends it on to the next free one.
type hashTable struct {
	b     []byte // slots and two bytes more, so that a slot may be read as 8
	slots uint64
	n     uint64
}

const (
	slotBytes = 6
	minSlots  = 680 // a page
)

// slotsFor leaves a third of the slots free.
func slotsFor(n int64) uint64 { return max(minSlots, uint64(n)+uint64(n)/2) }

func newTable(s *Store, slots uint64) (hashTable, error) {
	size := int(slots*slotBytes + 2)
	b, err := mapped(s.dir(), size)
	if err != nil {
		return hashTable{}, err
	}
	s.mapped.Add(int64(size))
	return hashTable{b: b, slots: slots}, nil
}

func (t *hashTable) close(s *Store) {
	if t.b != nil {
		s.mapped.Add(-int64(len(t.b)))
		unmap(t.b)
	}
	*t = hashTable{}
}

// find returns the bucket of a hash, or where it would go and false.
func (t *hashTable) find(hash int32) (bucket int32, slot uint64, ok bool) {
	slot = uint64(uint32(hash)) * t.slots >> 32
	for {
		v := binary.LittleEndian.Uint64(t.b[slot*slotBytes:])
		bucket := int32(v >> 32 & 0xffff)
		if bucket == 0 {
			return 0, slot, false
		}
		if int32(v) == hash {
			return bucket - 1, slot, true
		}
		if slot++; slot == t.slots {
			slot = 0
		}
	}
}

// put fills the slot that find returned.
func (t *hashTable) put(slot uint64, hash, bucket int32) {
	p := t.b[slot*slotBytes : slot*slotBytes+slotBytes]
	binary.LittleEndian.PutUint32(p, uint32(hash))
	binary.LittleEndian.PutUint16(p[4:], uint16(bucket+1))
	t.n++
}

// full tells whether another hash would make searches long.
func (t *hashTable) full() bool { return t.n >= t.slots-t.slots/4 }

// grow makes the table half as large again.
func (t *hashTable) grow(s *Store) error {
	larger, err := newTable(s, t.slots+t.slots/2)
	if err != nil {
		return err
	}
	for i := range t.slots {
		v := binary.LittleEndian.Uint64(t.b[i*slotBytes:])
		if bucket := int32(v >> 32 & 0xffff); bucket != 0 {
			_, slot, _ := larger.find(int32(v))
			larger.put(slot, int32(v), bucket-1)
		}
	}
	t.close(s)
	*t = larger
	return nil
}
