package parquet

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paimon-go/paimon-go/format"
	"github.com/paimon-go/paimon-go/format/row"
	"github.com/paimon-go/paimon-go/internal/fastzstd"
)

func TestNullInNotNullColumnIsRefused(t *testing.T) {
	inner := row.Type{Root: row.Int}
	for path, typ := range map[string]row.Type{
		`"c"`:                 row.Type{Root: row.BigInt},
		`"c.list.element"`:    {Root: row.Array, Elem: &inner, Nullable: true},
		`"c.key_value.key"`:   {Root: row.Map, Key: &inner, Elem: &inner},
		`"c.n"`:               {Root: row.Row, Nullable: true, Fields: []row.Field{{ID: 5, Name: "n", Type: inner}}},
		`"c.key_value.value"`: {Root: row.Map, Key: &inner, Elem: &inner},
	} {
		t.Run(path, func(t *testing.T) {
			typ := row.NewRow(row.Field{Name: "c", Type: typ})
			b := row.NewBatch(&typ)
			c := &b.Cols[0]
			switch {
			case typ.Fields[0].Type.Root == row.Array:
				c.Kids[0].AppendNull()
				c.EndList()
			case path == `"c.key_value.key"`:
				c.Kids[0].AppendNull()
				c.Kids[1].AppendI32(1)
				c.EndList()
			case path == `"c.key_value.value"`:
				c.Kids[0].AppendI32(1)
				c.Kids[1].AppendNull()
				c.EndList()
			case typ.Fields[0].Type.Root == row.Row:
				c.Kids[0].AppendNull()
				c.EndNested()
			default:
				c.AppendNull()
			}
			b.EndRow(row.Insert)
			w, err := Format.NewWriter(io.Discard, format.WriteSpec{Type: &typ})
			require.NoError(t, err)
			err = w.Write(b)
			require.ErrorIs(t, err, format.ErrNull)
			require.ErrorContains(t, err, path)
			_, err = w.Close()
			require.ErrorContains(t, err, path, "a file that lacks rows isn't completed")
		})
	}
}

func TestWhatCannotBeWrittenIsRefused(t *testing.T) {
	ok := row.NewRow(row.Field{Name: "c", Type: row.Type{Root: row.Int}})
	nested := row.Type{Root: row.Int}
	for range 200 {
		inner := nested
		nested = row.Type{Root: row.Array, Elem: &inner}
	}
	for want, s := range map[string]format.WriteSpec{
		`does not support compression "brotli"`:                                  {Type: &ok, Compression: "brotli"},
		`option parquet.page.size is "1 mb"`:                                     {Type: &ok, Options: map[string]string{keyPageSize: "1 mb"}},
		`option parquet.block.size is "0"`:                                       {Type: &ok, Options: map[string]string{keyBlockSize: "0"}},
		`option parquet.compression#c: parquet does not support compression "x"`: {Type: &ok, Options: map[string]string{keyCompression + "#c": "x"}},
		`column "e": parquet can't hold a ROW without fields`:                    {Type: &row.Type{Root: row.Row, Fields: []row.Field{{Name: "e", Type: row.Type{Root: row.Row}}}}},
		`column "d": DECIMAL(39, 0) is out of range`:                             {Type: &row.Type{Root: row.Row, Fields: []row.Field{{Name: "d", Type: row.Type{Root: row.Decimal, Precision: 39}}}}},
		`column "n": types nest deeper than 64`:                                  {Type: &row.Type{Root: row.Row, Fields: []row.Field{{Name: "n", Type: nested}}}},
		`at least one column`:                                                    {Type: &row.Type{Root: row.Row}},
	} {
		_, err := Format.NewWriter(io.Discard, s)
		require.ErrorContains(t, err, want)
	}
}

// TestOptions checks that options reach the file.
func TestOptions(t *testing.T) {
	typ, in := narrowBatches()
	write := func(s format.WriteSpec) *fileMeta {
		s.Type = typ
		return footerOf(t, writeFile(t, s, in[0]))
	}
	codecs := func(m *fileMeta) (c []int32) {
		for _, x := range m.groups[0].chunks {
			c = append(c, x.codec)
		}
		return c
	}
	require.Equal(t, []int32{6, 6, 6, 6, 6, 6}, codecs(write(format.WriteSpec{})), "zstd by default")
	require.Equal(t, []int32{5, 5, 5, 5, 5, 5}, codecs(write(format.WriteSpec{Compression: "LZ4"})))
	require.Equal(t, []int32{2, 2, 2, 2, 1, 2}, codecs(write(format.WriteSpec{Compression: "zstd", Options: map[string]string{
		keyCompression: "gzip", keyCompression + "#data": "snappy"}})))

	dict := func(o map[string]string) (d []bool) {
		for _, c := range write(format.WriteSpec{Options: o}).groups[0].chunks {
			d = append(d, c.hasDict)
		}
		return d
	}
	require.Equal(t, []bool{false, false, true, false, false, true}, dict(nil), "dictionaries of values that repeat")
	require.Equal(t, []bool{false, false, false, false, false, true}, dict(map[string]string{keyEnableDictionary: "false", keyEnableDictionary + "#dt": "true"}))
	require.Equal(t, []bool{false, false, true, false, false, false}, dict(map[string]string{keyDictSize: "5"}))

	require.Len(t, write(format.WriteSpec{Options: map[string]string{keyBlockSize: "100"}, Compression: "none"}).groups, 1, "rows go in slices")
	typ2, in2 := mixedBatches()
	m := footerOf(t, writeFile(t, format.WriteSpec{Type: typ2, Options: map[string]string{keyBlockSize: "1000000"}}, in2...))
	require.Greater(t, len(m.groups), 5)
	m = footerOf(t, writeFile(t, format.WriteSpec{Type: typ2, BlockSize: 128 << 20, Options: map[string]string{keyBlockSize: "1000000"}}, in2...))
	require.Len(t, m.groups, 1, "file.block-size goes first")
	lineType := row.Type{Root: row.Row, Fields: []row.Field{{Name: "line", Type: stringType}}}
	lines := row.NewBatch(&lineType)
	source, err := os.ReadFile("chunk.go")
	require.NoError(t, err)
	for line := range strings.Lines(string(source)) {
		lines.Cols[0].AppendString(line)
		lines.EndRow(row.Insert)
	}
	level1 := writeFile(t, format.WriteSpec{Type: &lineType, ZstdLevel: 1}, lines)
	level9 := writeFile(t, format.WriteSpec{Type: &lineType, Options: map[string]string{keyZstdLevel: "9"}}, lines)
	require.Less(t, len(level9), len(level1))
}

// TestSizeIsAFairGuess compares Size before Close with the file.
func TestSizeIsAFairGuess(t *testing.T) {
	for _, codec := range []string{"none", "zstd"} {
		typ, in := mixedBatches()
		w, err := Format.NewWriter(io.Discard, format.WriteSpec{Type: typ, Compression: codec})
		require.NoError(t, err)
		last := int64(0)
		for _, b := range in {
			require.NoError(t, w.Write(b))
			require.GreaterOrEqual(t, w.Size(), last*3/4)
			last = w.Size()
		}
		s, err := w.Close()
		require.NoError(t, err)
		require.InEpsilon(t, s.Bytes, last, 0.1, codec)
	}
}

// TestPooledMemoryHoldsNothingOfOtherFiles writes files of many shapes over each other's buffers, some aborted.
func TestPooledMemoryHoldsNothingOfOtherFiles(t *testing.T) {
	typ, in := mixedBatches()
	first := writeFile(t, format.WriteSpec{Type: typ}, in[:3]...)
	rnd := rand.New(rand.NewSource(3))
	for i := range 50 {
		other := randomRow(rnd, 6, 2)
		w, err := Format.NewWriter(io.Discard, format.WriteSpec{Type: other})
		require.NoError(t, err)
		require.NoError(t, w.Write(randomBatch(rnd, other, 100, shape{nulls: 30, listMax: 3})))
		if i%2 == 0 {
			w.Abort()
			w.Abort()
			require.Error(t, w.Write(row.NewBatch(other)))
			_, err = w.Close()
			require.Error(t, err)
		} else {
			_, err = w.Close()
			require.NoError(t, err)
		}
	}
	require.True(t, bytes.Equal(first, writeFile(t, format.WriteSpec{Type: typ}, in[:3]...)))
}

type failingWriter struct{ left int }

var errFull = errors.New("no space left")

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrorsStick(t *testing.T) {
	typ, in := narrowBatches()
	size := len(writeFile(t, format.WriteSpec{Type: typ, BlockSize: 1 << 20}, in[:8]...))
	for left := 0; left < size; left += size/30 + 1 {
		w, err := Format.NewWriter(&failingWriter{left}, format.WriteSpec{Type: typ, BlockSize: 1 << 20})
		if err != nil {
			require.ErrorIs(t, err, errFull)
			continue
		}
		for _, b := range in[:8] {
			if err = w.Write(b); err != nil {
				require.ErrorIs(t, w.Write(b), errFull)
				break
			}
		}
		_, err = w.Close()
		require.ErrorIs(t, err, errFull)
	}
}

// TestNoAllocationPerRow writes many rows and counts.
func TestNoAllocationPerRow(t *testing.T) {
	typ, in := mixedBatches()
	file := writeFile(t, format.WriteSpec{Type: typ}, in...)
	perRow := testing.AllocsPerRun(3, func() { writeFile(t, format.WriteSpec{Type: typ}, in...) }) / benchRows
	require.Less(t, perRow, 0.1)
	b := row.NewBatch(typ)
	perRow = testing.AllocsPerRun(3, func() {
		r, err := Format.NewReader(bytes.NewReader(file), int64(len(file)), format.ReadSpec{Type: typ})
		require.NoError(t, err)
		for r.Next(b) == nil {
		}
		require.NoError(t, r.Close())
	}) / benchRows
	require.Less(t, perRow, 0.1)
}

// TestBatchesOfBigValuesAreCutShort reads rows whose values differ in size by much.
func TestBatchesOfBigValuesAreCutShort(t *testing.T) {
	typ := row.NewRow(row.Field{ID: 0, Name: "id", Type: row.Type{Root: row.Int}}, row.Field{ID: 1, Name: "big", Type: nullable(stringType)},
		row.Field{ID: 2, Name: "same", Type: nullable(stringType)}, row.Field{ID: 3, Name: "l", Type: row.Type{Root: row.Array, Elem: &row.Type{Root: row.Int}}})
	b := row.NewBatch(&typ)
	same := strings.Repeat("s", 700_000)
	for i := range 300 {
		b.Cols[0].AppendI32(int32(i))
		if i%3 == 0 {
			b.Cols[1].AppendNull()
		} else {
			b.Cols[1].AppendString(strings.Repeat("x", i*1000))
		}
		if i%2 == 0 {
			b.Cols[2].AppendNull()
		} else {
			b.Cols[2].AppendString(same)
		}
		for j := range i * 50 {
			b.Cols[3].Kids[0].AppendI32(int32(j))
		}
		b.Cols[3].EndList()
		b.EndRow(row.Insert)
	}
	file := writeFile(t, format.WriteSpec{Type: &typ}, b)
	r, err := Format.NewReader(bytes.NewReader(file), int64(len(file)), format.ReadSpec{Type: &typ})
	require.NoError(t, err)
	defer r.Close()
	got, at := row.NewBatch(&typ), 0
	for {
		err := r.Next(got)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.Less(t, got.Bytes(), 60<<20)
		for i := range got.N {
			require.EqualValues(t, at, got.Cols[0].I32[i])
			require.Equal(t, b.Cols[1].IsNull(at), got.Cols[1].IsNull(i))
			require.True(t, bytes.Equal(b.Cols[1].Value(at), got.Cols[1].Value(i)))
			require.Equal(t, b.Cols[2].IsNull(at), got.Cols[2].IsNull(i))
			require.True(t, bytes.Equal(b.Cols[2].Value(at), got.Cols[2].Value(i)))
			require.Equal(t, b.Cols[3].Off[at+1]-b.Cols[3].Off[at], got.Cols[3].Off[i+1]-got.Cols[3].Off[i])
			at++
		}
	}
	require.Equal(t, b.N, at)
}

func TestDecimalWidth(t *testing.T) {
	for p, want := range map[int]int{1: 1, 2: 1, 3: 2, 9: 4, 18: 8, 19: 9, 20: 9, 21: 9, 22: 10, 28: 12, 38: 16} {
		require.Equal(t, want, decimalWidth(p), "precision %d", p)
	}
	for p := 1; p <= 38; p++ { // Java computes it with doubles
		n := 1
		for math.Pow(2, float64(8*n-1)) < math.Pow(10, float64(p)) {
			n++
		}
		require.Equal(t, n, decimalWidth(p), "precision %d", p)
	}
}

func TestHybridRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(0, 32).Draw(t, "width")
		limit := uint64(1)<<width - 1
		var vals []uint32
		for range rapid.IntRange(0, 20).Draw(t, "runs") {
			v := uint32(rapid.Uint64Range(0, limit).Draw(t, "value"))
			for range rapid.IntRange(1, 30).Draw(t, "length") {
				vals = append(vals, v)
			}
		}
		var r hybridReader
		r.reset(appendHybrid(nil, vals, width), width)
		got := make([]uint32, len(vals))
		for at := 0; at < len(got); {
			n := min(rapid.IntRange(1, 50).Draw(t, "read"), len(got)-at)
			require.NoError(t, readHybrid(&r, got[at:at+n]))
			at += n
		}
		if len(vals) > 0 {
			require.Equal(t, vals, got)
		}
	})
}

func TestInt96AndInt128(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms, ns := rapid.Int64Range(-62135596800000, 253402300799999).Draw(t, "ms"), rapid.Int32Range(0, 999_999).Draw(t, "ns")
		var b [int96Width]byte
		putInt96(b[:], ms, ns)
		gotMS, gotNS := int96(b[:])
		require.Equal(t, ms, gotMS)
		require.Equal(t, ns, gotNS)

		v := row.Int128{Hi: rapid.Int64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
		n := rapid.IntRange(16, 20).Draw(t, "bytes")
		buf := make([]byte, n)
		putInt128(buf, v)
		got, ok := int128(buf)
		require.True(t, ok)
		require.Equal(t, v, got)
	})
	_, ok := int128(append([]byte{1}, make([]byte, 16)...))
	require.False(t, ok)
	_, ok = int128(nil)
	require.False(t, ok)
}

func TestCutBoundsStillBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]boundsKind{boundsBytes, boundsText}).Draw(t, "kind")
		v := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 0xFF, 0xFE}), 0, 200).Draw(t, "bytes")
		if kind == boundsText {
			v = []byte(rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'é', '漢', 0xD7FF, utf8.MaxRune}), 0, 100, -1).Draw(t, "text"))
		}
		lo := cutMin(kind, v)
		hi := cutMax(kind, append([]byte("before"), v...), 6)
		require.Equal(t, "before", string(hi[:6]))
		hi = hi[6:]
		require.LessOrEqual(t, string(lo), string(v))
		require.GreaterOrEqual(t, string(hi), string(v))
		require.LessOrEqual(t, len(lo), indexBound)
		if kind == boundsText {
			require.True(t, utf8.Valid(lo))
			require.True(t, utf8.Valid(hi))
		}
	})
}

// TestLevelsCountWherePagesPayForThem compresses random text, and this package's sources, which a higher level shrinks more, as pages of
// many files, small ones and large.
func TestLevelsCountWherePagesPayForThem(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	random := []byte(randomText(rnd, 200_000))
	var text []byte
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range sources {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		text = append(text, b...)
	}
	for _, size := range []int{3_000, 30_000, 150_000} {
		for pays, src := range map[bool][]byte{false: random[:size], true: text[:size]} {
			var trial fastzstd.Trial
			for file := range 200 {
				var c compressor
				c.init(codecZstd, 3)
				out, err := c.appendTo(nil, src, &trial)
				require.NoError(t, err)
				back := make([]byte, len(src))
				require.NoError(t, decompress(codecZstd, back, out))
				require.True(t, bytes.Equal(src, back))
				if pays && size > 3_000 {
					require.Equal(t, c.EncodeAll(src, nil), out, "file %d", file)
				} else {
					require.Equal(t, c.fast.Append(nil, src), out, "file %d", file)
				}
				c.release()
			}
		}
	}
}
