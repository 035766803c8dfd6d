package main

import (
	"encoding/binary"
	"strconv"

	"github.com/paimon-go/paimon-go/format/row"
)

// mixedFields are the columns between id and dt of the data "mixed"; Bench.java has the same.
func mixedFields(text row.Type) []row.Field {
	of := func(name string, t row.Type) row.Field {
		t.Nullable = true
		return row.Field{Name: name, Type: t}
	}
	return []row.Field{
		of("customer", row.Type{Root: row.Int}),
		of("quantity", row.Type{Root: row.SmallInt}),
		of("priority", row.Type{Root: row.TinyInt}),
		of("paid", row.Type{Root: row.Boolean}),
		of("amount", row.Type{Root: row.Decimal, Precision: 12, Scale: 2}),
		of("rate", row.Type{Root: row.Double}),
		of("weight", row.Type{Root: row.Float}),
		of("total", row.Type{Root: row.Decimal, Precision: 30, Scale: 6}),
		of("created", row.Type{Root: row.Timestamp, Precision: 3}),
		of("updated", row.Type{Root: row.Timestamp, Precision: 6}),
		of("due", row.Type{Root: row.Date}),
		of("status", text),
		of("city", text),
		of("email", text),
		of("token", text),
		of("comment", text),
		of("discount", row.Type{Root: row.BigInt}),
		of("payload", row.Type{Root: row.VarBinary, Length: row.MaxLength}),
	}
}

// appendMixed appends those columns of the row with the hash h, as Bench.mixedRow does.
func (g *generator) appendMixed(b *row.Batch, h uint64) {
	w1, w2, w3, w4 := nth(h, 1), nth(h, 2), nth(h, 3), nth(h, 4)
	c := b.Cols
	c[1].AppendI32(int32(w1 & 0xFFFFF))
	c[2].AppendI32(int32(w1 >> 20 & 0x3FF))
	c[3].AppendI32(int32(w1 >> 30 & 7))
	c[4].AppendI32(int32(w1 >> 33 & 1))
	c[5].AppendI64(int64(w1 >> 34 & 0x3FFFFFF))
	c[6].AppendF64(float64(w2&0xFFFF) / 256)
	c[7].AppendF32(float32(w2>>16&0xFFF) / 8)
	c[8].AppendI128(row.Int128{Lo: w2 >> 28})
	millis := 1704067200000 + int64(w3&0x7FFFFFFF)
	c[9].AppendI64(millis)
	c[10].AppendI64(millis*1000 + int64(w3>>31&0xFFFFF))
	c[11].AppendI32(19723 + int32(w3>>51&0xFF))
	status := words[w4&7]
	c[12].AppendString(status[:len(status)-1])
	c[13].AppendBytes(strconv.AppendUint(append(g.scratch[:0], "city"...), w4>>3&0xFF, 10))
	c[14].AppendBytes(append(strconv.AppendUint(append(g.scratch[:0], "user"...), w4>>11&0xFFFFF, 10), "@example.com"...))
	c[15].AppendBytes(g.text(nth(h, 5), 22, false))
	if w4>>31&3 == 0 {
		c[16].AppendNull()
	} else {
		c[16].AppendBytes(g.text(nth(h, 6), int(w4>>33&63), true))
	}
	if w4>>39&1 == 0 {
		c[17].AppendNull()
	} else {
		c[17].AppendI64(int64(w4 >> 40 & 0xFFFF))
	}
	c[18].AppendBytes(binary.BigEndian.AppendUint64(g.scratch[:0], nth(h, 7)))
}
