package mysql

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
)

// op says what the bytes of a value are and, for the commonest ones, where they go. It is chosen once per column and
// table map for row images, and once per column for the binary protocol.
type op uint8

const (
	opNone op = iota // the column has no target
	opI32            // INT to INT: 4 bytes to the I32 store
	opI64            // BIGINT to BIGINT
	opInt            // any integer to any store
	opF32
	opF64
	opFloat // FLOAT or DOUBLE to a wider type or text
	opUTF8  // utf8mb4 text
	opText  // text of any character set
	opBytes
	opBit
	opDecimal     // packed
	opDecimalText // as text
	opDate3
	opDate // binary protocol
	opDatetime2
	opDatetimeOld // 8 bytes, decimal digits
	opDatetime    // binary protocol
	opTimestamp2
	opTimestampOld
	opTimestamp // binary protocol, in UTC
	opTime2
	opTimeOld
	opTime // binary protocol
	opEnum // index
	opSet  // bit mask
	opEnumText
	opSetText
	opJSON
	opJSONText
	opGeometry
	opVector
	opNet
	opNetText
)

// sink says where and in which form a value is stored.
type sink uint8

const (
	sinkNone sink = iota
	sinkBool
	sinkI32
	sinkI64
	sinkDec64  // unscaled, times field.mul
	sinkDec128 // unscaled, times ten to the field.scaleUp
	sinkF32
	sinkF64
	sinkDate
	sinkTime
	sinkMillis
	sinkMicros
	sinkNanos
	sinkBytes
	sinkText // bytes in UTF-8; for types that are not text, the spelling of to-string
	sinkList
)

// field is the compiled way of one source column.
type field struct {
	name   string
	target int // -1: skipped
	typ    *row.Type
	fam    fam
	sink   sink

	image  op
	prefix uint8 // width of the length in a row image, 0 for values of a fixed size
	size   int   // bytes of a fixed-size value in a row image

	binary  op
	binSize int // bytes of a fixed-size value in the binary protocol, 0 for a length-encoded one, -1 for length byte

	unsigned bool
	year     bool
	key      bool // of the fields that tell rows apart
	ltz      bool
	trim     bool // DECIMAL as text without trailing zeros
	mul      int64
	scaleUp  int
	fsp      int
	bits     int
	pad      int // BINARY(n): n
	dec      packedDecimal
	charset  *charset // of row images
	binText  *charset // of the binary protocol
	elements [][]byte
	mysql    string // the type text, for errors
}

func (f *field) refuse(reason string) error {
	return fmt.Errorf("column %s: MySQL type %s does not fit field type %s: %s: %w", f.name, f.mysql, describe(f.typ), reason, cdc.ErrRefused)
}

// compile sets what depends on the column and its target. The row image part is set by wire.
func (d *Decoder) compile(f *field, c *Column) error {
	*f = field{name: c.Name, target: f.target, fam: family(c), unsigned: c.Unsigned, year: c.DataType == "year", fsp: c.Fsp, mysql: c.ColumnType}
	if f.mysql == "" {
		f.mysql = c.DataType
	}
	if f.target < 0 {
		return nil
	}
	f.typ = &d.target.Fields[f.target].Type
	f.key = slices.ContainsFunc(d.opt.Key, func(k string) bool { return strings.EqualFold(k, d.target.Fields[f.target].Name) })
	if err := f.chooseSink(c, &d.opt); err != nil {
		return err
	}
	switch f.fam {
	case famText, famEnum, famSet:
		name := c.Charset
		if name == "" {
			name = "utf8mb4"
		}
		if f.charset = charsetByName(name); f.charset == nil {
			return fmt.Errorf("column %s: character set %s is not known: %w", c.Name, name, cdc.ErrRefused)
		}
		f.binText = f.charset
		if d.opt.ConvertedText && f.charset != charsetBinary {
			f.binText = charsetUTF8
		}
		for _, e := range c.Elements {
			f.elements = append(f.elements, []byte(e))
		}
	case famDecimal:
		f.dec = newPackedDecimal(c.Precision, c.Scale)
		f.trim = c.Precision <= 38
	case famBit:
		f.bits = c.Length
	case famBinary:
		if c.DataType == "binary" {
			f.pad = c.Length
		}
	}
	f.binary, f.binSize = f.binaryOp(c)
	return nil
}

// binaryOp returns how the binary protocol sends values of the column.
func (f *field) binaryOp(c *Column) (op, int) {
	switch f.fam {
	case famInt:
		n := c.intBytes()
		switch c.DataType {
		case "year":
			n = 2
		case "mediumint":
			n = 4
		}
		return f.intOp(n), n
	case famFloat:
		if f.sink == sinkF32 {
			return opF32, 4
		}
		return opFloat, 4
	case famDouble:
		if f.sink == sinkF64 {
			return opF64, 8
		}
		return opFloat, 8
	case famDecimal:
		return opDecimalText, 0
	case famDate:
		return opDate, -1
	case famTime:
		return opTime, -1
	case famDatetime:
		return opDatetime, -1
	case famTimestamp:
		return opTimestamp, -1
	case famText:
		return textOp(f.binText), 0
	case famBinary:
		return opBytes, 0
	case famBit:
		return opBit, 0
	case famEnum:
		return opEnumText, 0
	case famSet:
		return opSetText, 0
	case famJSON:
		return opJSONText, 0
	case famGeometry:
		return opGeometry, 0
	case famVector:
		return opVector, 0
	case famNet:
		return opNetText, 0
	}
	return opNone, 0
}

func (f *field) intOp(size int) op {
	switch {
	case f.sink == sinkI32 && size == 4 && !f.unsigned:
		return opI32
	case f.sink == sinkI64 && size == 8 && !f.unsigned:
		return opI64
	}
	return opInt
}

func textOp(c *charset) op {
	if c == charsetUTF8 {
		return opUTF8
	}
	return opText
}

// bind makes the fields of row images follow a table map: its types, and its names, signs, character sets and lists
// where it has them.
func (d *Decoder) bind(tm *TableMap) error {
	if d.bound != nil && bytes.Equal(tm.body[8:], d.bound.body[8:]) {
		d.bound = tm // only the table id changed
		return nil
	}
	d.bound = nil
	if err := d.bindColumns(tm); err != nil {
		return fmt.Errorf("%s.%s: %w", tm.Schema, tm.Table, err)
	}
	d.bound = tm
	return nil
}

func (d *Decoder) bindColumns(tm *TableMap) error {
	order, err := d.align(tm)
	if err != nil {
		return err
	}
	d.images = make([]field, len(order))
	d.imageAbsent = append(d.imageAbsent[:0], d.absent...)
	seen := make([]bool, len(d.cols))
	for k, i := range order {
		f := &d.images[k]
		m := &tm.Columns[k]
		if i < 0 {
			*f = field{name: m.Name, target: -1}
		} else {
			seen[i] = true
			c := d.cols[i]
			if f.target = d.fields[i].target; f.target >= 0 {
				if err := overlay(&c, tm, m); err != nil {
					return err
				}
			}
			if err := d.compile(f, &c); err != nil {
				return err
			}
		}
		if err := f.wire(m); err != nil {
			return err
		}
	}
	for i := range seen {
		f := &d.fields[i]
		if seen[i] || f.target < 0 {
			continue
		}
		if !f.typ.Nullable {
			return fmt.Errorf("column %s is not in the log and field type %s takes no NULL: %w", f.name, describe(f.typ), cdc.ErrRefused)
		}
		d.imageAbsent = append(d.imageAbsent, f.target)
	}
	return nil
}

// align returns for each column of a table map which of d.cols it is, -1 for one that nobody asks for. Without names in
// the log columns go by position and must be as many. With names, rows that were logged before a column was added, or
// before one was dropped that the target does not have, are understood; where both seem to have happened it could be a
// rename, which must not lose a column's values.
func (d *Decoder) align(tm *TableMap) ([]int, error) {
	order := make([]int, len(tm.Columns))
	if len(order) == 0 || !tm.HasNames && len(order) != len(d.cols) {
		return nil, fmt.Errorf("the table has %d columns in the log, %d in the schema: %w", len(order), len(d.cols), cdc.ErrRefused)
	}
	unknown, known := "", 0
	for k := range order {
		order[k] = k
		if !tm.HasNames {
			continue
		}
		name := tm.Columns[k].Name
		order[k] = slices.IndexFunc(d.cols, func(c Column) bool { return strings.EqualFold(c.Name, name) })
		switch {
		case order[k] >= 0:
			known++
		case d.find(name) >= 0:
			return nil, fmt.Errorf("column %s is in the log and in the target, but not in the schema: %w", name, cdc.ErrRefused)
		default:
			unknown = name
		}
	}
	if unknown != "" && known < len(d.cols) {
		return nil, fmt.Errorf("column %s in the log is not in the schema, and a column of the schema is not in the log: %w", unknown, cdc.ErrRefused)
	}
	return order, nil
}

// overlay replaces what the schema says of a column by what the table map knows better.
func overlay(c *Column, tm *TableMap, m *MapColumn) error {
	if tm.HasSigns && m.isNumeric() {
		c.Unsigned = m.Unsigned && c.DataType != "year"
	}
	if m.Collation != 0 && (family(c) == famText || m.isList()) {
		name := CollationCharset(m.Collation)
		if name == "" {
			return fmt.Errorf("column %s: collation %d is not known: %w", c.Name, m.Collation, cdc.ErrRefused)
		}
		c.Charset = name
	}
	switch m.Type {
	case typeNewDecimal:
		c.Precision, c.Scale = int(m.Meta>>8), int(m.Meta&0xff)
		if c.Precision == 0 || c.Precision > 65 || c.Scale > 38 || c.Scale > c.Precision {
			return malformed("column %s: DECIMAL(%d,%d)", c.Name, c.Precision, c.Scale)
		}
	case typeDatetime2, typeTimestamp2, typeTime2:
		if c.Fsp = int(m.Meta); c.Fsp > 6 {
			return malformed("column %s: %d fraction digits", c.Name, c.Fsp)
		}
	case typeBit:
		if c.Length = int(m.Meta); c.Length == 0 || c.Length > 64 {
			return malformed("column %s: BIT(%d)", c.Name, c.Length)
		}
	case typeEnum, typeSet:
		if !tm.HasElements || len(m.Elements) == 0 {
			return nil
		}
		c.Elements = decodeElements(m.Elements, c.Charset)
	}
	return nil
}

// wire sets how a value lies in the row image.
func (f *field) wire(m *MapColumn) error {
	var want []fam
	set := func(o op, size int, fams ...fam) { f.image, f.size, f.prefix, want = o, size, 0, fams }
	setPrefix := func(o op, prefix int, fams ...fam) { f.image, f.size, f.prefix, want = o, 0, uint8(prefix), fams }
	strPrefix := 1
	if m.Meta > 255 {
		strPrefix = 2
	}
	switch m.Type {
	case typeTiny, typeYear:
		set(opInt, 1, famInt)
	case typeShort:
		set(opInt, 2, famInt)
	case typeInt24:
		set(opInt, 3, famInt)
	case typeLong:
		set(f.intOp(4), 4, famInt)
	case typeLongLong:
		set(f.intOp(8), 8, famInt)
	case typeFloat:
		set(opFloat, 4, famFloat)
		if f.sink == sinkF32 {
			f.image = opF32
		}
	case typeDouble:
		set(opFloat, 8, famDouble)
		if f.sink == sinkF64 {
			f.image = opF64
		}
	case typeNewDecimal:
		set(opDecimal, packedSize(int(m.Meta>>8), int(m.Meta&0xff)), famDecimal)
	case typeDate, typeNewDate:
		set(opDate3, 3, famDate)
	case typeTime:
		set(opTimeOld, 3, famTime)
	case typeTime2:
		set(opTime2, 3+fractionBytes(int(m.Meta)), famTime)
	case typeDatetime:
		set(opDatetimeOld, 8, famDatetime)
	case typeDatetime2:
		set(opDatetime2, 5+fractionBytes(int(m.Meta)), famDatetime)
	case typeTimestamp:
		set(opTimestampOld, 4, famTimestamp)
	case typeTimestamp2:
		set(opTimestamp2, 4+fractionBytes(int(m.Meta)), famTimestamp)
	case typeBit:
		set(opBit, (int(m.Meta)+7)/8, famBit)
	case typeEnum, typeSet:
		if m.Meta < 1 || m.Meta > 8 {
			return malformed("column %s: ENUM or SET of %d bytes", f.name, m.Meta)
		}
		set(opEnum, int(m.Meta), famEnum)
		if m.Type == typeSet {
			set(opSet, int(m.Meta), famSet)
		}
	case typeVarchar, typeVarString, typeString:
		setPrefix(f.stringOp(), strPrefix, famText, famBinary, famNet)
	case typeBlob, typeTinyBlob, typeMediumBlob, typeLongBlob:
		setPrefix(f.stringOp(), int(m.Meta), famText, famBinary)
	case typeJSON:
		setPrefix(opJSON, int(m.Meta), famJSON)
	case typeGeometry:
		setPrefix(opGeometry, int(m.Meta), famGeometry)
	case typeVector:
		setPrefix(opVector, int(m.Meta), famVector)
	default:
		return fmt.Errorf("column %s: type code %d in row images is not supported: %w", f.name, m.Type, cdc.ErrRefused)
	}
	if f.prefix > 4 || f.prefix == 0 && f.size == 0 {
		return malformed("column %s: type code %d with metadata %d", f.name, m.Type, m.Meta)
	}
	if f.target < 0 {
		f.image = opNone
		return nil
	}
	for _, w := range want {
		if w == f.fam {
			return f.checkWidth()
		}
	}
	return fmt.Errorf("column %s has type code %d in the log, the schema says %s: %w", f.name, m.Type, f.mysql, cdc.ErrRefused)
}

// stringOp is the op of the types that share the string codes.
func (f *field) stringOp() op {
	switch f.fam {
	case famText:
		return textOp(f.charset)
	case famNet:
		return opNet
	}
	return opBytes
}

// checkWidth refuses integers that are wider in the log than in the schema, which compile has checked the target with.
func (f *field) checkWidth() error {
	if f.fam == famInt && f.binSize != 0 {
		want := f.size
		if want == 3 {
			want = 4
		}
		if f.year {
			want *= 2 // YEAR is a SMALLINT in the binary protocol
		}
		if want != f.binSize {
			return fmt.Errorf("column %s has %d bytes in the log, the schema says %s: %w", f.name, f.size, f.mysql, cdc.ErrRefused)
		}
	}
	return nil
}

func fractionBytes(fsp int) int { return (fsp + 1) / 2 }
