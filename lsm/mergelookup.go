package lsm

// lookupFold collects the records of a key in tables that need lookup. There a compaction merges a record of level 0 with
// what deeper levels have, so a level below 0 holds all that lies deeper: of the records above level 0 only that of the
// least level counts (Java's LookupMergeFunction).
type lookupFold struct {
	kv     *KeyValues
	levels []int
}

func (l *lookupFold) add(kv *KeyValues, i, level int) {
	l.kv.AppendRange(kv, i, i+1)
	l.levels = append(l.levels, level)
}

// fold gives the records that count to f, and forgets all.
func (l *lookupFold) fold(f MergeFunc) error {
	least := 0
	for _, v := range l.levels {
		if v > 0 && (least == 0 || v < least) {
			least = v
		}
	}
	for i, v := range l.levels {
		if v > 0 && v != least {
			continue
		}
		if err := f.Add(l.kv, i); err != nil {
			return err
		}
	}
	l.kv.Reset()
	l.levels = l.levels[:0]
	return nil
}
