package main

import (
	"fmt"

	"github.com/paimon-go/paimon-go/format/row"
)

// columnFields are the columns between id and dt of the data "columns": numbers and short texts in turn, n with id and dt.
func columnFields(n int, text row.Type) (out []row.Field) {
	types := []row.Type{{Root: row.Int, Nullable: true}, text, {Root: row.BigInt, Nullable: true}, {Root: row.Double, Nullable: true}, text}
	for i := range n - 2 {
		out = append(out, row.Field{Name: fmt.Sprintf("c%d", i), Type: types[i%len(types)]})
	}
	return out
}

// appendColumns appends those columns of the row with the hash h.
func (g *generator) appendColumns(b *row.Batch, h uint64) {
	for i := range len(b.Cols) - 2 {
		w, c := nth(h, uint64(i+1)), &b.Cols[i+1]
		switch i % 5 {
		case 0:
			c.AppendI32(int32(w & 0xFFFFF))
		case 1:
			c.AppendString(words[w&15])
		case 2:
			c.AppendI64(int64(w & 0xFFFFFFFF))
		case 3:
			c.AppendF64(float64(w&0xFFFF) / 256)
		default:
			c.AppendBytes(g.text(w, 12, false))
		}
	}
}
