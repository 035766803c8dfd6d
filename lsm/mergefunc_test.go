package lsm

import (
	"bytes"
	"slices"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/table"
)

// mergeAll merges records, which come in any order, as one merge of all runs would.
func mergeAll(s *table.Schema, o table.Options, merge MergeFunc, kv *KeyValues) (*KeyValues, error) {
	var keys []*row.Column
	for _, c := range s.KeyIndexes() {
		keys = append(keys, &kv.Rows.Cols[c])
	}
	idx := make([]int, kv.Len())
	key, order := make([][]byte, kv.Len()), make([][]byte, kv.Len())
	for i := range idx {
		idx[i] = i
		key[i] = row.AppendKey(nil, keys, i)
		for _, c := range s.SequenceIndexes() {
			order[i] = row.AppendSortField(order[i], &kv.Rows.Cols[c], i, o.Get(table.KeySequenceFieldSortOrder) == "descending")
		}
	}
	slices.SortFunc(idx, func(a, b int) int {
		if c := bytes.Compare(key[a], key[b]); c != 0 {
			return c
		}
		if c := bytes.Compare(order[a], order[b]); c != 0 {
			return c
		}
		return int(kv.Seq[a] - kv.Seq[b])
	})
	out := NewKeyValues(s.RowType())
	r := reducer{merge: merge, first: NewKeyValues(s.RowType())}
	for n, i := range idx {
		if err := r.add(kv, i, n == 0 || !bytes.Equal(key[i], key[idx[n-1]]), out); err != nil {
			return nil, err
		}
	}
	return out, r.finish(out)
}
