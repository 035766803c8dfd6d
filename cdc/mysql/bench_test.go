package mysql

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/format/row"
)

// image puts a row image together from little pieces.
type image []byte

func (p image) u(n int, v uint64) image {
	for range n {
		p = append(p, byte(v))
		v >>= 8
	}
	return p
}

func (p image) str(s string) image { return append(append(p, byte(len(s))), s...) }

func benchTable(b testing.TB, defs []string, types []byte, meta []byte, rowOf func(i int) image) (*Decoder, *TableMap, *RowsEvent, *row.Type) {
	cols := columns(b, defs...)
	body := image{}.u(6, 1).u(2, 1).str("db").u(1, 0).str("t").u(1, 0).u(1, uint64(len(types)))
	body = append(append(body, types...), byte(len(meta)))
	body = append(append(body, meta...), make([]byte, (len(types)+7)/8)...)
	tm, err := ParseTableMap(body, false)
	require.NoError(b, err)
	target := targetType(b, cols, TypeOptions{})
	d, err := NewDecoder(cols, target, ValueOptions{})
	require.NoError(b, err)
	nb := (len(types) + 7) / 8
	e := &RowsEvent{Kind: row.Insert, Columns: len(types), Present: make([]byte, nb)}
	for i := range e.Present {
		e.Present[i] = 0xff
	}
	e.PresentAfter = e.Present
	for i := range 1000 {
		e.Images = append(append(e.Images, make([]byte, nb)...), rowOf(i)...)
	}
	return d, tm, e, target
}

func guideTable(b testing.TB) (*Decoder, *TableMap, *RowsEvent, *row.Type) {
	return benchTable(b, []string{"id bigint", "name varchar(64)", "age int"},
		[]byte{typeLongLong, typeVarchar, typeLong}, image{}.u(2, 256), func(i int) image {
			name := fmt.Sprintf("user-%d", i)
			return image{}.u(8, uint64(i)).u(2, uint64(len(name))+0).addBytes(name).u(4, uint64(i%90))
		})
}

func (p image) addBytes(s string) image { return append(p, s...) }

// wideTable is the table that the stock decoder was measured with: BIGINT, INT, 4 strings, DECIMAL,
// DATETIME(3), TIMESTAMP(6), DOUBLE, SMALLINT, CHAR, BIGINT UNSIGNED.
func wideTable(b testing.TB) (*Decoder, *TableMap, *RowsEvent, *row.Type) {
	return benchTable(b,
		[]string{"id bigint", "i int", "s1 varchar(20)", "s2 varchar(40)", "s3 varchar(60)", "s4 varchar(60)", "d decimal(12,2)", "dt datetime(3)",
			"ts timestamp(6)", "f double", "si smallint", "c char(8)", "bu bigint unsigned"},
		[]byte{typeLongLong, typeLong, typeVarchar, typeVarchar, typeVarchar, typeVarchar, typeNewDecimal, typeDatetime2, typeTimestamp2, typeDouble, typeShort, typeString, typeLongLong},
		image{}.u(2, 80).u(2, 160).u(2, 240).u(2, 240).u(1, 12).u(1, 2).u(1, 3).u(1, 6).u(1, 8).u(1, typeString).u(1, 32), func(i int) image {
			p := image{}.u(8, uint64(i)).u(4, uint64(i*7)).str("status").str(fmt.Sprintf("customer-%08d", i)).str("some street 12, some town").str("x")
			p = append(p, 0x80, 0, byte(i>>8), byte(i), 0x10, 0x20) // DECIMAL(12,2)
			p = append(p, 0x99, 0xb2, 0xba, 0xc8, 0xb8, 0x04, 0xd2) // DATETIME(3)
			p = append(p, 0x66, 0x01, 0x02, byte(i), 0x01, 0xe2, 0x40)
			return p.u(8, 0x3ff8000000000000).u(2, uint64(i)).str("EUR").u(8, 1<<63+uint64(i))
		})
}

func benchRows(b *testing.B, d *Decoder, tm *TableMap, e *RowsEvent, target *row.Type) {
	batch := row.NewBatch(target)
	n, err := d.AppendRows(batch, tm, e)
	require.NoError(b, err)
	b.SetBytes(int64(len(e.Images)))
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		batch.Reset()
		if _, err := d.AppendRows(batch, tm, e); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds(), "images/s")
}

func BenchmarkImagesOfGuideTable(b *testing.B) {
	d, tm, e, target := guideTable(b)
	benchRows(b, d, tm, e, target)
}

func BenchmarkImagesOfWideTable(b *testing.B) {
	d, tm, e, target := wideTable(b)
	benchRows(b, d, tm, e, target)
}

func BenchmarkBinaryRows(b *testing.B) {
	cols := columns(b, "id bigint", "name varchar(64)", "age int")
	target := targetType(b, cols, TypeOptions{})
	d, err := NewDecoder(cols, target, ValueOptions{})
	require.NoError(b, err)
	packet := image{0, 0}.u(8, 77).str("user-77").u(4, 33)
	batch := row.NewBatch(target)
	b.ReportAllocs()
	for b.Loop() {
		if batch.N == 1000 {
			batch.Reset()
		}
		if err := d.AppendBinaryRow(batch.Cols, packet); err != nil {
			b.Fatal(err)
		}
		batch.EndRow(row.Insert)
	}
}

// TestDecodingAllocatesNothing: the steady state is zero for every type of the benchmarks.
func TestDecodingAllocatesNothing(t *testing.T) {
	for name, table := range map[string]func(testing.TB) (*Decoder, *TableMap, *RowsEvent, *row.Type){"guide": guideTable, "wide": wideTable} {
		d, tm, e, target := table(t)
		batch := row.NewBatch(target)
		n := testing.AllocsPerRun(10, func() {
			batch.Reset()
			if _, err := d.AppendRows(batch, tm, e); err != nil {
				t.Fatal(err)
			}
		})
		require.Zero(t, n, name)
	}
}
