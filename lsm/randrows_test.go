package lsm

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/fs/local"
	"github.com/paimon-go/paimon-go/fs/mem"
	"github.com/paimon-go/paimon-go/table"
)

// wideFields has a column of every type that a format can hold: Avro has no timestamps above microseconds.
func wideFields(t testing.TB, formatID string) []row.Field {
	types := []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(18, 0)", "DECIMAL(38, 10)",
		"CHAR(3)", "VARCHAR(40)", "STRING", "STRING NOT NULL", "BINARY(4)", "VARBINARY(9)", "BYTES", "DATE", "TIME(3)",
		"TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(0) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
		"ARRAY<INT>", "MAP<STRING, BIGINT>", "ROW<a INT, b STRING>", "ARRAY<ROW<x DOUBLE, y ARRAY<STRING>>>",
	}
	if formatID != "avro" {
		types = append(types, "TIMESTAMP(9)", "TIMESTAMP(9) WITH LOCAL TIME ZONE")
	}
	fields := []row.Field{
		{Name: "v", Type: mustType(t, "INT")}, {Name: "name", Type: mustType(t, "STRING NOT NULL")}, {Name: "id", Type: mustType(t, "BIGINT NOT NULL")},
	}
	for i, s := range types {
		fields = append(fields, row.Field{Name: "c" + string(rune('a'+i/26)) + string(rune('a'+i%26)), Type: mustType(t, s)})
	}
	return fields
}

func mustType(t testing.TB, s string) row.Type {
	typ, err := row.ParseType(s)
	require.NoError(t, err)
	return typ
}

func mustCreate(t testing.TB, spec table.Spec) *table.Table {
	tab, err := table.Create(context.Background(), local.FS{}, table.TablePath(t.TempDir(), "db", "t"), spec)
	require.NoError(t, err)
	return tab
}

// mustCreateInMemory is mustCreate for tests with many commits, which disks make slow.
func mustCreateInMemory(t testing.TB, spec table.Spec) *table.Table {
	tab, err := table.Create(context.Background(), mem.New(), "mem:///w/db.db/t", spec)
	require.NoError(t, err)
	return tab
}

// randomValue appends a value that a column of its type can have.
func randomValue(r *rand.Rand, c *row.Column) {
	if c.Type.Nullable && r.IntN(5) == 0 {
		c.AppendNull()
		return
	}
	switch t := c.Type; t.Root {
	case row.Boolean:
		c.AppendI32(int32(r.IntN(2)))
	case row.TinyInt:
		c.AppendI32(int32(int8(r.Uint32())))
	case row.SmallInt:
		c.AppendI32(int32(int16(r.Uint32())))
	case row.Int:
		c.AppendI32(int32(r.Uint32()))
	case row.Date:
		c.AppendI32(int32(r.IntN(60000) - 20000))
	case row.Time:
		c.AppendI32(int32(r.IntN(millisPerDay)))
	case row.BigInt:
		c.AppendI64(int64(r.Uint64()))
	case row.Float:
		c.AppendF32(float32(r.NormFloat64()))
	case row.Double:
		c.AppendF64(r.NormFloat64())
	case row.Decimal:
		randomDecimal(r, c)
	case row.Char, row.VarChar:
		n := min(t.Length, 30)
		if t.Root == row.VarChar {
			n = r.IntN(n + 1)
		}
		letters := []rune("aaabcdefgh é漢😀\x00")
		c.AppendString(strings.Map(func(rune) rune { return letters[r.IntN(len(letters))] }, strings.Repeat("x", n)))
	case row.Binary, row.VarBinary:
		n := min(t.Length, 30)
		if t.Root == row.VarBinary {
			n = r.IntN(n + 1)
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		c.AppendBytes(b)
	case row.Timestamp, row.TimestampLTZ:
		ms := r.Int64N(4e12) - 1e12
		switch {
		case t.Precision == 0:
			c.AppendI64(ms / 1000 * 1000)
		case t.Precision <= 3:
			c.AppendI64(ms)
		case t.Precision <= 6:
			c.AppendI64(ms*1000 + r.Int64N(1000))
		default:
			c.AppendNanos(ms, int32(r.IntN(1e6)))
		}
	case row.Array, row.Map:
		for k := range r.IntN(4) {
			if t.Root == row.Map {
				c.Kids[0].AppendString(string(rune('a' + k)))
			}
			randomValue(r, &c.Kids[len(c.Kids)-1])
		}
		c.EndList()
	case row.Row:
		for k := range c.Kids {
			randomValue(r, &c.Kids[k])
		}
		c.EndNested()
	}
}

func randomDecimal(r *rand.Rand, c *row.Column) {
	if c.Type.Precision > 18 {
		c.AppendI128(row.Int128{Hi: r.Int64N(2e18) - 1e18, Lo: r.Uint64()})
		return
	}
	limit := int64(1)
	for range c.Type.Precision {
		limit *= 10
	}
	c.AppendI64(r.Int64N(2*limit-1) - limit + 1)
}

// randomRecords makes n records of a schema in key order, with unique keys of which there are about 2n, and sequence
// numbers from first on in random order.
func randomRecords(r *rand.Rand, s *table.Schema, n int, first int64) *KeyValues {
	all := row.NewBatch(s.RowType())
	for range n {
		for c := range all.Cols {
			randomValue(r, &all.Cols[c])
		}
		id, name := &all.Cols[s.FieldIndex("id")], &all.Cols[s.FieldIndex("name")]
		id.I64[all.N] = r.Int64N(int64(2 * n))
		name.Truncate(all.N)
		name.AppendString("k" + strings.Repeat("é", int(id.I64[all.N]%3)))
		all.EndRow(row.Kind(r.IntN(4)))
	}
	keys := make([]*row.Column, 0, 2)
	for _, k := range s.KeyIndexes() {
		keys = append(keys, &all.Cols[k])
	}
	idx := make([]int32, n)
	order := make([][]byte, n)
	for i := range idx {
		idx[i], order[i] = int32(i), row.AppendKey(nil, keys, i)
	}
	slices.SortFunc(idx, func(a, b int32) int { return bytes.Compare(order[a], order[b]) })
	idx = slices.CompactFunc(idx, func(a, b int32) bool { return bytes.Equal(order[a], order[b]) })
	kv := NewKeyValues(s.RowType())
	kv.Rows.AppendGather(all, idx)
	for _, i := range r.Perm(len(idx)) {
		kv.Seq = append(kv.Seq, first+int64(i))
	}
	return kv
}

func lines(b *row.Batch) []string {
	var out []string
	for i := range b.N {
		out = append(out, string(row.AppendJSONRow(nil, b, i, true)))
	}
	return out
}
