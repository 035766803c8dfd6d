package parquet

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

// randomType returns a type, nested to depth at most.
func randomType(rnd *rand.Rand, depth int, id *int) row.Type {
	roots := 16
	if depth > 0 {
		roots = 20
	}
	t := row.Type{Root: row.Root(1 + rnd.Intn(roots)), Nullable: rnd.Intn(3) > 0}
	elem := func() *row.Type {
		x := randomType(rnd, depth-1, id)
		return &x
	}
	switch t.Root {
	case row.Char, row.VarChar, row.Binary, row.VarBinary:
		t.Length = 1 + rnd.Intn(100)
	case row.Decimal:
		t.Precision = 1 + rnd.Intn(38)
		t.Scale = rnd.Intn(t.Precision + 1)
	case row.Time, row.Timestamp, row.TimestampLTZ:
		t.Precision = rnd.Intn(10)
	case row.Array, row.Multiset:
		t.Elem = elem()
	case row.Map:
		t.Key, t.Elem = elem(), elem()
	case row.Row:
		for i := range 1 + rnd.Intn(3) {
			*id++
			t.Fields = append(t.Fields, row.Field{ID: *id, Name: fmt.Sprintf("n%d", i), Type: *elem()})
		}
	}
	return t
}

func randomRow(rnd *rand.Rand, columns, depth int) *row.Type {
	t := row.Type{Root: row.Row}
	id := 0
	for i := range columns {
		t.Fields = append(t.Fields, row.Field{ID: id, Name: fmt.Sprintf("c%d", i), Type: randomType(rnd, depth, &id)})
		id++
	}
	return &t
}

// shape says how values of a test are drawn.
type shape struct {
	nulls    int // percent
	distinct int // values of a column; 0: any
	listMax  int
}

// appendRandom appends a random value of c's type.
func appendRandom(rnd *rand.Rand, c *row.Column, s shape, key bool) {
	if c.Type.Nullable && !key && rnd.Intn(100) < s.nulls {
		c.AppendNull()
		return
	}
	pick := rnd
	if s.distinct > 0 {
		pick = rand.New(rand.NewSource(int64(rnd.Intn(s.distinct))))
	}
	switch c.Type.Root {
	case row.Boolean:
		c.AppendI32(int32(pick.Intn(2)))
	case row.TinyInt:
		c.AppendI32(int32(int8(pick.Int())))
	case row.SmallInt:
		c.AppendI32(int32(int16(pick.Int())))
	case row.Int, row.Date:
		c.AppendI32(int32(pick.Uint32()))
	case row.Time:
		c.AppendI32(int32(pick.Intn(86_400_000)))
	case row.BigInt:
		c.AppendI64(int64(pick.Uint64()))
	case row.Float:
		c.AppendF32([]float32{float32(pick.NormFloat64()), 0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1))}[pick.Intn(5)])
	case row.Double:
		c.AppendF64([]float64{pick.NormFloat64(), 0, math.Copysign(0, -1), math.NaN(), math.Inf(-1)}[pick.Intn(5)])
	case row.Decimal:
		v := row.Int128{}
		for range pick.Intn(c.Type.Precision + 1) {
			v = mulSmall(v, 10)
			if d := uint64(pick.Intn(10)); v.Lo+d < v.Lo {
				v.Lo += d
				v.Hi++
			} else {
				v.Lo += d
			}
		}
		if pick.Intn(2) == 0 { // negate
			v.Hi, v.Lo = ^v.Hi, -v.Lo
			if v.Lo == 0 {
				v.Hi++
			}
		}
		if c.Type.Precision <= 18 {
			c.AppendI64(int64(v.Lo))
		} else {
			c.AppendI128(v)
		}
	case row.Timestamp, row.TimestampLTZ:
		ms := pick.Int63n(8e12) - 4e12
		switch {
		case c.Type.Precision <= 3:
			c.AppendI64(ms)
		case c.Type.Precision <= 6:
			c.AppendI64(ms*1000 + pick.Int63n(1000))
		default:
			c.AppendNanos(ms, int32(pick.Intn(1_000_000)))
		}
	case row.Char, row.VarChar:
		b := make([]rune, pick.Intn(c.Type.Length+1))
		for i := range b {
			b[i] = []rune("abc01 é漢🙂\U0010FFFF")[pick.Intn(10)]
		}
		c.AppendString(string(b))
	case row.Binary, row.VarBinary:
		b := make([]byte, pick.Intn(c.Type.Length+1))
		_, _ = pick.Read(b)
		c.AppendBytes(b)
	case row.Array, row.Map, row.Multiset:
		for range rnd.Intn(s.listMax + 1) {
			appendRandom(rnd, &c.Kids[0], s, c.Type.Root != row.Array)
			if c.Type.Root == row.Map {
				appendRandom(rnd, &c.Kids[1], s, false)
			} else if c.Type.Root == row.Multiset {
				c.Kids[1].AppendI32(int32(1 + rnd.Intn(9)))
			}
		}
		c.EndList()
	case row.Row:
		for i := range c.Kids {
			appendRandom(rnd, &c.Kids[i], s, false)
		}
		c.EndNested()
	}
}

func randomBatch(rnd *rand.Rand, t *row.Type, rows int, s shape) *row.Batch {
	b := row.NewBatch(t)
	for range rows {
		for i := range b.Cols {
			appendRandom(rnd, &b.Cols[i], s, false)
		}
		b.EndRow(row.Insert)
	}
	return b
}

// writeFile returns a file of the batches.
func writeFile(t require.TestingT, spec format.WriteSpec, in ...*row.Batch) []byte {
	var buf bytes.Buffer
	w, err := Format.NewWriter(&buf, spec)
	require.NoError(t, err)
	rows := 0
	for _, b := range in {
		require.NoError(t, w.Write(b))
		rows += b.N
	}
	s, err := w.Close()
	require.NoError(t, err)
	require.EqualValues(t, rows, s.Rows)
	require.EqualValues(t, buf.Len(), s.Bytes)
	return buf.Bytes()
}

// readFile returns the rows of a file in one batch.
func readFile(file []byte, typ *row.Type, batchRows int) (*row.Batch, error) {
	return readFileAs(file, format.ReadSpec{Type: typ, BatchRows: batchRows})
}

func readFileAs(file []byte, spec format.ReadSpec) (*row.Batch, error) {
	typ := spec.Type
	r, err := Format.NewReader(bytes.NewReader(file), int64(len(file)), spec)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all, b := row.NewBatch(typ), row.NewBatch(typ)
	for {
		switch err := r.Next(b); {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, err
		}
		for i := range b.Cols {
			all.Cols[i].AppendRange(&b.Cols[i], 0, b.N)
		}
		all.N += b.N
	}
}

// requireSameRows compares by the rows' text.
func requireSameRows(t require.TestingT, want, got *row.Batch) {
	require.Equal(t, want.N, got.N)
	for i := range want.N {
		w, g := row.AppendJSONRow(nil, want, i, false), row.AppendJSONRow(nil, got, i, false)
		if !bytes.Equal(w, g) {
			require.Equal(t, string(w), string(g), "row %d of %s", i, want.Type)
		}
	}
}

func concat(t *row.Type, in ...*row.Batch) *row.Batch {
	all := row.NewBatch(t)
	for _, b := range in {
		for i := range b.Cols {
			all.Cols[i].AppendRange(&b.Cols[i], 0, b.N)
		}
		all.N += b.N
	}
	return all
}
