package table

import "strconv"

// Table, buckets and paths.
var (
	KeyBucket = define(Int, "bucket", "-1", "Number of buckets of a partition; -1 dynamic, -2 postponed.").
			only("writers need a number above 0, -1 or -2", func(v string) bool {
			n, err := strconv.Atoi(v)
			return err == nil && (n > 0 || n == -1 || n == PostponeBucket)
		}).
		compactors("compaction needs a number above 0, or -1 or -2", func(v string) bool {
			n, err := strconv.Atoi(v)
			return err == nil && (n > 0 || n == -1 || n == PostponeBucket)
		})
	KeyBucketKey = define(String, "bucket-key", "",
		"Columns that are hashed to a bucket, separated by commas; the primary key without the partition keys when not set.").immutable()
	KeyBucketFunctionType = define(String, "bucket-function.type", "default",
		"Hash of the bucket key: default (of the row's bytes), mod (of one INT or BIGINT column), hive.").
		oneOf("default", "mod", "hive").immutable()
	KeyPrimaryKey = define(String, "primary-key", "",
		"Primary key, when a table is created without one beside the options; turned into the schema's key.").immutable()
	KeyPartition = define(String, "partition", "",
		"Partition keys, when a table is created without them beside the options; turned into the schema's keys.").immutable()
	KeyPartitionDefaultName = define(String, "partition.default-name", "__DEFAULT_PARTITION__",
		"Directory of null, empty and blank partition values.")
	KeyPartitionLegacyName = define(Bool, "partition.legacy-name", "true",
		"Partition directories by the raw value (a DATE as its day number); false: by its text.")
	KeyDataFilePathDirectory = define(String, "data-file.path-directory", "",
		"Directory within the table's for data files.").immutable()
	KeyDataFileExternalPaths = define(String, "data-file.external-paths", "", "Roots outside the table's directory for data files.").
					refused("writers put data files into the table's directory only")
	KeyBranch = define(String, "branch", "main", "Branch of the table.").refused("writers write the main branch only")
	KeyType   = define(String, "type", "table", "Kind of table.").refused("only plain Paimon tables are written").immutable()

	KeyAddColumnBeforePartition = define(Bool, "add-column-before-partition", "false",
		"New columns go before the first partition column instead of to the end.")
	KeyAlterColumnNullToNotNullDisabled = define(Bool, "alter-column-null-to-not-null.disabled", "true",
		"Columns that may be null can't be altered to NOT NULL.")
	KeyDisableExplicitTypeCasting = define(Bool, "disable-explicit-type-casting", "false",
		"Column types can only be altered by casts that lose nothing.")

	_ = define(Bool, "bucket-append-ordered", "true", "Order within the buckets of append tables.").stored()
	_ = define(String, "data-file.external-paths.strategy", "none", "Choice among data-file.external-paths.").
		oneOf("none", "specific-fs", "round-robin", "entropy-inject", "weight-robin").stored()
	_ = define(String, "data-file.external-paths.specific-fs", "", "Scheme that the strategy specific-fs takes.").stored()
	_ = define(String, "data-file.external-paths.weights", "", "Weights of data-file.external-paths.").stored()
	_ = define(Bool, "index-file-in-data-file-dir", "false",
		"Index files lie in the bucket's directory; tables with fixed buckets and no deletion vectors have none.").immutable().stored()
	_ = define(Bool, "auto-create", "false", "Java creates the table's storage on first use.").stored()
	_ = define(Bool, "primary-key.nullable", "false", "Primary key columns may be null.").since("2.1").immutable().
		refused("primary key columns are NOT NULL here")
	_ = define(Bool, "pk-clustering-override", "false", "Files ordered by clustering columns instead of the key.").immutable().
		refused("files are ordered by the primary key here")
	KeyChainTableEnabled = define(Bool, "chain-table.enabled", "false", "Chain tables.").refused("chain tables are not supported")
	_                    = define(Bool, "row-tracking.enabled", "false", "Rows with ids of their own; append tables only.").immutable().
				refused("row tracking is not supported")
	_ = define(Bool, "data-evolution.enabled", "false", "Columns in files of their own; append tables only.").immutable().
		refused("data evolution is not supported")
	_ = define(String, "metadata.iceberg.storage", "disabled", "Iceberg metadata written beside each snapshot.").
		refused("Iceberg metadata would fall behind, it is not written here")
)

// Dynamic and postponed buckets: without meaning while writers need fixed buckets.
var (
	KeyDynamicBucketTargetRowNum        = define(Long, "dynamic-bucket.target-row-num", "2000000", "Keys that a dynamic bucket takes before another one is begun.")
	KeyDynamicBucketInitialBuckets      = define(Int, "dynamic-bucket.initial-buckets", "", "Assigners that share a partition, and so the buckets that it begins with; all of them when not set.")
	KeyDynamicBucketMaxBuckets          = define(Int, "dynamic-bucket.max-buckets", "-1", "Most buckets of a partition, which take more keys then; -1 for no bound.")
	KeyDynamicBucketAssignerParallelism = define(Int, "dynamic-bucket.assigner-parallelism", "",
		"Tasks of Paimon that assign buckets, each of its own; here they are counted only, as one process does it. The parallelism of the sink when not set.")
	KeyCrossPartitionIndexTTL             = define(Duration, "cross-partition-upsert.index-ttl", "", "Files older than this are left out when the index of keys over partitions is loaded: their keys may come twice.")
	KeyCrossPartitionBootstrapParallelism = define(Int, "cross-partition-upsert.bootstrap-parallelism", "10", "Most threads that load that index, at most two a CPU.")
	_                                     = define(Size, "local-kv-db.block-size", "4 kb", "Block size of the local index store.").since("2.0").stored()
	_                                     = define(Bool, "postpone.batch-write-fixed-bucket", "true", "Batch writes go to real buckets.").stored()
	_                                     = define(Int, "postpone.batch-write-fixed-bucket.max-parallelism", "2048", "Parallelism bound of that.").stored()
	KeyPostponeDefaultBucketNum           = define(Int, "postpone.default-bucket-num", "1", "Buckets of a partition of a table with bucket=-2 that is compacted for the first time.").atLeast(1)
	_                                     = define(Long, "postpone.target-row-num-per-bucket", "", "Derives that number from the row count.").since("2.0").stored()
	_                                     = define(Size, "postpone.target-size-per-bucket", "1 gb", "Derives that number from the size.").since("2.0").stored()
	_                                     = define(Bool, "postpone.merge-on-read", "false", "Batch reads include postponed rows.").since("2.0").stored()
)

// Merge semantics.
var (
	KeyMergeEngine = define(String, "merge-engine", "deduplicate", "What becomes of rows with equal keys.").
			oneOf("deduplicate", "partial-update", "aggregation", "first-row").immutable()
	KeyIgnoreDelete = define(Bool, "ignore-delete", "false", "Rows of kind -D and -U are dropped. Can't be switched off later.").
			alias("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete")
	KeyIgnoreUpdateBefore = define(Bool, "ignore-update-before", "false", "Rows of kind -U are dropped. Can't be switched off later.")
	KeySequenceField      = define(String, "sequence.field", "",
		"Columns, separated by commas, that order the versions of a key; the order of arrival decides between equal ones.")
	KeySequenceFieldSortOrder = define(String, "sequence.field.sort-order", "ascending", "Whether the largest or the smallest value of sequence.field wins.").
					oneOf("ascending", "descending")
	KeyRowkindField = define(String, "rowkind.field", "", "Column that holds the row kind as +I, -U, +U or -D.").immutable()

	_ = define(Bool, "sequence.snapshot-ordering", "false", "The snapshot's id orders the versions of a key.").since("2.0").immutable().
		refused("sequence numbers are given by the writer here")
	_ = define(String, "write.sequence-number-init-mode", "scan", "How writers find the next sequence number.").since("2.0").
		oneOf("scan", "snapshot").refused("writers scan here and don't keep the snapshot property that Java needs").writersOnly()
	KeyPartialUpdateRemoveRecordOnDelete        = define(Bool, "partial-update.remove-record-on-delete", "false", "A -D removes the row.").immutable()
	KeyPartialUpdateRemoveRecordOnSequenceGroup = define(String, "partial-update.remove-record-on-sequence-group", "", "Sequence fields of which a -D removes the row.").immutable()
	KeyAggregationRemoveRecordOnDelete          = define(Bool, "aggregation.remove-record-on-delete", "false", "A -D removes the row.").immutable()
	KeyFieldsDefaultAggregateFunction           = define(String, "fields.default-aggregate-function", "", "Aggregate of columns that have none of their own.")
	KeyRecordLevelExpireTime                    = define(Duration, "record-level.expire-time", "", "Compaction drops rows older than this.")
	KeyRecordLevelTimeField                     = define(String, "record-level.time-field", "", "Column with the time of record-level.expire-time.")
	_                                           = define(Size, "local-merge-buffer-size", "", "Buffer that merges rows before Flink's shuffle.").stored()
)
