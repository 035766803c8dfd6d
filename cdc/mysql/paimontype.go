package mysql

import (
	"fmt"
	"strings"

	"github.com/paimon-go/paimon-go/cdc"
	"github.com/paimon-go/paimon-go/format/row"
)

// TypeOptions are the choices of --type_mapping, and two of our own.
type TypeOptions struct {
	ToNullable           bool // to-nullable
	TinyInt1NotBool      bool // tinyint1-not-bool
	ToString             bool // to-string
	CharToString         bool // char-to-string
	LongtextToBytes      bool // longtext-to-bytes
	UnsignedBigIntSigned bool // bigint-unsigned-to-bigint
	DecimalNoChange      bool // decimal-no-change: a changed DECIMAL leaves the field as it is
	// NonStringToString (allow-non-string-to-string) lets a field that is STRING already hold a column of another type, in
	// the spelling of to-string. It does not let a statement change a column's type: rows rewritten by it are not in the log.
	NonStringToString bool
	// TimestampAsLTZ maps TIMESTAMP to TIMESTAMP_LTZ, which keeps the instant (paimon-go's own timestamp-as-ltz).
	TimestampAsLTZ bool
	// TimeAsString maps TIME to STRING, which holds the whole range of MySQL (the time policy "string").
	TimeAsString bool
}

// ParseTypeOptions reads the comma list of --type_mapping. Every option of Paimon's action is known; names are compared
// without case, and with either dash or underscore.
func ParseTypeOptions(list string) (TypeOptions, error) {
	var o TypeOptions
	for _, w := range strings.Split(list, ",") {
		w = strings.TrimSpace(w)
		switch strings.ReplaceAll(strings.ToLower(w), "_", "-") {
		case "":
		case "to-nullable":
			o.ToNullable = true
		case "tinyint1-not-bool":
			o.TinyInt1NotBool = true
		case "to-string":
			o.ToString = true
		case "char-to-string":
			o.CharToString = true
		case "longtext-to-bytes":
			o.LongtextToBytes = true
		case "bigint-unsigned-to-bigint":
			o.UnsignedBigIntSigned = true
		case "decimal-no-change":
			o.DecimalNoChange = true
		case "allow-non-string-to-string":
			o.NonStringToString = true
		case "timestamp-as-ltz":
			o.TimestampAsLTZ = true
		default:
			return TypeOptions{}, fmt.Errorf("type_mapping %q is not known, known are to-nullable, tinyint1-not-bool, to-string, char-to-string, longtext-to-bytes, bigint-unsigned-to-bigint, decimal-no-change, allow-non-string-to-string, timestamp-as-ltz: %w", w, cdc.ErrUsage)
		}
	}
	return o, nil
}

// PaimonType returns the Paimon type of a column. Nullability is the column's own; the caller applies ToNullable, which
// spares primary key columns, with NullableUnlessKey.
func PaimonType(c Column, opt TypeOptions) (row.Type, error) {
	t, err := paimonType(&c, opt)
	if err != nil {
		return row.Type{}, err
	}
	t.Nullable = c.Nullable
	return t, nil
}

// NullableUnlessKey returns t as it is stored for a column that is or is not part of the primary key.
func (o TypeOptions) NullableUnlessKey(t row.Type, key bool) row.Type {
	if key {
		t.Nullable = false
	} else if o.ToNullable {
		t.Nullable = true
	}
	return t
}

var stringType = row.Type{Root: row.VarChar, Length: row.MaxLength}

func paimonType(c *Column, opt TypeOptions) (row.Type, error) {
	if opt.ToString {
		if family(c) == famUnknown {
			return row.Type{}, fmt.Errorf("column %s: MySQL type %s has no Paimon type: %w", c.Name, c.ColumnType, cdc.ErrRefused)
		}
		return stringType, nil
	}
	switch c.DataType {
	case "bit":
		if c.Length <= 1 {
			return row.Type{Root: row.Boolean}, nil
		}
		return row.Type{Root: row.Binary, Length: (c.Length + 7) / 8}, nil
	case "tinyint":
		switch {
		case c.Unsigned:
			return row.Type{Root: row.SmallInt}, nil
		case c.Length == 1 && !opt.TinyInt1NotBool:
			return row.Type{Root: row.Boolean}, nil
		}
		return row.Type{Root: row.TinyInt}, nil
	case "smallint":
		if c.Unsigned {
			return row.Type{Root: row.Int}, nil
		}
		return row.Type{Root: row.SmallInt}, nil
	case "year":
		return row.Type{Root: row.Int}, nil
	case "mediumint", "int":
		if c.Unsigned {
			return row.Type{Root: row.BigInt}, nil
		}
		return row.Type{Root: row.Int}, nil
	case "bigint":
		if c.Unsigned && !opt.UnsignedBigIntSigned {
			return row.Type{Root: row.Decimal, Precision: 20}, nil
		}
		return row.Type{Root: row.BigInt}, nil
	case "float":
		return row.Type{Root: row.Float}, nil
	case "double":
		return row.Type{Root: row.Double}, nil
	case "decimal":
		if c.Precision > 38 {
			return stringType, nil
		}
		return row.Type{Root: row.Decimal, Precision: c.Precision, Scale: c.Scale}, nil
	case "date":
		return row.Type{Root: row.Date}, nil
	case "time":
		if opt.TimeAsString {
			return stringType, nil
		}
		return row.Type{Root: row.Time}, nil
	case "datetime":
		return row.Type{Root: row.Timestamp, Precision: c.Fsp}, nil
	case "timestamp":
		if opt.TimestampAsLTZ {
			return row.Type{Root: row.TimestampLTZ, Precision: c.Fsp}, nil
		}
		return row.Type{Root: row.Timestamp, Precision: c.Fsp}, nil
	case "char":
		if opt.CharToString || c.Length == 0 {
			return stringType, nil
		}
		return row.Type{Root: row.Char, Length: c.Length}, nil
	case "varchar":
		if opt.CharToString || c.Length == 0 {
			return stringType, nil
		}
		return row.Type{Root: row.VarChar, Length: c.Length}, nil
	case "longtext":
		if opt.LongtextToBytes {
			return row.Type{Root: row.VarBinary, Length: row.MaxLength}, nil
		}
		return stringType, nil
	case "binary", "varbinary":
		// BINARY(0) and VARBINARY(0) are legal in MySQL, not in Paimon.
		return row.Type{Root: row.VarBinary, Length: max(c.Length, 1)}, nil
	case "tinyblob", "blob", "mediumblob", "longblob":
		return row.Type{Root: row.VarBinary, Length: row.MaxLength}, nil
	case "set":
		return row.Type{Root: row.Array, Elem: &row.Type{Root: row.VarChar, Length: row.MaxLength, Nullable: true}}, nil
	case "vector":
		return row.Type{Root: row.Array, Elem: &row.Type{Root: row.Float, Nullable: true}}, nil
	}
	switch family(c) {
	case famText, famEnum, famJSON, famGeometry, famNet:
		return stringType, nil
	}
	return row.Type{}, fmt.Errorf("column %s: MySQL type %s has no Paimon type: %w", c.Name, c.ColumnType, cdc.ErrRefused)
}

// fam groups MySQL types whose values are extracted and stored alike.
type fam uint8

const (
	famUnknown fam = iota
	famInt         // TINYINT to BIGINT, YEAR
	famFloat
	famDouble
	famDecimal
	famDate
	famTime
	famDatetime
	famTimestamp
	famText   // CHAR, VARCHAR, TEXT
	famBinary // BINARY, VARBINARY, BLOB
	famBit
	famEnum
	famSet
	famJSON
	famGeometry
	famVector
	famNet // MariaDB's UUID, INET4, INET6
)

func family(c *Column) fam {
	switch c.DataType {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
		return famInt
	case "float":
		return famFloat
	case "double":
		return famDouble
	case "decimal":
		return famDecimal
	case "date":
		return famDate
	case "time":
		return famTime
	case "datetime":
		return famDatetime
	case "timestamp":
		return famTimestamp
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		return famText
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return famBinary
	case "bit":
		return famBit
	case "enum":
		return famEnum
	case "set":
		return famSet
	case "json":
		return famJSON
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection":
		return famGeometry
	case "vector":
		return famVector
	case "uuid", "inet4", "inet6":
		return famNet
	}
	return famUnknown
}
