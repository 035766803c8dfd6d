package mysql

import (
	"github.com/paimon-go/paimon-go/format/row"
)

// describe returns a type in SQL form for errors.
func describe(t *row.Type) string { return t.String() }

// chooseSink decides where values of the column go in the field's type, or refuses when the type cannot hold them all.
// Wider types are fine; which families mix is the table of Paimon's schema changes (mysql type conversions never lose).
func (f *field) chooseSink(c *Column, opt *ValueOptions) error {
	t := f.typ
	isText := t.Root == row.VarChar || t.Root == row.Char
	asText := isText && (opt.Types.ToString || opt.Types.NonStringToString)
	wide := func(length int) bool { return t.Length >= length }
	switch f.fam {
	case famInt:
		return f.chooseIntSink(c, opt, asText && wide(20))
	case famFloat:
		switch {
		case t.Root == row.Float:
			f.sink = sinkF32
		case t.Root == row.Double:
			f.sink = sinkF64
		}
	case famDouble:
		if t.Root == row.Double {
			f.sink = sinkF64
		}
	case famDecimal:
		switch {
		case t.Root == row.Decimal && t.Scale >= c.Scale && t.Precision-t.Scale >= c.Precision-c.Scale:
			f.setDecimal(t, t.Scale-c.Scale)
		case isText && c.Precision > 38 && wide(c.Precision+3):
			f.sink = sinkText
		}
	case famDate:
		if t.Root == row.Date {
			f.sink = sinkDate
		}
	case famTime:
		switch {
		case t.Root == row.Time:
			f.sink = sinkTime
		case isText && opt.Types.TimeAsString && wide(17):
			f.sink = sinkText
		}
	case famDatetime, famTimestamp:
		if t.Root == row.Timestamp || t.Root == row.TimestampLTZ && f.fam == famTimestamp {
			if t.Precision < c.Fsp {
				return f.refuse("its precision is smaller")
			}
			f.ltz = t.Root == row.TimestampLTZ
			switch {
			case t.Precision <= 3:
				f.sink = sinkMillis
			case t.Precision <= 6:
				f.sink = sinkMicros
			default:
				f.sink = sinkNanos
			}
		}
	case famText:
		switch {
		case isText && (int64(t.Length) >= c.textLength() || t.Length == row.MaxLength):
			f.sink = sinkText
		case t.Root == row.VarBinary && opt.Types.LongtextToBytes && c.DataType == "longtext" && t.Length == row.MaxLength:
			f.sink = sinkText
		case isText:
			return f.refuse("its length is smaller")
		}
	case famBinary:
		switch {
		case t.Root == row.VarBinary && t.Length == row.MaxLength,
			t.Root == row.VarBinary && c.Length > 0 && t.Length >= c.Length,
			t.Root == row.VarBinary && c.Length == 0 && (c.DataType == "binary" || c.DataType == "varbinary"),
			t.Root == row.VarBinary && c.Length == 0 && int64(t.Length) >= c.textLength(),
			t.Root == row.Binary && c.DataType == "binary" && t.Length == c.Length:
			f.sink = sinkBytes
		case t.Root == row.VarBinary:
			return f.refuse("its length is smaller")
		}
	case famBit:
		n := (c.Length + 7) / 8
		switch {
		case t.Root == row.Boolean && c.Length <= 1:
			f.sink = sinkBool
		case t.Root == row.Binary && t.Length == n, t.Root == row.VarBinary && t.Length >= n:
			f.sink = sinkBytes
		}
	case famEnum:
		if isText && wide(longest(c.Elements)) {
			f.sink = sinkText
		}
	case famSet:
		if t.Root == row.Array && (t.Elem.Root == row.VarChar || t.Elem.Root == row.Char) && t.Elem.Length >= longest(c.Elements) {
			f.sink = sinkList
		}
	case famJSON, famGeometry:
		if isText && t.Length == row.MaxLength {
			f.sink = sinkText
		}
	case famNet:
		if isText && wide(45) {
			f.sink = sinkText
		}
	case famVector:
		if t.Root == row.Array && t.Elem.Root == row.Float {
			f.sink = sinkList
		}
	}
	if f.sink == sinkNone && asText && f.fam != famUnknown && t.Length == row.MaxLength {
		f.sink = sinkText
	}
	if f.sink == sinkNone {
		if f.fam == famUnknown {
			return f.refuse("the MySQL type is not supported")
		}
		return f.refuse("it cannot hold every value")
	}
	return nil
}

func (f *field) setDecimal(t *row.Type, scaleUp int) {
	f.scaleUp = scaleUp
	f.sink = sinkDec128
	if t.Precision <= 18 {
		f.sink = sinkDec64
		f.mul = int64(pow10[scaleUp])
	}
}

// intBits are the bits and decimal digits of the integer types.
func intBits(c *Column) (bits, digits int) {
	switch c.DataType {
	case "tinyint":
		bits, digits = 8, 3
	case "smallint":
		bits, digits = 16, 5
	case "year":
		return 16, 4
	case "mediumint":
		bits, digits = 24, 7
		if c.Unsigned {
			digits = 8
		}
	case "int":
		bits, digits = 32, 10
	default:
		bits, digits = 64, 19
		if c.Unsigned {
			digits = 20
		}
	}
	if c.Unsigned {
		bits++
	}
	return bits, digits
}

func (f *field) chooseIntSink(c *Column, opt *ValueOptions, asText bool) error {
	bits, digits := intBits(c)
	have := 0
	switch f.typ.Root {
	case row.Boolean:
		if c.DataType == "tinyint" && c.Length == 1 && !c.Unsigned {
			f.sink = sinkBool
			return nil
		}
	case row.TinyInt:
		have = 8
	case row.SmallInt:
		have = 16
	case row.Int:
		have = 32
	case row.BigInt:
		have = 64
		if bits > 64 && opt.Types.UnsignedBigIntSigned {
			bits = 64 // each value is checked
		}
	case row.Decimal:
		if f.typ.Precision-f.typ.Scale >= digits {
			f.setDecimal(f.typ, f.typ.Scale)
			return nil
		}
	case row.Char, row.VarChar:
		if asText {
			f.sink = sinkText
			return nil
		}
	}
	if have < bits {
		return f.refuse("it cannot hold every value")
	}
	f.sink = sinkI32
	if have == 64 {
		f.sink = sinkI64
	}
	return nil
}

// longest returns the most characters of any of the strings.
func longest(list []string) int {
	n := 0
	for _, s := range list {
		k := 0
		for range s {
			k++
		}
		n = max(n, k)
	}
	return n
}
