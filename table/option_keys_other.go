package table

// Expiry, tags and partitions. Writers with write-only=true leave these to the compactor, as in Java.
var (
	KeySnapshotNumRetainedMin  = define(Int, "snapshot.num-retained.min", "10", "Snapshots that are kept in any case.").atLeast(1)
	KeySnapshotNumRetainedMax  = define(Int, "snapshot.num-retained.max", "2147483647", "Most snapshots that are kept.").atLeast(1)
	KeySnapshotTimeRetained    = define(Duration, "snapshot.time-retained", "1 h", "Age up to which snapshots are kept.")
	KeyChangelogNumRetainedMin = define(Int, "changelog.num-retained.min", "", "As snapshot.num-retained.min for changelogs.").atLeast(1)
	KeyChangelogNumRetainedMax = define(Int, "changelog.num-retained.max", "", "As snapshot.num-retained.max for changelogs.").atLeast(1)
	KeyPartitionExpirationTime = define(Duration, "partition.expiration-time", "", "Age at which partitions are dropped.")

	KeySnapshotExpireLimit              = define(Int, "snapshot.expire.limit", "50", "Most snapshots that one expiry removes.")
	_                                   = define(String, "snapshot.expire.execution-mode", "sync", "Whether commits wait for expiry.").oneOf("sync", "async").stored()
	KeySnapshotCleanEmptyDirectories    = define(Bool, "snapshot.clean-empty-directories", "false", "Expiry removes empty directories.").alias("snapshot.expire.clean-empty-directories")
	KeyChangelogTimeRetained            = define(Duration, "changelog.time-retained", "", "As snapshot.time-retained for changelogs.")
	KeyFileOperationThreadNum           = define(Int, "file-operation.thread-num", "", "Threads that remove files.").alias("delete-file.thread-num")
	_                                   = define(String, "consumer-id", "", "Name under which a streaming reader keeps its progress.").stored()
	KeyConsumerExpirationTime           = define(Duration, "consumer.expiration-time", "", "Idle time after which that is forgotten.")
	_                                   = define(String, "consumer.mode", "exactly-once", "How exact that is.").oneOf("exactly-once", "at-least-once").stored()
	_                                   = define(Bool, "consumer.ignore-progress", "false", "Readers don't start from their progress.").stored()
	KeyConsumerChangelogOnly            = define(Bool, "consumer.changelog-only", "false", "Progress protects changelogs only.")
	KeyPartitionExpirationCheckInterval = define(Duration, "partition.expiration-check-interval", "1 h", "Pause between looks for expired partitions.")
	KeyPartitionExpirationStrategy      = define(String, "partition.expiration-strategy", "values-time", "Whether the value or the last update tells a partition's age.")
	KeyPartitionExpirationMaxNum        = define(Int, "partition.expiration-max-num", "100", "Most partitions that one expiry drops.")
	KeyPartitionExpirationBatchSize     = define(Int, "partition.expiration-batch-size", "", "Partitions that one commit drops.")
	KeyPartitionTimestampFormatter      = define(String, "partition.timestamp-formatter", "", "Java pattern of times in partition values.")
	KeyPartitionTimestampPattern        = define(String, "partition.timestamp-pattern", "", "How partition columns make up a time.")
	_                                   = define(Bool, "partition.timestamp-format.strict", "false", "Writers refuse partitions that are no time.").
						refused("partition values are not checked here").writersOnly()
	_                            = define(String, "partition.mark-done-action", "success-file", "What tells that a partition is complete.").stored()
	_                            = define(String, "partition.mark-done-action.mode", "process-time", "Clock of that.").stored()
	_                            = define(String, "partition.mark-done-action.custom.class", "", "Java class of that.").stored()
	_                            = define(String, "partition.mark-done-action.http.url", "", "Address of that.").stored()
	_                            = define(String, "partition.mark-done-action.http.params", "", "What is sent there.").stored()
	_                            = define(Bool, "partition.mark-done.recover-from-state", "true", "Flink restores it from its state.").stored()
	_                            = define(Bool, "partition.end-input-to-done", "false", "Batch jobs mark their partitions at their end.").stored()
	_                            = define(Duration, "partition.idle-time-to-done", "", "Idle time after which a partition is complete.").stored()
	_                            = define(Duration, "partition.time-interval", "", "Time that a partition spans.").stored()
	_                            = define(Duration, "partition.idle-time-to-report-statistic", "0 s", "Idle time after which its size is reported to a metastore.").stored()
	_                            = define(String, "partition.sink-strategy", "none", "How Flink spreads the rows of append tables.").stored()
	_                            = define(Bool, "metastore.partitioned-table", "false", "Partitions are registered in a metastore.").stored()
	_                            = define(String, "metastore.tag-to-partition", "", "Tags are partitions of the metastore's table.").stored()
	_                            = define(String, "metastore.tag-to-partition.preview", "none", "Tags that are shown before they exist.").stored()
	KeyTagAutomaticCreation      = define(String, "tag.automatic-creation", "none", "What makes a tag a period.").oneOf("none", "process-time", "watermark", "batch")
	KeyTagCreationPeriod         = define(String, "tag.creation-period", "daily", "That period.").oneOf("daily", "hourly", "two-hours")
	KeyTagCreationPeriodDuration = define(Duration, "tag.creation-period-duration", "", "That period, freely chosen.")
	KeyTagCreationDelay          = define(Duration, "tag.creation-delay", "0 ms", "Wait after its end.")
	KeyTagPeriodFormatter        = define(String, "tag.period-formatter", "with_dashes", "Names of such tags.")
	KeyTagNumRetainedMax         = define(Int, "tag.num-retained-max", "", "Most such tags that are kept.")
	KeyTagDefaultTimeRetained    = define(Duration, "tag.default-time-retained", "", "Life of new tags.")
	KeyTagTimeExpireEnabled      = define(Bool, "tag.time-expire-enabled", "true", "Tags whose life is over are removed.")
	KeyTagAutomaticCompletion    = define(Bool, "tag.automatic-completion", "false", "Missing tags are made up for.")
	KeyTagCreateSuccessFile      = define(Bool, "tag.create-success-file", "false", "A file marks each new tag.")
	_                            = define(String, "tag.callbacks", "", "Java classes that are called for new tags.").stored()
	KeyTagBatchCustomizedName    = define(String, "tag.batch.customized-name", "", "Name of the tag of a batch job.")
	KeySinkProcessTimeZone       = define(String, "sink.process-time-zone", "", "Time zone of tags by process time.")
	KeySinkWatermarkTimeZone     = define(String, "sink.watermark-time-zone", "UTC", "Time zone of tags by watermark.")
)

// The sink.
var (
	KeySinkParallelism               = define(Int, "sink.parallelism", "", "Writer shards of a table; the number of CPUs when not set.").atLeast(1)
	KeySinkUseManagedMemoryAllocator = define(Bool, "sink.use-managed-memory-allocator", "false",
		"All tables of the process share one buffer of sink.managed.writer-buffer-memory.")
	KeySinkManagedWriterBufferMemory = define(Size, "sink.managed.writer-buffer-memory", "256 mb", "That buffer.").atLeast(1)

	KeyPrecommitCompact = define(Bool, "precommit-compact", "false",
		"The small changelog files of a partition and commit are one file. Only Flink, and this program, can read that.").alias("changelog.precommit-compact")
	KeyPrecommitCompactThreadNum  = define(Int, "changelog.precommit-compact.thread-num", "", "Such files that are written at the same time; the number of CPUs when not set.").atLeast(1)
	KeyPrecommitCompactBufferSize = define(Size, "changelog.precommit-compact.buffer-size", "128 mb", "Memory of changelog files that wait for that.").atLeast(1)
	KeyChangelogPack              = define(String, "paimon-go.changelog.pack", "none",
		"bucket-tick: a bucket has one changelog file a commit, however large; rows are spilled to local disk even where options limit that. Every reader can read it.").
		oneOf("none", "bucket-tick")
	_ = define(Duration, "changelog-producer.compaction-interval", "0 s", "Turned into full-compaction.delta-commits by Flink.").stored()
	_ = define(Int, "scan.parallelism", "", "Reading tasks of Flink.").stored()
	_ = define(Double, "sink.committer-cpu", "1.0", "CPU of Flink's committer.").stored()
	_ = define(Size, "sink.committer-memory", "", "Memory of Flink's committer.").stored()
	_ = define(Bool, "sink.committer-operator-chaining", "true", "Flink's committer shares a task.").stored()
	_ = define(Double, "sink.writer-cpu", "1.0", "CPU of Flink's writers.").stored()
	_ = define(Size, "sink.writer-memory", "", "Memory of Flink's writers.").stored()
	_ = define(Size, "sink.cross-partition.managed-memory", "256 mb", "Flink's memory for the index of keys over partitions.").stored()
	_ = define(Bool, "sink.writer-coordinator.enabled", "false", "Flink's writers share a scan of the manifests.").stored()
	_ = define(Size, "sink.writer-coordinator.cache-memory", "2048 mb", "Memory of that.").stored()
	_ = define(Size, "sink.writer-coordinator.page-size", "32 kb", "Page of that.").stored()
	_ = define(Bool, "sink.writer-coordinator.prefetch-manifests", "false", "It reads manifests ahead.").since("2.0").stored()
	_ = define(Bool, "sink.key-only-deletes.enabled", "false", "Hint that deletes carry the key only.").since("2.0").stored()
	_ = define(String, "sink.writer-refresh-detectors", "", "Options that a running Flink job takes over when they change.").stored()
	_ = define(Bool, "sink.savepoint.auto-tag", "false", "A tag for each savepoint.").stored()
	_ = define(Long, "end-input.watermark", "", "Watermark at the end of a batch job.").stored()
	_ = define(String, "compaction.bucket-distribution-strategy", "linear", "How Flink spreads buckets.").since("2.0").stored()
	_ = define(Duration, "cdc.schema-change-retry-interval", "500 ms", "Pause between looks for a schema change in Flink.").alias("cdc.retry-sleep-time").stored()
	_ = define(Int, "cdc.schema-change-retry-max-num", "100", "Most such looks.").stored()
	_ = define(Bool, "cdc.skip-corrupt-record", "false", "Flink leaves out rows that it can't convert.").stored()
	_ = define(Bool, "cdc.log-corrupt-record", "true", "And logs them.").stored()
)

// Reading.
var (
	_ = define(String, "scan.mode", "default", "Where a scan starts.").stored()
	_ = define(Long, "scan.snapshot-id", "", "Snapshot to read or start at.").stored()
	_ = define(String, "scan.tag-name", "", "Tag to read or start at.").stored()
	_ = define(Long, "scan.timestamp-millis", "", "Time to read or start at, in milliseconds.").stored()
	_ = define(String, "scan.timestamp", "", "Time to read or start at.").stored()
	_ = define(Long, "scan.watermark", "", "Watermark to read or start at.").stored()
	_ = define(String, "scan.version", "", "Tag or snapshot to read.").stored()
	_ = define(Long, "scan.file-creation-time-millis", "", "Files made after this are read.").stored()
	_ = define(Long, "scan.creation-time-millis", "", "Snapshots made after this are read.").stored()
	_ = define(Long, "scan.bounded.watermark", "", "Watermark at which a scan ends.").stored()
	_ = define(Int, "scan.bucket", "", "Bucket to read.").since("2.0").stored()
	_ = define(String, "incremental-between", "", "Changes between two snapshots or tags.").stored()
	_ = define(String, "incremental-between-timestamp", "", "Changes between two times.").stored()
	_ = define(String, "incremental-between-scan-mode", "auto", "What such changes are read from.").stored()
	_ = define(String, "incremental-to-auto-tag", "", "Changes up to a tag.").stored()
	_ = define(Size, "source.split.target-size", "128 mb", "Size of a split.").stored()
	_ = define(Size, "source.split.open-file-cost", "4 mb", "Least weight of a file in a split.").stored()
	_ = define(Duration, "streaming.read.snapshot.delay", "", "How far streaming readers stay behind.").stored()
	_ = define(Bool, "scan.ignore-corrupt-files", "false", "Scans leave out corrupt files.").stored()
	_ = define(Bool, "scan.ignore-lost-files", "false", "Scans leave out missing files.").stored()
	_ = define(Bool, "table-read.sequence-number.enabled", "false", "Reads give the sequence number too.").stored()
	_ = define(String, "stream-scan-mode", "none", "Set by Java's own compaction.").stored()
	_ = define(String, "batch-scan-mode", "none", "Set by Java's own compaction.").stored()
)

// KeyContinuousDiscoveryInterval is what readers that follow a table wait between looks.
var KeyContinuousDiscoveryInterval = define(Duration, "continuous.discovery-interval", "10 s", "Pause between looks for new snapshots.")

// Patterns are families of keys. The first that matches counts.
var Patterns = []Pattern{
	{Prefix: "fields.", Suffix: ".stats-mode", Doc: "Statistics of one column: none, counts, truncate(n), full."},
	{Prefix: "fields.", Suffix: ".aggregate-function", Doc: "Aggregate of a column."},
	{Prefix: "fields.", Suffix: ".sequence-group", Doc: "Columns that a sequence column protects."},
	{Prefix: "fields.", Suffix: ".ignore-retract", Doc: "The aggregate keeps its value when rows are retracted."},
	{Prefix: "fields.", Suffix: ".distinct", Doc: "Parameter of an aggregate."},
	{Prefix: "fields.", Suffix: ".list-agg-delimiter", Doc: "Parameter of an aggregate."},
	{Prefix: "fields.", Suffix: ".nested-key", Doc: "Parameter of an aggregate."},
	{Prefix: "fields.", Suffix: ".nested-key-null-strategy", Doc: "Parameter of an aggregate.", Status: Stored},
	{Prefix: "fields.", Suffix: ".nested-sequence-field", Doc: "Parameter of an aggregate.", Status: Stored},
	{Prefix: "fields.", Suffix: ".count-limit", Doc: "Parameter of an aggregate."},
	{Prefix: "fields.", Suffix: ".ts-field", Doc: "Parameter of an aggregate."},
	{Prefix: "file-index.", Suffix: ".columns", Doc: "Columns with an index in data files; none is written here.", Status: Stored},
	{Prefix: "file-index.", Doc: "Parameters of such an index.", Status: Stored},
	{Prefix: "parquet.enable.dictionary#", Doc: "parquet.enable.dictionary of one column."},
	{Prefix: "parquet.compression#", Doc: "parquet.compression of one column."},
	{Prefix: "parquet.", Doc: "Settings of the Parquet library.", Status: Stored},
	{Prefix: "orc.", Doc: "Settings of the ORC library.", Status: Stored},
	{Prefix: "avro.", Doc: "Settings of the Avro library.", Status: Stored},
	{Prefix: "encryption", Doc: "Encryption of files.", Status: Refused, why: "files are not encrypted here"},
	{Prefix: "commit.callback.", Suffix: ".param", Doc: "Parameter of a Java class in commit.callbacks.", Status: Stored},
	{Prefix: "tag.callback.", Suffix: ".param", Doc: "Parameter of a Java class in tag.callbacks.", Status: Stored},
}

// foreignPrefixes are the first parts of keys that belong to other kinds of tables, to catalogs and to engines. Such keys
// mean nothing here.
var foreignPrefixes = []string{
	"aggregation.", "bitmap-index.", "blob-", "blob.", "btree-index.", "cache.", "catalog.", "cdc.", "changelog-", "chain-table.", "clustering.",
	"commit.", "connector", "csv.", "data-evolution.", "data-file.", "dlf.", "filesystem.", "format-table.", "full-text-index.", "global-index.",
	"hive.", "incremental-", "json.", "key-value.", "lineage.", "lookup.", "lock", "log.", "manifest.", "manifest-", "materialized-table.",
	"metadata.", "metastore.", "multivalue-index.", "owner", "paimon.", "partition.", "pk-", "postpone.", "query-auth.", "read.", "record-level.",
	"row-tracking.", "scalar-index.", "scan.", "sink.", "snapshot.", "sort-compaction.", "sorted-index.", "source.", "spark.", "spill-", "streaming",
	"tag.", "text.", "unaware-bucket.", "upsert-key", "variant.", "vector-", "vector.", "visibility-callback.", "write.", "zorder.",
}
