// Package row is the in-memory format of the product: types, row kinds, columnar batches, Paimon's BinaryRow, the
// bucket hash and order-preserving keys.
//
// It is a leaf: it imports nothing of ours, so an embedding program can build batches without linking a codec or a file
// system. In order of use:
//
//	t, err := row.ParseType("BIGINT NOT NULL")       // or from a schema file: Type and Field read and write its JSON
//	r := row.NewRow(row.Field{ID: 0, Name: "id", Type: t})
//	b := row.NewBatch(&r)                             // a column-major batch of it
//	b.Cols[0].AppendI64(7)                            // fill it column by column
//	b.EndRow(row.Insert)                              // and one kind a row
//	f, err := row.NewBucketFunc("default", types, 4)  // routing: f.Buckets(dst, keyColumns, 0, b.N)
//	key := row.AppendKey(nil, keyColumns, 0)          // sorting and merging: bytes.Compare is Paimon's order
//	raw := row.AppendSerializedRow(nil, keyColumns, 0) // metadata: _MIN_KEY, _PARTITION and such
//	line := row.AppendJSONRow(nil, b, 0, true)        // tools and tests: rows as text
//
// The byte layouts are described at what writes them: BinaryRow in binaryrow.go, keys in key.go, JSON rows in jsonrow.go.
package row
