// Package hashindex assigns the keys of dynamic-bucket tables to buckets as Paimon does (core/index), and remembers where they are: by the
// 32-bit hash of a key. What it remembers lies in local files, so that a table of any number of keys needs next to no heap:
//
//   - of each partition a hash table, 6 bytes a slot, mapped into memory (table.go): the kernel keeps of it what is used;
//   - of each bucket the list of its hashes in the order of their arrival (list.go), which is what the bucket's index file in storage
//     is made of.
//
// The files are scratch: what counts is in storage, from where a partition is loaded when a row of it comes. A partition belongs to
// one goroutine; lists may be read by others, up to a length that they had.
package hashindex
