// Package writer puts rows into Paimon primary-key tables: rows in, snapshots out, and nothing in between that makes the
// caller wait but a lack of memory. In order of use:
//
//	w, err := writer.Open(ctx, t, writer.Config{CommitUser: "orders-sync"})
//	err = w.Write(ctx, batch)                  // a row.Batch of the table's columns, copied
//	err = w.Checkpoint(ctx, 1, properties)     // all rows so far become one snapshot, in the background
//	err = w.Wait(ctx)                          // if you want to know that they have
//	err = w.Close(ctx)
//
// # How rows flow
//
//	Write ──▶ routing ──▶ shard 0..n (merge trees) ──▶ flush pool ──▶ level-0 files ─┐
//	          partition,  own the buckets' memory      sort, merge,                  ├─▶ committer ─▶ snapshot
//	          bucket                                   spill, encode                 │
//	Checkpoint(id) ─ a barrier in the shards' queues: all buckets end at the same row ┘
//
// Each bucket belongs to one shard, the goroutine that copies its rows into memory. A checkpoint seals what every bucket
// has at that row and goes on into fresh memory at once; the flush pool writes the sealed rows while the next epoch
// fills. Epochs are committed in order, each as one snapshot with the properties given to Checkpoint.
//
// When memory runs short (write-buffer-size, and Config.Memory above it), the largest buckets are sorted and spilled to
// local disk, and merged again when their epoch is flushed: memory pressure makes no more files. Write waits only when
// memory is full and the pool is behind; Stats tells for how long it did.
//
// # Buckets, compaction
//
// With bucket=-1 the writer assigns keys to buckets (dynamic.go), by an index on local disk (package hashindex); the files of the
// table's index are part of the commit that has the rows. With write-only=false what was flushed is compacted by a pool of its own
// (compactions.go), and what it has done is part of the next checkpoint: it holds rows up only where options say so. Callers of
// Barrier, who commit elsewhere, get neither.
//
// # Changelogs
//
// With changelog-producer=input the flush writes all rows of a bucket to changelog files too, in the order of keys and then of their
// arrival, with their kinds. Rows from a log of changes come in pairs of images (Config.PairedUpdates). The files of a
// partition may become one (precommit-compact: mergedFiles). CatchUp is for rows that the table may contain already.
//
// # Exactly once
//
// A snapshot records the identifier and properties of its checkpoint. After a crash, look for the last snapshot of the
// commit user (table.LatestOf), go on from the position in its properties, and use larger identifiers. Rows after the last
// checkpoint are lost with the process and have left nothing in the table. Config.Resume names that snapshot, so that two
// instances of a job don't overtake each other unnoticed.
//
// Another engine may expire that snapshot while the job is down. A job that can't begin anew then keeps its position beside
// the table too: table.FindSinkState in place of LatestOf, and table.WriteSinkState after each commit (Listener.CommitEnd).
// Checkpoint and Close report a failed commit; one that failed in the background is what Err returns.
package writer
