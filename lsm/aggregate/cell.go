package aggregate

import "github.com/paimon-go/paimon-go/format/row"

// Set makes row i of in the value of a cell: of a column of the same type with at most one row.
func Set(cell, in *row.Column, i int) {
	if cell.N != 1 || in.Nulls.Get(i) {
		cell.Reset()
		cell.AppendFrom(in, i)
		return
	}
	switch cell.Type.Store() { // what Reset and AppendFrom come to
	case row.StoreI32:
		cell.I32[0] = in.I32[i]
	case row.StoreI64:
		cell.I64[0] = in.I64[i]
	case row.StoreF64:
		cell.F64[0] = in.F64[i]
	case row.StoreI128:
		cell.I128[0] = in.I128[i]
	case row.StoreBytes:
		cell.Bytes = append(cell.Bytes[:0], in.Value(i)...)
		cell.Off[1] = uint32(len(cell.Bytes))
	default:
		cell.Reset()
		cell.AppendFrom(in, i)
	}
	cell.Nulls = cell.Nulls[:0]
}

// SetNull makes a cell NULL.
func SetNull(cell *row.Column) {
	if cell.N == 1 && cell.Nulls.Get(0) {
		return
	}
	cell.Reset()
	cell.AppendNull()
}
