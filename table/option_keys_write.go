package table

import "strings"

// Write buffer, spill and files.
var (
	KeyWriteOnly = define(Bool, "write-only", "false",
		"Writers neither compact nor expire; a dedicated compaction does.").alias("write.compaction-skip")
	KeyWriteBufferSize = define(Size, "write-buffer-size", "256 mb",
		"Write buffer of the table in this process, shared by all its shards and buckets.").atLeast(1)
	KeyPageSize                    = define(Size, "page-size", "64 kb", "Page of the write buffer.").atLeast(1)
	KeyWriteBufferSpillable        = define(Bool, "write-buffer-spillable", "true", "A full buffer goes to local disk instead of into small files.")
	KeyWriteBufferSpillMaxDiskSize = define(Size, "write-buffer-spill.max-disk-size", "", "Most local disk for that; no bound when not set.")
	KeySpillCompression            = define(String, "spill-compression", "zstd", "Compression of spilled data. When it is not set, s2 is used, in a seventh of the time of zstd; it stands in for lz4 and lzo too.").oneOf("zstd", "lz4", "lzo", "none")
	KeySpillCompressionZstdLevel   = define(Int, "spill-compression.zstd-level", "1", "Its level when it is zstd.")
	KeyLocalSortMaxNumFileHandles  = define(Int, "local-sort.max-num-file-handles", "128", "Most spilled runs that are merged at once.").atLeast(2)
	KeyTargetFileSize              = define(Size, "target-file-size", "", "Size at which a file is closed and the next begun; 128 mb when not set.").atLeast(1)
	KeyTargetFileRowNum            = define(Long, "target-file-row-num", "9223372036854775807", "Rows at which a file is closed.").since("2.0").atLeast(1)

	_                     = define(Int, "write-max-writers-to-spill", "10", "Writers of append tables above which buffers spill.").stored()
	_                     = define(Bool, "write-buffer-for-append", "false", "Buffer in writers of append tables.").stored()
	KeySortSpillThreshold = define(Int, "sort-spill-threshold", "", "Runs above which a compaction first merges the smallest on local disk. When it is not set memory alone decides, and not the stop trigger as in Java.").atLeast(2)
	_                     = define(Size, "sort-spill-buffer-size", "64 mb", "Java's memory for a merge that spills.").stored()
	_                     = define(String, "sort-engine", "loser-tree", "Java's algorithm for merging runs.").oneOf("loser-tree", "min-heap").stored()
	_                     = define(Bool, "async-file-write", "true", "Java writes files by a thread in the background, as is always done here.").stored()
)

// Formats, compression and statistics.
var (
	KeyFileFormat = define(String, "file.format", "parquet", "Format of data files: parquet, orc or avro.").
			onlyValues("parquet", "avro")
	KeyFileFormatPerLevel = define(Map, "file.format.per.level", "", "Format by level, such as 0:avro,3:parquet.").checked(checkLevels(nil)).
				only("writers need parquet or avro for each level", allFormats)
	KeyFileCompression = define(String, "file.compression", "zstd",
		"Compression of data files: zstd, lz4, snappy, gzip, none and what else the format has.")
	KeyFileCompressionPerLevel      = define(Map, "file.compression.per.level", "", "Compression by level, such as 0:lz4,1:zstd.").checked(checkLevels(nil))
	KeyFileCompressionZstdLevel     = define(Int, "file.compression.zstd-level", "1", "Level of zstd in data files.")
	KeyFileBlockSize                = define(Size, "file.block-size", "", "Row group of parquet files.").atLeast(1)
	KeyFileSuffixIncludeCompression = define(Bool, "file.suffix.include.compression", "false", "Names of data files tell the compression.")
	KeyDataFilePrefix               = define(String, "data-file.prefix", "data-", "Start of the names of data files.")
	KeyDataFileThinMode             = define(Bool, "data-file.thin-mode", "false",
		"Key columns are not stored a second time; the table's values have them.")
	KeyChangelogFilePrefix      = define(String, "changelog-file.prefix", "changelog-", "Start of the names of changelog files.")
	KeyChangelogFileFormat      = define(String, "changelog-file.format", "", "Format of changelog files; as data files when not set.")
	KeyChangelogFileCompression = define(String, "changelog-file.compression", "", "Compression of changelog files; as data files when not set.")
	KeyChangelogFileStatsMode   = define(String, "changelog-file.stats-mode", "", "Statistics of changelog files; as data files when not set.").checked(checkStatsMode)
	KeyMetadataStatsMode        = define(String, "metadata.stats-mode", "truncate(16)",
		"Statistics of the columns in manifests: none, counts, truncate(n), full.").
		checked(checkStatsMode)
	KeyMetadataStatsModePerLevel      = define(Map, "metadata.stats-mode.per.level", "", "Statistics by level, such as 0:none.").checked(checkLevels(checkStatsMode))
	KeyMetadataStatsDenseStore        = define(Bool, "metadata.stats-dense-store", "true", "Only columns that have statistics take room in manifests.")
	KeyMetadataStatsKeepFirstNColumns = define(Int, "metadata.stats-keep-first-n-columns", "-1", "Statistics of the first n columns only; -1 for all.").atLeast(-1)
	KeyParquetEnableDictionary        = define(String, "parquet.enable.dictionary", "", "true or false: dictionary encoding in parquet files; on when not set.").checked(checkBool)
	KeyFileIndexInManifestThreshold   = define(Size, "file-index.in-manifest-threshold", "500 B", "File indexes below this size go into manifests.").stored()

	KeyAvroCodec = define(String, "avro.codec", "", "Codec of Avro files, over file.compression.")
	_            = define(Bool, "file-index.read.enabled", "true", "Readers use file indexes.").stored()
	_            = define(Int, "read.batch-size", "1024", "Rows of a batch in Java readers.").stored()
	_            = define(Int, "write.batch-size", "1024", "Rows of a batch in ORC writers.").alias("orc.write.batch-size").stored()
	_            = define(Size, "write.batch-memory", "128 mb", "Memory of a batch in ORC writers.").stored()
	_            = define(Size, "file-reader-async-threshold", "10 mb", "ORC files at least this large are read ahead.").stored()
)

func checkBool(v string) error {
	_, err := parseBool(v)
	return err
}

func allFormats(v string) bool {
	m, err := parseMap(v)
	if err != nil {
		return false
	}
	for _, f := range m {
		if !strings.EqualFold(f, "parquet") && !strings.EqualFold(f, "avro") {
			return false
		}
	}
	return true
}

// Commit and manifests.
var (
	KeyCommitMaxRetries                    = define(Int, "commit.max-retries", "10", "Attempts of a commit that others come before.").atLeast(0)
	KeyCommitTimeout                       = define(Duration, "commit.timeout", "", "Time for all attempts of a commit; no bound when not set.")
	KeyCommitMinRetryWait                  = define(Duration, "commit.min-retry-wait", "10 ms", "First pause between attempts.")
	KeyCommitMaxRetryWait                  = define(Duration, "commit.max-retry-wait", "10 s", "Longest pause between attempts.")
	KeyCommitUserPrefix                    = define(String, "commit.user-prefix", "", "Start of the commit users that are made up.")
	KeyCommitForceCreateSnapshot           = define(Bool, "commit.force-create-snapshot", "false", "A snapshot even if there is nothing to commit.")
	KeyCommitDiscardDuplicateFiles         = define(Bool, "commit.discard-duplicate-files", "false", "Files that the table has already are left out of a commit.")
	KeyManifestFormat                      = define(String, "manifest.format", "avro", "Format of manifests.").onlyValues("avro")
	KeyManifestCompression                 = define(String, "manifest.compression", "zstd", "Compression of manifests and their lists.")
	KeyManifestTargetFileSize              = define(Size, "manifest.target-file-size", "8 mb", "Size of a manifest that is full.").atLeast(1)
	KeyManifestMergeMinCount               = define(Int, "manifest.merge-min-count", "30", "Small manifests from which on they are merged.").atLeast(1)
	KeyManifestFullCompactionThresholdSize = define(Size, "manifest.full-compaction-threshold-size", "16 mb",
		"Size of changed manifests from which on all are rewritten.")
	KeyManifestDeleteFileDropStats = define(Bool, "manifest.delete-file-drop-stats", "false", "Entries of deleted files carry no statistics.")
	KeyScanManifestParallelism     = define(Int, "scan.manifest.parallelism", "", "Manifests that Java reads at once.").atLeast(1).stored()

	_ = define(Long, "commit.strict-mode.last-safe-snapshot", "", "Commits check for overwrites after this snapshot.").stored()
	_ = define(String, "commit.callbacks", "", "Java classes that are called after a commit.").stored()
	_ = define(Bool, "snapshot.ignore-empty-commit", "", "Batch commits without files make no snapshot.").stored()
	_ = define(Duration, "snapshot.watermark-idle-timeout", "", "Idle time after which Flink's sink makes a snapshot for its watermark.").stored()
	_ = define(Bool, "manifest-sort.enabled", "false", "Manifests are rewritten in order.").since("2.0").stored()
	_ = define(String, "manifest-sort.partition-field", "", "Column of that order.").since("2.0").stored()
	_ = define(Size, "manifest-sort.max-rewrite-size", "256 mb", "Most that one pass rewrites.").since("2.0").stored()
	_ = define(Bool, "dynamic-partition-overwrite", "true", "INSERT OVERWRITE replaces only the partitions that it has rows for.").stored()
	_ = define(Bool, "end-input.check-partition-expire", "false", "Batch jobs look for expired partitions at their end.").stored()
)
