// Package s3 is storage by the S3 protocol: Amazon's and that of others which honour conditional puts. Importing it
// registers the schemes "s3" and "s3a". It takes Paimon's keys (s3.endpoint, s3.access-key, …) and Hadoop's
// (fs.s3a.endpoint, …); without keys it finds credentials as the AWS tools do.
//
// # How it keeps the promises of fs.FileSystem
//
// A file appears whole with one PutObject, or with the completion of a multipart upload; both say If-None-Match: *, so
// that nothing is replaced. Publish does the same, and before its first time in a bucket it proves on an object of its
// own that the store honours the condition; a store that does not is refused. When an answer is lost, or a condition
// fails after a try of ours whose answer was lost, the object is read back and compared: equal bytes are ours.
//
// Directories are what the names of objects have in common up to a slash. Those that Hadoop marks with an empty object
// are seen, and the markers are not taken for files. Nothing hinders a file named like a directory.
//
// Every call has bounded time: one try (Config.CallTime and more for many bytes), and all tries together
// (Config.RetryFor). What may pass is tried again with growing, jittered waits; rights, missing buckets and the like come
// back at once.
//
// An upload that is given up is aborted on the store. A process that is killed leaves the parts of its unfinished uploads
// behind, invisible but billed: give the bucket a lifecycle rule that aborts incomplete multipart uploads after a few days.
//
// # Java writers
//
// Java Paimon's file system catalog commits on S3 by looking whether the snapshot exists and then writing it without a
// condition. It can overwrite a snapshot that this package has published between its two steps, and the rows of that
// snapshot are lost. Its catalog lock (lock.enabled) keeps only Java's writers apart, as this package does not take it.
// So a table on S3 that this program writes or compacts must have no Java job that commits to it: no writer, no
// dedicated compaction, no expiry. Readers are safe. See JavaWriterWarning.
package s3
