package table

// Compaction. Writers with write-only=true don't compact; the compactor, or Java's, reads these.
var (
	KeyNumSortedRunCompactionTrigger = define(Int, "num-sorted-run.compaction-trigger", "5", "Sorted runs of a bucket from which on it is compacted.").atLeast(1)
	KeyNumSortedRunStopTrigger       = define(Int, "num-sorted-run.stop-trigger", "",
		"Sorted runs from which on a compacting writer waits; the compaction trigger plus 3 when not set.")
	KeyNumLevels                             = define(Int, "num-levels", "", "Levels of the merge tree; the compaction trigger plus 1 when not set.").atLeast(2)
	KeyCompactionMaxSizeAmplificationPercent = define(Int, "compaction.max-size-amplification-percent", "200", "Share of newer data over the last level that starts a full compaction.")
	KeyCompactionSizeRatio                   = define(Int, "compaction.size-ratio", "1", "Percentage by which runs may differ and still be merged together.")
	KeyCompactionOptimizationInterval        = define(Duration, "compaction.optimization-interval", "", "Pause between full compactions of a bucket.")
	KeyCompactionTotalSizeThreshold          = define(Size, "compaction.total-size-threshold", "", "Buckets below this size are compacted in full.")
	KeyCompactionIncrementalSizeThreshold    = define(Size, "compaction.incremental-size-threshold", "", "Data above the last level from which on compaction is full.")
	KeyCompactionForceUpLevel0               = define(Bool, "compaction.force-up-level-0", "false", "Each compaction takes all of level 0.")
	KeyCompactionForceRewriteAllFiles        = define(Bool, "compaction.force-rewrite-all-files", "false", "Full compaction rewrites every file.")
	KeyCompactionSmallFileRatio              = define(Double, "compaction.small-file-ratio", "0.7", "Share of target-file-size below which a file is small.").since("2.0")
	KeyCompactionOffpeakStartHour            = define(Int, "compaction.offpeak.start.hour", "-1", "First hour of the quiet time, -1 for none.")
	KeyCompactionOffpeakEndHour              = define(Int, "compaction.offpeak.end.hour", "-1", "Hour at which it ends.")
	KeyCompactionOffpeakRatio                = define(Int, "compaction.offpeak-ratio", "0", "Percentage added to compaction.size-ratio in it.")
	KeyCompactionSkipExpiredPartitions       = define(Bool, "compaction.skip-expired-partitions", "false", "Compaction leaves expired partitions alone.").since("2.0")
	KeyFullCompactionDeltaCommits            = define(Int, "full-compaction.delta-commits", "", "Commits between full compactions.")
	KeyCommitForceCompact                    = define(Bool, "commit.force-compact", "false", "A compacting writer waits for its compaction before each commit.")

	_ = define(Bool, "overwrite-upgrade", "true", "INSERT OVERWRITE may put files into the last level.").stored()
	_ = define(Int, "compaction.min.file-num", "5", "Small files of an append table from which on they are merged.").stored()
	_ = define(Double, "compaction.delete-ratio-threshold", "0.2", "Share of deleted rows that makes a file of an append table be rewritten.").stored()
	_ = define(Int, "compaction.file-num-limit", "", "Most files of one compaction of an append table.").stored()
)

// Changelog and lookup.
var (
	KeyChangelogProducer = define(String, "changelog-producer", "none", "What makes the changelog that streaming readers see.").
				oneOf("none", "input", "full-compaction", "lookup")
	KeyChangelogProducerRowDeduplicate             = define(Bool, "changelog-producer.row-deduplicate", "false", "No changelog for an update that changes nothing.")
	KeyChangelogProducerRowDeduplicateIgnoreFields = define(String, "changelog-producer.row-deduplicate-ignore-fields", "", "Columns that don't count as a change there.")

	KeyForceLookup              = define(Bool, "force-lookup", "false", "Compaction looks up old rows in any case.").immutable()
	KeyLookupWait               = define(Bool, "lookup-wait", "true", "Commits of a compacting writer wait for lookup compaction.").alias("changelog-producer.lookup-wait")
	KeyLookupCompact            = define(String, "lookup-compact", "radical", "How eagerly lookup compaction runs.").oneOf("radical", "gentle")
	KeyLookupCompactMaxInterval = define(Int, "lookup-compact.max-interval", "", "Commits between gentle lookup compactions.")
	_                           = define(Duration, "lookup.cache-file-retention", "1 h", "Idle life of local lookup files.").stored()
	_                           = define(Size, "lookup.cache-max-disk-size", "", "Most local disk for lookup files.").stored()
	_                           = define(Size, "lookup.cache-max-memory-size", "256 mb", "Memory for blocks of lookup files.").stored()
	_                           = define(Double, "lookup.cache.high-priority-pool-ratio", "0.25", "Share of it for indexes and filters.").stored()
	_                           = define(String, "lookup.cache-spill-compression", "zstd", "Compression of lookup files.").stored()
	_                           = define(Bool, "lookup.cache.bloom.filter.enabled", "true", "Lookup files have a Bloom filter.").stored()
	_                           = define(Double, "lookup.cache.bloom.filter.fpp", "0.05", "Its share of false answers.").stored()
	_                           = define(Double, "lookup.hash-load-factor", "0.75", "Load of hash lookup files.").stored()
	_                           = define(Bool, "lookup.remote-file.enabled", "false", "Lookup files are kept beside the data.").stored()
	_                           = define(Int, "lookup.remote-file.level-threshold", "-2147483648", "Lowest level of which they are kept.").stored()
	_                           = define(Int, "lookup.merge-records-threshold", "1024", "Versions of a key that are held in memory.").stored()
	_                           = define(Size, "lookup.merge-buffer-size", "8 mb", "Buffer for more of them.").stored()
	_                           = define(Size, "cache-page-size", "64 kb", "Block of lookup files.").stored()
	KeyStreamingReadOverwrite   = define(Bool, "streaming-read-overwrite", "false", "Streaming readers see overwrites.").stored()
	_                           = define(Bool, "delete.force-produce-changelog", "false", "SQL DELETE makes a changelog.").stored()
)

// Deletion vectors.
var (
	KeyDeletionVectorsEnabled = define(Bool, "deletion-vectors.enabled", "false", "Deleted rows are marked beside the files instead of merged away; rows become visible by compaction.")

	KeyDeletionVectorsModifiable = define(Bool, "deletion-vectors.modifiable", "false", "deletion-vectors.enabled may be changed on a table with data.").stored()
	_                            = define(Size, "deletion-vector.index-file.target-size", "2 mb", "Size of index files of append tables.").stored()
	_                            = define(Bool, "deletion-vectors.bitmap64", "false", "Bitmaps of 64-bit positions.").
					compactors("compaction writes those of 32-bit positions only; leave it false", func(v string) bool { return v != "true" }).stored()
	_ = define(Bool, "deletion-vectors.merge-on-read", "false", "Batch reads merge level 0.").since("2.0").stored()
	_ = define(Bool, "visibility-callback.enabled", "false", "Batch commits wait until their files are visible.").stored()
	_ = define(Duration, "visibility-callback.timeout", "30 min", "Longest such wait.").stored()
	_ = define(Duration, "visibility-callback.check-interval", "10 s", "Pause between looks.").stored()
)
