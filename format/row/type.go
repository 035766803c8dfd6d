package row

// Root is the root of a data type: Paimon's DataTypeRoot without its parameters.
type Root uint8

// The data type roots that Paimon primary-key tables can hold. STRING is VarChar and BYTES is VarBinary of length
// MaxLength, as in Java.
const (
	Boolean Root = iota + 1
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Char
	VarChar
	Binary
	VarBinary
	Date
	Time
	Timestamp
	TimestampLTZ
	Array
	Map
	Multiset
	Row
)

// MaxLength is the length of STRING and BYTES (Java's VarCharType.MAX_LENGTH).
const MaxLength = 1<<31 - 1

// Type is a data type. The zero value is no type. Types are immutable once they are part of a schema or a batch and may
// then be shared.
type Type struct {
	Root     Root
	Nullable bool
	// Length is the length in characters (CHAR, VARCHAR) or bytes (BINARY, VARBINARY).
	Length int
	// Precision is that of DECIMAL (1-38), TIME (0-9), TIMESTAMP and TIMESTAMP_LTZ (0-9).
	Precision int
	// Scale is that of DECIMAL.
	Scale int
	// Elem is the element type of ARRAY and MULTISET and the value type of MAP.
	Elem *Type
	// Key is the key type of MAP.
	Key *Type
	// Fields are the fields of ROW.
	Fields []Field
}

// Field is a named column of a table or a field of a nested ROW. ID is unique in the whole table, nested ones included.
type Field struct {
	ID      int
	Name    string
	Type    Type
	Comment string
	// Default is the text of the default value, nil when there is none (Paimon 1.2+).
	Default *string
}

// NewRow returns a NOT NULL ROW type of these fields.
func NewRow(fields ...Field) Type { return Type{Root: Row, Fields: fields} }

// Store tells which slices of a Column hold the values of a type.
type Store uint8

// The stores. Each value type uses exactly one of them.
const (
	// StoreI32: BOOLEAN (0/1), TINYINT, SMALLINT, INT, DATE (days since 1970-01-01), TIME (milliseconds of the day, for
	// every precision, as Java does).
	StoreI32 Store = iota + 1
	// StoreI64: BIGINT; DECIMAL of precision up to 18 (the unscaled value); TIMESTAMP and TIMESTAMP_LTZ of precision up
	// to 3 (milliseconds since the epoch) and 4 to 6 (microseconds since the epoch). A TIMESTAMP is a wall clock read
	// as if it were UTC.
	StoreI64
	// StoreF32 is FLOAT, StoreF64 DOUBLE.
	StoreF32
	StoreF64
	// StoreI128: DECIMAL of precision above 18, the unscaled value.
	StoreI128
	// StoreNanos: TIMESTAMP and TIMESTAMP_LTZ of precision above 6: I64 has the milliseconds since the epoch (floor),
	// I32 the nanoseconds within that millisecond, 0 to 999999.
	StoreNanos
	// StoreBytes: CHAR, VARCHAR (UTF-8), BINARY, VARBINARY. Value i is Bytes[Off[i]:Off[i+1]].
	StoreBytes
	// StoreList: ARRAY (elements in Kids[0]), MAP (keys in Kids[0], values in Kids[1]), MULTISET (elements in Kids[0],
	// INT counts in Kids[1]). List i is positions Off[i] to Off[i+1] of the kids.
	StoreList
	// StoreRow: ROW, one kid per field, each as long as the column itself (null rows have null in each kid).
	StoreRow
)

// Store returns where a Column of this type keeps its values.
func (t *Type) Store() Store {
	switch t.Root {
	case Boolean, TinyInt, SmallInt, Int, Date, Time:
		return StoreI32
	case BigInt:
		return StoreI64
	case Decimal:
		if t.Precision <= 18 {
			return StoreI64
		}
		return StoreI128
	case Timestamp, TimestampLTZ:
		if t.Precision <= 6 {
			return StoreI64
		}
		return StoreNanos
	case Float:
		return StoreF32
	case Double:
		return StoreF64
	case Char, VarChar, Binary, VarBinary:
		return StoreBytes
	case Array, Map, Multiset:
		return StoreList
	case Row:
		return StoreRow
	}
	return 0
}
