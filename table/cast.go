package table

import "github.com/paimon-go/paimon-go/format/row"

// CanCast tells whether a column may be altered from one type to another, as Java's DataTypeCasts and CastExecutors
// together do. Nullability and equal types are the caller's matter. Without explicit, only casts that lose nothing count
// (though DOUBLE to DECIMAL is among them).
func CanCast(from, to *row.Type, explicit bool) bool {
	f, t := from.Root, to.Root
	switch t {
	case row.Char:
		return f == row.Char || explicit && toText(from, to)
	case row.VarChar:
		return isText(f) || explicit && toText(from, to)
	case row.Boolean:
		return explicit && (isText(f) || isInt(f))
	case row.Binary:
		return f == row.Binary || explicit && (isText(f) || f == row.VarBinary)
	case row.VarBinary:
		return isBinary(f) || explicit && isText(f)
	case row.Decimal, row.Double:
		return isNumeric(f) || explicit && (isText(f) || f == row.Boolean)
	case row.Float:
		return isInt(f) || f == row.Float || f == row.Decimal || explicit && (isNumeric(f) || isText(f) || f == row.Boolean)
	case row.TinyInt, row.SmallInt, row.Int, row.BigInt:
		if isInt(f) && f <= t {
			return true
		}
		fromTime := isTimestamp(f) && (t == row.Int || t == row.BigInt)
		return explicit && (isNumeric(f) || isText(f) || f == row.Boolean || fromTime)
	case row.Date, row.Time:
		return f == row.Timestamp || explicit && (f == row.TimestampLTZ || isText(f))
	case row.Timestamp, row.TimestampLTZ:
		return isTimestamp(f) || explicit && (f == row.Date || f == row.Time || isText(f) || f == row.Int || f == row.BigInt)
	}
	return false
}

// toText: what Java casts to CHAR and VARCHAR; times of all kinds only to STRING.
func toText(from, to *row.Type) bool {
	switch from.Root {
	case row.Date, row.Time, row.Timestamp, row.TimestampLTZ:
		return to.Root == row.VarChar && to.Length == row.MaxLength
	case row.Multiset:
		return false
	}
	return true
}

func isText(r row.Root) bool      { return r == row.Char || r == row.VarChar }
func isBinary(r row.Root) bool    { return r == row.Binary || r == row.VarBinary }
func isInt(r row.Root) bool       { return r >= row.TinyInt && r <= row.BigInt }
func isFloat(r row.Root) bool     { return r == row.Float || r == row.Double }
func isNumeric(r row.Root) bool   { return isInt(r) || isFloat(r) || r == row.Decimal }
func isTimestamp(r row.Root) bool { return r == row.Timestamp || r == row.TimestampLTZ }
