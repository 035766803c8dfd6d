package avro

import (
	"encoding/binary"
	"math"
	"testing"

	hamba "github.com/hamba/avro/v2"
	"github.com/stretchr/testify/require"
)

// TestLongsOfEveryLength: around each power of two, at the end of the data and before more of it.
func TestLongsOfEveryLength(t *testing.T) {
	values := []int64{0, math.MaxInt64, math.MinInt64}
	for s := range 63 {
		for d := int64(-2); d <= 2; d++ {
			values = append(values, 1<<s+d, -1<<s+d)
		}
	}
	for _, v := range values {
		enc := AppendLong([]byte{9}, v)
		require.Equal(t, binary.AppendVarint([]byte{9}, v), enc)
		var put [10]byte
		require.Equal(t, enc[1:], put[:putLong(put[:], v)])
		theirs, err := hamba.Marshal(hamba.NewPrimitiveSchema(hamba.Long, nil), v)
		require.NoError(t, err)
		require.Equal(t, theirs, enc[1:])
		for _, tail := range [][]byte{nil, {0x80}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
			d := NewDecoder(append(enc[1:len(enc):len(enc)], tail...))
			require.Equal(t, v, d.Long())
			require.NoError(t, d.Err())
			require.Equal(t, len(tail), d.Len())
		}
		for n := range enc[1:] {
			d := NewDecoder(enc[1 : 1+n])
			require.Zero(t, d.Long())
			require.Error(t, d.Err())
		}
	}
}

func TestVarintsThatAreLongerThanNeeded(t *testing.T) {
	for _, enc := range [][]byte{{0x82, 0}, {0x82, 0x80, 0x80, 0}, {0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}, {0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}} {
		for _, tail := range []int{0, 20} {
			d := NewDecoder(append(enc[:len(enc):len(enc)], make([]byte, tail)...))
			require.True(t, d.Union())
			require.NoError(t, d.Err())
			require.Equal(t, tail, d.Len())
		}
	}
	d := NewDecoder([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	d.Long()
	require.Error(t, d.Err())
}

func TestDecoderChecksRanges(t *testing.T) {
	for name, read := range map[string]func(d *Decoder){
		"int":     func(d *Decoder) { d.Int() },
		"boolean": func(d *Decoder) { d.Boolean() },
		"union":   func(d *Decoder) { d.Union() },
		"bytes":   func(d *Decoder) { d.Bytes() },
		"double":  func(d *Decoder) { d.Double(); d.Double() },
		"float":   func(d *Decoder) { d.Float(); d.Float(); d.Float() },
		"items":   func(d *Decoder) { d.Items() },
	} {
		d := NewDecoder(AppendLong(nil, 1<<50))
		read(d)
		require.Error(t, d.Err(), name)
		require.Zero(t, d.Len())
		first := d.Err()
		require.Zero(t, d.Long())
		require.Empty(t, d.String())
		require.Equal(t, first, d.Err(), "the first damage is the one that is told")
	}
}

func TestDecimalBytesAreTheShortest(t *testing.T) {
	for v, want := range map[int64][]byte{
		0: {0}, 127: {127}, 128: {0, 128}, -128: {128}, -129: {0xff, 127}, 256: {1, 0}, math.MaxInt64: {127, 255, 255, 255, 255, 255, 255, 255},
		math.MinInt64: {128, 0, 0, 0, 0, 0, 0, 0}, -1: {255}, 32767: {127, 255}, 32768: {0, 128, 0},
	} {
		require.Equal(t, AppendBytes(nil, want), appendDecimal64(nil, v), v)
		got, ok := decimalOf(append([]byte{want[0] & 128 >> 7 * 255, want[0] & 128 >> 7 * 255}, want...))
		require.True(t, ok)
		require.Equal(t, v, int64(got.Lo))
	}
	_, ok := decimalOf(append([]byte{1}, make([]byte, 16)...))
	require.False(t, ok)
	_, ok = decimalOf(append([]byte{0, 255}, make([]byte, 15)...))
	require.False(t, ok)
	_, ok = decimalOf(nil)
	require.False(t, ok)
}

func TestEncodersAllocateNothingPerRow(t *testing.T) {
	for name, make := range benchBatches {
		b := make()
		w, err := Format.NewWriter(discard{}, formatSpec(b))
		require.NoError(t, err)
		require.NoError(t, w.Write(b))
		n := testing.AllocsPerRun(10, func() { require.NoError(t, w.Write(b)) })
		require.Less(t, n, 20.0, "%s: allocations for %d rows", name, b.N)
	}
}
