// Package avro reads and writes Avro object container files as Paimon uses them: data files (Format, registered as
// "avro") and, through the lower layer of this package, manifests.
//
// The lower layer, in order of use:
//
//	w, err := avro.NewBlockWriter(out, schemaJSON, avro.CodecZstandard, 1)
//	err = w.Append(avro.AppendLong(nil, 7)) // one encoded datum
//	err = w.Close()
//
//	r, err := avro.NewBlockReader(in, size)
//	schema, err := avro.ParseSchema(r.Schema())
//	count, data, err := r.Next() // io.EOF after the last block
//	d := avro.NewDecoder(data)   // then d.Long() and so on, count times, and d.Err()
//
// On disk a container is the magic "Obj" 0x01, a map of metadata (avro.schema, avro.codec), a random sync marker of 16
// bytes, and blocks: the count of records (varint), the size of the data in bytes (varint), the data as the codec left
// it, the sync marker again. Nothing tells how many blocks there are, so a file cut between two blocks is a whole file;
// whoever knows the number of rows compares it.
package avro
