// Package lsm is one bucket's merge tree: rows on their way into sorted files, and files on their way back into rows.
//
// Writing, in order of use:
//
//	records := lsm.NewRecords(spec)              // what rows look like in the write buffer
//	buffers := lsm.NewBuffers(records, budget)   // of one owner
//	tree := buffers.NewMergeTree()               // one a bucket
//	tree.Append(batch, rows, seq)                // until Budget has no more
//	sealed := tree.Seal()                        // the tree goes on with an empty buffer
//	sealed.Flush(ctx, flusher, out)              // sort, merge, write level 0
//
//	files, err := lsm.NewFiles(t, schema)        // the layout, names and settings of data files
//	w := files.NewWriter(ctx, partition, bucket, level, lsm.Data, table.SourceAppend)
//	w.Write(kv); w.Close()                       // rolls; says what goes into the manifest
//
// Reading:
//
//	for batch, err := range lsm.Scan(ctx, t, snapshot, lsm.ScanOptions{}) { ... }
//	for changes, err := range lsm.ReadChangelog(ctx, t, from, to, lsm.ScanOptions{}) { ... }
//	t.Check(ctx, nil, false, lsm.CheckFile)
//
// Compacting a bucket:
//
//	levels, err := lsm.NewLevels(files, schema, options)                          // the live files as sorted runs
//	unit, ok := strategy.Pick(lsm.PickState{Levels: levels, Now: time.Now()})     // what to merge next, if anything
//	increment, stats, err := rewriter.Rewrite(ctx, partition, bucket, levels, unit)
//
// A file holds the records of one bucket in key order, each key once: see layout for its columns. The files of a bucket lie
// in levels: those of level 0 overlap and the newer one wins, a level above is a single sorted run. A reader cuts them into
// sections along the key axis (sections.go) and merges the runs of each with a loser tree (merge.go) by key, user-defined
// sequence and sequence number. Files of older schema versions are read as the current one by field id (evolve.go).
package lsm
