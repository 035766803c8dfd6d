package lsm

import (
	"fmt"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/lsm/aggregate"
)

// mergedRow is the row that a merge function builds column by column: a batch whose columns have one cell each.
type mergedRow struct {
	cells []row.Column
}

func newMergedRow(t *row.Type) mergedRow { return mergedRow{cells: row.NewBatch(t).Cols} }

// clear makes all cells NULL.
func (m *mergedRow) clear() {
	for c := range m.cells {
		aggregate.SetNull(&m.cells[c])
	}
}

// set makes the row that of record i of kv, none of whose NOT NULL columns may be NULL.
func (m *mergedRow) set(kv *KeyValues, i int) error {
	for c := range m.cells {
		in := &kv.Rows.Cols[c]
		if in.Nulls.Get(i) && !in.Type.Nullable {
			return nullInNotNull(kv, c)
		}
		aggregate.Set(&m.cells[c], in, i)
	}
	return nil
}

// appendTo makes the row a record of out.
func (m *mergedRow) appendTo(out *KeyValues, kind row.Kind, seq int64) {
	for c := range m.cells {
		out.Rows.Cols[c].AppendFrom(&m.cells[c], 0)
	}
	out.Rows.EndRow(kind)
	out.Seq = append(out.Seq, seq)
}

func nullInNotNull(kv *KeyValues, c int) error {
	return fmt.Errorf("column %s is NOT NULL and a record has NULL in it; make the column nullable", kv.Rows.Type.Fields[c].Name)
}
