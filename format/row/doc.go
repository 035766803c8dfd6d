// Package row is the in-memory format of the product: types, row kinds, columnar batches, Paimon's BinaryRow, the
// bucket hash and order-preserving keys.
//
// It is a leaf: it imports nothing of ours, so an embedding program can build batches without linking a codec or a file
// system. In order of use:
//
//	t := row.NewRow(row.Field{...}, ...)   // a ROW type
//	b := row.NewBatch(t)                   // a column-major batch of it
//	b.Cols[0].AppendI64(7)                 // fill it column by column
//	b.Kinds = append(b.Kinds, row.Insert)  // and one kind a row
package row
