package lsm

import "github.com/paimon-go/paimon-go/format/row"

// lastRecord folds a stream of records, in the order of keys and of their arrival, to the last one of each key. It copies
// columns of many records at once, where a MergeFunc is asked for every record.
type lastRecord struct {
	dropBefore bool       // -U records don't count
	held       *KeyValues // the last record so far of the key that the records before ended in, none or one
	idx        []int32
}

// add takes the records of kv; newKey tells of each whether its key is another than that of the record before.
func (l *lastRecord) add(kv *KeyValues, newKey []bool, out *KeyValues) {
	l.idx = l.idx[:0]
	last := int32(-1)
	for i, k := range kv.Rows.Kinds {
		if newKey[i] {
			if last >= 0 {
				l.idx = append(l.idx, last)
				last = -1
			} else {
				l.finish(out) // idx is empty as long as something is held
			}
		}
		if k == row.UpdateBefore && l.dropBefore {
			continue
		}
		if last < 0 && l.held.Len() > 0 {
			l.held.Reset() // this is a newer record of its key
		}
		last = int32(i)
	}
	out.appendGather(kv, l.idx)
	if last >= 0 {
		l.held.AppendRange(kv, int(last), int(last)+1)
	}
}

// finish appends the record of the last key.
func (l *lastRecord) finish(out *KeyValues) {
	out.AppendRange(l.held, 0, l.held.Len())
	l.held.Reset()
}
