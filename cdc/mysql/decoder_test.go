package mysql

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
)

var captureOptions = map[string]ValueOptions{
	"time_clamp": {Time: TimeClamp}, "time_modulo": {Time: TimeModulo}, "time_string": {Types: TypeOptions{TimeAsString: true}},
}

// TestCapturesDecodeTheSameFromLogAndSelect replays what real servers sent; the tests tagged integration write it.
func TestCapturesDecodeTheSameFromLogAndSelect(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			c := readCapture(t, path)
			opt := captureOptions[name]
			target := targetType(t, c.cols, opt.Types)
			d, err := NewDecoder(c.cols, target, opt)
			require.NoError(t, err)
			if name == "minimal_image" {
				return // refused: TestPartialImageIsRefused
			}
			require.Equal(t, c.want, rowsText(c.decodeEvents(t, d, target)))
			if len(c.packets) > 0 {
				require.Equal(t, c.want, rowsText(c.decodePackets(t, d, target)))
			}
		})
	}
}

func TestPartialImageIsRefused(t *testing.T) {
	c := readCapture(t, "testdata/minimal_image.txt")
	target := targetType(t, c.cols, TypeOptions{})
	d, err := NewDecoder(c.cols, target, ValueOptions{})
	require.NoError(t, err)
	tm, err := ParseTableMap(c.events[2].body, false)
	require.NoError(t, err)
	e, err := ParseRows(c.events[3].kind, c.events[3].body)
	require.NoError(t, err)
	b := row.NewBatch(target)
	_, err = d.AppendRows(b, tm, &e)
	require.ErrorIs(t, err, cdc.ErrRefused)
	require.ErrorContains(t, err, "column a is missing from a row image")
	e.Kind, e.Present, e.PresentAfter, e.Partial = row.UpdateAfter, []byte{7}, []byte{7}, true
	_, err = d.AppendRows(b, tm, &e)
	require.ErrorContains(t, err, "partial JSON update")
}

func alltypes(t testing.TB) *capture { return readCapture(t, "testdata/alltypes.txt") }

// TestTableMapHasWhatTheServerWasToldToLog checks the optional metadata of binlog_row_metadata=FULL.
func TestTableMapHasWhatTheServerWasToldToLog(t *testing.T) {
	c := alltypes(t)
	tm, err := ParseTableMap(c.events[0].body, false)
	require.NoError(t, err)
	require.True(t, tm.HasNames && tm.HasSigns && tm.HasCharsets && tm.HasElements)
	require.Equal(t, []int{0}, tm.PrimaryKey)
	require.Len(t, tm.Columns, len(c.cols))
	require.True(t, tm.Same(c.events[0].body))
	schema, table, err := TableMapName(c.events[0].body)
	require.NoError(t, err)
	require.Equal(t, tm.Schema+"."+tm.Table, string(schema)+"."+string(table))
	for i := range tm.Columns {
		m, col := &tm.Columns[i], &c.cols[i]
		require.Equal(t, col.Name, m.Name)
		require.Equal(t, col.Nullable, m.Nullable, col.Name)
		if m.isNumeric() && col.DataType != "year" {
			require.Equal(t, col.Unsigned, m.Unsigned, col.Name)
		}
		require.Equal(t, col.Elements, m.Elements, col.Name)
		if col.Charset != "" && col.Charset != "binary" {
			require.Equal(t, col.Charset, CollationCharset(m.Collation), col.Name)
		}
	}
}

// TestWiderTargets decodes into every type that holds more than the natural one, and compares the values.
func TestWiderTargetsHoldTheSameValues(t *testing.T) {
	c := alltypes(t)
	natural := targetType(t, c.cols, TypeOptions{})
	wide := row.NewRow()
	for _, f := range natural.Fields {
		typ := f.Type
		switch typ.Root {
		case row.TinyInt:
			typ.Root = row.SmallInt
		case row.SmallInt, row.Int:
			typ.Root = row.BigInt
		case row.BigInt:
			typ = row.Type{Root: row.Decimal, Precision: 25, Scale: 3}
		case row.Float:
			typ.Root = row.Double
		case row.Decimal:
			if typ.Precision < 37 {
				typ.Precision, typ.Scale = min(typ.Precision+2, 38), typ.Scale+1
			}
		case row.Timestamp:
			typ.Precision = min(typ.Precision+3, 9)
		case row.Char, row.VarChar:
			typ = stringType
		case row.VarBinary:
			typ.Length = row.MaxLength
		}
		typ.Nullable = true
		f.Type = typ
		wide.Fields = append(wide.Fields, f)
	}
	dn, err := NewDecoder(c.cols, natural, ValueOptions{})
	require.NoError(t, err)
	dw, err := NewDecoder(c.cols, &wide, ValueOptions{})
	require.NoError(t, err)
	n, w := c.decodeEvents(t, dn, natural), c.decodeEvents(t, dw, &wide)
	require.Equal(t, rowsText(w), rowsText(c.decodePackets(t, dw, &wide)))
	for i := range n.N {
		for k := range n.Cols {
			a, b := string(row.AppendJSONValue(nil, &n.Cols[k], i)), string(row.AppendJSONValue(nil, &w.Cols[k], i))
			if natural.Fields[k].Type.Root == row.Float { // the same number, spelled with more digits
				if !n.Cols[k].IsNull(i) {
					require.Equal(t, float64(n.Cols[k].F32[i]), w.Cols[k].F64[i])
				}
				continue
			}
			if wide.Fields[k].Type.Root == row.Decimal && !n.Cols[k].IsNull(i) {
				a = strings.Trim(a, `"`)
				if s := wide.Fields[k].Type.Scale - natural.Fields[k].Type.Scale; s > 0 {
					if !strings.Contains(a, ".") {
						a += "."
					}
					a += strings.Repeat("0", s)
				}
				a = `"` + a + `"`
			}
			require.Equal(t, a, b, "%s row %d", natural.Fields[k].Name, i)
		}
	}
}

func TestDecoderRefusesWhatDoesNotFit(t *testing.T) {
	str := func(n int) row.Type { return row.Type{Root: row.VarChar, Length: n, Nullable: true} }
	dec := func(p, s int) row.Type { return row.Type{Root: row.Decimal, Precision: p, Scale: s, Nullable: true} }
	of := func(r row.Root) row.Type { return row.Type{Root: r, Nullable: true} }
	for _, c := range []struct {
		col    string
		target row.Type
	}{
		{"c smallint", of(row.TinyInt)}, {"c int unsigned", of(row.Int)}, {"c bigint unsigned", of(row.BigInt)}, {"c bigint", dec(18, 0)},
		{"c int", str(100)}, {"c int", of(row.Double)}, {"c double", of(row.Float)}, {"c decimal(10,2)", dec(10, 3)}, {"c decimal(10,2)", dec(9, 1)},
		{"c decimal(40,2)", dec(38, 2)}, {"c datetime(6)", row.Type{Root: row.Timestamp, Precision: 3, Nullable: true}},
		{"c datetime", of(row.TimestampLTZ)}, {"c varchar(20)", str(19)}, {"c text", str(100)}, {"c varbinary(9)", row.Type{Root: row.VarBinary, Length: 8, Nullable: true}},
		{"c blob", str(row.MaxLength)}, {"c text", row.Type{Root: row.VarBinary, Length: row.MaxLength, Nullable: true}}, {"c time", str(row.MaxLength)},
		{"c date", of(row.Timestamp)}, {"c tinyint", of(row.Boolean)}, {"c set('a')", str(row.MaxLength)}, {"c json", str(100)}, {"c enum('abc')", str(2)},
		{"c bit(9)", of(row.Boolean)}, {"c frob", str(row.MaxLength)},
	} {
		target := row.NewRow(row.Field{Name: "C", Type: c.target})
		_, err := NewDecoder(columns(t, c.col), &target, ValueOptions{})
		require.ErrorIs(t, err, cdc.ErrRefused, "%s to %s", c.col, c.target.String())
		require.ErrorContains(t, err, "column c")
	}
	target := row.NewRow(row.Field{Name: "x", Type: row.Type{Root: row.Int}})
	_, err := NewDecoder(columns(t, "c int"), &target, ValueOptions{})
	require.ErrorContains(t, err, "field x is NOT NULL and has no source column")
	cols := columns(t, "c text")
	cols[0].Charset = "klingon"
	target = row.NewRow(row.Field{Name: "c", Type: stringType})
	_, err = NewDecoder(cols, &target, ValueOptions{})
	require.ErrorContains(t, err, "column c: character set klingon is not known")
}

// TestMissingAndExtraColumns: fields without a column are null, columns without a field are passed over.
func TestMissingAndExtraColumns(t *testing.T) {
	c := alltypes(t)
	natural := targetType(t, c.cols, TypeOptions{})
	target := row.NewRow(row.Field{Name: "not_there", Type: stringType})
	target.Fields[0].Type.Nullable = true
	pick := []int{0}
	for i := range natural.Fields {
		if i%3 == 0 {
			f := natural.Fields[i]
			f.Name = strings.ToUpper(f.Name)
			target.Fields = append(target.Fields, f)
			pick = append(pick, i)
		}
	}
	d, err := NewDecoder(c.cols, &target, ValueOptions{})
	require.NoError(t, err)
	require.Len(t, d.SelectColumns(), len(pick)-1)
	dn, err := NewDecoder(c.cols, natural, ValueOptions{})
	require.NoError(t, err)
	all, some := c.decodeEvents(t, dn, natural), c.decodeEvents(t, d, &target)
	require.Equal(t, all.N, some.N)
	for k := 1; k < len(pick); k++ {
		require.Equal(t, all.Cols[pick[k]], func() row.Column { x := some.Cols[k]; x.Type = all.Cols[pick[k]].Type; return x }())
	}
	for i := range some.N {
		require.True(t, some.Cols[0].IsNull(i))
	}
}

func TestValuesThatPolicyDecides(t *testing.T) {
	c := alltypes(t)
	target := targetType(t, c.cols, TypeOptions{})
	d, err := NewDecoder(c.cols, target, ValueOptions{})
	require.NoError(t, err)
	c.decodeEvents(t, d, target)
	require.EqualValues(t, 7, d.Counters().ZeroDates)
	for i := range target.Fields { // NOT NULL targets get 1970-01-01
		if n := target.Fields[i].Name; n == "da" || n == "dt0" {
			target.Fields[i].Type.Nullable = false
		}
	}
	d, err = NewDecoder(c.cols, target, ValueOptions{})
	require.NoError(t, err)
	tm, err := ParseTableMap(c.events[0].body, false)
	require.NoError(t, err)
	e, err := ParseRows(c.events[1].kind, c.events[1].body)
	require.NoError(t, err)
	_, err = d.AppendRows(row.NewBatch(target), tm, &e)
	require.ErrorContains(t, err, "column da: NULL for field type DATE NOT NULL")
	c.events = c.events[8:10] // the row of zero dates
	b := c.decodeEvents(t, d, target)
	require.Contains(t, rowsText(b)[0], `"da":"1970-01-01"`)
	require.Contains(t, rowsText(b)[0], `"dt0":"1970-01-01T00:00:00.000000000"`)
	for _, key := range []ValueOptions{{Key: []string{"DA"}}, {Key: []string{"da"}, ZeroDate: ZeroDateEpoch}} {
		d, err = NewDecoder(c.cols, target, key)
		require.NoError(t, err)
		e, err = ParseRows(c.events[1].kind, c.events[1].body)
		require.NoError(t, err)
		tm, err = ParseTableMap(c.events[0].body, false)
		require.NoError(t, err)
		if _, err = d.AppendRows(row.NewBatch(target), tm, &e); key.ZeroDate == ZeroDateEpoch {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, cdc.ErrRefused)
			require.ErrorContains(t, err, "column da: there is no day 0000-00-00, and in a key column")
		}
	}
	d, err = NewDecoder(c.cols, target, ValueOptions{ZeroDate: ZeroDateError})
	require.NoError(t, err)
	e, err = ParseRows(c.events[1].kind, c.events[1].body)
	require.NoError(t, err)
	tm, err = ParseTableMap(c.events[0].body, false)
	require.NoError(t, err)
	_, err = d.AppendRows(row.NewBatch(target), tm, &e)
	require.ErrorContains(t, err, "column da: there is no day 0000-00-00")
}

func TestBooleanKeysTellRowsApart(t *testing.T) {
	cols := []Column{{Name: "Flag", DataType: "tinyint", ColumnType: "tinyint(1)", Length: 1}, {Name: "v", DataType: "tinyint", ColumnType: "tinyint(1)", Length: 1}}
	target := targetType(t, cols, TypeOptions{})
	d, err := NewDecoder(cols, target, ValueOptions{Key: []string{"flag"}})
	require.NoError(t, err)
	packet := func(flag, v byte) []byte { return []byte{0, 0, flag, v} } // header, null bitmap
	b := row.NewBatch(target)
	for _, p := range [][]byte{packet(0, 1), packet(1, 2), packet(1, 0xff)} {
		require.NoError(t, d.AppendBinaryRow(b.Cols, p))
		b.EndRow(row.Insert)
	}
	require.Equal(t, []int32{1, 1, 1}, b.Cols[1].I32)
	for _, flag := range []byte{2, 0xff} {
		err = d.AppendBinaryRow(row.NewBatch(target).Cols, packet(flag, 1))
		require.ErrorIs(t, err, cdc.ErrRefused)
		require.ErrorContains(t, err, "tinyint1-not-bool")
	}
}

func TestTimeOutsideTheDayIsRefusedByDefault(t *testing.T) {
	c := readCapture(t, "testdata/time_clamp.txt")
	target := targetType(t, c.cols, TypeOptions{})
	d, err := NewDecoder(c.cols, target, ValueOptions{})
	require.NoError(t, err)
	err = d.AppendBinaryRow(row.NewBatch(target).Cols, c.packets[0])
	require.ErrorContains(t, err, "column a: TIME -838:59:59 is not a time of the day")
	d, err = NewDecoder(c.cols, target, ValueOptions{Time: TimeClamp})
	require.NoError(t, err)
	c.decodeEvents(t, d, target)
	require.EqualValues(t, 4*7, d.Counters().TimesChanged)
}

func TestInvalidCharacters(t *testing.T) {
	cols := columns(t, "c varchar(9)")
	target := row.NewRow(row.Field{Name: "c", Type: stringType})
	for _, c := range []struct {
		charset, in, want string
		policy            InvalidCharsPolicy
		bad               int64
	}{
		{"utf8mb4", "61ff62", "a\uFFFDb", InvalidReplace, 1},
		{"utf8mb4", "61ff62", "a\xffb", InvalidKeep, 1},
		{"utf8mb4", "c3a9f09f9880", "é😀", InvalidError, 0},
		{"latin1", "80e99f81", "€éŸ\u0081", InvalidReplace, 0},
		{"gbk", "d6d061ff", "中a\uFFFD", InvalidReplace, 1},
		{"gbk", "d6", "\uFFFD", InvalidReplace, 1},
		{"ucs2", "4e2d0041", "中A", InvalidReplace, 0},
		{"ucs2", "4e2d00", "中\uFFFD", InvalidReplace, 1},
		{"utf16", "d83dde00", "😀", InvalidReplace, 0},
		{"utf16", "d83d0041", "\uFFFDA", InvalidReplace, 1},
		{"utf16le", "3dd800de", "😀", InvalidReplace, 0},
		{"utf32", "0001f600", "😀", InvalidReplace, 0},
		{"gb18030", "9439fc36d6d0", "😀中", InvalidReplace, 0},
		{"sjis", "83658358b1", "テスｱ", InvalidReplace, 0},
		{"ascii", "41e9", "A\uFFFD", InvalidReplace, 1},
	} {
		cols[0].Charset = c.charset
		d, err := NewDecoder(cols, &target, ValueOptions{Invalid: c.policy})
		require.NoError(t, err)
		v, err := hex.DecodeString(c.in)
		require.NoError(t, err)
		b := row.NewBatch(&target)
		require.NoError(t, d.AppendBinaryRow(b.Cols, append([]byte{0, 0, byte(len(v))}, v...)))
		require.Equal(t, c.want, string(b.Cols[0].Value(0)), "%s %s", c.charset, c.in)
		require.Equal(t, c.bad, d.Counters().InvalidChars, "%s %s", c.charset, c.in)
	}
	cols[0].Charset = "utf8mb4"
	d, err := NewDecoder(cols, &target, ValueOptions{Invalid: InvalidError})
	require.NoError(t, err)
	require.ErrorContains(t, d.AppendBinaryRow(row.NewBatch(&target).Cols, []byte{0, 0, 1, 0xff}), "column c: 1 bytes or sequences")
}

func TestParseTypeOptions(t *testing.T) {
	o, err := ParseTypeOptions("to-nullable, tinyint1_not_bool,TO-STRING,char-to-string,longtext-to-bytes,bigint-unsigned-to-bigint,decimal-no-change,allow-non-string-to-string")
	require.NoError(t, err)
	require.Equal(t, TypeOptions{ToNullable: true, TinyInt1NotBool: true, ToString: true, CharToString: true, LongtextToBytes: true,
		UnsignedBigIntSigned: true, DecimalNoChange: true, NonStringToString: true}, o)
	_, err = ParseTypeOptions("to-nulable")
	require.ErrorIs(t, err, cdc.ErrUsage)
}

// TestRowsLoggedUnderAnotherDefinition: with names in the log, rows of an older table definition find their columns.
func TestRowsLoggedUnderAnotherDefinition(t *testing.T) {
	c := readCapture(t, "testdata/changes.txt") // id int, a varchar(9), b tinyint unsigned
	decode := func(cols []Column, target ...row.Field) (*row.Batch, error) {
		typ := row.NewRow(target...)
		d, err := NewDecoder(cols, &typ, ValueOptions{})
		require.NoError(t, err)
		tm, err := ParseTableMap(c.events[0].body, false)
		require.NoError(t, err)
		e, err := ParseRows(c.events[1].kind, c.events[1].body)
		require.NoError(t, err)
		b := row.NewBatch(&typ)
		_, err = d.AppendRows(b, tm, &e)
		return b, err
	}
	natural := targetType(t, c.cols, TypeOptions{}).Fields
	extra := row.Field{Name: "x", Type: row.Type{Root: row.Int, Nullable: true}}
	added := append(columns(t, "x int"), c.cols...)
	b, err := decode(added, append([]row.Field{extra}, natural...)...)
	require.NoError(t, err)
	require.Equal(t, []string{`{"_kind":"+I","x":null,"id":1,"a":"x","b":200}`, `{"_kind":"+I","x":null,"id":2,"a":"y","b":0}`}, rowsText(b))

	b, err = decode([]Column{c.cols[0], c.cols[2]}, natural[0], natural[2]) // a was dropped later
	require.NoError(t, err)
	require.Equal(t, `{"_kind":"+I","id":1,"b":200}`, rowsText(b)[0])

	_, err = decode([]Column{c.cols[0], columns(t, "renamed varchar(9)")[0], c.cols[2]}, natural[0])
	require.ErrorContains(t, err, "column a in the log is not in the schema, and a column of the schema is not in the log")
	_, err = decode([]Column{c.cols[0], c.cols[2]}, natural...)
	require.ErrorContains(t, err, "column a is in the log and in the target, but not in the schema")
}
