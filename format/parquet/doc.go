// Package parquet writes and reads Parquet files in exactly Paimon's layout: column names, order, repetition, logical
// types and field ids as Java's ParquetSchemaConverter makes them, data page v1, dictionary encoding with fall-back.
//
//	w, err := parquet.Format.NewWriter(out, format.WriteSpec{Type: &t, Compression: "zstd"})
//	err = w.Write(batch)            // any number of batches
//	sum, err := w.Close()
//
// How a batch gets to disk:
//
//	row.Batch ─ shred ─▶ levels and values of each leaf ─ encoder ─▶ page ─ codec ─▶ chunk buffer ─ row group ends ─▶ io.Writer
//
// A file is a tree of nodes (schema.go) whose leaves are Parquet columns. Columns of the top level that are no ARRAY, MAP,
// MULTISET or ROW (most are) take a short way without level arrays. Values go from the batch's vectors straight into the
// page in its PLAIN or dictionary form: no value is boxed, and nothing is allocated per row. Buffers, hash tables and
// compressors outlive a file in pools.
//
// Pages and footers are encoded here and not by arrow-go's column writers, which took five times as long for the bytes
// besides compression, allocated twice a row and can't be reused for a second file (BenchmarkArrowGo beside BenchmarkWrite);
// its reader trusts sizes in damaged files. Tests hold both against arrow-go.
//
// The reader checks each page's checksum where there is one, and every length against the bytes that are there before it
// allocates: damage gives format.ErrCorrupt with the place, never a panic or memory out of proportion to the file.
package parquet
