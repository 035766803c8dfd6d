package avro

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	hamba "github.com/hamba/avro/v2"
	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// forAll runs f with random types and rows.
func forAll(t *testing.T, f func(t *rapid.T, r *rand.Rand, b *row.Batch)) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		typ := randomRow(r, rapid.IntRange(0, 3).Draw(t, "depth"), rapid.IntRange(1, 8).Draw(t, "fields"))
		f(t, r, randomBatch(r, &typ, rapid.IntRange(0, 60).Draw(t, "rows")))
	})
}

func TestRowsComeBackAsWritten(t *testing.T) {
	forAll(t, func(rt *rapid.T, r *rand.Rand, b *row.Batch) {
		spec := format.WriteSpec{Compression: []string{"zstd", "none", "snappy", "deflate"}[r.IntN(4)], ZstdLevel: r.IntN(12)}
		file := writeFile(t, b, spec, 1+r.IntN(70))
		got, err := readFileAs(t, file, format.ReadSpec{Type: b.Type, BatchRows: 1 + r.IntN(70), BatchBytes: []int{0, 1, 300, 1 << 20}[r.IntN(4)]})
		require.NoError(rt, err)
		require.Equal(rt, text(b), text(got))
	})
}

// TestColumnsAreFoundByName: the reader's columns are a shuffled part of the file's and some that it lacks.
func TestColumnsAreFoundByName(t *testing.T) {
	forAll(t, func(rt *rapid.T, r *rand.Rand, b *row.Batch) {
		file := writeFile(t, b, format.WriteSpec{}, 100)
		want := row.NewBatch(&row.Type{Root: row.Row})
		typ := want.Type
		for _, c := range r.Perm(len(b.Cols))[:r.IntN(len(b.Cols)+1)] {
			typ.Fields = append(typ.Fields, b.Type.Fields[c])
			want.Cols = append(want.Cols, b.Cols[c])
			if r.IntN(2) == 0 {
				lacking := row.Field{Name: fmt.Sprintf("lacking%d", c), Type: randomType(r, 1)}
				lacking.Type.Nullable = true
				typ.Fields = append(typ.Fields, lacking)
				col := row.Column{}
				col.Init(&lacking.Type)
				for range b.N {
					col.AppendNull()
				}
				want.Cols = append(want.Cols, col)
			}
		}
		want.N = b.N
		got, err := readFile(t, file, typ, 0)
		require.NoError(rt, err)
		require.Equal(rt, text(want), text(got))
	})
}

var logicalType = regexp.MustCompile(`,"logicalType":"[a-z-]+"(,"precision":\d+,"scale":\d+)?`)

// plainSchema parses a schema for hamba, which is not to make dates and numbers of what it reads.
func plainSchema(t require.TestingT, text string) hamba.Schema {
	s, err := hamba.ParseWithCache(logicalType.ReplaceAllString(text, ""), "", &hamba.SchemaCache{})
	require.NoError(t, err)
	return s
}

// plainValue is value i of c in hamba's generic form.
func plainValue(c *row.Column, i int) any {
	if c.IsNull(i) {
		return nil
	}
	return plainNonNull(c, i)
}

func plainNonNull(c *row.Column, i int) any {
	switch t := c.Type; t.Store() {
	case row.StoreI32:
		if t.Root == row.Boolean {
			return c.I32[i] == 1
		}
		return int(c.I32[i])
	case row.StoreI64:
		if t.Root == row.Decimal {
			return appendDecimal64(nil, c.I64[i])[1:]
		}
		return c.I64[i]
	case row.StoreF32:
		return c.F32[i]
	case row.StoreF64:
		return c.F64[i]
	case row.StoreI128:
		return appendDecimal128(nil, c.I128[i])[1:]
	case row.StoreBytes:
		if t.Root == row.Char || t.Root == row.VarChar {
			return string(c.Value(i))
		}
		return bytes.Clone(c.Value(i))
	case row.StoreRow:
		m := map[string]any{}
		for k := range c.Kids {
			m[t.Fields[k].Name] = plainValue(&c.Kids[k], i)
		}
		return m
	default:
		return plainList(c, i)
	}
}

func plainList(c *row.Column, i int) any {
	list, dict := []any{}, map[string]any{}
	for j := int(c.Off[i]); j < int(c.Off[i+1]); j++ {
		switch {
		case c.Type.Root == row.Array:
			list = append(list, plainValue(&c.Kids[0], j))
		case isStringMap(c.Type):
			dict[string(c.Kids[0].Value(j))] = plainValue(&c.Kids[1], j)
		default:
			list = append(list, map[string]any{"key": plainValue(&c.Kids[0], j), "value": plainValue(&c.Kids[1], j)})
		}
	}
	if c.Type.Root != row.Array && isStringMap(c.Type) {
		return dict
	}
	return list
}

// unwrap removes what hamba puts around a map, array or record of a union: a map from the branch's name.
func unwrap(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = unwrap(v[i])
		}
	case map[string]any:
		for k := range v {
			if len(v) == 1 && (k == "map" || k == "array" || strings.HasPrefix(k, schemaNamespace)) {
				return unwrap(v[k])
			}
			v[k] = unwrap(v[k])
		}
	}
	return v
}

func plainRow(b *row.Batch, i int) map[string]any {
	m := map[string]any{}
	for c := range b.Cols {
		m[b.Type.Fields[c].Name] = plainValue(&b.Cols[c], i)
	}
	return m
}

func TestHambaReadsOurFiles(t *testing.T) {
	forAll(t, func(rt *rapid.T, r *rand.Rand, b *row.Batch) {
		file := writeFile(t, b, format.WriteSpec{Compression: []string{"zstd", "null", "snappy", "deflate"}[r.IntN(4)]}, 100)
		schema, counts, blocks := blocksOf(t, file)
		plain := plainSchema(rt, schema)
		row := 0
		for k, data := range blocks {
			dec := hamba.NewDecoderForSchema(plain, bytes.NewReader(data))
			for range counts[k] {
				var got map[string]any
				require.NoError(rt, dec.Decode(&got))
				require.Equal(rt, fmt.Sprint(plainRow(b, row)), fmt.Sprint(unwrap(got)), "schema %s", schema)
				row++
			}
		}
		require.Equal(rt, b.N, row)
	})
}
