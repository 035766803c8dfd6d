package parquet

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
)

// arrow-go is the second opinion here: it reads what we write, and writes encodings that Java doesn't.

// TestArrowReadsOurFiles counts rows, nulls and values of each leaf of random files.
func TestArrowReadsOurFiles(t *testing.T) {
	rnd := rand.New(rand.NewSource(11))
	for i := range 60 {
		typ := randomRow(rnd, 5, 2)
		b := randomBatch(rnd, typ, 500, shape{nulls: rnd.Intn(60), distinct: rnd.Intn(3) * 10, listMax: 3})
		data := writeFile(t, format.WriteSpec{
			Type: typ, Compression: []string{"zstd", "snappy", "gzip", "lz4_raw", "none"}[i%5], BlockSize: int64(rnd.Intn(2) * 20_000),
			Options: map[string]string{keyPageRows: []string{"100", "20000"}[rnd.Intn(2)]},
		}, b)
		r, err := file.NewParquetReader(bytes.NewReader(data))
		require.NoError(t, err)
		require.EqualValues(t, b.N, r.NumRows())
		require.Equal(t, "paimon_schema", r.MetaData().Schema.Root().Name())
		require.Equal(t, pq.V1_0, r.MetaData().Version())
		require.Equal(t, 0, r.MetaData().KeyValueMetadata().Len())
		for leaf := range r.MetaData().Schema.NumColumns() {
			levels, values, rows := 0, 0, 0
			var wantNulls int64
			for g := range r.NumRowGroups() {
				c, err := r.RowGroup(g).Column(leaf)
				require.NoError(t, err)
				m, err := r.RowGroup(g).MetaData().ColumnChunk(leaf)
				require.NoError(t, err)
				n, v, rw := arrowCount(t, c)
				require.EqualValues(t, m.NumValues(), n)
				levels, values, rows = levels+n, values+v, rows+rw
				s, err := m.Statistics()
				require.NoError(t, err)
				if s != nil {
					wantNulls += s.NullCount()
				} else {
					wantNulls += int64(n - v)
				}
			}
			require.Equal(t, b.N, rows)
			require.EqualValues(t, levels-values, wantNulls, "nulls of leaf %d of %s", leaf, typ)
		}
	}
}

// arrowCount reads a chunk with arrow-go and returns its levels, values and rows.
func arrowCount(t *testing.T, c file.ColumnChunkReader) (levels, values, rows int) {
	const n = 1000
	defs, reps := make([]int16, n), make([]int16, n)
	for {
		var total int64
		var got int
		var err error
		switch c := c.(type) {
		case *file.BooleanColumnChunkReader:
			total, got, err = c.ReadBatch(n, make([]bool, n), defs, reps)
		case *file.Int32ColumnChunkReader:
			total, got, err = c.ReadBatch(n, make([]int32, n), defs, reps)
		case *file.Int64ColumnChunkReader:
			total, got, err = c.ReadBatch(n, make([]int64, n), defs, reps)
		case *file.Int96ColumnChunkReader:
			total, got, err = c.ReadBatch(n, make([]pq.Int96, n), defs, reps)
		case *file.Float32ColumnChunkReader:
			total, got, err = c.ReadBatch(n, make([]float32, n), defs, reps)
		case *file.Float64ColumnChunkReader:
			total, got, err = c.ReadBatch(n, make([]float64, n), defs, reps)
		case *file.ByteArrayColumnChunkReader:
			total, got, err = c.ReadBatch(n, make([]pq.ByteArray, n), defs, reps)
		case *file.FixedLenByteArrayColumnChunkReader:
			total, got, err = c.ReadBatch(n, make([]pq.FixedLenByteArray, n), defs, reps)
		}
		require.NoError(t, err)
		if total == 0 {
			return levels, values, rows
		}
		levels += int(total)
		values += got
		for _, r := range reps[:total] {
			if r == 0 || c.Descriptor().MaxRepetitionLevel() == 0 {
				rows++
			}
		}
	}
}

// TestReadsOtherEncodings reads files of arrow-go in every encoding and both page versions.
func TestReadsOtherEncodings(t *testing.T) {
	const rows = 5000
	fields := schema.FieldList{
		schema.NewInt32Node("i", pq.Repetitions.Optional, 1),
		schema.NewInt64Node("l", pq.Repetitions.Required, 2),
		schema.NewByteArrayNode("s", pq.Repetitions.Optional, 3),
		schema.NewBooleanNode("b", pq.Repetitions.Optional, 4),
		schema.NewFixedLenByteArrayNode("f", pq.Repetitions.Required, 5, 5),
	}
	root, err := schema.NewGroupNode("any", pq.Repetitions.Required, fields, -1)
	require.NoError(t, err)
	typ := row.NewRow(
		row.Field{Name: "f", Type: row.Type{Root: row.Decimal, Precision: 12}},
		row.Field{Name: "b", Type: nullable(row.Type{Root: row.Boolean})},
		row.Field{Name: "s", Type: nullable(stringType)},
		row.Field{Name: "l", Type: row.Type{Root: row.BigInt}},
		row.Field{Name: "i", Type: nullable(row.Type{Root: row.Int})})
	for _, version := range []pq.DataPageVersion{pq.DataPageV1, pq.DataPageV2} {
		for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Zstd} {
			for name, encodings := range map[string]map[string]pq.Encoding{
				"plain":      {},
				"delta":      {"i": pq.Encodings.DeltaBinaryPacked, "l": pq.Encodings.DeltaBinaryPacked, "s": pq.Encodings.DeltaByteArray, "b": pq.Encodings.RLE},
				"length":     {"s": pq.Encodings.DeltaLengthByteArray},
				"dictionary": {"i": pq.Encodings.RLEDict, "l": pq.Encodings.RLEDict, "s": pq.Encodings.RLEDict, "f": pq.Encodings.RLEDict},
			} {
				t.Run(fmt.Sprintf("v%d/%s/%s", version+1, codec, name), func(t *testing.T) {
					props := []pq.WriterProperty{pq.WithDataPageVersion(version), pq.WithCompression(codec), pq.WithDataPageSize(3000), pq.WithBatchSize(100), pq.WithDictionaryDefault(name == "dictionary")}
					for c, e := range encodings {
						if e != pq.Encodings.RLEDict {
							props = append(props, pq.WithEncodingFor(c, e))
						}
					}
					var buf bytes.Buffer
					w := file.NewParquetWriter(&buf, root, file.WithWriterProps(pq.NewWriterProperties(props...)))
					want := writeWithArrow(t, w, &typ, rows)
					got, err := readFile(buf.Bytes(), &typ, 777)
					require.NoError(t, err)
					requireSameRows(t, want, got)
				})
			}
		}
	}
}

func writeWithArrow(t *testing.T, w *file.Writer, typ *row.Type, rows int) *row.Batch {
	rnd := rand.New(rand.NewSource(5))
	want := row.NewBatch(typ)
	var (
		ints    []int32
		longs   []int64
		strs    []pq.ByteArray
		bools   []bool
		fixed   []pq.FixedLenByteArray
		iDefs   = make([]int16, rows)
		sDefs   = make([]int16, rows)
		bDefs   = make([]int16, rows)
		columns = want.Cols
	)
	for i := range rows {
		longs = append(longs, rnd.Int63()>>uint(rnd.Intn(63))-int64(i))
		columns[3].AppendI64(longs[i])
		fixed = append(fixed, []byte{byte(-(i % 2)), byte(rnd.Intn(3)), 0, byte(i / 100), byte(i % 7)})
		v, ok := int128(fixed[i])
		require.True(t, ok)
		columns[0].AppendI64(int64(v.Lo))
		if rnd.Intn(4) == 0 {
			columns[4].AppendNull()
			columns[2].AppendNull()
		} else {
			ints = append(ints, int32(rnd.Intn(1<<20)*(i%3-1)))
			columns[4].AppendI32(ints[len(ints)-1])
			strs = append(strs, []byte(fmt.Sprintf("prefix-%d-%d", i/10, rnd.Intn(5))))
			columns[2].AppendBytes(strs[len(strs)-1])
			iDefs[i], sDefs[i] = 1, 1
		}
		if i%5 == 0 {
			columns[1].AppendNull()
		} else {
			bools = append(bools, i/50%2 == 0)
			columns[1].AppendI32(map[bool]int32{true: 1}[i/50%2 == 0])
			bDefs[i] = 1
		}
		want.EndRow(row.Insert)
	}
	rg, err := w.AppendBufferedRowGroupChecked()
	require.NoError(t, err)
	for c := range 5 {
		cw, err := rg.Column(c)
		require.NoError(t, err)
		switch cw := cw.(type) {
		case *file.Int32ColumnChunkWriter:
			_, err = cw.WriteBatch(ints, iDefs, nil)
		case *file.Int64ColumnChunkWriter:
			_, err = cw.WriteBatch(longs, nil, nil)
		case *file.ByteArrayColumnChunkWriter:
			_, err = cw.WriteBatch(strs, sDefs, nil)
		case *file.BooleanColumnChunkWriter:
			_, err = cw.WriteBatch(bools, bDefs, nil)
		case *file.FixedLenByteArrayColumnChunkWriter:
			_, err = cw.WriteBatch(fixed, nil, nil)
		}
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return want
}

// TestPageIndexBoundsThePages checks the page index, read by arrow-go, against the values.
func TestPageIndexBoundsThePages(t *testing.T) {
	const rows = 1000
	typ := row.NewRow(
		row.Field{ID: 0, Name: "up", Type: row.Type{Root: row.BigInt}},
		row.Field{ID: 1, Name: "text", Type: nullable(stringType)},
		row.Field{ID: 2, Name: "nan", Type: row.Type{Root: row.Double}},
		row.Field{ID: 3, Name: "l", Type: nullable(row.Type{Root: row.Array, Elem: &row.Type{Root: row.Int, Nullable: true}})})
	rnd := rand.New(rand.NewSource(1))
	b := row.NewBatch(&typ)
	for i := range rows {
		b.Cols[0].AppendI64(int64(i))
		if i/100 == 3 || i%9 == 0 {
			b.Cols[1].AppendNull()
		} else {
			b.Cols[1].AppendString(randomText(rnd, 10+rnd.Intn(100)))
		}
		b.Cols[2].AppendF64([]float64{1, zero / zero}[i/999])
		for j := range i % 3 {
			b.Cols[3].Kids[0].AppendI32(int32(i + j))
		}
		b.Cols[3].EndList()
		b.EndRow(row.Insert)
	}
	data := writeFile(t, format.WriteSpec{Type: &typ, Options: map[string]string{keyPageRows: "100"}}, b)
	r, err := file.NewParquetReader(bytes.NewReader(data))
	require.NoError(t, err)
	idx, err := r.GetPageIndexReader().RowGroup(0)
	require.NoError(t, err)
	for leaf := range 4 {
		offsets, err := idx.GetOffsetIndex(leaf)
		require.NoError(t, err)
		require.Len(t, offsets.GetPageLocations(), 10)
		for p, loc := range offsets.GetPageLocations() {
			require.EqualValues(t, 100*p, loc.FirstRowIndex)
			var h pageHeader
			n, err := h.read(data[loc.Offset:])
			require.NoError(t, err)
			require.EqualValues(t, loc.CompressedPageSize, n+int(h.size))
		}
	}
	up, err := idx.GetColumnIndex(0)
	require.NoError(t, err)
	require.Equal(t, metadata.Ascending, up.GetBoundaryOrder())
	text, err := idx.GetColumnIndex(1)
	require.NoError(t, err)
	for p := range 10 {
		require.EqualValues(t, 100*p, up.(*metadata.TypedColumnIndex[int64]).MinValues()[p])
		require.EqualValues(t, 100*p+99, up.(*metadata.TypedColumnIndex[int64]).MaxValues()[p])
		require.Equal(t, p == 3, text.GetNullPages()[p])
		lo, hi := text.(*metadata.TypedColumnIndex[pq.ByteArray]).MinValues()[p], text.(*metadata.TypedColumnIndex[pq.ByteArray]).MaxValues()[p]
		require.LessOrEqual(t, len(lo), indexBound)
		require.LessOrEqual(t, len(hi), indexBound)
		for i := 100 * p; i < 100*p+100; i++ {
			if v := b.Cols[1].Value(i); !b.Cols[1].IsNull(i) {
				require.LessOrEqual(t, string(lo), string(v))
				require.GreaterOrEqual(t, string(hi), string(v))
			}
		}
	}
	nan, err := idx.GetColumnIndex(2)
	require.NoError(t, err)
	require.Nil(t, nan, "a column with a NaN has no column index")
}

var zero float64
